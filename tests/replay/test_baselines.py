"""Baselines, against pandas, plain loops and the law of large numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from profitable.past.past import NEVER_KNOWN, SingleClients
from profitable.replay.baselines import (
    HALVES,
    Earned,
    Setup,
    accept_all,
    baselines_for,
    by_promise,
    by_score,
    cross_fitted,
    hindsight,
)
from profitable.replay.replay import Limits, fill

ROUNDS, NAMES = 12, ("a", "b", "c", "d")


def frame_of(seed: int, *, delay: int = 0, per_cell: float = 4.0, by_cell: bool = False) -> Any:
    """Clients with profits around 0; with `by_cell`, all clients of a cell bring the
    same.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for t in range(1, ROUNDS + 1):
        for k in range(len(NAMES)):
            same = rng.normal(0.3 * (k - 1.5), 1.0)
            for _ in range(rng.poisson(per_cell)):
                known = t + int(rng.integers(0, delay + 1))
                rows.append(
                    {
                        "round": t,
                        "category": k,
                        "known": NEVER_KNOWN if delay and rng.random() < 0.1 else known,
                        "profit": same if by_cell else rng.normal(0.2 * (k - 1.5), 1.0),
                        "amount": float(rng.integers(1, 9)),
                        "score": rng.random(),
                        "promised": rng.random(),
                    }
                )
    return pd.DataFrame(rows).sample(frac=1.0, random_state=seed, ignore_index=True)


def clients_of(frame: Any, *more: str) -> SingleClients:
    return SingleClients.of(
        names=NAMES,
        labels=[str(t) for t in range(1, ROUNDS + 1)],
        round=frame["round"],
        category=frame["category"],
        known=frame["known"],
        reward=frame["profit"],
        profit=frame["profit"],
        **{name: frame[name] for name in more},
    )


def back(clients: SingleClients, taken: Sequence[int]) -> Any:
    """The clients as a frame again, with how often each was taken."""
    columns = {
        name: getattr(clients, name)
        for name in ("round", "category", "known", "profit", "amount", "score")
    }
    return pd.DataFrame(
        {name: values for name, values in columns.items() if values is not None} | {"taken": taken}
    )


def by_cell(frame: Any) -> Any:
    table = frame.pivot_table(index="round", columns="category", values="profit", aggfunc="sum")
    return (
        table.reindex(index=range(1, ROUNDS + 1), columns=range(len(NAMES))).fillna(0.0).to_numpy()
    )


# ---------------------------------------------------------------------- without a limit


@pytest.mark.parametrize("weighted", [False, True])
def test_fixed_sets(weighted: bool) -> None:
    frame = frame_of(1)
    clients = clients_of(frame)
    weights = np.random.default_rng(2).poisson(1.0, len(clients)) if weighted else None
    plain = back(clients, np.ones(len(clients), int) if weights is None else weights)
    plain = plain.loc[plain.index.repeat(plain["taken"])]
    setup = Setup(clients, weights)
    found = {name: baseline(setup) for name, baseline in baselines_for(clients, None, None).items()}
    assert list(found) == ["accept all", "accept none", "hindsight, cross-fitted", "hindsight"]
    np.testing.assert_allclose(found["accept all"].table, by_cell(plain), atol=1e-12)
    assert not found["accept none"].table.any()
    totals = plain.groupby("category")["profit"].sum()
    good = totals[totals > 0.0].index
    assert 0 < len(good) < len(NAMES)
    kept = plain.assign(profit=plain["profit"].where(plain["category"].isin(good), 0.0))
    np.testing.assert_allclose(found["hindsight"].table, by_cell(kept), atol=1e-12)
    if not weighted:
        assert found["accept all"].clients() == len(frame)
        assert found["accept none"].clients() == 0.0
        assert found["hindsight"].clients() == frame["category"].isin(good).sum()
    assert np.isnan(found["hindsight, cross-fitted"].clients())


def test_clients_of_cells_that_earn_nothing_are_counted() -> None:
    """A cell with a loss of 0.5 and a gain of 0.5 was accepted, too."""
    clients = SingleClients.of(
        names=("a",), labels=("1", "2"), round=[1, 1, 2], category=[0] * 3, known=[1, 1, 2],
        reward=[0, 1, 1], profit=[-0.5, 0.5, 0.5],
    )  # fmt: skip
    assert hindsight(Setup(clients)).clients() == 3.0


