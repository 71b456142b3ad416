"""Bands of a score in a backtest: how they are read, who shares, the cut-off table."""

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import profitable as pb
from profitable.errors import ParameterError
from profitable.past.past_notes import MISSING_NAME
from profitable.replay.backtest import prepare
from profitable.replay.backtest_options import ORDERED_POLICIES, demo
from profitable.replay.baselines import BEST_CUTOFF
from profitable.replay.cutoffs import cutoff_places, doubt_order, misfit_tail
from tests.past.tables import SHARED

COLUMNS: dict[str, Any] = {"category": "score:q6", "time": "week", "reward": "repaid"}
MONEY: dict[str, Any] = {"cost": 4.0, "revenue": 5.0}
QUICK: dict[str, Any] = {"replays": 0, "shuffles": 0, "seeds": 1, "progress": False}


def table(seed: int, *, size: int = 1_500, slope: float = 1.2, rounds: int = 25) -> pd.DataFrame:
    """Loans that pay if more than 80 % are repaid, which grows with the score."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=size).round(3)
    chance = 1.0 / (1.0 + np.exp(-1.4 - slope * score))
    return pd.DataFrame(
        {
            "score": score,
            "risk": -score,
            "week": np.sort(rng.integers(1, rounds + 1, size)),
            "repaid": (rng.random(size) < chance).astype(int),
        }
    )


def backtest(frame: Any, **more: Any) -> Any:
    return pb.backtest(frame, **(COLUMNS | MONEY | QUICK | more))


# ----------------------------------------------------------------------------- reading


def test_bands_with_names_are_listed_because_they_are_sorted_by_name() -> None:
    """Nobody knows that "high" comes before "low", unless it is said."""
    frame = table(1).assign(grade=lambda each: np.where(each.score > 0, "high", "low"))
    for order, said in (("rising", "high, low"), ("falling", "low, high")):
        found = prepare(frame, COLUMNS | MONEY | {"category": "grade", "order": order})[0]
        assert f"the bands of grade, from the lowest up: {said}" in found.notes
    plain = prepare(frame, COLUMNS | MONEY | {"category": "grade"})[0]
    assert not any("the bands of grade" in note for note in plain.notes)


def test_bands_stand_from_the_lowest_mean_to_the_highest() -> None:
    frame = table(1)
    rising = backtest(frame, order="rising", policies=["kl-ucb"])
    falling = backtest(frame, category="risk:q6", order="falling", policies=["kl-ucb"])
    for found in (rising, falling):
        fits = [band.mean for band in found.cutoff.rows]
        assert all(low < high for low, high in pairwise(fits[::2]))
        assert {category.order for category in found.terms.categories} == {found.past.order}
    assert rising.past.order == "score"
    assert falling.past.order == "risk"
    # Edges belong to the other side, so that single clients may change their band.
    assert falling["kl-ucb"].profit == pytest.approx(rising["kl-ucb"].profit, rel=0.2)


def test_grades_are_bands_and_who_has_none_is_free() -> None:
    frame = table(2)
    frame["grade"] = pd.cut(-frame.score, 4, labels=list("ABCD")).astype(object)
    frame.loc[::10, "grade"] = None
    found = backtest(frame, category="grade", order="falling", policies=["optimal:horizon"])
    orders = [(each.name, each.order) for each in found.terms.categories]
    assert orders == [*((name, "grade") for name in "DCBA"), (MISSING_NAME, None)]
    assert [band.name for band in found.cutoff.rows] == list("DCBA")
    assert found.past.bands.tolist() == [0, 1, 2, 3]
    counts = frame.grade.value_counts()
    assert [band.clients for band in found.cutoff.rows] == [int(counts[name]) for name in "DCBA"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"order": "up"}, "give rising if a higher value is better, or falling if it is riskier"),
        (
            {"order": "rising", "category": ["score:q6", "week"]},
            "needs one column, and category crosses several",
        ),
        (
            {"order": "rising", "policies": ["kl-ucb+"]},
            "bands cannot share its evidence; choose kl-ucb, bayes-ucb, ts or optimal",
        ),
        ({"order": "rising", "family": "normal"}, "whose spread each band estimates for itself"),
    ],
)
def test_what_cannot_be_shared_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        backtest(table(1), **more)


def test_orders_and_hazards_are_refused_with_the_reason() -> None:
    hazards = {"amount": "lent", "term": 12, "rate": 0.1, "defaulted": "d", "closed": "c"}
    with pytest.raises(ParameterError, match="bands share the evidence of rewards, and loans that"):
        pb.backtest({}, category="score:q6", time="week", order="rising", **hazards)


def test_cells_have_no_order() -> None:
    with pytest.raises(ParameterError, match="cells do not keep the order"):
        pb.backtest.cells(
            table(1), **(COLUMNS | MONEY | {"category": "score:0,1", "order": "rising"})
        )


def test_rewards_of_no_shape_get_bounds_because_spreads_are_not_shared() -> None:
    frame = table(3)
    frame["repaid"] = frame.repaid + np.random.default_rng(3).normal(0.0, 0.3, len(frame))
    alone, together = (
        backtest(frame, order=order, policies=["kl-ucb"]) for order in (None, "rising")
    )
    assert alone.terms.family == pb.Normal()
    assert isinstance(together.terms.family, pb.Bounded)
    assert "each estimates its own spread" in together.terms.reason


# ----------------------------------------------------------------------------- sharing


def test_ordered_policies_are_tried_beside_themselves_alone() -> None:
    frame = table(4)
    assert len(ORDERED_POLICIES) == 4
    found = backtest(frame, order="rising")
    assert [entry.name for entry in found.policies] == list(ORDERED_POLICIES)
    alone = backtest(frame, policies=[name for name in ORDERED_POLICIES if "trust" not in name])
    for name in ("kl-ucb", "bayes-ucb"):
        assert found[f"{name}:trust=0"].profit == alone[name].profit
        assert (found[f"{name}:trust=0"].accepted == alone[name].accepted).all()
    assert any(found[name].profit != alone[name].profit for name in ("kl-ucb", "bayes-ucb"))


@pytest.mark.parametrize(("more", "matures"), [({"known": "then"}, 5), ({"matures": 3}, 3)])
def test_bands_with_late_outcomes_are_judged_alone_at_maturity(
    more: dict[str, Any], matures: int
) -> None:
    frame = table(5)
    frame["then"] = frame.week + 1 + frame.repaid * 4
    policies = ["kl-ucb", "ts", "kl-ucb+"]
    found = backtest(frame, order="rising", policies=policies, **more)
    alone = backtest(frame, policies=policies, matures=matures)
    said = "outcomes count 5 rounds after the client asked, when 95 % of those who lose and"
    assert any(said in note for note in found.past.notes) == ("known" in more)
    assert [entry.profit for entry in found.policies] == [entry.profit for entry in alone.policies]
    assert {category.order for category in found.terms.categories} == {None}
    [said] = [text for text in found.warnings() if "judged alone" in text]
    assert "outcomes come late" in said
    assert found.cutoff is not None  # of all outcomes, however late
    _, options = prepare(frame, COLUMNS | MONEY | {"order": "rising"} | more)
    assert not any("trust" in str(policy) for policy in options.tried)


def test_sharing_helps_where_bands_are_many_and_clients_few() -> None:
    """Twelve bands of fifty clients each, in 40 portfolios."""
    gained: list[float] = []
    for seed in range(40):
        found = backtest(
            table(100 + seed, size=600),
            category="score:q12",
            order="rising",
            policies=["kl-ucb", "kl-ucb:trust=0"],
        )
        gained.append(found["kl-ucb"].profit - found["kl-ucb:trust=0"].profit)
    assert np.mean(gained) > 3.0 * np.std(gained, ddof=1) / math.sqrt(len(gained))


# ------------------------------------------------------------------------ the misfit


def test_a_misfit_has_the_law_of_equal_means() -> None:
    rng = np.random.default_rng(0)

    def misfit(values: Any) -> float:
        """Pool adjacent violators, in words."""
        blocks: list[list[float]] = []
        for value in values:
            blocks.append([value, 1.0])
            while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
                (a, n), (b, m) = blocks[-2:]
                blocks[-2:] = [[(a * n + b * m) / (n + m), n + m]]
        fit = np.concatenate([[mean] * int(n) for mean, n in blocks])
        return float(((values - fit) ** 2).sum())

    for bands in (2, 5, 8):
        found = np.array([misfit(values) for values in rng.normal(size=(4_000, bands))])
        for edge in (1.0, 4.0, 9.0):
            chance = misfit_tail(edge, bands)
            error = math.sqrt(chance * (1.0 - chance) / found.size)
            assert abs((found >= edge).mean() - chance) < 4.0 * error
    assert misfit_tail(4.0, 2) == pytest.approx(0.5 * stats.chi2.sf(4.0, 1))
    assert misfit_tail(0.0, 3) == pytest.approx(1.0 - 1.0 / 6.0)  # all in order: one in six


def doubts(frame: Any, **more: Any) -> list[str]:
    past, _ = prepare(frame, COLUMNS | MONEY | {"order": "rising"} | more)
    return doubt_order(past)


def test_a_warning_where_the_means_are_not_ordered() -> None:
    assert sum(bool(doubts(table(seed))) for seed in range(60)) == 0
    assert sum(bool(doubts(table(seed, slope=0.0))) for seed in range(60)) <= 2
    [said] = doubts(table(1), order="falling")
    assert "the profit per client is not ordered by score" in said
    assert "A price that follows the risk can cause it" in said
    found = backtest(table(1), order="falling", policies=["kl-ucb"])
    assert said in found.warnings()


def test_prices_that_follow_the_risk_are_found_by_money_too() -> None:
    """Safe loans return 1.01 and risky ones 1.05: the return falls with the score."""
    frame = table(6, size=4_000)
    frame["lent"] = np.random.default_rng(6).integers(1, 5, len(frame)) * 100.0
    frame["back"] = frame.lent * np.where(frame.score > 0, 1.01, 1.05)
    more = {"amount": "lent", "cost": None, "revenue": 1.0, "reward": "back"}
    [said] = doubts(frame, **more)
    assert "the profit per unit of money is not ordered" in said
    frame["back"] = frame.lent * np.where(frame.score > 0, 1.05, 1.01)
    assert doubts(frame, **more) == []


def test_one_band_has_an_order() -> None:
    frame = table(1)
    frame["score"] = 1.0
    assert doubts(frame) == []
    assert backtest(frame, order="rising", policies=["kl-ucb"])["kl-ucb"].clients > 0


# ------------------------------------------------------------------- tables, pictures


def test_the_table_has_the_profits_of_the_file() -> None:
    frame = table(7)
    found = backtest(frame, order="rising", policies=["kl-ucb"])
    bands = found.cutoff.rows
    profit = 5.0 * frame.repaid.sum() - 4.0 * len(frame)
    assert bands[0].profit == pytest.approx(profit) == pytest.approx(found["accept all"].profit)
    cuts = [band.profit for band in bands]
    assert found[BEST_CUTOFF].profit == pytest.approx(max(cuts))
    assert found.cutoff.best == bands[int(np.argmax(cuts))].name
    assert sum(band.clients for band in bands) == len(frame)
    frame["lent"] = np.random.default_rng(1).integers(1, 5, len(frame)) * 100.0
    frame["back"] = frame.lent * frame.repaid * 1.25
    more = {"amount": "lent", "cost": None, "revenue": 1.0, "reward": "back"}
    lent = backtest(frame, order="rising", policies=["kl-ucb"], **more)
    assert lent.cutoff.rows[0].profit == pytest.approx((frame.back - frame.lent).sum())


def test_cutoffs_over_time() -> None:
    decided = np.array([[True, True], [False, True], [True, False], [False, False]])
    assert cutoff_places(decided).tolist() == [0.0, 1.0, 2.0, 2.0]
    found = backtest(table(8), order="rising", policies=["kl-ucb", "optimal:horizon"]).to_dict()
    over_time = {each["policy"]: each for each in found["cutoff"]["over_time"]}
    assert over_time["kl-ucb"]["cutoff"][0] == 0.0  # the first round accepts everybody
    assert max(over_time["kl-ucb"]["cutoff"]) > 0.0
    assert len(over_time["optimal:horizon"]["cutoff"]) == 25
    json.dumps(found, allow_nan=False)


def test_the_page_draws_them(tmp_path: Any) -> None:
    found = backtest(table(9), order="rising", policies=["kl-ucb", "kl-ucb:trust=0"])
    page = found.save(tmp_path).read_text()
    assert 'id="cutoff"' in page
    assert found.cutoff.sentence() in page
    assert (tmp_path / "bands.svg").stat().st_size > 5_000
    assert (tmp_path / "cutoff.svg").stat().st_size > 5_000
    assert str(found.cutoff) in str(found)
    plain = backtest(table(9), policies=["kl-ucb"])
    assert 'id="cutoff"' not in plain.save(tmp_path).read_text()
    assert not (tmp_path / "bands.svg").exists()
    assert plain.to_dict()["cutoff"] is None
    assert "Cut-offs" not in str(plain)


# -------------------------------------------------------------------------- real files


def test_the_demo_by_duration_gains_from_sharing() -> None:
    """Longer loans are repaid less often; 20 orders of the real clients."""
    path, layout = demo()
    given = layout.to_dict() | {"category": "duration:q8", "order": "falling"}
    policies = ["kl-ucb", "kl-ucb:trust=0", "optimal:horizon", "optimal:horizon,trust=0"]
    found = pb.backtest(path, **given, **(QUICK | {"shuffles": 20}), policies=policies)
    assert doubt_order(found.past) == []
    shuffled: dict[str, Any] = {entry.name: entry.shuffled for entry in found.policies}
    for name in ("kl-ucb", "optimal:horizon"):
        alone = shuffled[f"{name}{',' if ':' in name else ':'}trust=0"]
        assert shuffled[name].difference > alone.difference


@pytest.mark.skipif(not SHARED.exists(), reason="the real portfolios are not here")
def test_the_return_of_real_loans_is_not_ordered_by_grade() -> None:
    loans = pd.read_csv(SHARED / "lendingclub_2007_2011.csv.gz")
    columns = {
        "category": "grade",
        "order": "falling",
        "time": "issue_d",
        "reward": "pv5",
        "amount": "funded_amnt",
        "known": "last_pymnt_d",
    }
    found = pb.backtest(loans, **columns, **QUICK, policies=["kl-ucb"])
    said = " ".join(found.warnings())
    assert "the profit per unit of money is not ordered by grade" in said
    assert "bands are judged alone, because outcomes come late" in said
    assert found.cutoff is not None
    assert [band.name for band in found.cutoff.rows] == list("GFEDCBA")
    assert found.cutoff.rows[0].profit == pytest.approx(13_950_706.24)
    # As outcomes come, it loses 6.7 million against accepting everybody.
    assert found["kl-ucb"].profit == pytest.approx(13_950_706.24)
