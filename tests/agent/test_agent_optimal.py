"""The optimal policy in an agent: what it counts, what it says, and that many
categories are decided as each alone.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import profitable as pb


def agent_of(policy: str, *names: str, **options: object) -> pb.Agent:
    categories = [
        pb.Category(name, pb.Bernoulli(), threshold=0.5, **options) for name in names or ("a",)
    ]  # type: ignore[arg-type]
    return pb.Agent(categories, policy=policy, seed=1)


def least(known: float, to_come: float, risk: float = 1.0) -> float:
    """Patience, from the formula on the page."""
    s = 1.0 + to_come / known
    added = 2.0 * math.sqrt(math.log(s) * (1.0 + math.log(s)))
    return max(math.log(2), math.log((s + 3.0 + added) / 2.0 / risk))


def test_the_clients_of_a_round_are_counted() -> None:
    """6 clients in 2 accepted rounds are 3 a round, whichever policy was there, and
    waiting ones count.
    """
    agent = agent_of("optimal:horizon=100")
    agent.decide()
    agent.observe("a", [1, 0, 1])
    assert agent.decide()["a"].patience == pytest.approx(least(3, 3 * 99))
    agent.expect("a", 3)
    assert agent["a"].rounds == 2
    assert agent.decide()["a"].patience == pytest.approx(least(3, 3 * 98))
    agent.observe("a", [1, 1, 0])
    assert agent.decide()["a"].patience == pytest.approx(least(6, 2 * 97))


def test_late_outcomes_count_from_the_start_if_they_are_expected() -> None:
    """Five clients a round, known 20 rounds later.

    Told or given, there are five; else fewer, as the page warns.
    """
    patience: list[float] = []
    for policy, told in (
        ("optimal:horizon=500", 5),
        ("optimal:horizon=500,clients=5", 0),
        ("optimal:horizon=500", 0),
    ):
        agent = agent_of(policy)
        for _ in range(20):
            agent.decide()
            agent.expect("a", told)
        agent.observe("a", [0, 0, 0, 1, 0])
        patience.append(agent.decide()["a"].patience)
    assert patience[0] == patience[1] == pytest.approx(least(5, 5 * 480))
    assert patience[2] == pytest.approx(least(5, 5 / 20 * 480))


def test_rounds_that_do_not_offer_it_are_not_counted() -> None:
    """Not available, paused, rejected: three rounds that bring no clients and do not
    count.
    """
    agent = agent_of("kl-ucb", "a", "b")
    agent.decide()
    agent.observe("a", [0] * 4)
    agent.decide(["b"])
    agent.pause("a")
    agent.decide()
    agent.resume("a")
    assert not agent.decide().accepts("a")
    assert (agent["a"].rounds, agent["b"].rounds) == (1, 4)
    agent.set_policy("optimal:horizon=50")
    assert agent["a"].rounds == 1
    assert agent.decide()["a"].patience == pytest.approx(least(4, 4 * 46))


def test_clients_from_before_the_first_round_are_known_but_do_not_count_as_one_round(
    tmp_path: Path,
) -> None:
    """A history of 1 000 clients, and then two in each round: two a round, not 1 002 in
    the first.
    """
    agent = agent_of("optimal:horizon=100")
    agent.observe("a", count=1_000, total=500)
    agent.explain("a")
    agent.decide()
    agent.observe("a", [1, 0])
    agent.save(tmp_path / "agent.json")
    for each in (agent, pb.Agent.load(tmp_path / "agent.json")):
        assert "Clients in a round: 2." in each.explain("a")
        assert each.decide()["a"].patience == pytest.approx(least(1_002, 2 * 99))


def test_a_history_that_is_taken_back_is_not_missed_later() -> None:
    """Half of the 1 000 clients were a mistake.

    The rounds that follow bring two clients each all the same.
    """
    agent = agent_of("optimal:horizon=100")
    agent.observe("a", [1, 0] * 500)
    agent.decide()
    agent.correct("a", was=[1, 0] * 250)
    agent.observe("a", [1, 0])
    assert "Clients in a round: 2." in agent.explain("a")


def test_looking_does_not_count() -> None:
    agent = agent_of("optimal")
    agent.decide()
    agent.observe("a", [0, 1])
    agent.explain("a")
    agent.plot()
    assert agent["a"].rounds == 1


def test_without_data_it_accepts_and_a_prior_decides_by_itself() -> None:
    doubt = pb.Prior.beta(3, 8)  # P(mean >= 0.5) = 0.0547, like ten clients
    for policy, accepted in (
        # Worth testing down to 2/(101 + 3 + 2 sqrt(4.615 * 5.615)) = 0.018.
        ("optimal:horizon=1000", True),
        ("optimal:horizon=20", False),  # 2/(3 + 3 + 2 sqrt(1.099 * 2.099)) = 0.221
        ("optimal:horizon=20,clients=50", True),
        ("optimal:discount=0.9", False),
        ("optimal", False),  # nothing has passed, so nothing is expected
    ):
        assert agent_of(policy).decide().accepts("a")
        agent = agent_of(policy, prior=doubt)
        decision = agent.decide()
        assert decision.accepts("a") == accepted, policy
        assert decision["a"].propensity == float(accepted)
        assert agent["a"].rounds == int(accepted)


def test_it_stops_for_good_unless_it_is_anytime() -> None:
    for policy in ("optimal:horizon=100", "optimal:discount=0.98"):
        agent = agent_of(policy)
        agent.decide()
        agent.observe("a", [0] * 30)
        verdict = agent.decide()["a"]
        assert (verdict.accepted, verdict.next_round) == (False, None)
        assert verdict.reason.endswith("at this threshold unless further outcomes speak for it")
    agent = agent_of("optimal")
    agent.decide()
    agent.observe("a", [0, 0, 0, 1])
    verdict = agent.decide()["a"]
    assert verdict.next_round is not None
    while agent.round < verdict.next_round - 1:
        assert not agent.decide().accepts("a")
    assert agent.decide().accepts("a")


def test_nothing_is_for_good_while_outcomes_are_still_to_come() -> None:
    agent = agent_of("optimal:horizon=100")
    agent.decide()
    agent.expect("a", 60)
    agent.observe("a", [0] * 10)
    decision = agent.decide()
    assert decision["a"].reason.endswith(
        "at this threshold unless the outcomes still to come speak for it"
    )
    assert "for good" not in str(decision)
    assert "unless the outcomes still to come speak for it" in agent.explain("a")
    agent.observe("a", [1] * 50)
    assert agent.decide().accepts("a")


def test_what_it_says() -> None:
    agent = agent_of("optimal:horizon=1000")
    agent.decide()
    agent.observe("a", [0, 0, 0, 0, 1])
    verdict = agent.decide()["a"]
    chance, down_to = (
        math.exp(-verdict.evidence),
        2.0 / (1000 + 3 + 2.0 * math.sqrt(6.90776 * 7.90776)),
    )
    assert verdict.reason == (
        f"accepted: P(profitable) is {100 * chance:.2g} %; with about 5 000 clients "
        "still to come it is worth testing "
        f"down to {100 * down_to:.2g} %"
    )
    assert "future clients worth about 500 of today's" in _reason(
        "optimal:discount=0.99", [0, 0, 0, 0, 1]
    )
    assert "expecting about 15 more clients" in _reason("optimal", [0, 0, 1, 0, 1])
    text = agent.explain("a")
    assert "Clients in a round: 2.5." in text
    assert "P(profitable) is 8.8 %; with about 2 500 clients still to come" in text


def _reason(policy: str, rewards: list[int]) -> str:
    agent = agent_of(policy)
    agent.decide()
    agent.observe("a", rewards)
    return agent.decide()["a"].reason


def test_its_probabilities_can_be_read() -> None:
    """No 1e+02 %, no 6.6e-07 %, no 0 % for what is possible, and never the same number
    for chance and limit.
    """
    horizon = "optimal:horizon=1000"
    assert "P(profitable) is more than 99 %; with about 50 000 clients" in _reason(
        horizon, [1] * 50
    )
    assert "P(profitable) is 1 in 150 000 000; with about 24 000 clients" in _reason(
        horizon, [0] * 24
    )
    assert "P(profitable) is 1 in 10^1507; with about 5 000 000 clients" in _reason(
        horizon, [0] * 5_000
    )
    close = _reason("optimal:risk=100", [1, 0] * 40_000 + [0, 0])
    assert (
        "P(profitable) is 49.7 %; expecting about 240 000 more clients it is worth "
        "testing down to 50 %" in close
    )


def test_what_it_says_in_round_1() -> None:
    """Not every category is accepted then: a prior may speak against one."""
    for category, reason in (
        (
            pb.Category("a", pb.Bernoulli(), threshold=0.5),
            "no outcome is known yet, so nothing speaks against it",
        ),
        (
            pb.Category("a", pb.Bernoulli(), threshold=0.5, prior=pb.Prior.beta(0.01, 0.3)),
            "no outcome is known yet, and its prior says too little",
        ),
    ):
        agent = pb.Agent([category], policy="optimal")
        assert "every category" not in agent.explain("a")
        assert agent.decide()["a"].reason == f"accepted: {reason}"


def test_a_horizon_that_has_passed_decides_by_even_odds_and_says_so() -> None:
    agent = agent_of("optimal:horizon=2", "good", "bad", "unknown")
    agent.decide()
    agent.observe({"good": [1, 1, 0], "bad": [0, 0, 1]})
    agent.decide()
    agent.decide()
    decision = agent.decide()
    assert decision.accepted == ("good", "unknown")
    assert decision["bad"].patience == math.log(2)
    for text in (decision["good"].reason, decision["bad"].reason, agent.explain("good")):
        assert "the horizon of 2 rounds has passed" in text


def test_one_client_a_round_is_assumed_until_more_is_known(tmp_path: Path) -> None:
    """Clients from before the first decision say nothing about how many a round brings,
    so they are left out of the average.
    """
    students = pb.Category("students", pb.Bernoulli(), threshold=0.2, prior=pb.Prior.beta(1, 1))
    old = pb.Agent([students], policy="ts", seed=7)
    old.observe("students", [0, 1, 0, 1, 0, 1, 0])
    old.set_policy("optimal:horizon=1000")
    clients = old["students"].clients
    imaginary = 1.0  # of the category's prior, beta(1, 1)
    text = old.explain("students")
    assert "Clients in a round: not known yet, 1 is assumed." in text
    before = old.decide()["students"]
    assert before.patience == pytest.approx(least(clients + imaginary, 1000 - old.round + 1))
    old.observe("students", [1, 0, 1, 1])
    old.save(tmp_path / "new.json")
    for agent in (old, pb.Agent.load(tmp_path / "new.json")):
        assert "Clients in a round: 4." in agent.explain("students")
        expected = least(clients + 4 + imaginary, 4 * (1000 - agent.round))
        assert agent.decide()["students"].patience == pytest.approx(expected)


def test_rounds_are_saved(tmp_path: Path) -> None:
    agent = agent_of("optimal:horizon=500", "a", "b")
    for _ in range(3):
        agent.decide(["a"])
    agent.observe("a", [1] * 6)
    agent.save(tmp_path / "agent.json")
    twin = pb.Agent.load(tmp_path / "agent.json")
    assert (twin["a"].rounds, twin["b"].rounds) == (3, 0)
    assert twin.decide().to_dict() == agent.decide().to_dict()
    content = (tmp_path / "agent.json").read_text(encoding="utf-8")
    broken = re.sub(r'"rounds": \[3,0\]', '"rounds": [4,0]', content)
    assert broken != content
    from profitable.agent.state_file import restore
    from profitable.agent.state_record import StateRecord

    whole = __import__("json").loads(broken)
    del whole["checksum"]
    with pytest.raises(pb.errors.BrokenStateError, match="rounds"):
        restore(StateRecord.model_validate(whole))


def test_many_categories_are_decided_as_each_alone() -> None:
    rng = np.random.default_rng(7)
    names = [f"c{i}" for i in range(300)]
    for policy in (
        "optimal:horizon=60",
        "optimal",
        "optimal:discount=0.95,risk=0.3",
        "optimal:clients=2",
    ):
        together = agent_of(policy, *names)
        alone = {name: agent_of(policy, name) for name in names[:40]}
        for _ in range(5):
            decision = together.decide()
            for name, agent in alone.items():
                single = agent.decide()[name]
                assert decision[name] == single
            outcomes = {
                name: (rng.random(rng.integers(1, 4)) < 0.4).astype(float).tolist()
                for name in names
            }
            together.observe(outcomes)
            for name, agent in alone.items():
                agent.observe(name, outcomes[name])


def test_the_index_says_the_same() -> None:
    """index >= threshold means evidence <= patience, as for every policy: the posterior
    quantile at that patience.
    """
    agent = agent_of("optimal:horizon=200")
    agent.decide()
    agent.observe("a", [0, 0, 1, 0, 0])
    verdict = agent.decide()["a"]
    twin = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=verdict.index)], policy="bayes-ucb")
    twin.observe("a", [0, 0, 1, 0, 0])
    assert twin["a"].evidence == pytest.approx(verdict.patience, rel=1e-9)
