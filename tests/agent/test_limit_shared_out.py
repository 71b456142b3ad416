"""Rounds with a limit: who is granted how much of a budget or of a number of places,
and why.
"""

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.agent.limit import Claims, Grant, Limit
from profitable.common.extras import BACKENDS

RATES = {"homeowners": 0.06, "craftsmen": 0.09, "students": 0.12, "shops": 0.15}
ASK = {"homeowners": 20, "craftsmen": 3, "students": 5, "shops": 4}


def lender(policy: pb.Policy | str = "kl-ucb", *, seed: int = 1) -> pb.Agent:
    """Homeowners and craftsmen earn, students lose, nothing is known of shops."""
    loans = [pb.Category.loan(name, amount=1_000, rate=rate) for name, rate in RATES.items()]
    agent = pb.Agent(loans, policy=policy, seed=seed)
    for _ in range(30):
        agent.decide()
    agent.observe("homeowners", count=120, total=118)
    agent.observe("craftsmen", count=40, total=39)
    agent.observe("students", count=60, total=50)
    return agent


@pytest.mark.parametrize(
    ("limit", "granted"),
    [
        # The example at the top of agent/limit.py.
        ({"budget": 10_000}, {"homeowners": 6, "craftsmen": 3, "shops": 1}),
        ({"places": 10}, {"homeowners": 6, "craftsmen": 3, "shops": 1}),
        # Whole clients; 1 099.99 to learn.
        ({"budget": 10_999.99}, {"homeowners": 6, "craftsmen": 3, "shops": 1}),
        ({"budget": 10_000, "explore": 0}, {"homeowners": 7, "craftsmen": 3}),
        (
            {"budget": 10_000, "explore": 0.5},
            {"homeowners": 2, "craftsmen": 3, "students": 1, "shops": 4},
        ),
        # 1 000 are left.
        ({"budget": 10_000, "explore": 1}, {"craftsmen": 1, "students": 5, "shops": 4}),
        ({"budget": 1_000}, {"shops": 1}),  # a tenth pays for nobody, so one client is for learning
        ({"budget": 2_000}, {"craftsmen": 1, "shops": 1}),
        ({"budget": 999}, {}),
        ({"places": 0}, {}),
        # Unused money goes to learning.
        ({"budget": 26_000}, {"homeowners": 20, "craftsmen": 3, "shops": 3}),
        ({"places": 29}, {"homeowners": 20, "craftsmen": 3, "students": 2, "shops": 4}),
        ({"places": 1_000}, ASK),
    ],
)
def test_worked_by_hand(limit: dict[str, Any], granted: dict[str, int]) -> None:
    decision = lender().decide(demand=ASK, **limit)
    assert decision.granted == granted
    assert decision.accepted == tuple(granted)
    array = decision.granted_clients
    assert array is not None
    assert array.tolist() == [granted.get(name, 0) for name in ASK]
    assert [decision.accepts(name) for name in ASK] == [name in granted for name in ASK]
    assert [verdict.granted for verdict in decision] == array.tolist()
    assert [verdict.accepted for verdict in decision] == decision.accepted_mask.tolist()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_places_and_money_order_differently() -> None:
    """A place earns more with large loans, a unit of money with small ones: 1.06 p - 1
    of 5 000, 1.2 p - 1 of 100.
    """
    agent = pb.Agent(
        [
            pb.Category.loan("large", amount=5_000, rate=0.06),
            pb.Category.loan("small", amount=100, rate=0.2),
        ],
        policy="kl-ucb",
    )
    agent.observe("large", count=1_000, total=990)  # 1.06 * 990.5/1001 - 1 = 0.049: 244 for a loan
    agent.observe("small", count=1_000, total=960)  # 1.2 * 960.5/1001 - 1 = 0.151: 15 for a loan
    ask = {"large": 10, "small": 10}
    assert agent.decide(places=10, demand=ask).granted == {"large": 10}
    assert agent.decide(budget=6_300, demand=ask).granted == {"large": 1, "small": 10}