@pytest.mark.statistical
def test_cross_fitting_chooses_on_one_half_and_scores_on_the_other() -> None:
    """The mean over 200 splits, against 200 splits made here; 5 standard errors: one
    false alarm in 10^6.
    """
    frame = frame_of(3, per_cell=1.0)
    ours: list[float] = []
    rng = np.random.default_rng(9)
    for _ in range(200):
        half: Any = pd.Series(rng.random(len(frame)) < 0.5)
        total = 0.0
        for chosen_on, scored_on in ((half, ~half), (~half, half)):
            sums = frame[chosen_on].groupby("category")["profit"].sum()
            total += frame[scored_on & frame["category"].isin(sums[sums > 0.0].index)][
                "profit"
            ].sum()
        ours.append(total)
    theirs = [
        float(cross_fitted(Setup(clients_of(frame), seed=seed, splits=1)).table.sum())
        for seed in range(200)
    ]
    error = (np.var(ours) / 200 + np.var(theirs) / 200) ** 0.5
    assert abs(np.mean(ours) - np.mean(theirs)) < 5.0 * error
    assert np.std(ours) > 0.0
    many = cross_fitted(Setup(clients_of(frame), seed=1, splits=200)).table.sum()
    assert abs(many - np.mean(ours)) < 5.0 * error


def test_halves_do_not_depend_on_when_outcomes_were_known_or_how_rows_are_sorted() -> None:
    frame = frame_of(5, delay=6)
    at_once = clients_of(frame.assign(known=frame["round"]))
    late = clients_of(frame.sample(frac=1.0, random_state=1))
    assert at_once.profit.tolist() != late.profit.tolist()  # rows are in another order
    fitted = [cross_fitted(Setup(each)) for each in (at_once, late)]
    np.testing.assert_allclose(fitted[0].table, fitted[1].table, atol=1e-10)
    assert fitted[0].splits == fitted[1].splits == 200
    halves = [each.draw_half(np.random.default_rng(4)) for each in (at_once, late)]
    for name in ("profit", "round", "category"):
        chosen = [
            np.sort(getattr(each, name)[half])
            for each, half in zip((at_once, late), halves, strict=True)
        ]
        np.testing.assert_array_equal(chosen[0], chosen[1])


def test_splits_are_as_many_as_are_cheap() -> None:
    """At 1 000 rows 200, at 10^6 rows 20; in a replicate 2."""

    def splits(rows: int, **more: Any) -> int:
        one = SingleClients.of(
            names=("a",), labels=("1",), round=np.ones(rows), category=np.zeros(rows),
            known=np.ones(rows), reward=np.zeros(rows), profit=np.zeros(rows),
        )  # fmt: skip
        return Setup(one, **more).number_of_splits

    assert [splits(rows) for rows in (1_000, 100_000, 10**6)] == [200, 200, 20]
    assert splits(50_000, limits=Limits(places=1)) == 20
    assert splits(3, weights=np.ones(3, int)) == 2
    assert splits(3, splits=7) == 7


def test_the_variance_between_splits_is_that_of_single_ones() -> None:
    clients = clients_of(frame_of(6, per_cell=1.0))
    found = cross_fitted(Setup(clients, seed=3))
    rng = np.random.default_rng([3, HALVES])
    totals: list[float] = []
    for _ in range(200):
        half = clients.draw_half(rng)
        one, two = (by_category(clients, chosen) for chosen in (half, ~half))
        totals.append(float(two[one > 0.0].sum() + one[two > 0.0].sum()))
    assert float(found.table.sum()) == pytest.approx(np.mean(totals))
    assert found.split_variance == pytest.approx(np.var(totals, ddof=1))


def by_category(clients: SingleClients, chosen: Any) -> Any:
    return np.bincount(clients.category[chosen], clients.profit[chosen], len(NAMES))


@pytest.mark.statistical
def test_the_luck_of_hindsight_is_gone_after_cross_fitting() -> None:
    """Where every category earns 0 on the average, hindsight earns by luck and
    cross-fitting does not.

    100 files, 5 standard errors: one false alarm in 10^6.
    """
    lucky, fair = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        size = 200
        clients = SingleClients.of(
            names=NAMES,
            labels=("1", "2", "3"),
            round=rng.integers(1, 4, size),
            category=rng.integers(0, 4, size),
            known=np.full(size, 3),
            reward=np.zeros(size),
            profit=rng.normal(size=size),
        )
        lucky.append(float(hindsight(Setup(clients)).table.sum()))
        fair.append(float(cross_fitted(Setup(clients, seed=seed)).table.sum()))
    assert np.mean(lucky) > 5.0 * np.std(lucky) / 10.0
    assert abs(np.mean(fair)) < 5.0 * np.std(fair) / 10.0


