"""docs/paper.md is what the command writes: a number of a full run, made again, stands
there to the last digit.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

from profitable import simulate
from profitable.common.text_tables import number_text
from profitable.paper.experiment import NAMES, PAPER, load
from profitable.paper.finding import final
from profitable.version import VERSION

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("policy", ["kl-gaussian-ucb", "ts"])
def test_a_number_made_again(policy: str) -> None:
    experiment = load("bernoulli")
    size = {"horizon": experiment.horizon, "runs": experiment.runs}
    curve = simulate(experiment.scenario, [policy], **size, seed=1)[policy]
    table = PAGE.partition("### Scenario 1: Bernoulli in numbers\n")[2].partition("###")[0]
    assert f"| {policy} | {final(curve)} |" in table


def test_figures_come_before_claims_and_numbers() -> None:
    parts = [
        "## The experiments\n",
        "](paper/exponential.svg)",
        "## The paper's claims\n",
        "## The experiments in numbers\n",
    ]
    places = [PAGE.index(part) for part in parts]
    assert places == sorted(places)
    assert PAGE.count("<details>") == PAGE.count("</details>") == 9


def test_settings() -> None:
    assert (
        f"Made with profitable {VERSION}, seed 1, by\n\n    profitable paper --variant both "
        "--seed 1" in PAGE
    )
    for name in NAMES[:4]:
        assert f"](paper/{name}.svg)" in PAGE
        assert load(name).title in PAGE


def test_what_is_around_the_report_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    renew_paper = import_module("renew_paper")
    page, results = tmp_path / "paper.md", tmp_path / "results"
    monkeypatch.setattr(renew_paper, "PAGE", page)
    monkeypatch.setattr(renew_paper, "PICTURES", tmp_path / "paper")
    page.write_text(f"head\n{renew_paper.BEGIN}old\n{renew_paper.END}tail\n")
    results.mkdir()
    (results / "a.svg").write_text("<svg/>")
    (results / "report.md").write_text("new\n![A.](a.svg)\n")
    for _ in range(2):
        renew_paper.renew(results)
        assert (
            page.read_text()
            == f"head\n{renew_paper.BEGIN}\nnew\n![A.](paper/a.svg)\n\n{renew_paper.END}tail\n"
        )
    assert (tmp_path / "paper" / "a.svg").exists()


def short(cell: str) -> str:
    """A cell of the page's table without its error, with three digits: "42.04 ± 0.31 †"
    is 42.
    """
    return number_text(float(f"{value_of(cell):.3g}"))


def value_of(cell: str) -> float:
    return float(re.split(r" [±(%†]", cell)[0].replace(" ", ""))


def test_the_readme_has_the_numbers_of_the_page() -> None:
    """Mean, 99 % quantile and lost runs of the best of the four and the three forms."""
    table = PAGE.partition("### The optimal policy in numbers\n")[2].strip().partition("\n\n")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for name in PAPER:
        mine = [row for row in rows if row[0] == name]
        cells = [
            f"{short(row[2])}; {short(row[4])}; {short(row[6])} %" for row in (mine[0], *mine[4:7])
        ]
        assert [row[1] for row in mine[4:7]] == [
            "optimal:horizon",
            "optimal:horizon,risk=0.3",
            "optimal",
        ]
        assert f"| {mine[0][1]}: {' | '.join(cells)} |" in readme


def test_the_how_to_has_the_numbers_of_the_page() -> None:
    """Rows `mean (quantile, lost %)` per experiment, and `mean (lost %)` per horizon;
    rounded as the README's are.
    """
    page = _numbers_of(PAGE.partition("### The optimal policy in numbers\n")[2], policy=1, tail=4)
    page |= _numbers_of(
        PAGE.partition("### What a wrong horizon costs\n")[2].partition("\n\n")[2], policy=1, tail=5
    )
    how_to = (DOCS / "how-to.md").read_text(encoding="utf-8").replace("*", "")
    checked = 0
    for line in how_to.splitlines():
        label, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != len(PAPER) or not re.search(r"\d \(", cells[0]):
            continue
        for name, cell in zip(PAPER, cells, strict=True):
            found = re.findall(r"[\d.]+", cell.replace(" ", ""))
            expected = _expected(page, name, label)
            expected = expected if len(found) == 3 else (expected[0], expected[2])
            rounded = [
                f"{value:.{len(text.partition('.')[2])}f}"
                for text, value in zip(found, expected, strict=True)
            ]
            assert found == rounded, (label, name)
            checked += 1
    assert checked == 9 * len(PAPER)


def _expected(
    page: dict[tuple[str, str], tuple[float, ...]], name: str, label: str
) -> tuple[float, ...]:
    if label == "the best of four":
        four = [page[name, policy] for policy in ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")]
        return tuple(min(column) for column in zip(*four, strict=True))
    horizon = re.match(r"[\d ]+", label)
    if horizon is None:
        return page[name, label.strip("`")]
    return next(
        value
        for (where, key), value in page.items()
        if where == name and key.startswith(f"{horizon[0].strip()} (")
    )


def _numbers_of(text: str, *, policy: int, tail: int) -> dict[tuple[str, str], tuple[float, ...]]:
    """(mean, 99 % quantile, lost) by experiment and policy, from the first table of a
    text.
    """
    numbers: dict[tuple[str, str], tuple[float, ...]] = {}
    for line in text.strip().partition("\n\n")[0].splitlines()[2:]:
        row = [cell.strip() for cell in line.strip("|").split("|")]
        cells = (row[2], row[tail], row[6])
        numbers[row[0], row[policy]] = tuple(map(value_of, cells))
    return numbers


def test_no_picture_is_left_over() -> None:
    shown = set(re.findall(r"\]\(paper/([\w-]+\.svg)\)", PAGE))
    assert shown == {path.name for path in (DOCS / "paper").iterdir()}