def test_change_goes_to_those_whom_it_can_pay() -> None:
    """1 500: one large loan, and what is left pays for no other one, but for five of
    the small ones.
    """
    agent = pb.Agent(
        [
            pb.Category.loan("large", amount=1_000, rate=0.2),
            pb.Category.loan("small", amount=100, rate=0.1),
        ],
        policy="kl-ucb",
    )
    agent.observe({name: pb.Batch(count=100, total=99) for name in ("large", "small")})
    assert agent.decide(budget=1_500, demand={"large": 3, "small": 50}).granted == {
        "large": 1,
        "small": 5,
    }


def test_three_clients_at_a_tenth_fit_into_three_tenths() -> None:
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.1)], policy="kl-ucb")
    assert agent.decide(budget=0.3, demand={"a": 9}).granted == {"a": 3}
    assert agent.decide(budget=0.7, explore=0, demand={"a": 9}).granted == {"a": 7}
    assert agent.decide(budget=0.2999, demand={"a": 9}).granted == {"a": 2}


def test_clients_who_cost_nothing_use_nothing() -> None:
    """A threshold of 0, and one below: a client who brings money with him does not make
    the budget larger.
    """
    agent = pb.Agent(
        [
            pb.Category("free", pb.Gaussian(sigma=1.0), threshold=0.0),
            pb.Category("paying", pb.Gaussian(sigma=1.0), threshold=-5.0),
            pb.Category("dear", pb.Gaussian(sigma=1.0), threshold=2.0),
        ],
        policy="kl-ucb",
    )
    decision = agent.decide(budget=5, demand={"free": 7, "paying": 8, "dear": 9})
    assert decision.granted == {"free": 7, "paying": 8, "dear": 2}
    assert decision["free"].reason.endswith(
        "granted 7 of 7 clients to learn about it: they use nothing of the budget"
    )
    agent.observe({"free": [1.0], "paying": [1.0], "dear": [5.0]})
    assert agent.decide(places=9, demand={"free": 7, "paying": 8, "dear": 9}).granted == {
        "paying": 8,
        "dear": 1,
    }


def test_untested_ones_take_turns() -> None:
    """All have the same index, so the one that was accepted less often comes first,
    even if no outcome came yet.
    """
    agent = pb.Agent(
        [pb.Category(name, pb.Poisson(), threshold=1.0) for name in "abc"], policy="kl-ucb"
    )
    ask = dict.fromkeys("abc", 5)
    assert [agent.decide(places=4, demand=ask).accepted for _ in range(4)] == [
        ("a",),
        ("b",),
        ("c",),
        ("a",),
    ]
    assert [agent[name].rounds for name in "abc"] == [2, 1, 1]


def test_ties_are_ordered_by_the_index() -> None:
    """Gaussian means of 1 from two and from eight clients: the fewer, the higher the
    index.
    """
    categories = [
        pb.Category(name, pb.Gaussian(sigma=1.0), threshold=0.5) for name in ("eight", "two")
    ]
    agent = pb.Agent(categories, policy="kl-ucb")
    agent.observe({"eight": [1.0] * 8, "two": [1.0] * 2})
    agent.decide()
    agent.decide()  # in round 2 patience is log 1 = 0, and every index is its mean
    assert agent.decide(places=3, demand={"eight": 3, "two": 2}).granted == {"eight": 1, "two": 2}


def test_the_index_counts_in_money() -> None:
    """Nothing is known of either; a Bernoulli mean is at most 1, a Poisson mean can be
    anything.
    """
    agent = pb.Agent(
        [
            pb.Category("coin", pb.Bernoulli(), threshold=0.5, worth=1e6),
            pb.Category("count", pb.Poisson(), threshold=9),
        ],
        policy="kl-ucb",
    )
    assert agent.decide(places=1, demand={"coin": 1, "count": 1}).granted == {"count": 1}
    coins = pb.Agent(
        [
            pb.Category(name, pb.Bernoulli(), threshold=0.5, worth=worth)
            for name, worth in (("a", 1.0), ("b", 2.0))
        ],
        policy="kl-ucb",
    )
    assert coins.decide(places=1, demand={"a": 1, "b": 1}).granted == {"b": 1}
    # A unit of money may earn 1 with either of them, so that they take turns.
    ask = {"a": 9, "b": 9}
    assert [coins.decide(budget=1, demand=ask).granted for _ in range(3)] == [
        {"a": 2},
        {"a": 2},
        {"b": 1},
    ]