@pytest.mark.parametrize(("share", "last"), [(0.01, 1), (0.2, 2), (0.5, 6), (0.99, 12)])
@pytest.mark.parametrize("delay", [0, 5])
def test_learning_then_committing_sees_what_was_known(share: float, last: int, delay: int) -> None:
    frame = frame_of(4, delay=delay)
    found = baselines_for(clients_of(frame), None, share)[f"learn {share:.0%}, then commit"](
        Setup(clients_of(frame))
    )
    seen = (
        frame[(frame["round"] <= last) & (frame["known"] <= last)]
        .groupby("category")["profit"]
        .sum()
    )
    bad = set(seen[seen < 0.0].index)
    kept = frame[(frame["round"] <= last) | ~frame["category"].isin(bad)]
    np.testing.assert_allclose(found.table, by_cell(kept), atol=1e-12)
    assert found.clients() == len(kept)


def test_committing_does_not_look_ahead() -> None:
    frame = frame_of(5, delay=6)
    later = frame.assign(profit=frame["profit"].where(frame["known"] <= 4, -5.0))
    eligible = [
        baselines_for(clients_of(it), None, 1 / 3)["learn 33%, then commit"](
            Setup(clients_of(it))
        ).accepted
        for it in (frame, later)
    ]
    np.testing.assert_array_equal(eligible[0], eligible[1])


# ------------------------------------------------------------------------- with a limit


def test_filling() -> None:
    assert fill(3.0, np.array([2, 2, 2]), None).tolist() == [2, 1, 0]
    assert fill(0.3, np.array([1, 1, 1]), np.full(3, 0.1)).tolist() == [1, 1, 1], (
        "0.1 * 3 is a double above 0.3"
    )
    assert fill(5.0, np.array([1, 0, 1]), np.array([3.0, 9.0, 2.0])).tolist() == [1, 0, 1], (
        "nobody is not too large"
    )
    assert fill(5.0, np.array([1, 1, 1]), np.array([3.0, 3.0, 1.0])).tolist() == [1, 0, 0], (
        "until one does not fit"
    )
    assert fill(1.0, np.array([3, 1]), np.array([0.0, 1.0])).tolist() == [3, 1], (
        "who costs nothing always fits"
    )


@pytest.mark.parametrize("limits", [Limits(places=5), Limits(budget=30.0)], ids=str)
def test_the_highest_scores_first(limits: Limits) -> None:
    frame = frame_of(6)
    clients = clients_of(frame, "score", "amount", "promised")
    for baseline, column in ((by_score, "score"), (by_promise, "promised")):
        expected = np.zeros((ROUNDS, len(NAMES)))
        number = 0
        for (t,), group in frame.groupby(["round"]):
            room = limits.size
            for _, row in group.sort_values(column, ascending=False).iterrows():
                room -= 1.0 if limits.budget is None else row["amount"]
                if room < 0.0:
                    break
                expected[int(t) - 1, int(row["category"])] += row["profit"]
                number += 1
        found = baseline(Setup(clients, None, limits))
        np.testing.assert_allclose(found.table, expected, atol=1e-12)
        assert found.clients() == number


@pytest.mark.statistical
@pytest.mark.parametrize("limits", [Limits(places=5), Limits(budget=2.0)], ids=str)
def test_accepting_all_is_a_fair_lot(limits: Limits) -> None:
    """Mean profit over 150 seeds is that of a client drawn at random; 5 standard
    errors: one false alarm in 10^6.
    """
    frame = frame_of(7)
    clients = clients_of(frame)
    places = 5 if limits.places else 4  # each client costs 0.5
    totals: list[float] = []
    for seed in range(150):
        found = accept_all(Setup(clients, None, limits, price=0.5, seed=seed))
        assert found.taken is not None
        per_round = back(clients, found.taken.tolist()).groupby("round")["taken"].sum()
        assert (per_round == frame["round"].value_counts().sort_index().clip(upper=places)).all()
        totals.append(float(found.table.sum()))
    groups = frame.groupby("round")["profit"]
    expected = float((groups.mean() * groups.size().clip(upper=places)).sum())
    assert abs(np.mean(totals) - expected) < 5.0 * np.std(totals) / 150**0.5


