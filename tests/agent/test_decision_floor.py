"""A floor: a rejected category is accepted all the same, with a probability that is
stated exactly.
"""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from profitable.policy.policies import POLICIES

ALARM = 1e-6  # each comparison; there are 14 of them
SIZE = 20_000


def category(name: str = "it", threshold: float = 0.5) -> pb.Category:
    return pb.Category(name, pb.Bernoulli(), threshold=threshold)


def crowd(policy: str, seed: int = 5) -> pb.Agent:
    """Many categories with the same outcomes, so that one decision is many draws."""
    agent = pb.Agent([category(str(i)) for i in range(SIZE)], policy=policy, seed=seed)
    agent.decide()
    agent.observe({str(i): [0.0, 1.0, 0.0, 0.0] for i in range(SIZE)})
    return agent


@pytest.mark.parametrize(
    "policy",
    [
        "kl-ucb:floor=0.05",
        "kl-ucb:forget=0.9,floor=0.05",
        "ts:floor=0.05",
        "ts:forget=0.9,floor=0.05",
        "ts:floor=0.7",
    ],
)
def test_frequencies_are_those_of_the_propensity(policy: str) -> None:
    agent = crowd(policy)
    for _ in range(2):
        decision = agent.decide()
        propensity = decision.propensity
        assert (propensity == propensity[0]).all()
        evidence, floor = decision.evidence[0], agent.policy.floor
        chance = (
            math.exp(-evidence) if agent.policy.draws else float(evidence <= decision.patience[0])
        )
        assert propensity[0] == pytest.approx(floor + (1.0 - floor) * chance, rel=1e-12)
        assert decision["7"].propensity == propensity[7]
        accepted = int(decision.accepted_mask.sum())
        if propensity[0] == 1.0:
            assert accepted == SIZE
        else:
            assert stats.binomtest(accepted, SIZE, float(propensity[0])).pvalue > ALARM


def test_the_floor_s_draw_is_another_one_than_thompson_s() -> None:
    """Of those that Thompson's draw rejects narrowly and of those it rejects clearly,
    the same part is accepted.
    """
    decision = crowd("ts:floor=0.2").decide()
    rejected = decision.patience < decision.evidence
    near = rejected & (decision.patience > np.median(decision.patience[rejected]))
    for part in (near, rejected & ~near):
        hits = int(decision.accepted_mask[part].sum())
        assert stats.binomtest(hits, int(part.sum()), 0.2).pvalue > ALARM


@pytest.mark.parametrize("name", POLICIES)
def test_without_a_floor_all_is_as_it_was(name: str) -> None:
    plain = pb.Policy.parse("optimal:horizon=50" if name == "optimal" else name)
    assert pb.Policy.parse(f"{plain}{',' if ':' in str(plain) else ':'}floor=0") == plain
    assert "floor" not in str(plain)
    agent = pb.Agent([category()], policy=plain, seed=3)
    before = agent._stream.dump()
    for _ in range(4):
        agent.decide()
        agent.observe("it", [0, 1, 0])
    assert (agent._stream.dump() == before) != plain.draws


def rejecting(policy: str, seed: int = 3) -> pb.Agent:
    agent = pb.Agent([category("bad"), category("good")], policy=policy, seed=seed)
    agent.decide()
    agent.observe({"bad": [0] * 9, "good": [1] * 9})
    return agent


def test_what_is_said() -> None:
    agent = rejecting("kl-ucb:floor=0.25")
    said: set[bool] = set()
    for _ in range(30):
        rounds = agent["bad"].rounds
        decision = agent.decide()
        verdict = decision["bad"]
        said.add(verdict.accepted)
        assert verdict.propensity == 0.25
        assert verdict.evidence > verdict.patience
        assert verdict.index < verdict.threshold
        assert (
            verdict.accepted
            == decision.accepts("bad")
            == ("bad" in decision.accepted)
            == decision.accepted_mask[0]
        )
        assert agent["bad"].rounds == rounds + verdict.accepted
        assert decision.patient_again("bad") == (None if verdict.accepted else 513)
        if verdict.accepted:
            assert verdict.next_round is None
            assert verdict.reason.startswith(
                "accepted: by the floor of 25 %, although evidence 6.24 exceeds patience "
            )
            assert "accepted by the floor" in str(decision)
        else:
            assert verdict.next_round == decision.round + 1
            assert verdict.reason.endswith(
                "; each round accepts it with probability 25 % by the floor, and patience "
                "will in round 513"
            )
        assert decision["good"].propensity == 1.0
        assert "floor" not in decision["good"].reason
    assert said == {True, False}
    assert "accepted with probability 25 %, by the floor (patience 3.4" in agent.explain("bad")
    assert "patience will accept it in round 513" in agent.explain("bad")
    agent.pause("bad")
    for _ in range(20):
        assert not agent.decide().accepts("bad")
        assert agent.decide()["bad"].propensity == 0.0