def test_few_clients_of_a_heavy_tail() -> None:
    """Two exponential rewards of 6: the posterior mean is 12, but its spread is
    infinite; the plain mean counts.
    """
    agent = pb.Agent(
        [pb.Category(name, pb.Exponential(), threshold=3.0) for name in ("few", "many")],
        policy="kl-ucb",
    )
    agent.observe("few", [6.0, 6.0])
    agent.observe("many", count=1_000, total=8_000.0)
    assert agent.decide(places=1, demand={"few": 1, "many": 1}).granted == {"many": 1}
    pareto = pb.Agent([pb.Category("a", pb.Pareto(scale=1.0), threshold=2.0)], policy="kl-ucb")
    pareto.observe("a", [1.5, 9.0, 2.0])
    verdict = pareto.decide(places=1, demand={"a": 1})["a"]
    assert verdict.mean is not None
    assert verdict.reason.endswith(f"a place is expected to earn {verdict.mean - 2.0:.3g}")


def test_a_prior_is_as_good_as_clients() -> None:
    prior = pb.Prior.like(clients=100, mean=0.9)
    agent = pb.Agent(
        [
            pb.Category("believed", pb.Bernoulli(), threshold=0.5, prior=prior),
            pb.Category("new", pb.Bernoulli(), threshold=0.5),
        ],
        policy=pb.BayesUCB(inflate=10),
    )
    decision = agent.decide(places=10, demand={"believed": 20, "new": 20})
    assert decision.granted == {"believed": 9, "new": 1}
    ample = agent.decide(places=40, demand={"believed": 20, "new": 20})
    # Beta(90.5, 10.5).
    assert ample["believed"].reason.endswith(f"expected to earn {90.5 / 101 - 0.5:.3g}")


# ------------------------------------------------------------------------- what is said


def test_reasons() -> None:
    decision = lender().decide(budget=10_000, demand=ASK)
    assert {verdict.name: verdict.reason for verdict in decision} == {
        "homeowners": "accepted: the mean of its 120 clients is not below the threshold; "
        "granted 6 of 20 clients: the budget ended here",
        "craftsmen": "accepted: the mean of its 40 clients is not below the threshold; "
        "granted 3 of 3 clients: a unit of money is expected to earn 0.0501",
        "students": "not granted: the share for learning ended before its 5 clients; "
        "otherwise accepted: evidence 0.969 nats against it, patience 3.4",
        "shops": "accepted: no outcome is known yet, so nothing speaks against it; "
        "granted 1 of 4 clients to learn about it: the share for learning ended here",
    }
    assert decision.head(2) == list(decision)[:2]
    few = lender().decide(budget=900, demand=ASK)
    assert few["craftsmen"].reason.startswith(
        "not granted: one client uses 1 000, more than there is; otherwise acc"
    )
    nobody = lender().decide(places=5, demand={**ASK, "craftsmen": 0})
    assert nobody["craftsmen"].reason.startswith("not granted: nobody asks; otherwise accepted: ")
    greedy = lender().decide(places=5, explore=0, demand=ASK)
    assert greedy["shops"].reason.startswith(
        "not granted: the places ended before its 4 clients; otherwise accepted: "
    )
    # Learners get more than their share, and not all they ask for.
    ample = lender().decide(places=29, demand=ASK)
    assert ample["students"].reason.endswith(
        "granted 2 of 5 clients to learn about it: the places ended here"
    )
    assert ample["shops"].reason.endswith(
        "granted 4 of 4 clients to learn about it: no outcome counts yet"
    )


def test_paused_and_rejected_ones_get_nothing() -> None:
    agent = lender()
    agent.pause("craftsmen")
    agent.observe("students", count=120, total=85)
    decision = agent.decide(places=30, demand=ASK)
    assert decision.granted == {"homeowners": 20, "shops": 4}
    assert decision["craftsmen"].reason == "paused: not offered until it is resumed"
    assert decision["students"].reason.startswith("skipped: evidence")
    assert decision["students"].next_round is not None
    assert decision.rejected == ("craftsmen", "students")


