"""Cut-off tables: what a band and all above it earn, and where to cut."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.agent.cutoff_table import CutoffTable, cutoff_table
from profitable.common.types import FloatArray
from profitable.errors import ProfitableWarning, UnknownCategoryError
from profitable.kernels.order import BandRow, new_bands
from profitable.kernels.order_fit import fit_intervals

NAMES = ("low", "middle", "high")
THRESHOLD = 0.8


def agent_of(
    clients: tuple[int, ...],
    totals: tuple[int, ...],
    *,
    policy: str = "kl-ucb",
    threshold: float = THRESHOLD,
) -> pb.Agent:
    agent = pb.Agent(
        [
            pb.Category(name, pb.Bernoulli(), threshold=threshold, worth=10.0)
            for name, _ in zip(NAMES, clients, strict=True)
        ],
        policy=policy,
    )
    for name, n, s in zip(NAMES, clients, totals, strict=True):
        if n:
            agent.observe(name, count=n, total=s)
    return agent


def table_of(agent: pb.Agent, applicants: FloatArray | None = None) -> CutoffTable:
    return cutoff_table(
        agent.ledger,
        "score",
        np.arange(len(agent)),
        decision=agent.preview(),
        applicants=applicants,
    )


def test_a_row_adds_up_itself_and_all_above() -> None:
    table = table_of(agent_of((40, 50, 30), (26, 42, 27)))
    means = np.array([26 / 40, 42 / 50, 27 / 30])
    earned = 10.0 * np.array([40, 50, 30]) * (means - THRESHOLD)
    for k, row in enumerate(table.rows):
        assert row.mean == pytest.approx(means[k])
        assert row.acceptance == pytest.approx(sum((40, 50, 30)[k:]) / 120)
        assert row.mean_above == pytest.approx(sum((26, 42, 27)[k:]) / sum((40, 50, 30)[k:]))
        assert row.profit == pytest.approx(earned[k:].sum())
        assert row.profit is not None
        assert row.profit_low is not None
        assert row.profit_high is not None
        assert row.profit_low < row.profit < row.profit_high
    assert table.per == "clients"
    assert table.best == "middle"


def test_intervals_are_those_of_the_own_posterior_and_of_the_fit() -> None:
    agent = agent_of((40, 50, 30), (26, 42, 27))
    table, decision = table_of(agent), agent.preview()
    bands = new_bands(3)
    bands[BandRow.CLIENTS], bands[BandRow.TOTAL] = (40, 50, 30), (26, 42, 27)
    ends = fit_intervals(pb.Bernoulli().view().law, 3.0, 0.0, bands)
    for k, row in enumerate(table.rows):
        assert (row.low, row.high) == decision.interval(row.name, 0.95)
        assert (row.fit_low, row.fit_high) == pytest.approx(tuple(ends[:, k]))
        assert row.evidence == decision[row.name].evidence
        assert row.patience == decision[row.name].patience
    # One band alone: the interval of its profit is that of its mean.
    top = table["high"]
    low, high = stats.beta(27.5, 3.5).ppf([0.025, 0.975])
    assert top.profit_low == pytest.approx(300.0 * (low - THRESHOLD))
    assert top.profit_high == pytest.approx(300.0 * (high - THRESHOLD))


def test_rounds_say_how_many_ask_also_of_bands_that_were_refused() -> None:
    """A band that was refused early has few clients; as many ask as before."""
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in NAMES], policy="kl-ucb"
    )
    for _ in range(40):
        decision = agent.decide()
        for name, repaid in zip(NAMES, (0, 1, 1), strict=True):
            if decision.accepts(name):
                agent.observe(name, [repaid] * 4)
    table = table_of(agent)
    assert table.per == "round"
    assert table["low"].clients < table["high"].clients
    assert [row.applicants for row in table.rows] == [4.0, 4.0, 4.0]
    assert table["middle"].acceptance == pytest.approx(2 / 3)
    assert table["middle"].profit == pytest.approx(8 * 0.5)


def test_the_best_cut_off_follows_the_fit_and_not_the_luck_of_a_band() -> None:
    # The highest band was unlucky; its neighbours say that it pays.
    lucky = table_of(agent_of((100, 200, 10), (50, 190, 7)))
    assert lucky["high"].mean == pytest.approx(0.7)
    assert lucky["high"].fit == pytest.approx(197 / 210)
    assert lucky.best == "middle"
    assert table_of(agent_of((20, 20, 20), (2, 4, 6))).best is None
    assert "No cut-off pays" in table_of(agent_of((20, 20, 20), (2, 4, 6))).sentence()
    assert table_of(agent_of((20, 20, 20), (18, 19, 20))).best == "low"


def test_a_band_that_left_is_named() -> None:
    table = table_of(agent_of((300, 300, 300), (255, 280, 30)))
    assert table.left == ["high"]
    assert table["high"].fit is None
    assert table["high"].fit_low is None
    assert table.sentence().endswith("1 band left the order, because it contradicts it: high.")
    assert table["high"].pays == pytest.approx(0.0, abs=1e-100)
    assert table["low"].pays == pytest.approx(0.988, abs=0.01)


def test_without_data_nothing_is_claimed() -> None:
    table = table_of(agent_of((0, 0, 0), (0, 0, 0)))
    for row in table.rows:
        assert (row.mean, row.low, row.fit, row.profit, row.pays) == (None,) * 5
        assert (row.fit_low, row.fit_high) == (0.0, 1.0)
    assert table.best is None
    assert table.sentence() == "No outcome is known yet."
    json.dumps(table.to_dict(), allow_nan=False)
    some = table_of(agent_of((0, 30, 0), (0, 25, 0)))
    assert some["low"].mean is None
    assert some["low"].fit_high == some["middle"].fit_high
    assert some["high"].fit_low == some["middle"].fit_low
    assert some["high"].fit_high == 1.0


def test_a_mean_at_the_edge_is_outside_its_posterior_and_not_of_its_profit() -> None:
    table = table_of(agent_of((5, 5, 5), (0, 5, 5)))
    top = table["high"]
    assert top.high is not None
    assert top.mean == 1.0 > top.high
    assert top.profit == top.profit_high == pytest.approx(50 * (1.0 - THRESHOLD))
    bottom = table["low"]
    assert bottom.low is not None
    assert bottom.mean == 0.0 < bottom.low


def test_money_lent_is_the_weight() -> None:
    agent = pb.Agent(
        [pb.Category.returns(name, required=0.05) for name in NAMES[:2]], policy="bayes-ucb"
    )
    agent.observe("low", [0.9, 1.2], amounts=[100.0, 300.0])
    agent.observe("middle", [1.1, 1.2], amounts=[50.0, 50.0])
    table = table_of(agent)
    assert table["low"].mean == pytest.approx((90 + 360) / 400)
    assert table["low"].worth == 200.0
    assert table["middle"].profit == pytest.approx(115 - 105)
    assert table["low"].profit == pytest.approx(450 - 420 + 10)


@pytest.mark.statistical
def test_the_interval_of_the_profit_covers() -> None:
    """The profit of the clients at the true means, in 95 % of 1 000 samples."""
    rng, means, number = np.random.default_rng(5), np.array([0.7, 0.8, 0.9]), 60
    truth = 10.0 * number * (means - THRESHOLD)
    hits = np.zeros(3)
    for _ in range(1_000):
        totals = rng.binomial(number, means)
        rows = table_of(agent_of((number,) * 3, tuple(totals.tolist()))).rows
        for k, row in enumerate(rows):
            hits[k] += row.profit_low <= truth[k:].sum() <= row.profit_high
    error = math.sqrt(0.95 * 0.05 / 1_000)
    assert np.abs(hits / 1_000 - 0.95).max() < 4.0 * error


def test_it_prints_says_and_draws_the_same(tmp_path) -> None:
    table = table_of(agent_of((40, 50, 30), (26, 42, 27)))
    text = str(table)
    assert text.index("high") < text.index("middle") < text.index("low")
    assert text.endswith(table.sentence())
    assert "66.7 % of the applicants" in table.sentence()
    assert table.to_dict()["best"] == "middle"
    assert [band["name"] for band in table.to_dict()["bands"]] == list(NAMES)
    assert "Best cut-off" in table._repr_html_()
    spec = table.plot(tmp_path / "cut.svg").to_dict(validate=False)
    assert (tmp_path / "cut.svg").stat().st_size > 5_000
    assert len(spec["hconcat"]) == 2
    [rows] = spec["datasets"].values()
    assert [row["name"] for row in rows] == list(NAMES)
    with pytest.raises(UnknownCategoryError, match="'lowest' is not in the order 'score'"):
        table["lowest"]


def test_infinite_evidence_is_drawn_to_the_edge() -> None:
    with pytest.warns(ProfitableWarning, match="never profitable"):
        agent = agent_of((5, 5, 5), (0, 5, 5), threshold=1.0)
    table = table_of(agent)
    assert table["low"].evidence == math.inf
    spec = table.plot().to_dict(validate=False)
    [rows] = spec["datasets"].values()
    assert "evidence" not in rows[0]
    json.dumps(spec, allow_nan=False)


def test_trust_zero_still_shows_the_fit() -> None:
    pooled = table_of(agent_of((40, 50, 30), (34, 38, 27), policy="kl-ucb:trust=0"))
    assert pooled["low"].fit == pytest.approx(72 / 90)
    assert pooled["low"].fit == pooled["middle"].fit


# ------------------------------------------------------------------------- of an agent


def banded(policy: str, orders: tuple[str | None, ...]) -> pb.Agent:
    return pb.Agent(
        [
            pb.Category(name, pb.Bernoulli(), threshold=THRESHOLD, order=order)
            for name, order in zip(NAMES, orders, strict=True)
        ],
        policy=policy,
        seed=1,
    )


@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "optimal", "bayes-ucb:trust=inf"])
def test_an_agent_says_where_its_order_is_cut(policy: str) -> None:
    agent = banded(policy, ("score", "score", "score"))
    for name, total in zip(NAMES, (20, 34, 38), strict=True):
        agent.decide()
        agent.observe(name, count=40, total=total)
    before, table, preview = agent.round, agent.cutoff(), agent.preview()
    assert agent.round == before
    assert table.order == "score"
    assert table.best == "middle"
    for row in table.rows:
        verdict = preview[row.name]
        assert (row.evidence, row.patience) == (verdict.evidence, verdict.patience)
        assert row.accepted == ((verdict.propensity or 0.0) >= 0.5)
    assert [row.accepted for row in table.rows] == [False, True, True]


def test_free_categories_and_other_orders_are_left_out() -> None:
    agent = banded("kl-ucb", ("score", None, "age"))
    agent.observe({"low": [1, 0], "middle": [1], "high": [0]})
    assert [row.name for row in agent.cutoff("score").rows] == ["low"]
    assert [row.name for row in agent.cutoff("age").rows] == ["high"]
    with pytest.raises(UnknownCategoryError, match="order = None is missing; choose from"):
        agent.cutoff()
    with pytest.raises(UnknownCategoryError, match="'scores' is unknown; choose from score, age"):
        agent.cutoff("scores")
    with pytest.raises(UnknownCategoryError, match="give categories an order"):
        agent_of((1, 1, 1), (1, 1, 1)).cutoff()


def test_an_order_that_is_not_trusted_has_a_table_and_shares_nothing() -> None:
    agent, alone = banded("kl-ucb:trust=0", ("score",) * 3), agent_of((9, 9, 9), (6, 5, 9))
    agent.observe({name: [1] * s + [0] * (9 - s) for name, s in zip(NAMES, (6, 5, 9), strict=True)})
    agent.decide()
    alone.decide()
    for row in agent.cutoff().rows:
        assert row.evidence == alone.preview()[row.name].evidence
    assert agent.cutoff()["low"].fit == agent.cutoff()["middle"].fit == pytest.approx(11 / 18)