def test_what_is_said_of_other_policies() -> None:
    thompson = rejecting("ts:floor=0.25")
    reasons = [thompson.decide()["bad"].reason for _ in range(40)]
    assert any(
        "by the floor of 25 %" in reason and "exceeds this round's draw" in reason
        for reason in reasons
    )
    assert any("accepted with probability 0.25 in each round" in reason for reason in reasons)
    lost = rejecting("optimal:horizon=20,floor=0.25")
    reasons = [lost.decide()["bad"].reason for _ in range(25)]
    assert any(
        reason.endswith("each round accepts it with probability 25 % by the floor")
        for reason in reasons
    )
    assert any("by the floor of 25 %, although P(profitable) is" in reason for reason in reasons)


def test_a_floor_of_1_accepts_everybody_but_the_paused() -> None:
    agent = rejecting("kl-ucb:floor=1")
    assert agent.decide().accepted == ("bad", "good")
    agent.pause("good")
    assert agent.decide().accepted == ("bad",)


@pytest.mark.parametrize(
    "policy", ["kl-ucb:floor=0.3", "ts:floor=0.3", "kl-ucb+:count=rounds,window=5,floor=0.3"]
)
def test_files_and_copies_go_on_with_the_same_draws(policy: str, tmp_path: Path) -> None:
    agent = rejecting(policy)
    for _ in range(40):
        agent.save(tmp_path / "agent.json")
        twins = [pb.Agent.load(tmp_path / "agent.json"), copy.deepcopy(agent)]
        decisions = [each.decide(available=["bad"]) for each in (agent, *twins)]
        assert decisions[0].to_dict() == decisions[1].to_dict() == decisions[2].to_dict()
        agent.observe("bad", [0, 1])


def test_a_preview_draws_nothing() -> None:
    agent, twin = rejecting("ts:floor=0.5"), rejecting("ts:floor=0.5")
    for _ in range(10):
        agent.explain("bad")
        agent.plot()
    assert [agent.decide().accepted for _ in range(20)] == [
        twin.decide().accepted for _ in range(20)
    ]


@pytest.mark.parametrize("floor", [-0.01, 1.01, math.nan, "often", None, True])
def test_bad_floors(floor: float) -> None:
    for kind in POLICIES.values():
        with pytest.raises(
            pb.errors.ParameterError,
            match=r"floor = .* is not a probability; give a number from 0 to 1",
        ):
            kind(floor=floor)


# ------------------------------------------------------------------------- count=rounds


def test_rounds_are_counted_when_they_are_accepted() -> None:
    """Outcomes before any decision, rounds without outcomes, and rounds that only ask
    about others.
    """
    agent = pb.Agent([category(), category("other")], policy="kl-ucb+:count=rounds,inflate=1000")
    agent.observe("it", [0, 0, 0, 1])
    plain = agent["it"].evidence
    assert plain == pytest.approx(4.0 * (0.25 * math.log(0.5) + 0.75 * math.log(1.5)), rel=1e-12)
    for rounds in range(1, 8):
        assert agent.decide().accepts("it")
        agent.decide(available=["other"])
        assert agent["it"].evidence == pytest.approx(plain + math.log(rounds), rel=1e-12)
    agent.pause("it")
    agent.decide()
    assert agent["it"].evidence == pytest.approx(plain + math.log(7), rel=1e-12)