def test_tables() -> None:
    decision = lender().decide(budget=10_000, demand=ASK)
    lines = str(decision).splitlines()
    assert (
        lines[0] == "round 31, kl-ucb: 3 of 4 categories accepted, 10 clients for 10 000 of 10 000"
    )
    assert lines[1].split()[-3:] == ["propensity", "granted", "decision"]
    assert "6 of 20     accepted" in lines[3]
    assert "0 of 5  not granted" in lines[5]
    assert "<td>6 of 20</td>" in decision._repr_html_()
    assert "30 of 40 places" in repr(lender().decide(places=40, demand={**ASK, "homeowners": 18}))


def test_logs() -> None:
    decision = lender().decide(budget=10_000, demand=ASK)
    rows, columns = json.loads(decision.to_json()), json.loads(decision.to_json(columns=True))
    assert rows == decision.to_dict()
    assert columns == decision.to_columns()
    assert (
        rows["limit"]
        == {"unit": "money", "size": 10_000.0, "explore": 0.1, "used": 10_000.0}
        == columns["limit"]
    )
    assert columns["columns"]["granted"] == [6, 3, 0, 1]
    assert columns["columns"]["demand"] == list(ASK.values())
    assert columns["columns"]["propensity"] == [None, 1.0, 0.0, None]
    assert rows["categories"] == [verdict.to_dict() for verdict in decision]
    assert rows["categories"][0]["granted"] == 6
    assert lender().decide(places=3, demand=ASK).to_dict()["limit"]["unit"] == "places"


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames(backend: str) -> None:
    pytest.importorskip(backend)
    import narwhals

    frame = narwhals.from_native(lender().decide(budget=10_000, demand=ASK).to_frame(backend))
    assert frame.columns[-3:] == ["reason", "demand", "granted"]
    assert frame["granted"].to_list() == [6, 3, 0, 1]


def test_without_a_limit_nothing_is_added() -> None:
    decision = lender().decide()
    assert decision.granted is None
    assert decision.granted_clients is None
    assert set(decision.to_dict()) == {"round", "policy", "accepted", "categories"}
    assert set(decision.to_columns()) == {"round", "policy", "columns"}
    for fields in (
        decision.to_dict()["categories"][0],
        decision["shops"].to_dict(),
        decision.to_columns()["columns"],
    ):
        assert list(fields)[-1] == "reason"
        assert not {"demand", "granted"} & set(fields)
    assert "granted" not in str(decision)


# -------------------------------------------------------------------------- what counts


def test_a_grant_of_nothing_is_no_accepted_round() -> None:
    agent = lender()
    before = {name: agent[name].rounds for name in ASK}
    agent.decide(budget=10_000, demand=ASK)
    assert {name: agent[name].rounds - before[name] for name in ASK} == {
        "homeowners": 1,
        "craftsmen": 1,
        "students": 0,
        "shops": 1,
    }
    late = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in "ab"], policy="optimal"
    )
    late.observe("b", [1, 1])
    late.decide(places=1, demand={"a": 0, "b": 0})
    assert late["b"].rounds == 0
    late.observe("b", [1, 1])
    late.decide(places=1, demand={"a": 0, "b": 1})
    late.observe("b", [1, 1, 1])
    # The four before its first accepted round do not count.
    assert "Clients in a round: 3." in late.explain("b")


def test_a_round_that_grants_nothing_leaves_no_trace(tmp_path: Path) -> None:
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="optimal", seed=1)
    agent.observe("a", [1, 1])
    agent.decide(places=0, demand={"a": 3})
    agent.save(tmp_path / "agent.json")
    text = (tmp_path / "agent.json").read_text(encoding="utf-8")
    assert '"rounds"' not in text
    assert '"earlier"' not in text


def test_one_client_is_enough_to_be_expected_to_earn() -> None:
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in ("one", "none")],
        policy="kl-ucb",
    )
    agent.observe("one", [1])
    assert agent.decide(places=10, demand={"one": 20, "none": 20}).granted == {"one": 9, "none": 1}


