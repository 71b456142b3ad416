"""Forgetting: weighted sums against a plain recomputation from the whole history, for
all rules and families.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.kernels import faded_verdicts
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.evidence import Observed, evidence
from profitable.kernels.law import posterior_bounds, posterior_evidence
from profitable.policy.policies import POLICIES
from tests.combinations import covering
from tests.matrix import FAMILIES, FamilyRow

ROUNDS = 30


NAMES = [*POLICIES, "kl-ucb+:count=rounds", "kl-bernoulli-ucb+:count=rounds"]


def other_policy(name: str, **options: float) -> pb.Policy:
    return replace(pb.Policy.parse("optimal:horizon=50" if name == "optimal" else name), **options)


class Plain:
    """The whole history of one category: what was reported, and after how many
    decisions.
    """

    def __init__(self, row: FamilyRow, policy: pb.Policy) -> None:
        self.row = row
        self.policy = policy
        self.reports: list[tuple[int, list[float]]] = []
        self.accepted: list[int] = []  # rounds

    def weight(self, age: int) -> float:
        return float(age < self.policy.window) if self.policy.window else self.policy.forget**age

    def expected(self, now: int) -> tuple[float, float, float]:
        """N, the mean and the evidence after `now` decisions, by plain sums."""
        view = self.policy.view(self.row.category())
        pairs = [
            (value, self.weight(now - at)) for at, rewards in self.reports for value in rewards
        ]
        values = view.statistic.of_rewards(np.array([value for value, _ in pairs]))
        weights = np.array([weight for _, weight in pairs])
        clients = math.fsum(weights)
        if clients < 1e-9:
            return 0.0, math.nan, 0.0
        total = math.fsum(weights * values)
        spread = math.fsum(weights * (values - total / clients) ** 2)
        target = view.statistic.of_mean(self.row.category().threshold)
        rounds = math.fsum(self.weight(now - at) for at in self.accepted)
        seen = Observed(
            clients, total, spread, values[weights > 0.0], weights[weights > 0.0], rounds
        )
        return (
            clients,
            view.statistic.mean_of(total / clients),
            evidence(self.policy.rule.under(view.law), view.law, seen, target),
        )


def play(row: FamilyRow, policy: pb.Policy, seed: int, folder: Path) -> None:
    """Random reports, late and unordered, corrections, saving and loading in between;
    compare after each round.
    """
    rng = np.random.default_rng(seed)
    agent, plain = pb.Agent([row.category()], policy=policy, seed=seed), Plain(row, policy)
    for _ in range(ROUNDS):
        decision = agent.decide()
        clients, _, nats = plain.expected(agent.round - 1)
        assert decision["it"].counted == pytest.approx(clients, rel=1e-9, abs=2e-9)
        assert decision.evidence[0] == pytest.approx(nats, rel=1e-7, abs=1e-9)
        assert decision.accepted_mask[0] == (decision.evidence[0] <= decision.patience[0])
        if decision.accepted_mask[0]:
            plain.accepted.append(agent.round)
        for _ in range(rng.integers(0, 3)):
            rewards = row.rewards(int(rng.integers(1, 4)), seed=int(rng.integers(1 << 30))).tolist()
            agent.observe("it", rewards) if rng.random() < 0.5 else agent.observe({"it": rewards})
            plain.reports.append((agent.round, rewards))
        if plain.reports and rng.random() < 0.2:
            at, was = plain.reports.pop(int(rng.integers(len(plain.reports))))
            now = (
                row.rewards(2, seed=int(rng.integers(1 << 30))).tolist()
                if rng.random() < 0.5
                else None
            )
            agent.correct("it", was=was, now=now, counted_in=at)
            if now is not None:
                plain.reports.append((at, now))
        if rng.random() < 0.2:
            agent.save(folder / "agent.json")
            agent = pb.Agent.load(folder / "agent.json")
    clients, mean, nats = plain.expected(agent.round)
    standing = agent["it"]
    assert standing.clients == sum(len(rewards) for _, rewards in plain.reports)
    assert standing.counted == pytest.approx(clients, rel=1e-9, abs=2e-9)
    assert standing.evidence == pytest.approx(nats, rel=1e-7, abs=1e-9)
    if standing.mean is not None:
        assert standing.mean == pytest.approx(mean, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "name", "options"), covering(FAMILIES, NAMES, [{"forget": 0.8}, {"window": 4}]), ids=str
)
def test_sums_are_those_of_the_weighted_history(
    row: FamilyRow, name: str, options: dict[str, float], tmp_path: Path
) -> None:
    play(
        row,
        other_policy(name, **options),
        seed=len(name) + 7 * len(row.family.name),
        folder=tmp_path,
    )


@pytest.mark.parametrize(
    ("row", "name", "options"),
    covering(FAMILIES, [name for name in NAMES if name != "ts"], [{"forget": 0.9}, {"window": 5}]),
    ids=str,
)
def test_a_rejected_category_returns_when_it_is_said(
    row: FamilyRow, name: str, options: dict[str, float]
) -> None:
    policy = other_policy(name, **options)
    rng, found = np.random.default_rng(3), 0
    for seed in range(4):
        agent = pb.Agent([row.category()], policy=policy)
        for _ in range(int(rng.integers(1, 9))):
            agent.decide()
            low = max(row.mean - 0.75 * (row.threshold - row.mean), row.smallest)
            agent.observe("it", row.rewards(int(rng.integers(1, 6)), seed=seed, mean=low))
        verdict = agent.decide()["it"]
        if verdict.accepted:
            continue
        found += 1
        for _ in range(400):
            decision = agent.decide()
            if decision.accepted:
                assert verdict.next_round == decision.round
                break
            assert verdict.next_round is None or decision.round < verdict.next_round
        else:
            assert verdict.next_round is None
    if name in ("kl-ucb", "kl-ucb+", "bayes-ucb"):
        assert found


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(0, len(FAMILIES) - 1),
    clients=st.floats(1e-9, 1e6),
    shift=st.floats(-3.0, 3.0),
)
def test_bounds_hold_the_posterior_evidence(place: int, clients: float, shift: float) -> None:
    row = FAMILIES[place]
    if row.sigma is not None:  # its bounds need the spread: tests/kernels/test_unknown_variance.py
        return
    view = pb.ThompsonSampling().view(row.category())
    target = view.statistic.of_mean(row.threshold)
    low, high = view.statistic_range
    mean = target + shift * abs(target) / math.sqrt(1.0 + clients)
    total = min(max(mean, low + 1e-9 if low > -math.inf else mean), high) * clients
    least, most = posterior_bounds(view.law, clients, total, target)
    assert least <= posterior_evidence(view.law, clients, total, target, 0.0) <= most


def test_bounds_settle_most_decisions() -> None:
    rng = np.random.default_rng(1)
    means = rng.uniform(0.05, 0.95, 2_000)
    agent = pb.Agent(
        [pb.Category(f"{i}", pb.Bernoulli(), threshold=0.5) for i in range(means.size)],
        policy="ts:forget=0.99",
        seed=1,
    )
    for _ in range(5):
        agent.decide()
        agent.observe(
            {f"{i}": (rng.random(20) < mean).astype(float) for i, mean in enumerate(means)}
        )
    agent.decide()
    decision = agent.decide()
    assert np.count_nonzero(decision._table[AgentRow.ROUGH]) > 1_000, (
        "most evidence is only bounded"
    )
    accepted = decision.accepted
    assert decision.accepted == accepted, "asking for the evidence does not change the decision"
    assert (decision.accepted_mask == (decision.evidence <= decision.patience)).all()
    assert decision["7"].propensity == pytest.approx(math.exp(-decision.evidence[7]))


def test_forget_1_is_the_policy_as_it_is() -> None:
    assert pb.KLUCB(forget=1) == pb.KLUCB()
    assert str(pb.KLUCB(forget=1.0)) == "kl-ucb"


def test_patience_counts_what_is_remembered() -> None:
    assert pb.KLUCB(forget=0.97).patience(10**9) == pytest.approx(math.log(1.0 / 0.03))
    assert pb.KLUCB(forget=0.97).patience(2) == pytest.approx(math.log(1.97))
    assert pb.KLUCB(window=20).patience(10**9) == pytest.approx(math.log(20.0))
    assert pb.KLUCB(window=20).patience(7) == pytest.approx(math.log(7.0))
    ahead = pb.Optimal(horizon=10_000, forget=0.9).patience(100, known=10)
    assert ahead == pb.Optimal(horizon=110).patience(100, known=10), (
        "no further ahead than ten rounds are remembered"
    )
    anytime = pb.Optimal(window=20).patience(1_000, known=10)
    assert anytime == pb.Optimal().patience(20, known=10)


def test_all_is_forgotten_in_the_end() -> None:
    agent = pb.Agent(
        [pb.Category("it", pb.Bernoulli(), threshold=0.5)], policy="bayes-ucb:forget=0.5"
    )
    agent.observe("it", [0] * 20)
    assert not agent.decide().accepted[1:]
    for _ in range(60):
        agent.decide()
    assert agent["it"].counted == 0.0
    assert agent["it"].clients == 20
    assert "forgotten" in agent.decide()["it"].reason
    assert "all forgotten by now" in agent.explain("it")


@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_policy_keeps_what_counts(name: str) -> None:
    for new in (other_policy(name, forget=0.9), other_policy(name, window=3), other_policy(name)):
        agent = pb.Agent(
            [pb.Category("it", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb:forget=0.5"
        )
        agent.observe("it", [0, 1, 0, 0])
        agent.decide()
        agent.set_policy(new)
        assert agent.round == 1
        assert agent["it"].counted == 2.0
        agent.decide()
        assert agent["it"].counted == pytest.approx(2.0 * new.forget)
        for _ in range(3):
            agent.decide()
        assert agent["it"].counted == (0.0 if new.window else pytest.approx(2.0 * new.forget**4))


def test_removed_categories_leave_the_window() -> None:
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in "abc"],
        policy="kl-ucb:window=2",
    )
    agent.observe({"a": [1], "b": [0, 0], "c": [1, 1, 1]})
    agent.remove_category("b")
    agent.decide()
    assert [agent[name].counted for name in "ac"] == [1.0, 3.0]
    agent.decide()
    assert [agent[name].counted for name in "ac"] == [0.0, 0.0]
    assert [agent[name].clients for name in "ac"] == [1, 3]


def test_an_agent_that_forgets_can_be_copied() -> None:
    agent = pb.Agent(
        [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts:window=2", seed=3
    )
    agent.observe("a", [0, 0, 1])
    agent.decide()
    twin = copy.deepcopy(agent)
    agent.observe("a", [1] * 5)
    agent.decide()
    assert twin["a"].counted == 3.0
    assert twin.round == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"forget": 0.0}, ("forget", "0")),
        ({"forget": 1.01}, ("forget", "1.01", "0 to 1")),
        ({"forget": math.nan}, ("forget", "nan")),
        ({"forget": "slowly"}, ("forget", "slowly")),
        ({"window": 0}, ("window", "0")),
        ({"window": 2.5}, ("window", "2.5")),
        ({"window": 20, "forget": 0.9}, ("window", "20", "forget=0.9", "one of the two")),
    ],
)
def test_bad_options(options: dict[str, float], words: Sequence[str]) -> None:
    for kind in POLICIES.values():
        with pytest.raises(pb.errors.ParameterError) as error:
            kind(**options)
        assert all(word in str(error.value) for word in words)


def test_corrections_say_since_when_they_count() -> None:
    agent = pb.Agent([pb.Category("it", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb:forget=0.5")
    agent.observe("it", [0, 1, 1])
    agent.decide()
    before = agent["it"]
    with pytest.raises(pb.errors.ParameterError, match="counted_in"):
        agent.correct("it", was=0, now=1)
    with pytest.raises(pb.errors.ParameterError, match="counted_in"):
        agent.correct("it", was=0, now=1, counted_in=2)
    assert agent["it"] == before
    agent.correct("it", was=0, now=1, counted_in=0)
    assert agent["it"].mean == 1.0
    assert agent["it"].counted == 1.5
    windowed = pb.Agent(
        [pb.Category("it", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb:window=5"
    )
    windowed.observe("it", [0, 1])
    windowed.decide()
    with pytest.raises(pb.errors.CorrectionError, match="counted in round 1"):
        windowed.correct("it", was=0, counted_in=1)


# ------------------------------------------------------------------------- faded late


LATE_POLICIES = ["kl-ucb:forget=0.9", "kl-ucb:c=3,forget=0.99", "kl-ucb+:forget=0.97"]
AT_ONCE = ["ts:forget=0.95", "kl-ucb:window=20"]
POSTERIORS = [
    "bayes-ucb:forget=0.95",
    "bayes-ucb:c=2,inflate=3,forget=0.99",
    "optimal:forget=0.95",
    "optimal:horizon=300,forget=0.99",
    "optimal:discount=0.98,risk=0.4,forget=0.9",
    "optimal:clients=3,forget=0.97",
]
LATE_FAMILIES = [pb.Bernoulli(), pb.Poisson(), pb.Normal(), pb.Bounded(low=-1.0, high=2.0)]


class TwoAgents:
    """Two agents that live alike; one decides and ages everything at once."""

    def __init__(self, policy: str, family: pb.Family) -> None:
        self.names = [f"c{k}" for k in range(6)]
        given = [
            pb.Category(name, family, threshold=0.3 + 0.08 * k) for k, name in enumerate(self.names)
        ]
        self.late = pb.Agent(given, policy=policy, seed=3)
        self.at_once = pb.Agent(given, policy=policy, seed=3)

    def decide(self) -> tuple[pb.Decision, pb.Decision]:
        return self.late.decide(), self.at_once.decide(available=self.names)

    @property
    def both(self) -> tuple[pb.Agent, pb.Agent]:
        return self.late, self.at_once


def same(one: pb.Decision, other: pb.Decision) -> bool:
    """Whether two decisions are the same to the last bit, read in any order."""
    return repr(one.to_columns()) == repr(other.to_columns())


@pytest.mark.parametrize(
    ("policy", "family"),
    [
        *((policy, family) for policy in LATE_POLICIES + POSTERIORS for family in LATE_FAMILIES),
        *((policy, pb.Bernoulli()) for policy in AT_ONCE),
    ],
    ids=str,
)
def test_what_fades_late_is_to_the_last_bit_what_fades_at_once(
    policy: str, family: pb.Family, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    agents = TwoAgents(policy, family)
    kept: list[tuple[pb.Decision, pb.Decision]] = []
    for step in range(120):
        late, at_once = agents.decide()
        kept.append((late, at_once))
        name = agents.names[rng.integers(6)]
        if step % 3 == 0:
            assert late.accepts(name) == at_once.accepts(name)
        elif step % 3 == 1:
            assert (late.accepted_mask == at_once.accepted_mask).all()
        rewards = rng.integers(0, 2, rng.integers(1, 5)).astype(float).tolist()
        event = rng.integers(0, 14)
        if event < 6:
            for agent in agents.both:
                agent.observe(name, rewards)
        elif event == 6:
            for agent in agents.both:
                agent.observe(dict.fromkeys(agents.names[:4], rewards))
        elif event == 7:
            for agent in agents.both:
                agent.pause(name)
        elif event == 8:
            for agent in agents.both:
                agent.resume(name)
        elif event == 9:
            for agent in agents.both:
                agent.set_threshold(name, 0.2 + 0.01 * step % 0.5)
        elif event == 10:
            agents.late = copy.deepcopy(agents.late)
        elif event == 11:
            agents.late.save(tmp_path / "late.json")
            agents.at_once.save(tmp_path / "at_once.json")
            agents.late = pb.Agent.load(tmp_path / "late.json")
            agents.at_once = pb.Agent.load(tmp_path / "at_once.json")
        elif event == 12:
            assert agents.late[name] == agents.at_once[name]
        else:
            for _ in range(30):
                agents.decide()
    for i in rng.permutation(len(kept)).tolist():
        assert same(*kept[i])
    assert agents.late.ledger.numbers.tobytes() == agents.at_once.ledger.numbers.tobytes()


@pytest.mark.filterwarnings("ignore:category .* is rejected because log")
@pytest.mark.parametrize("family", [pb.Bernoulli(), pb.Normal()], ids=str)
@pytest.mark.parametrize("policy", LATE_POLICIES + POSTERIORS)
def test_thousands_of_rounds_without_outcomes(policy: str, family: pb.Family) -> None:
    agents = TwoAgents(policy, family)
    for agent in agents.both:
        agent.observe(
            {name: [0.0] * (10 * k + 3) + [1.0] * 4 for k, name in enumerate(agents.names)}
        )
    for _ in range(2_000):
        late, at_once = agents.decide()
        assert (late.accepted_mask == at_once.accepted_mask).all()
    assert same(late, at_once)
    for agent in agents.both:
        agent.observe("c3", [0.0] * 5)
    assert same(*agents.decide())


@pytest.mark.parametrize("policy", ["kl-ucb:forget=0.9", "kl-ucb:c=1,forget=0.97"])
def test_a_verdict_is_computed_once_until_outcomes_come(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rejected category comes back in a round that is known beforehand."""
    agents = TwoAgents(policy, pb.Bernoulli())
    agents.late.observe({name: [0.0] * (8 * k + 3) for k, name in enumerate(agents.names)})
    computed: list[int] = []
    kernel = faded_verdicts.accepted_faded

    def counted(*given: Any) -> int:
        computed.append(kernel(*given))
        return computed[-1]

    monkeypatch.setattr(faded_verdicts, "accepted_faded", counted)
    accepted = {agents.late.decide().accepted for _ in range(400)}
    assert len(accepted) > 1
    assert computed[:2] == [len(agents.names)] * 2  # round 1 says nothing of later ones
    assert sum(computed[2:]) == 0
    agents.late.observe("c2", [0.0])
    assert agents.late.decide().accepts("c5") in (True, False)
    assert computed[-1] == 0
    assert agents.late.decide().accepts("c2") in (True, False)
    assert computed[-1] == 1
