"""A floor in a round with a limit: its lottery is held first, and the propensities are
those of the grants.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import profitable as pb
from profitable.agent.limit import Claims, Grant, Limit
from profitable.common.types import IntArray

ALARM = 1e-6  # of each comparison of frequencies; there are 15 of them
ROUNDS = 2_000
FLOOR = 0.1


def six(policy: str = f"kl-ucb:floor={FLOOR}", seed: int = 0) -> pb.Agent:
    """Three good categories, the best first, and three that are rejected."""
    names = ["good 1", "good 2", "good 3", "bad 1", "bad 2", "bad 3"]
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in names],
        policy=policy,
        seed=seed,
    )
    agent.decide()
    for name, repaid in zip(names, (20, 19, 18, 0, 0, 0), strict=True):
        agent.observe(name, count=20, total=repaid)
    return agent


def granted_of(decision: pb.Decision) -> IntArray:
    assert decision.granted_clients is not None
    return decision.granted_clients


@pytest.mark.slow
@pytest.mark.parametrize(
    ("places", "asks", "good"),
    [
        (12, 4, [None, None, None]),  # enough for all whom the floor may accept
        (12, 5, [None, None, None]),  # for two of them, who take turns with the third
        (20, 4, [1.0, 1.0, None]),  # for them and two others, whoever wins
        (30, 5, [1.0, 1.0, 1.0]),  # for everybody
        (4, 5, [None, 0.0, 0.0]),  # for none of them
    ],
)
def test_frequencies_are_those_of_the_propensity(
    places: int, asks: int, good: list[float | None]
) -> None:
    """A round's propensities do not depend on its draws, so the rounds in which one is
    0.1 are tosses of one coin.
    """
    agent = six()
    demand = dict.fromkeys(agent.names, asks)
    hits, tosses = np.zeros(3, dtype=int), np.zeros(3, dtype=int)
    for _ in range(ROUNDS):
        decision = agent.decide(places=places, demand=demand)
        assert [verdict.propensity for verdict in decision][:3] == good
        chances, granted = decision.propensity[3:], granted_of(decision)
        assert granted.sum() <= places
        assert np.isin(chances, (0.0, FLOOR)).all()
        assert not granted[3:][chances == 0.0].any()
        assert np.isin(granted[3:], (0, asks)).all()
        assert all(granted[k] == asks for k in range(3) if good[k] == 1.0)
        assert all(granted[k] == 0 for k in range(3) if good[k] == 0.0)
        tosses += chances == FLOOR
        hits += granted[3:] > 0
    enough = min(places // asks, 3)
    assert tosses.sum() == ROUNDS * enough
    assert tosses.min() >= ROUNDS * enough // 3 * 0.9  # they take turns
    for number, of in zip(hits.tolist(), tosses.tolist(), strict=True):
        assert of == number == 0 or stats.binomtest(number, of, FLOOR).pvalue > ALARM


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Limit, Claims]:
    """Claims of whole amounts with a lottery among some whom patience rejects."""
    size = draw(st.integers(1, 6))

    def column(values: st.SearchStrategy[Any], dtype: type = float) -> Any:
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)

    cost, margin, hope = (
        column(st.integers(0, 4)),
        column(st.integers(-2, 3)),
        column(st.integers(0, 2)),
    )
    accepted, tested, lottery = (column(st.booleans(), bool) for _ in range(3))
    demand, rounds = column(st.integers(0, 4), int), column(st.integers(0, 2))
    margin = np.where(tested, margin, np.nan)
    claims = Claims(
        accepted & ~lottery, tested, margin, cost, rounds, lottery, lambda places: hope[places]
    )
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return Limit(float(draw(st.integers(0, 24))), draw(st.booleans()), share, demand), claims


@given(worlds())
def test_propensities_over_all_draws(world: tuple[Limit, Claims]) -> None:
    """Where one is given, every draw grants all clients or none, and the chances of the
    draws that do add up to it.
    """
    limit, claims = world
    floor = 0.25
    own = np.where(claims.lottery, floor, claims.accepted.astype(float))
    lots = np.flatnonzero(claims.lottery)
    total, said = np.zeros(own.size), []
    whole = np.ones(own.size, dtype=bool)
    for wins in product((False, True), repeat=lots.size):
        accepted = claims.accepted.copy()
        accepted[lots] = wins
        grant = Grant(limit, claims._replace(accepted=accepted), np.zeros((3, own.size)))
        said.append(grant.propensity(own, drawn=False, floor=FLOOR))
        total += floor ** sum(wins) * (1.0 - floor) ** (lots.size - sum(wins)) * (grant.clients > 0)
        whole &= (grant.clients == 0) | (grant.clients == limit.demand)
        assert grant.used <= limit.size
    for each in said:
        assert np.array_equal(each, said[0], equal_nan=True)  # it does not depend on the draws
    known = ~np.isnan(said[0])
    assert known[claims.lottery].all()
    assert whole[known].all()
    assert said[0][known] == pytest.approx(total[known], abs=1e-12)


def test_what_is_said() -> None:
    agent = six("kl-ucb:floor=1")
    decision = agent.decide(places=12, demand=dict.fromkeys(agent.names, 5))
    assert decision.granted == {"bad 1": 5, "bad 2": 5, "good 1": 2}
    assert "accepted: by the floor of 100 %" in decision["bad 1"].reason
    assert "granted 5 of 5 clients to learn about it" in decision["bad 1"].reason
    assert decision["bad 3"].reason.startswith(
        "not granted: the limit leaves the floor no room for its clients in this "
        "round; otherwise accepted: by the"
    )
    agent = six("kl-ucb:floor=0.000001")
    decision = agent.decide(places=4, demand=dict.fromkeys(agent.names, 5))
    assert decision["bad 3"].reason.endswith(
        "the limit leaves the floor no room for its clients in this round"
    )
    assert decision["bad 3"].propensity == 0.0
    agent.pause("bad 3")
    assert (
        "no room"
        not in agent.decide(places=4, demand=dict.fromkeys(agent.names, 5))["bad 3"].reason
    )


def test_thompson_s_propensity_stays_unknown_and_the_floor_still_counts() -> None:
    """The remainder depends on the draws of all categories; one that loses every draw
    of Thompson sampling is accepted all the same.
    """
    agent = six(f"ts:floor={FLOOR}")
    hits = np.zeros(3, dtype=int)
    for _ in range(ROUNDS):
        decision = agent.decide(places=12, demand=dict.fromkeys(agent.names, 4))
        assert np.isnan(decision.propensity).all()
        hits += granted_of(decision)[3:] == 4
    for number in hits.tolist():
        assert stats.binomtest(number, ROUNDS, FLOOR).pvalue > ALARM


def test_a_lottery_of_cheap_clients_leaves_others_unknown() -> None:
    """Its winner uses a part of the money for learning, so `good` is granted two or
    three clients: who knows which?
    """
    prices = {"new": 3.0, "good": 3.0, "bad": 1.0}
    seen: set[tuple[int, ...]] = set()
    for seed in range(40):
        categories = [
            pb.Category.offer(name, cost=price, revenue=2.0 * price)
            for name, price in prices.items()
        ]
        agent = pb.Agent(categories, policy="kl-ucb:floor=0.25", seed=seed)
        agent.decide()
        agent.observe({"good": [1] * 30, "bad": [0] * 30})
        decision = agent.decide(budget=10.0, demand={"new": 4, "good": 3, "bad": 1})
        seen.add(tuple(granted_of(decision).tolist()))
        np.testing.assert_array_equal(decision.propensity, [np.nan, np.nan, 0.25])
    assert len({granted[1] for granted in seen}) == 2