def test_forgotten_rounds() -> None:
    agent = pb.Agent([category()], policy="kl-ucb+:count=rounds,inflate=1000,forget=0.5")
    for _ in range(6):
        agent.decide()
    agent.observe("it", [0, 0, 0, 1])
    assert agent.ledger.table[AgentRow.TAKEN, 0] == pytest.approx(2.0 - 0.5**5)
    nats = 4.0 * (0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert agent["it"].evidence == pytest.approx(nats + math.log(2.0 - 0.5**5))
    agent.pause("it")
    agent.decide()
    agent.decide()
    assert agent["it"].evidence == pytest.approx(nats / 4.0), (
        "less than one round is remembered: log 1"
    )


def test_a_change_of_policy_takes_the_rounds_along() -> None:
    for new in ("kl-ucb+:count=rounds,inflate=99", "kl-ucb+:count=rounds,inflate=99,window=4"):
        agent = pb.Agent([category(), category("new")], policy="kl-ucb:inflate=99")
        for _ in range(5):
            agent.decide()
        agent.observe("it", [0, 0, 1])
        plain = agent["it"].evidence
        agent.set_policy(new)
        assert agent["it"].evidence == pytest.approx(plain + math.log(5.0))
        assert agent.ledger.table[AgentRow.TAKEN].tolist() == [5.0, 5.0]
        agent.set_policy("kl-bernoulli-ucb+:count=rounds,inflate=99,forget=0.5")
        assert agent["it"].evidence == pytest.approx(plain + math.log(5.0))


def test_rounds_leave_the_window() -> None:
    agent = pb.Agent(
        [category("gone"), category()], policy="kl-ucb+:count=rounds,inflate=99,window=3"
    )
    for rounds in (1, 2, 3, 3, 3):
        agent.decide()
        assert agent.ledger.table[AgentRow.TAKEN].tolist() == [rounds, rounds]
    agent.remove_category("gone")
    agent.pause("it")
    for rounds in (2, 1, 0, 0):
        agent.observe("it", [0])
        agent.decide()
        assert agent.ledger.table[AgentRow.TAKEN].tolist() == [rounds]
        nats = agent["it"].counted * math.log(2.0)
        assert agent["it"].evidence == pytest.approx(nats + math.log(max(rounds, 1)))


def test_a_word_to_those_with_large_batches() -> None:
    said = {}
    for policy in ("kl-ucb+", "kl-ucb+:count=rounds", "kl-ucb"):
        agent = pb.Agent([category()], policy=policy)
        agent.decide()
        agent.observe("it", count=500, total=245)
        if policy == "kl-ucb+":
            with pytest.warns(
                pb.errors.ProfitableWarning,
                match="category 'it' is rejected because log of its 500",
            ) as told:
                agent.decide()
            assert told[0].filename == __file__
        agent.decide()  # which warns no more
        said[policy] = (
            "log of its 500 clients alone exceeds patience" in agent.decide()["it"].reason
        )
        assert said[policy] == ("kl-ucb+:count=rounds" in agent.explain("it"))
    assert said == {"kl-ucb+": True, "kl-ucb+:count=rounds": False, "kl-ucb": False}
    for clients, total in ((500, 50), (15, 7)):  # clearly below, and a batch that is not large
        agent = pb.Agent([category()], policy="kl-ucb+")
        agent.decide()
        agent.observe("it", count=clients, total=total)
        for _ in range(3):
            assert "alone exceeds patience" not in agent.decide()["it"].reason


@pytest.mark.parametrize("count", ["weeks", 5, None, "", True])
def test_bad_counts(count: str) -> None:
    for kind in (pb.KLUCBPlus, pb.KLBernoulliUCBPlus):
        with pytest.raises(
            pb.errors.ParameterError, match=r"count = .* is unknown; choose from clients, rounds"
        ):
            kind(count=count)


def test_names_with_words() -> None:
    assert (
        str(pb.KLUCBPlus(count="rounds", c=3, floor=0.05)) == "kl-ucb+:c=3,count=rounds,floor=0.05"
    )
    assert pb.Policy.parse("kl-ucb+: count = rounds").count == "rounds"
    assert pb.Policy.parse("kl-ucb+:count=clients") == pb.KLUCBPlus()
    for bad in ("kl-ucb+:count=weeks", "kl-ucb+:count", "kl-ucb:count=rounds"):
        with pytest.raises(pb.errors.ParameterError):
            pb.Policy.parse(bad)
