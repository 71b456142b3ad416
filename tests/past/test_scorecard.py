"""Scorecards: fitted to the first clients, and blind to what came later."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.errors import InputError, ParameterError
from profitable.past.past import Past
from profitable.past.scorecard import ColumnValues, banded_by_score, fit_scores
from profitable.replay.backtest import prepare
from profitable.replay.backtest_options import demo

sklearn = pytest.importorskip("sklearn", reason="the extra bands is not installed")

COLUMNS: dict[str, Any] = {
    "scorecard": "income,debt,job",
    "fitted": 0.25,
    "bands": 6,
    "time": "week",
    "reward": "repaid",
    "known": "then",
    "cost": 4.0,
    "revenue": 5.0,
}
QUICK: dict[str, Any] = {"replays": 0, "shuffles": 0, "seeds": 1, "progress": False}
WEEKS, LAST = 20, 5  # of them, the scorecard sees 5


def table(seed: int, *, late: int = 0, size: int = 1_600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income, debt = rng.normal(3.0, 1.0, size).round(2), rng.exponential(1.0, size).round(2)
    job = rng.choice(["clerk", "cook", "smith"], size)
    chance = 1.0 / (1.0 + np.exp(-(0.9 * income - 0.8 * debt - 1.0 + (job == "smith"))))
    week = np.sort(rng.integers(1, WEEKS + 1, size))
    return pd.DataFrame(
        {
            "income": np.where(rng.random(size) < 0.05, np.nan, income),
            "debt": debt,
            "job": job,
            "week": week,
            "then": week + rng.integers(0, late + 1, size),
            "repaid": (rng.random(size) < chance).astype(int),
        }
    )


def read(frame: Any, **more: Any) -> Past:
    return prepare(frame, COLUMNS | more)[0]


def bands_of(past: Past) -> list[tuple[int, int, int]]:
    """Round, known round and band of each client, whatever the outcome."""
    clients = past.clients
    return sorted(
        zip(clients.round.tolist(), clients.known.tolist(), clients.category.tolist(), strict=True)
    )


def test_outcomes_that_were_known_later_change_no_band() -> None:
    """Noise in all outcomes that nobody knew when the scorecard was fitted."""
    frame = table(1, late=4)
    noisy = frame.copy()
    later = frame.then > LAST
    assert 0 < (later & (frame.week <= LAST)).sum() < (frame.week <= LAST).sum()
    noisy.loc[later, "repaid"] = np.random.default_rng(2).integers(0, 2, int(later.sum()))
    first, second = read(frame), read(noisy)
    assert bands_of(first) == bands_of(second)
    assert first.clients.names == second.clients.names
    assert first.clients.reward.sum() != second.clients.reward.sum()
    changed = frame.copy()
    changed.loc[~later, "repaid"] = 1 - frame.repaid
    assert bands_of(read(changed)) != bands_of(first)


def test_clients_who_ask_later_change_nobody_else_s_band() -> None:
    frame = table(3)
    richer = frame.copy()
    richer.loc[frame.week == WEEKS, ["income", "debt"]] = [99.0, 0.0]
    richer.loc[frame.week == WEEKS, "job"] = "baker"
    first, second = (
        [each for each in bands_of(read(given)) if each[0] < WEEKS - LAST]
        for given in (frame, richer)
    )
    assert first == second


def test_decisions_up_to_a_round_do_not_depend_on_what_came_after_it() -> None:
    frame = table(4)
    noisy = frame.copy()
    noisy.loc[frame.week > 12, "repaid"] = 0
    found = [
        pb.backtest(each, **COLUMNS, **QUICK, policies=["optimal", "ts"]) for each in (frame, noisy)
    ]
    for name in ("optimal", "ts"):
        one, other = (np.asarray(each[name].decided) for each in found)
        np.testing.assert_array_equal(one[: 13 - LAST], other[: 13 - LAST])


def test_the_first_clients_are_left_out_and_counted() -> None:
    frame = table(5)
    past = read(frame)
    assert len(past.clients) == (frame.week > LAST).sum()
    assert past.clients.labels == tuple(str(week) for week in range(LAST + 1, WEEKS + 1))
    assert past.order == "scorecard"
    assert past.layout.order == "rising"
    assert past.notes[0] == (
        f"the scorecard is fitted to {(frame.week <= LAST).sum()} clients whose outcomes were "
        f"known by 5; the {(frame.week <= LAST).sum()} clients who asked until then are not "
        "replayed"
    )
    expected = 5.0 * frame.repaid[frame.week > LAST].sum() - 4.0 * (frame.week > LAST).sum()
    assert past.clients.profit.sum() == pytest.approx(expected)


def test_the_bands_of_a_good_scorecard_are_in_order() -> None:
    past = read(table(6, size=8_000))
    clients = past.clients
    means = np.bincount(clients.category, clients.reward) / np.bincount(clients.category)
    assert (np.diff(means) > 0.0).all()
    assert means[-1] - means[0] > 0.4
    sizes = np.bincount(clients.category) / len(clients)
    assert sizes == pytest.approx(1.0 / 6.0, abs=0.05)
    assert past.clients.names[0].startswith("scorecard < 0.")


def test_scores_are_those_of_a_regression_by_hand() -> None:
    """The first-order condition of the penalised likelihood, whatever the solver."""
    rng = np.random.default_rng(7)
    values, pays = rng.normal(2.0, 3.0, 400), rng.random(400) < 0.6
    first = np.arange(400) < 300
    column = ColumnValues("x")
    column.add(values)
    scores = fit_scores([column], pays, first)
    x = (values - values[first].mean()) / values[first].std()
    logit = np.log(scores / (1.0 - scores))
    slope, constant = np.polyfit(x, logit, 1)
    np.testing.assert_allclose(logit, slope * x + constant, atol=1e-9)
    gap = (scores - pays)[first]
    assert gap.sum() == pytest.approx(0.0, abs=1e-2)
    assert (gap * x[first]).sum() + slope == pytest.approx(0.0, abs=1e-2)  # C = 1


def test_texts_and_missing_values() -> None:
    frame = table(8)
    frame.loc[frame.week > LAST, "job"] = frame.job.where(frame.week % 2 == 0, "new job")
    past = read(frame)
    assert len(past.clients) == (frame.week > LAST).sum()
    texts = frame.astype({"debt": str})
    assert bands_of(read(texts)) == bands_of(past)  # numbers in a file of texts


def test_bands_are_cut_where_the_first_clients_are() -> None:
    scores = np.concatenate([np.linspace(0.1, 0.5, 9), np.full(50, 0.9)])
    first = np.arange(scores.size) < 9
    codes, names = banded_by_score(scores, first, 3)
    assert names == ("scorecard < 0.25", "scorecard 0.25-0.4", "scorecard >= 0.4")
    assert np.bincount(codes[first]).tolist() == [3, 3, 3]
    assert set(codes[~first].tolist()) == {2}


@pytest.mark.parametrize("pair", [(0.0319, 0.9836), (0.7034, 0.9356), (0.1, 0.2)])
def test_clients_of_two_scores_are_two_bands(pair: tuple[float, float]) -> None:
    """A rounded cut point must not lie above the score that it was made of."""
    scores = np.repeat(pair, (40, 60))
    codes, names = banded_by_score(scores, np.ones(100, dtype=bool), 10)
    assert codes.tolist() == [0] * 40 + [1] * 60
    assert len(names) == 2


def test_rare_outcomes_are_banded_finely_enough() -> None:
    scores = np.linspace(1.0e-4, 9.0e-4, 90)
    codes, names = banded_by_score(scores, np.ones(90, dtype=bool), 5)
    assert np.bincount(codes, minlength=5).min() > 10
    assert len(set(names)) == 5


def test_a_scorecard_that_knows_the_outcome_is_named() -> None:
    frame = table(8)
    frame["collected"] = frame.repaid * 3 + 1
    found = pb.backtest(frame, **(COLUMNS | {"scorecard": "collected"}), **QUICK, policies=["ts"])
    assert any("predicts the outcome almost perfectly" in text for text in found.warnings())
    fair = pb.backtest(frame, **COLUMNS, **QUICK, policies=["ts"])
    assert not any("predicts the outcome" in text for text in fair.warnings())


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"category": "job"}, ParameterError, "cannot be combined with category"),
        ({"scorecard": None}, ParameterError, "category = .* is missing"),
        ({"scorecard": "income,income"}, ParameterError, "names a column twice"),
        ({"scorecard": "income,dept"}, InputError, "did you mean debt"),
        ({"fitted": 1.0}, ParameterError, "is not a share of the rounds"),
        ({"fitted": 0.01}, InputError, "of .* clients whose outcomes were known"),
        ({"cost": 0.0}, InputError, "cannot be fitted: of"),
        ({"bands": 1}, ParameterError, "bands = 1"),
        ({"order": "falling"}, ParameterError, "order = 'falling' is given with scorecard"),
        ({"scorecard": "income,repaid"}, InputError, "'repaid' is known only after"),
        ({"scorecard": "then,income"}, InputError, "'then' is known only after"),
        ({"scorecard": "same"}, InputError, "'same' gives all clients the same score"),
    ],
)
def test_mistakes(more: dict[str, Any], error: type[Exception], said: str) -> None:
    given = COLUMNS | more
    if given["scorecard"] is None:
        given |= {"fitted": 0.3, "bands": 10}
    frame = table(9, size=300).assign(same=1)
    with pytest.raises(error, match=said):
        pb.backtest(frame, **given, **QUICK)


def test_german_credit_by_a_scorecard_gains_from_sharing() -> None:
    """A cold start in 20 orders of the real clients: a third of what is possible."""
    path, layout = demo()
    given = layout.to_dict() | {
        "category": "",
        "scorecard": "checking,savings,purpose,duration,amount",
    }
    policies = ["optimal:horizon", "optimal:horizon,trust=0"]
    found = pb.backtest(path, **given, **(QUICK | {"shuffles": 20}), policies=policies)
    together, alone = (found[name].shuffled for name in policies)
    assert together is not None
    assert alone is not None
    possible = found["best cut-off, cross-fitted"].profit
    gained = (together.difference - alone.difference) / possible
    error = math.hypot(together.error, alone.error) / possible
    assert gained > 3.0 * error
    assert gained == pytest.approx(6.6 / 19.3, abs=4.0 * error)
