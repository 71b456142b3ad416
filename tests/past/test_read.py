"""Past clients are read as a slow reader in plain Python reads them."""

import math
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.errors import InputError
from profitable.past import file_kinds
from profitable.past import source as source_file
from profitable.past.layout import Layout
from profitable.past.past import NEVER_KNOWN, Past, SingleClients
from profitable.past.read import read
from profitable.past.treatment import treatment_effect
from profitable.replay.backtest_options import load_toml
from tests.past.tables import (
    CALLS,
    LOANS,
    WAYS,
    loans,
    needs_calls,
    needs_loans,
    same,
    write_csv,
    write_parquet,
)

MONEY = Layout(
    category="grade", time="asked", reward="back", amount="lent", required=0.05, known="known"
)
PLAIN = Layout(category="grade", time="asked", reward="good", cost=0.5)


def month(text: str) -> int:
    day = date.fromisoformat(text)
    return day.year * 12 + day.month


def rows(clients: SingleClients) -> list[tuple[Any, ...]]:
    names = [clients.names[k] for k in clients.category]
    return sorted(
        zip(
            clients.round.tolist(),
            names,
            clients.known.tolist(),
            clients.reward,
            clients.profit,
            strict=True,
        )
    )


def table_rows(table: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    return (dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_give_a_table_means_the_same(way: str, tmp_path: Path) -> None:
    table = loans()
    kept = [row for row in table_rows(table) if row["lent"] is not None and row["back"] is not None]
    first = min(month(row["asked"]) for row in kept)
    expected = sorted(
        (
            month(row["asked"]) - first + 1,
            row["grade"],
            NEVER_KNOWN if row["known"] is None else month(row["known"]) - first + 1,
            row["back"] / row["lent"],
            row["back"] - 1.05 * row["lent"],
        )
        for row in kept
    )
    past = read(WAYS[way](table, tmp_path), MONEY)
    found = rows(past.clients)
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    np.testing.assert_allclose(
        [row[3:] for row in found], [row[3:] for row in expected], rtol=1e-14
    )
    assert (past.clients.names, past.rows, past.round) == (("A", "B", "C9", "C10"), 300, "month")
    assert past.clients.labels[0] == "2024-01"
    assert {each.reason: each.rows for each in past.left_out} == {
        "no amount": 10,
        "no outcome yet": 11,
    }
    assert past.clients.amount is not None
    np.testing.assert_allclose(
        past.clients.reward * past.clients.amount - 1.05 * past.clients.amount, past.clients.profit
    )


@pytest.mark.parametrize("way", ["csv", "parquet", "polars", "reader"])
def test_streamed_is_in_memory(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = loans(2_000)
    layout = Layout(
        category=("grade", "age:q3"),
        time="asked",
        reward="back",
        amount="lent",
        known="known",
        round="week",
    )
    at_once = read(WAYS[way](table, tmp_path), layout)
    monkeypatch.setattr(source_file, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(file_kinds, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(file_kinds, "BYTES_AT_ONCE", 1_000)
    pieces = read(WAYS[way](table, tmp_path), layout)
    assert same(at_once.clients, pieces.clients)
    assert [each.rows for each in at_once.left_out] == [each.rows for each in pieces.left_out]


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    table = loans(120, seed % 7)
    order = np.random.default_rng(seed).permutation(120)
    mixed = {name: [values[place] for place in order] for name, values in table.items()}
    for layout in (
        MONEY,
        PLAIN,
        Layout(
            category="grade",
            time="asked",
            reward="good",
            treated="treated",
            cost=0.0,
            known="known",
        ),
        Layout(category="age:q4", time="number", reward="good", cost="price"),
    ):
        assert same(read(table, layout).clients, read(mixed, layout).clients)


def test_files_folders_patterns_and_lists(tmp_path: Path) -> None:
    table = loans(200)
    whole = read(table, MONEY)
    parts = [
        {name: values[start : start + 50] for name, values in table.items()}
        for start in range(0, 200, 50)
    ]
    folder = tmp_path / "past"
    (folder / "2025").mkdir(parents=True)
    write_csv(folder / "a.csv", parts[0])
    write_csv(folder / "b.csv.gz", parts[1])
    write_parquet(folder / "2025" / "c.parquet", parts[2])
    write_parquet(folder / "2025" / "d.parquet", parts[3])
    (folder / "_notes.csv").write_text("nothing")
    (folder / "readme.md").write_text("nothing")
    assert same(read(folder, MONEY).clients, whole.clients)
    assert same(read(str(folder / "**" / "[a-d].*"), MONEY).clients, whole.clients)
    assert same(
        read([folder / "2025", folder / "a.csv", str(folder / "b.csv.gz")], MONEY).clients,
        whole.clients,
    )


def test_costs_revenue_and_values() -> None:
    table = loans(100)
    net = read(
        table,
        Layout(category="grade", time="asked", reward="status=paid", cost="price", revenue=3.0),
    )
    paid = [3.0 * (row["status"] == "paid") - row["price"] for row in table_rows(table)]
    assert sorted(net.clients.reward.tolist()) == sorted(paid)
    assert np.array_equal(net.clients.profit, net.clients.reward)
    assert net.costs is not None
    first = [row["price"] for row in table_rows(table) if row["grade"] == "A"]
    assert math.isclose(net.costs[0], sum(first) / len(first))
    gross = read(
        table, Layout(category="grade", time="asked", reward="status=paid", cost=1, revenue=3.0)
    )
    assert set(gross.clients.reward) == {0.0, 1.0}
    assert np.array_equal(gross.clients.profit, 3.0 * gross.clients.reward - 1.0)
    assert gross.clients.is_immediate


def test_outcomes_at_maturity_without_a_known_date() -> None:
    past = read(
        loans(100), Layout(category="grade", time="number", reward="good", cost=0.5, matures=6)
    )
    assert np.array_equal(past.clients.known, past.clients.round + 6)


def test_open_clients_count_at_their_value() -> None:
    table = loans(200)
    layout = Layout(
        category="grade",
        time="asked",
        reward="back",
        amount="lent",
        known="known",
        open_value="lent",
    )
    past = read(table, layout)
    open_rows = [
        row for row in table_rows(table) if row["back"] is None and row["lent"] is not None
    ]
    assert past.clients.promised is not None
    assert (past.clients.promised == 1.0).all()
    still = (past.clients.known == NEVER_KNOWN) & (past.clients.reward == 1.0)
    assert still.sum() == len(open_rows) > 0
    assert (past.clients.profit[still] == 0.0).all()
    assert [each.reason for each in past.left_out] == ["no amount"]


def test_promised_is_in_the_unit_of_rewards() -> None:
    late = {"known": "known", "matures": 6, "emerges": "evenly", "promised": 2.0}
    given: dict[str, Any] = {"category": "grade", "time": "asked", "reward": "good"} | late
    assert set(read(loans(90), Layout(**given, cost=0.5)).clients.promised) == {2.0}
    priced = read(loans(90), Layout(**given, cost="price")).clients
    assert priced.promised is not None
    good = read(loans(90), Layout(**{**given, "promised": "good"}, cost="price")).clients
    assert np.array_equal(good.promised, good.reward)
    assert np.allclose(priced.promised - priced.reward, 2.0 - (priced.reward > 0.0), atol=1.0)


@pytest.mark.parametrize(
    "late", [{"open_value": 1.14}, {"promised": 1.14, "matures": 6, "emerges": "evenly"}]
)
def test_a_promised_number_is_per_unit_lent_and_a_column_is_money(late: dict[str, Any]) -> None:
    table = loans(200)
    table["due"] = [None if lent is None else 1.14 * lent for lent in table["lent"]]
    given: dict[str, Any] = {
        "category": "grade",
        "time": "asked",
        "reward": "back",
        "amount": "lent",
        "known": "known",
    }
    number = read(table, Layout(**given, **late))
    column = read(
        table,
        Layout(**given, **{key: "due" if value == 1.14 else value for key, value in late.items()}),
    )
    for past in (number, column):
        assert past.clients.promised == pytest.approx(1.14)
        past.check_promised()
    assert number.clients.profit == pytest.approx(column.clients.profit)
    assert number.left_out == column.left_out


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "rate",
            (
                "open_value = 'rate' is at most 0.0114 per unit lent: "
                "a column must be money, as back is; multiply it"
            ),
        ),
        (
            11_400.0,
            (
                "open_value = 11400.0 is 11 400 per unit lent or more, "
                "and 1 must come back; give a number per unit"
            ),
        ),
        ("nothing", None),  # in any unit
        (0.02, None),
    ],
)
def test_what_is_promised_in_another_unit_is_refused(value: Any, words: str | None) -> None:
    rows, late = 40, {"known": "week", "open_value": value, "weight": "client"}
    table = {
        "week": [1 + i // 4 for i in range(rows)],
        "group": ["a", "b"] * 20,
        "back": [110.0, 90.0] * 20,
    }
    table |= {"lent": [100.0, 400.0] * 20, "rate": [1.14] * rows, "nothing": [0.0] * rows}
    given: dict[str, Any] = {
        "category": "group",
        "time": "week",
        "reward": "back",
        "amount": "lent",
        **late,
    }
    for data, more in ((table, given), (pb.backtest.cells(table, **given), dict[str, Any]())):
        run = partial(pb.backtest, data, **more, policies="kl-ucb", replays=0)
        if words is None:
            run()
        else:
            with pytest.raises(InputError) as error:
                run()
            assert str(error.value).startswith(words)


def test_a_rate_is_no_promise_per_unit_lent() -> None:
    """0.14 for 1.14: nobody would pay, even if all kept their promise."""
    late = {"known": "week", "matures": 3, "emerges": "evenly", "weight": "client"}
    table = {"week": [1, 2, 3, 4] * 5, "group": ["a", "b"] * 10, "back": [1_100.0] * 20}
    table |= {"lent": [1_000.0] * 20}
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "back"} | late
    read(table, Layout(**given, amount="lent", promised=1.14)).check_promised()
    with pytest.raises(InputError, match=r"promised = 0\.14 is per unit lent, and 1 must come"):
        read(table, Layout(**given, amount="lent", promised=0.14)).check_promised()


@pytest.mark.parametrize(
    "late", [{"open_value": 1.14}, {"matures": 5, "emerges": "evenly", "promised": 1.14}]
)
def test_a_number_as_open_value_does_not_depend_on_the_size_of_loans(late: dict[str, Any]) -> None:
    """As money of a client it would be nothing, and all would be refused at once.  The
    real loans then lost all that there was to earn: 14.1 M.
    """
    rng, size = np.random.default_rng(4), 400
    lent = rng.choice([1_000.0, 20_000.0], size)
    week = np.repeat(np.arange(1, 21), 20)
    table = {
        "week": week,
        "group": rng.choice(["a", "b"], size),
        "lent": lent,
        "back": lent * np.where(rng.random(size) < 0.05, 0.6, 1.14),
        "then": week + 5,
        "id": np.arange(size),
    }
    given: dict[str, Any] = {"category": "group", "time": "week", "reward": "back", "known": "then"}
    given |= {"amount": "lent", "weight": "client", **late}
    run: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    for data, more in ((table, given), (pb.backtest.cells(table, **given, id="id"), {})):
        found = pb.backtest(data, **more, **run)
        assert found["accept all"].profit > 0.0
        assert found["kl-ucb"].difference.middle == 0.0


def test_a_past_that_refused() -> None:
    table = loans(200)
    table["reward"] = [row["good"] if row["treated"] else None for row in table_rows(table)]
    layout = Layout(category="grade", time="asked", reward="reward", cost=0.5, accepted="treated")
    past = read(table, layout)
    assert len(past.clients) == sum(table["treated"])
    assert [(each.reason, each.rows) for each in past.left_out] == [
        ("refused by the past", 200 - sum(table["treated"]))
    ]
    assert "cannot be judged" in past.warnings[0]
    random = read(table, Layout(**layout.to_dict() | {"propensity": "chance"})).clients
    assert (len(random), random.logged is not None and random.logged.sum()) == (
        200,
        sum(table["treated"]),
    )
    assert random.propensity is not None
    assert random.logged is not None
    assert sorted(random.propensity.tolist()) == sorted(table["chance"])
    assert (random.reward[~random.logged] == 0.0).all()


def test_what_a_treatment_adds_is_compared_with_what_was_known_of_the_control_group() -> None:
    table = loans(400)
    layout = Layout(
        category="grade",
        time="asked",
        reward="good",
        treated="treated",
        known="known",
        cost=0.1,
        revenue=2.0,
    )
    past = read(table, layout)
    share = sum(table["treated"]) / 400
    expected: list[float] = []
    everyone = list(table_rows(table))
    for row in everyone:
        control = [
            other["good"]
            for other in everyone
            if other["grade"] == row["grade"]
            and not other["treated"]
            and other["known"] is not None
            and month(other["known"]) < month(row["asked"])
        ]
        mean = sum(control) / len(control) if control else 0.0
        expected.append((row["good"] - mean) * (row["treated"] - share) / (share * (1.0 - share)))
    np.testing.assert_allclose(np.sort(past.clients.reward), np.sort(expected), rtol=1e-12)
    np.testing.assert_allclose(past.clients.profit, 2.0 * past.clients.reward - 0.1)
    assert "probability of treatment" in past.notes[0]
    own = read(table, Layout(**layout.to_dict() | {"propensity": "chance"}))
    assert not own.notes or "probability of treatment" not in own.notes[0]


@pytest.mark.statistical
def test_the_mean_of_what_a_treatment_adds_is_right() -> None:
    """Five standard errors of 200 000 clients: a false alarm in a million runs."""
    rng = np.random.default_rng(7)
    size = 200_000
    treated = rng.random(size) < 0.3
    outcome = (rng.random(size) < 0.4 + 0.1 * treated).astype(float)
    rounds, category = rng.integers(1, 51, size), rng.integers(0, 3, size)
    found = treatment_effect(outcome, treated, 0.3, (rounds, rounds, category), (50, 3))
    assert abs(found.mean() - 0.1) < 5.0 * found.std() / math.sqrt(size)


def test_rounds_of_rows() -> None:
    table = loans(100)
    past = read(table, Layout(category="grade", reward="good", cost=0.5, round=30))
    assert past.clients.labels == ("rows 1-30", "rows 31-60", "rows 61-90", "rows 91-100")
    assert np.bincount(past.clients.round).tolist() == [0, 30, 30, 30, 10]
    timed = read(
        table,
        Layout(category="grade", time="asked", reward="good", cost=0.5, round=10, known="known"),
    )
    order = np.argsort(np.array(table["asked"]), kind="stable")
    starts = [table["asked"][place] for place in order[::10]]
    expected: list[tuple[int, int]] = []
    for rank, place in enumerate(order.tolist()):
        known, asked = table["known"][place], rank // 10 + 1
        expected.append(
            (
                asked,
                NEVER_KNOWN
                if known is None
                else max(asked, sum(start <= known for start in starts)),
            )
        )
    found = sorted(zip(timed.clients.round.tolist(), timed.clients.known.tolist(), strict=True))
    assert found == sorted(expected)


def test_rounds_without_clients_are_rounds() -> None:
    table = {"when": [1, 2, 9], "job": ["a", None, " "], "y": [1, 0, 1]}
    past = read(table, Layout(category="job", time="when", reward="y", cost=0.5))
    assert past.clients.labels == tuple("123456789")
    assert past.clients.names == ("a", "(missing)")
    assert past.notes == ["6 of 9 rounds have no client", "2 clients are in the category (missing)"]


def test_rows_left_out_are_compared_with_those_kept() -> None:
    rng = np.random.default_rng(3)
    good = (rng.random(2_000) < 0.5).astype(int).tolist()
    price = [None if y and rng.random() < 0.3 else 1.0 for y in good]
    table = {
        "when": rng.integers(1, 9, 2_000).tolist(),
        "job": ["a"] * 2_000,
        "y": good,
        "price": price,
    }
    (left,) = read(table, Layout(category="job", time="when", reward="y", cost="price")).left_out
    assert (left.reason, left.rows, left.mean_reward, left.differs) == (
        "no cost",
        price.count(None),
        1.0,
        True,
    )
    assert left.warning is not None
    assert "biased" in left.warning
    table["price"] = [None if rng.random() < 0.3 else 1.0 for _ in good]
    (left,) = read(table, Layout(category="job", time="when", reward="y", cost="price")).left_out
    assert not left.differs
    assert left.warning is None


def test_words_for_nothing_are_missing_numbers_but_names_of_categories(tmp_path: Path) -> None:
    table = {
        "when": [1, 2, 3, 4],
        "land": ["NA", "DE", "", "NA"],
        "y": ["1", " 0 ", "NA", "1"],
        "b": ["yes", "no", "Yes", "1"],
    }
    past = read(
        write_csv(tmp_path / "a.csv", table),
        Layout(category="land", time="when", reward="y", cost=0.5),
    )
    assert past.clients.names == ("DE", "NA")
    assert [(each.reason, each.rows) for each in past.left_out] == [("no outcome yet", 1)]
    past = read(
        write_csv(tmp_path / "a.csv", table),
        Layout(category="land", time="when", reward="when", cost=1, accepted="b"),
    )
    assert len(past.clients) == 3


def test_progress_ends_at_one(tmp_path: Path) -> None:
    for way in ("csv", "csv.gz", "parquet in parts", "pyarrow"):
        heard: list[float] = []
        read(WAYS[way](loans(500), tmp_path), MONEY, progress=heard.append)
        assert heard == sorted(heard), way
        assert 0.99 <= heard[-1] <= 1.0, way


def test_clients_sort_as_a_plain_sort() -> None:
    rng = np.random.default_rng(5)
    for rounds in (3, 70_000):
        size = 400
        table = {
            "known": rng.integers(1, 6, size),
            "category": rng.integers(0, 2, size),
            "round": rng.integers(1, 3, size),
            "reward": rng.integers(0, 2, size).astype(float),
            "profit": rng.integers(0, 3, size).astype(float),
            "amount": rng.integers(1, 3, size).astype(float),
        }
        clients = SingleClients.of(names=("a", "b"), labels=("x",) * rounds, **table)
        found = np.column_stack([getattr(clients, name) for name in table])
        late = np.minimum(table["known"], rounds + 1)
        ties = [
            table[name] for name in ("known", "amount", "profit", "reward", "round", "category")
        ]
        order = np.lexsort([*ties, late])
        assert np.array_equal(found, np.column_stack([values[order] for values in table.values()]))
        untouched = SingleClients.of(names=("a", "b"), labels=("x",) * rounds, **table)
        assert same(clients, untouched)  # the arrays of the caller were not sorted


# --------------------------------------------------------------- the file of a backtest


def test_a_file_of_a_backtest(tmp_path: Path) -> None:
    path = tmp_path / "backtest.toml"
    path.write_text(
        'data = ["a.csv", "more/*.csv"]\ncategory = ["grade", "age:q4"]\n'
        'reward = "back"\namount = "lent"\n'
        'time = "asked"\nrequired = 0.05\npolicies = ["ts"]\nreplays = 50\n'
    )
    data, given = load_toml(path)
    assert data == [str(tmp_path / "a.csv"), str(tmp_path / "more/*.csv")]
    assert {key: given[key] for key in ("policies", "replays")} == {
        "policies": ["ts"],
        "replays": 50,
    }
    layout = Layout.of(given)
    assert layout.categories == ("grade", "age:q4")
    assert Layout(**layout.to_dict()) == layout


# --------------------------------------------------------------------------- real files


def accept_all(past: Past) -> float:
    return float(past.clients.profit.sum())


@needs_loans
def test_real_loans() -> None:
    layout = Layout(
        category="purpose",
        time="issue_d",
        reward="pv5",
        amount="funded_amnt",
        required=0.0,
        known="last_pymnt_d",
    )
    past = read(LOANS, layout)
    assert past.clients.amount is not None
    assert (len(past.clients), past.clients.amount.sum()) == (42_535, 460_296_150.0)
    assert accept_all(past) == pytest.approx(13_950_706.24, abs=0.01)
    assert (past.clients.rounds, len(past.clients.names)) == (55, 14)
    assert int((past.clients.known == NEVER_KNOWN).sum()) == 83
    assert past.left_out == []


@needs_calls
def test_real_calls() -> None:
    layout = Layout(
        category="job",
        time=("year", "month", "day"),
        date_format="%Y %b %d",
        reward="y",
        cost=1,
        revenue=10,
    )
    past = read(CALLS, layout)
    clients = past.clients
    assert (len(clients), clients.labels[0], clients.labels[-1], clients.rounds) == (
        45_211,
        "2008-05",
        "2010-11",
        31,
    )
    by_job = clients.profit_by_cell.sum(axis=0) / clients.by_cell().sum(axis=0)
    means = dict(zip(clients.names, by_job.round(2).tolist(), strict=True))
    assert (means["student"], means["retired"], means["blue-collar"]) == (1.87, 1.28, -0.27)


def test_the_family_is_checked_against_the_file(tmp_path: Path) -> None:
    table = {"when": [1, 2, 3, 4], "job": ["a"] * 4, "y": [0.0, 1.0, 0.5, 2.0]}
    past = read(
        write_csv(tmp_path / "a.csv", table),
        Layout(category="job", time="when", reward="y", cost=0.5),
    )
    past.check_rewards(pb.Normal())
    with pytest.raises(
        pb.errors.OutsideSupportError, match=r"a\.csv, row 3, column y = 0\.5 cannot happen"
    ):
        past.check_rewards(pb.Bernoulli())