def test_what_is_forgotten_is_to_be_learned_again() -> None:
    """Two clients, of whom half is forgotten in each round: 2, 1 and 1/2.

    Less than one is as good as none.
    """
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in ("two", "none")],
        policy="kl-ucb:forget=0.5",
    )
    agent.observe("two", [1, 1])
    ask = {"two": 10, "none": 10}
    assert agent.decide(places=10, demand=ask).granted == {"two": 9, "none": 1}
    assert agent.decide(places=10, demand=ask).granted == {"two": 9, "none": 1}
    agent.observe("none", [1, 1, 1, 1])
    decision = agent.decide(places=10, demand=ask)
    assert decision.granted == {"two": 1, "none": 9}
    assert decision["two"].reason.endswith(
        "granted 1 of 10 clients to learn about it: the share for learning ended here"
    )


@pytest.mark.parametrize(
    "policy", ["ts:forget=0.9", "bayes-ucb:inflate=10,forget=0.9", "kl-ucb:window=2"]
)
def test_evidence_that_was_only_bounded(policy: str) -> None:
    """Values that a decision computes lazily do not change the grants."""
    one, other = lender(policy), lender(policy)
    for _ in range(6):
        asked, quiet = one.decide(places=9, demand=ASK), other.decide(places=9, demand=ASK)
        before = quiet.granted
        assert asked.evidence.tolist() == [verdict.evidence for verdict in quiet]
        assert asked.granted == quiet.granted == before
        assert asked.to_json() == quiet.to_json()


def test_what_is_granted_can_be_expected() -> None:
    agent = lender()
    granted = agent.decide(budget=10_000, demand=ASK).granted
    assert granted is not None
    agent.expect(granted)
    assert agent.waiting == granted


@pytest.mark.parametrize("policy", ["ts", "kl-ucb", "optimal"])
def test_draws_and_what_is_known_are_as_without_a_limit(policy: str, tmp_path: Path) -> None:
    free, limited = lender(policy), lender(policy)
    for _ in range(5):
        one = free.decide()
        other = limited.decide(budget=2_500, demand=ASK)
        assert one.evidence.tolist() == other.evidence.tolist()
        if policy == "ts":
            assert one.patience.tolist() == other.patience.tolist()
    limited.save(tmp_path / "agent.json")
    loaded = pb.Agent.load(tmp_path / "agent.json")
    for _ in range(5):
        assert (
            limited.decide(places=7, demand=ASK).to_dict()
            == loaded.decide(places=7, demand=dict(reversed(ASK.items()))).to_dict()
        )
    assert [loaded[name] for name in ASK] == [limited[name] for name in ASK]


def test_only_the_available_ones() -> None:
    agent = lender()
    decision = agent.decide(["shops", "homeowners"], places=3, demand={"homeowners": 9, "shops": 9})
    assert decision.names == ("homeowners", "shops")
    assert decision.granted == {"homeowners": 2, "shops": 1}
    assert agent["craftsmen"].rounds == 30
    assert agent.decide([], places=3, demand={}).granted == {}


def test_single_rewards() -> None:
    """KL-Emp-UCB keeps distinct rewards: the index of some of the categories is
    computed from theirs.
    """
    categories = [pb.Category(name, pb.Bounded(low=0, high=1), threshold=0.6) for name in "abcd"]
    agent = pb.Agent(categories, policy=pb.KLEmpUCB())
    agent.decide()
    agent.observe({"a": [0.5] * 9, "b": [0.5, 0.6], "c": [0.5] * 4})
    for _ in range(100):
        decision = agent.decide()
    indices = {verdict.name: verdict.index for verdict in decision}
    order = sorted("abcd", key=lambda name: -indices[name])
    assert decision.accepted == tuple("abcd")
    for places in range(1, 5):
        granted = agent.decide(places=places, demand=dict.fromkeys("abcd", 1)).granted
        assert granted == {name: 1 for name in "abcd" if name in order[:places]}


# --------------------------------------------------------------------------- propensity