def test_free_clients_fit_any_budget() -> None:
    frame = frame_of(8)
    for price in (0.0, -1.0):
        found = accept_all(Setup(clients_of(frame), None, Limits(budget=0.5), price=price))
        assert found.clients() == len(frame)


def _best_first(frame: Any, rates: Any, places: int) -> Any:
    """Places go to the categories that pay, the best first; all clients of a cell bring
    the same.
    """
    expected = np.zeros((ROUNDS, len(NAMES)))
    for t in range(1, ROUNDS + 1):
        room = places
        for k in rates[rates > 0.0].sort_values(ascending=False).index:
            here = frame[(frame["round"] == t) & (frame["category"] == k)]["profit"]
            some = min(room, len(here))
            expected[t - 1, k] = here.iloc[0] * some if some else 0.0
            room -= some
    return expected


def test_hindsight_with_places() -> None:
    frame = frame_of(10, by_cell=True)
    rates = frame.groupby("category")["profit"].mean()
    assert 1 < (rates > 0.0).sum() < 4
    found = hindsight(Setup(clients_of(frame), None, Limits(places=5)))
    np.testing.assert_allclose(found.table, _best_first(frame, rates, 5), atol=1e-12)
    assert found.taken is not None


@pytest.mark.parametrize("seed", range(8))
def test_cross_fitting_with_places_ranks_by_the_rates_of_a_half(seed: int) -> None:
    """Halves differ in size, and what counts is the profit per client of each half."""
    frame = frame_of(20 + seed, by_cell=True, per_cell=0.5)
    clients = clients_of(frame)
    plain = back(clients, np.ones(len(clients), int))
    expected = np.zeros((ROUNDS, len(NAMES)))
    rng = np.random.default_rng([7, HALVES])
    order = plain.sort_values(["round", "profit", "category"]).index.to_numpy()
    for _ in range(3):
        half = np.empty(len(clients), dtype=bool)
        half[order] = rng.random(len(clients)) < 0.5
        for chosen in (half, ~half):
            rates = plain[chosen].groupby("category")["profit"].mean()
            expected += _best_first(plain, rates, 1) / 6.0
    found = cross_fitted(Setup(clients, None, Limits(places=1), seed=7, splits=3))
    np.testing.assert_allclose(found.table, expected, atol=1e-12)


def test_with_a_limit_the_learner_knows_only_whom_it_took() -> None:
    """Three of a category's four first clients are lost, and one of four fits: it
    commits by the one it took.
    """
    rows = {
        "round": [1] * 4 + [2] * 4 + [3] * 4,
        "profit": [-1.0, -1.0, -1.0, 1.0] + [0.5] * 8,
    }
    names, size = ("a",), len(rows["round"])
    clients = SingleClients.of(
        names=names,
        labels=("1", "2", "3"),
        category=[0] * size,
        known=rows["round"],
        reward=rows["profit"],
        **rows,
    )
    commit = baselines_for(clients, Limits(places=1), 1 / 3)["learn 33%, then commit"]
    seen = {-1.0: 0, 1.0: 0}
    for seed in range(40):
        setup = Setup(clients, None, Limits(places=1), seed=seed)
        first = float(accept_all(setup).table[0, 0])
        found = commit(setup)
        seen[first] += 1
        assert found.table[:, 0].tolist() == ([1.0, 0.5, 0.5] if first > 0.0 else [-1.0, 0.0, 0.0])
    assert min(seen.values()) > 0


def test_which_baselines_there_are() -> None:
    frame = frame_of(12)
    both = clients_of(frame, "score", "promised")
    assert "by score" not in baselines_for(both, None, 0.2)
    with_limit = baselines_for(both, Limits(places=2), 0.2)
    assert list(with_limit)[2:5] == ["learn 20%, then commit", "by score", "by promised reward"]
    assert "by score" not in baselines_for(replace(both, score=None), Limits(places=2), 0.2)


def test_splits_that_choose_the_same_differ_by_rounding_only() -> None:
    """16 241.8 as a mean of 200 equal sums has a variance of 1e-24, and no error."""
    earned = Earned(np.array([[16_241.8]]), splits=200, split_variance=1e-24)
    assert earned.split_error == 0.0
    assert Earned(np.array([[16_241.8]]), splits=4, split_variance=4.0).split_error == 1.0
