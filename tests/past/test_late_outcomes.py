"""Late outcomes: at maturity where dates are far, as they come only if asked for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.past.late_outcomes import LateOutcomes, age_of_all, ages_at_maturity
from profitable.past.layout import Layout
from profitable.past.past import NEVER_KNOWN, Past, SingleClients
from profitable.past.read import read

COLUMNS: dict[str, Any] = {"category": "group", "time": "month", "known": "then"}
BACK: dict[str, Any] = {**COLUMNS, "reward": "back", "amount": "lent"}


def loans(rounds: int = 40, size: int = 4_000, gains: int = 12, seed: int = 1) -> pd.DataFrame:
    """Two groups of loans that both pay; losses are known within three rounds."""
    rng = np.random.default_rng(seed)
    month, lost = rng.integers(1, rounds + 1, size), rng.random(size) < 0.1
    return pd.DataFrame(
        {
            "month": month,
            "group": rng.choice(["cars", "trips"], size),
            "lent": rng.choice([100.0, 1_000.0], size),
            "then": month + np.where(lost, rng.integers(1, 4, size), gains),
            "share": np.where(lost, 0.3, 1.2),
        }
    ).assign(back=lambda frame: frame.lent * frame.share)


def past_of(frame: pd.DataFrame, **more: Any) -> Past:
    return read(frame, Layout(**(BACK | more)))


def test_far_dates_count_at_maturity_and_the_reader_is_told() -> None:
    past = past_of(loans())
    assert past.treatment == "at maturity"
    assert past.late.ages is not None
    assert past.late.ages.tolist() == [12] * 40
    assert past.learns_from == 13
    counts = loans()[["month", "then"]].assign(at=lambda each: each.month + 12).max(axis=1)
    assert past.late.share == pytest.approx((counts < 40).mean())
    [note] = [text for text in past.notes if "at maturity" in text or "outcomes count" in text]
    assert note.startswith("outcomes count 12 rounds after the client asked, when 95 % of those")
    assert "late = 'as they come' counts them naively" in note


def test_losses_before_gains_lose_nothing_unless_counted_as_they_come() -> None:
    """Both groups pay.  As they come, the first outcomes are losses."""
    run: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    usual, naive = (
        pb.backtest(loans(), **BACK, **run, **more)
        for more in (dict[str, Any](), {"late": "as they come"})
    )
    assert usual["kl-ucb"].difference.middle == 0.0
    assert naive["kl-ucb"].difference.middle < -0.1 * naive["accept all"].profit
    assert naive.past.treatment == "as they come"
    share = f"{100.0 * usual.past.late.share:.0f} % before the last round."
    counted = "They count at maturity, 12 rounds after the client asked, "
    assert usual.first_line.endswith(counted + share)
    assert "They count as they come, as asked for" in naive.first_line
    assert any("are 12 rounds old, not before" in text for text in usual.assumptions())
    by_user = pb.backtest(loans(), **BACK, **run, matures=12)
    assert (by_user["kl-ucb"].accepted == usual["kl-ucb"].accepted).all()


def test_cells_are_treated_as_their_rows() -> None:
    frame = loans().assign(id=range(4_000))
    rows = past_of(frame)
    cells = pb.backtest.cells(frame, id="id", **BACK)
    assert cells.past.treatment == "at maturity"
    assert cells.past.late.ages is not None
    assert rows.late.ages is not None
    assert cells.past.late.ages.tolist() == rows.late.ages.tolist()
    assert cells.past.late.share == pytest.approx(rows.late.share)
    run: dict[str, Any] = {"policies": "kl-ucb", "replays": 0}
    assert pb.backtest(cells, **run)["kl-ucb"].profit == pytest.approx(
        pb.backtest(frame, **BACK, **run, shuffles=0)["kl-ucb"].profit
    )


def test_outcomes_of_the_next_round_need_no_treatment() -> None:
    frame = loans(gains=1)
    frame["then"] = frame.month + 1
    past = past_of(frame)
    assert (past.treatment, past.late.is_late, past.late.notes) == ("as they come", False, [])
    assert past_of(frame, late="at maturity").treatment == "at maturity"
    assert past_of(frame, known=None).treatment == "at once"


def test_a_few_late_gains_are_enough() -> None:
    """Three of a hundred clients gain, twelve rounds later: 97 % are known at once, and
    look like losses.
    """
    frame = loans()
    gains = np.random.default_rng(2).random(len(frame)) < 0.03
    frame["back"] = np.where(gains, 50.0, 0.0) * frame.lent
    frame["then"] = frame.month + np.where(gains, 12, 0)
    past = past_of(frame)
    assert past.treatment == "at maturity"
    assert past.late.ages is not None
    assert set(past.late.ages.tolist()) == {12}


def test_a_straggler_moves_nothing() -> None:
    frame = loans()
    frame.loc[7, "then"] = 1_000
    frame.loc[8, "then"] = None
    past = past_of(frame)
    assert past.late.ages is not None
    assert set(past.late.ages.tolist()) == {12}


def test_vintages_have_their_own_ages() -> None:
    """From round 21 on, loans run for 30 rounds instead of 12."""
    frame = loans()
    longer = (frame.month > 20) & (frame.back > frame.lent)
    frame.loc[longer, "then"] = frame.month[longer] + 30
    past = past_of(frame)
    assert past.late.ages is not None
    ages = past.late.ages.tolist()
    assert ages[:18] == [12] * 18
    assert ages[20:] == [30] * 20  # rounds in between may share a block
    assert past.late.span == "12 to 30 rounds"


@pytest.mark.parametrize("weight", ["money", "client"])
def test_at_maturity_is_as_they_come_of_clients_known_then(weight: str) -> None:
    """The dates moved by hand, to 12 rounds or later 20, and counted naively."""
    frame = loans()
    lost = frame.back < frame.lent
    worse = (frame.group == "trips") & (np.random.default_rng(6).random(len(frame)) < 0.5)
    frame["back"] = np.where(worse, 0.4, 1.0) * frame.back
    later = (frame.month > 20) & ~lost
    frame.loc[later, "then"] = frame.month[later] + 20
    usual = pb.backtest(
        frame, **BACK, weight=weight, policies=["kl-ucb", "bayes-ucb"], replays=0, shuffles=0
    )
    assert usual.past.late.ages is not None
    age = usual.past.late.ages[frame.month - 1]
    assert set(age) == {12, 20}
    moved = frame.assign(then=np.maximum(frame.then, frame.month + age))
    naive = pb.backtest(
        moved,
        **BACK,
        weight=weight,
        late="as they come",
        family=usual.terms.family,
        policies=["kl-ucb", "bayes-ucb"],
        replays=0,
        shuffles=0,
    )
    for one, other in zip(usual.policies, naive.policies, strict=True):
        assert one.accepted is not None
        np.testing.assert_array_equal(one.accepted, other.accepted)
        assert 0 < one.accepted.sum() < one.accepted.size


def test_where_nothing_matures_nothing_is_learnt() -> None:
    past = past_of(loans(gains=40))
    assert (past.treatment, past.learns_from, past.late.share) == ("at maturity", None, 0.0)


def test_loans_that_are_not_in_the_file_yet_are_allowed_for() -> None:
    """Gains take 20 to 30 rounds, and what is not known by round 40 is left out."""
    rng = np.random.default_rng(5)
    month, age = 40 - rng.geometric(0.15, 200_000), rng.integers(20, 31, 200_000)
    month, age = month[month > 0], age[month > 0]
    there = month + age <= 40
    month, age = month[there], age[there]
    assert np.quantile(age, 0.95, method="inverted_cdf") == 29
    assert age_of_all(month, age, np.ones(age.size), 40) == 30
    young = ages_at_maturity(month, age, np.ones(age.size), age > 0, 40)
    assert (young[:5] == 30).all()
    assert (young[12:] == 30).all()  # not the 20 of the few whose outcome is there


def test_ages_are_quantiles_of_the_losing_and_of_the_gaining() -> None:
    rng = np.random.default_rng(3)
    asked, gains = rng.integers(1, 6, 3_000), rng.random(3_000) < 0.4
    age = np.where(gains, rng.geometric(0.1, 3_000), rng.geometric(0.3, 3_000)) - 1
    asked[:5] = [1, 2, 3, 4, 5]
    age[:5] = 400  # so that all others could have been seen
    found = ages_at_maturity(asked, age, np.ones(3_000), gains, 5)
    for t in range(1, 6):
        wanted = max(
            np.quantile(age[(asked == t) & group], 0.95, method="inverted_cdf")
            for group in (gains, ~gains)
        )
        assert found[t - 1] == wanted
    twice = ages_at_maturity(asked, age, np.full(3_000, 2.0), gains, 5)
    assert (twice == found).all()


@pytest.mark.parametrize(
    ("more", "treatment", "first"),
    [
        ({"matures": 20}, "at maturity", 21),
        ({"matures": 20, "emerges": "evenly", "promised": 1.2}, "by age", 1),
        ({"open_value": 1.2}, "open value", 1),
        ({"late": "as they come"}, "as they come", 2),
        ({"late": "at maturity"}, "at maturity", 13),
    ],
)
def test_what_the_user_chose_stays(more: dict[str, Any], treatment: str, first: int) -> None:
    past = past_of(loans(), **more)
    assert (past.treatment, past.learns_from) == (treatment, first)
    assert not past.late.is_chosen
    assert past.late.is_late
    assert past.late.notes == []


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"late": "soon"}, "late = 'soon' is unknown; choose from hazards, at maturity"),
        ({"late": "hazards"}, "late = 'hazards' is given without defaulted"),
        ({"late": "as they come", "matures": 3}, "is given with matures or open_value"),
        ({"late": "at maturity", "open_value": 1.0}, "contradicts emerges and open_value"),
        ({"late": "at maturity", "known": None}, "is given without defaulted or known or matures"),
        (
            {"late": "as they come", "known": None, "defaulted": "then", "closed": "then"},
            "cannot be combined with defaulted",
        ),
    ],
)
def test_treatments_that_contradict_the_columns(more: dict[str, Any], match: str) -> None:
    loan = {"term": 12, "rate": 0.1} if "defaulted" in more else {}
    with pytest.raises(InputError) as caught:
        Layout(**(BACK | loan | more))
    assert match in str(caught.value)


def test_shuffled_time_keeps_what_is_never_known() -> None:
    past = past_of(loans())
    assert isinstance(past.clients, SingleClients)
    never = np.where(past.clients.reward > 1.0, NEVER_KNOWN, past.clients.known)
    clients = replace(past.clients, known=never.astype(np.int32))
    mixed = clients.shuffled(1, 1)
    assert (mixed.known == NEVER_KNOWN).sum() == (clients.known == NEVER_KNOWN).sum()
    late = LateOutcomes.of(past.clients.shuffled(1, 1), past.layout)
    assert late.ages is not None
    assert set(late.ages.tolist()) == {12}


def test_the_baseline_that_learns_first_waits_for_maturity() -> None:
    """By round 8 of 40 only losses are known: as they come, it refuses everything."""
    run: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
    usual, naive = (
        pb.backtest(loans(), **BACK, **run, **more)["learn 20%, then commit"]
        for more in (dict[str, Any](), {"late": "as they come"})
    )
    assert usual.difference.middle == 0.0
    assert naive.difference.middle < 0.0


@pytest.mark.parametrize("seen", ["gains", "losses"])
def test_dates_of_one_side_only_are_a_warning(seen: str) -> None:
    """Policies would learn from gains only, or from losses only."""
    frame = loans().astype({"then": "Int64"})
    side = frame.share > 1.0
    frame.loc[side != (seen == "gains"), "then"] = None
    [said] = past_of(frame).warnings
    assert f"so that policies learn from {seen} only" in said
    assert not past_of(loans()).warnings