def test_propensity_under_a_policy_that_draws() -> None:
    agent = lender("ts")
    agent.pause("craftsmen")
    scarce = agent.decide(budget=10_000, demand={**ASK, "shops": 0})
    assert np.isnan(scarce.propensity).tolist() == [True, False, True, False]
    assert scarce.propensity[[1, 3]].tolist() == [0.0, 0.0]  # paused; nobody asks
    assert [verdict.propensity for verdict in scarce] == [None, 0.0, None, 0.0]
    # Craftsmen are paused, so that 29 is enough whatever is drawn.
    enough = agent.decide(places=29, demand=ASK)
    own = np.exp(-enough.evidence)
    assert enough.propensity.tolist() == [own[0], 0.0, own[2], own[3]]
    assert np.isnan(agent.decide(places=28, demand=ASK).propensity).sum() == 3


def test_propensity_in_a_first_round_and_without_draws() -> None:
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in "abc"], policy="ts", seed=1
    )
    first = agent.decide(places=3, demand=dict.fromkeys("abc", 2))
    assert first.granted == {"a": 2, "b": 1}
    assert first["a"].propensity == 1.0
    assert first["b"].propensity is None  # which of its two clients, the agent does not know
    assert first["c"].propensity == 0.0


# -------------------------------------------------------------------------- any numbers


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Limit, Claims]:
    """Claims of whole amounts, many of them tied."""
    size = draw(st.integers(1, 7))

    def column(values: st.SearchStrategy[Any], dtype: type = float) -> Any:
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)

    cost, margin, hope = (
        column(st.integers(0, 5)),
        column(st.integers(-2, 3)),
        column(st.sampled_from([0, 1, math.inf])),
    )
    accepted, tested = column(st.booleans(), bool), column(st.booleans(), bool)
    demand, rounds = column(st.integers(0, 4), int), column(st.integers(0, 2))
    margin, lottery = np.where(tested, margin, np.nan), np.zeros(size, dtype=bool)
    claims = Claims(accepted, tested, margin, cost, rounds, lottery, lambda places: hope[places])
    share = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
    return Limit(float(draw(st.integers(0, 40))), draw(st.booleans()), share, demand), claims


def one_by_one(limit: Limit, claims: Claims) -> tuple[list[int], Fraction]:
    """The definition: each time, the first who still asks and whom the rest can pay
    gets one client more.
    """
    everybody = range(len(limit.demand))
    cost = [Fraction(float(price)) if limit.is_money else Fraction(1) for price in claims.price]
    unit = [each or Fraction(1) for each in cost]
    earns = [bool(claims.tested[k] and claims.margin[k] >= 0) for k in everybody]
    hopes = claims.hope(np.arange(len(limit.demand)))
    by_index = {k: (-hopes[k] / float(unit[k]), claims.rounds[k], k) for k in everybody}
    granted = [0] * len(limit.demand)

    def hand_out(order: list[int], left: Fraction) -> None:
        left -= sum((granted[k] * cost[k] for k in everybody), Fraction(0))
        while able := [k for k in order if granted[k] < limit.demand[k] and cost[k] <= left]:
            granted[able[0]] += 1
            left -= cost[able[0]]

    accepted = [k for k in everybody if claims.accepted[k]]
    learners = sorted((k for k in accepted if not earns[k]), key=by_index.__getitem__)
    earners = sorted(
        (k for k in accepted if earns[k]),
        key=lambda k: (-Fraction(float(claims.margin[k])) / unit[k], by_index[k]),
    )
    size = Fraction(limit.size)
    payable = [k for k in learners if limit.demand[k] and 0 < cost[k] <= size]
    reserve = Fraction(limit.explore) * size
    if payable and reserve:
        hand_out(learners, max(reserve, cost[payable[0]]))
    hand_out([k for k in accepted if cost[k] == 0] + earners + learners, size)
    return granted, sum((granted[k] * cost[k] for k in everybody), Fraction(0))


@given(worlds())
def test_sharing_out_follows_the_definition(world: tuple[Limit, Claims]) -> None:
    sharing = Grant(*world, np.zeros((3, 0)))
    granted, used = one_by_one(*world)
    assert sharing.clients.tolist() == granted
    assert sharing.used == float(used)


