"""Tables of text: aligned, and no wider than the terminal, with nothing lost."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.common.registry import HEADERS, rows
from profitable.common.text_tables import text_table
from profitable.policy.policies import POLICIES
from tests.simulation.worlds import single

CELL = st.text("abc 1.5", min_size=1, max_size=12).map(lambda text: text.replace(" ", "_"))


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_parts_of_a_table_hold_all_of_it(cells: list[list[str]]) -> None:
    headers, *body = cells
    wide = text_table(headers, body, width=10_000)
    assert text_table(headers, body) == wide  # standard output is no terminal here
    narrow = text_table(headers, body, width=30)
    widest = max(len(cell) for row in cells for cell in row)
    assert max(map(len, narrow.splitlines())) <= max(30, 2 * widest + 2)
    parts = narrow.split("\n\n")
    found = [
        [
            parts[0].splitlines()[line].split()[0],
            *(cell for part in parts for cell in part.splitlines()[line].split()[1:]),
        ]
        for line in range(len(body) + 2)
    ]
    assert [row for i, row in enumerate(found) if i != 1] == cells


def test_prose_is_wrapped() -> None:
    table = text_table(HEADERS, rows(POLICIES), words=(0, 1, 2), width=100)
    assert max(map(len, table.splitlines())) <= 100
    for words in rows(POLICIES):
        for word in " ".join(words).split():
            assert word in table


def test_results_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = pb.Scenario("one coin", [single(pb.Bernoulli(), 0.5, 0.6, 3)])
    result = pb.simulate(scenario, ["ts", "kl-ucb"], horizon=50, runs=60)
    plain = result.table()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for columns in ("60", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        tables = [
            line
            for line in result.table().splitlines()
            if line.startswith(("policy", "---", "ts", "kl-ucb"))
        ]
        assert len(tables) > 8  # broken into parts
        assert max(map(len, tables)) <= int(columns)
        assert set(result.table().split()) == set(plain.split()) | {
            "-" * n for n in range(30)
        } & set(result.table().split())
    monkeypatch.setenv("COLUMNS", "200")
    assert result.table() == plain


def test_a_result_in_a_notebook() -> None:
    scenario = pb.Scenario("a <b> c", [single(pb.Bernoulli(), 0.5, 0.6, 3)])
    page = pb.simulate(scenario, ["ts"], horizon=50, runs=60)._repr_html_()
    assert "a &lt;b&gt; c" in page
    assert "<td>ts</td>" in page
    assert "(lower bound)" in page
    assert page.count("<table>") == page.count("</table>") == 2