AMOUNTS = st.floats(1e-3, 1e3)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(AMOUNTS, st.floats(0.01, 0.5), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=6,
    ),
    st.floats(0, 1e4),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from(["kl-ucb", "ts", "bayes-ucb:inflate=10", "optimal"]),
)
def test_whatever_is_granted_is_in_order(
    loans: list[tuple[float, float, int, int]],
    size: float,
    explore: float,
    in_places: bool,
    policy: str,
) -> None:
    """Never more than there is or than ask; a better earner lacks a client only if the
    rest did not pay for him.
    """

    def play() -> tuple[pb.Agent, pb.Decision]:
        categories = [
            pb.Category.loan(str(i), amount=amount, rate=rate)
            for i, (amount, rate, *_) in enumerate(loans)
        ]
        agent = pb.Agent(categories, policy=policy, seed=3)
        agent.decide()
        agent.observe({str(i): [1] * good + [0] for i, (_, _, good, _) in enumerate(loans) if good})
        ask = {str(i): asked for i, (*_, asked) in enumerate(loans)}
        limit: dict[str, Any] = {"places": int(size / 100)} if in_places else {"budget": size}
        return agent, agent.decide(demand=ask, explore=explore, **limit)

    agent, decision = play()
    assert decision.to_json() == play()[1].to_json()  # the same seed, the same decision
    total = float(int(size / 100)) if in_places else size
    cost = [1.0 if in_places else amount for amount, *_ in loans]
    granted = [verdict.granted or 0 for verdict in decision]
    used = math.fsum(each * number for each, number in zip(cost, granted, strict=True))
    assert used <= total * (1 + 1e-8)
    accepted = [verdict.evidence <= verdict.patience for verdict in decision]
    unit: dict[int, float] = {}  # what a unit is expected to earn, of those that earn
    for i, (amount, rate, good, asked) in enumerate(loans):
        assert 0 <= granted[i] <= (asked if accepted[i] else 0)
        assert isinstance(granted[i], int)
        if granted[i] < asked and accepted[i]:
            # Unused parts flow back until they pay for nobody.
            assert cost[i] > total - used - 1e-8 * total
        margin = ((1 + rate) * (good + 0.5) / (good + 2) - 1) * amount
        if good and accepted[i] and margin > 1e-9:
            unit[i] = margin / cost[i]
    for better, value in unit.items():
        if granted[better] < loans[better][3]:
            worse = math.fsum(
                cost[i] * granted[i] for i, other in unit.items() if other < value * (1 - 1e-9)
            )
            assert worse <= cost[better] * (1 + 1e-8)
    assert [agent[str(i)].rounds for i in range(len(loans))] == [
        1 + (number > 0) for number in granted
    ]


def test_many_categories() -> None:
    """The cut goes through a group of thousands that are tied, and through the
    learners.
    """
    size = 5_000
    agent = pb.Agent(
        [pb.Category(str(i), pb.Bernoulli(), threshold=0.3) for i in range(size)],
        policy="ts",
        seed=1,
    )
    agent.decide()
    agent.observe({str(i): [1, 0, 1] if i % 2 else [0, 1, 0, 0] for i in range(0, size) if i % 5})
    ask = {str(i): i % 7 for i in range(size)}
    decision = agent.decide(places=2_000, demand=ask)
    granted = decision.granted_clients
    assert granted is not None
    assert granted.sum() == 2_000
    learners = np.arange(size) % 5 == 0
    assert granted[learners].sum() == 200
    tied = [
        verdict
        for k, verdict in enumerate(decision)
        if k % 2 and k % 5 and k % 7 and verdict.evidence <= verdict.patience
    ]
    full = [verdict.index for verdict in tied if verdict.granted == verdict.demand]
    none = [verdict.index for verdict in tied if not verdict.granted]
    assert full
    assert none
    assert min(full) >= max(none)


# ----------------------------------------------------------------------------- mistakes

MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"budget": -1}, pb.errors.ParameterError, "budget = -1 is negative"),
    ({"budget": math.nan}, pb.errors.ParameterError, "budget = nan is not a finite number"),
    ({"budget": math.inf}, pb.errors.ParameterError, "budget = inf"),
    ({"budget": "10"}, pb.errors.ParameterError, "budget = '10'"),
    ({"budget": True}, pb.errors.ParameterError, "budget = True"),
    ({"places": 1.5}, pb.errors.ParameterError, "places = 1.5 is not a whole number"),
    ({"places": -1}, pb.errors.ParameterError, "places = -1"),
    ({"budget": 5, "places": 5}, pb.errors.ParameterError, "not both"),
    ({"budget": 5, "demand": None}, pb.errors.ParameterError, "demand = None is missing"),
    ({"budget": 5, "demand": [1, 2]}, pb.errors.ParameterError, "must be a mapping"),
    ({"budget": 5, "demand": 7}, pb.errors.ParameterError, "must be a mapping"),
    ({"budget": 5, "demand": {**ASK, "nobody": 1}}, pb.errors.UnknownCategoryError, "'nobody'"),
    ({"budget": 5, "demand": {**ASK, 3: 1}}, pb.errors.UnknownCategoryError, "3"),
    (
        {"budget": 5, "demand": {**ASK, "shops": -1}},
        pb.errors.ParameterError,
        "demand of 'shops' = -1",
    ),
    (
        {"budget": 5, "demand": {**ASK, "shops": 1.5}},
        pb.errors.ParameterError,
        "demand of 'shops' = 1.5",
    ),
    (
        {"budget": 5, "demand": {**ASK, "shops": True}},
        pb.errors.ParameterError,
        "demand of 'shops' = True",
    ),
    (
        {"budget": 5, "demand": {**ASK, "shops": math.inf}},
        pb.errors.ParameterError,
        "demand of 'shops' = inf",
    ),
    (
        {"budget": 5, "demand": {**ASK, "shops": 10**400}},
        pb.errors.ParameterError,
        "demand of 'shops'",
    ),
    (
        {"budget": 5, "demand": {"shops": 1}},
        pb.errors.ParameterError,
        "demand of 'homeowners' = None is missing",
    ),
    (
        {"budget": 5, "available": ["shops"]},
        pb.errors.ParameterError,
        "demand of 'homeowners' = 20 is given, but",
    ),
    (
        {"budget": 5, "available": ["shops", "students"], "demand": {"shops": 1}},
        pb.errors.ParameterError,
        "demand of 'students' = None is missing",
    ),
    ({"budget": 5, "explore": 1.1}, pb.errors.ParameterError, "explore = 1.1 is not a share"),
    ({"budget": 5, "explore": -0.1}, pb.errors.ParameterError, "explore = -0.1"),
    ({"budget": 5, "explore": math.nan}, pb.errors.ParameterError, "explore = nan"),
    ({"budget": 5, "explore": "all"}, pb.errors.ParameterError, "explore = 'all'"),
    ({}, pb.errors.ParameterError, "is given without a limit"),
    (
        {"demand": None, "explore": 0.1},
        pb.errors.ParameterError,
        "explore = 0.1 is given without a limit",
    ),
]


@pytest.mark.parametrize(
    ("options", "kind", "says"), MISTAKES, ids=[mistake[2] for mistake in MISTAKES]
)
def test_mistakes_are_refused_and_change_nothing(
    options: Mapping[str, Any], kind: type[Exception], says: str, tmp_path: Path
) -> None:
    one, untouched = lender("ts"), lender("ts")
    with pytest.raises(kind) as caught:
        one.decide(**{"demand": ASK, **options})
    assert type(caught.value) is kind
    message = str(caught.value)
    assert says in message
    assert "; " in message
    assert message.endswith(".")
    assert "\n" not in message
    assert one.round == untouched.round
    for agent, name in ((one, "one"), (untouched, "untouched")):
        agent.save(tmp_path / name)
    # Rounds and draws included.
    assert (tmp_path / "one").read_bytes() == (tmp_path / "untouched").read_bytes()


def test_numbers_of_other_kinds() -> None:
    ask: Any = {name: np.int64(asked) for name, asked in ASK.items()}
    expected = lender().decide(budget=10_000, demand=ASK).granted
    assert lender().decide(budget=np.float32(10_000), demand=ask).granted == expected
    assert lender().decide(places=np.int8(10), demand={**ask, "shops": 4.0}).granted == expected
