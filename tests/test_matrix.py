"""Every family with every policy: the properties that make a decision trustworthy."""

import copy
import itertools
import math
import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.common.registry import exported
from profitable.errors import ParameterError, RewardError, SumNotEnoughError, ThresholdError
from profitable.kernels import empirical, law
from profitable.kernels.evidence import Observed, evidence, faded
from profitable.model.families import FAMILIES as FAMILY_CLASSES
from profitable.policy.policies import POLICIES as POLICY_CLASSES
from profitable.policy.policies import BoundedPolicy
from tests.matrix import FAMILIES, POLICIES, POLICY_ROWS, FamilyRow, PolicyRow
from tests.simulation.worlds import play

# Of many clients.
pytestmark = pytest.mark.filterwarnings("ignore:category:profitable.errors.ProfitableWarning")
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"  # make soak: twice as many rounds
every_family = pytest.mark.parametrize("row", FAMILIES, ids=str)
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def agent_of(row: FamilyRow, policy: pb.Policy, threshold: float | None = None) -> pb.Agent:
    return pb.Agent([row.category(threshold)], policy=policy, seed=3)


def takes_sums(row: FamilyRow, policy: pb.Policy) -> bool:
    """Whether a count and a total always suffice, by the contract's words."""
    if isinstance(row.family, pb.Bernoulli):
        return True
    if policy.rule.needs_rewards:
        return False
    return row.family.bounds is not None if isinstance(policy, BoundedPolicy) else row.sums


def states(row: FamilyRow, policy: pb.Policy) -> list[pb.Agent]:
    """Agents in ordinary states and in corners: no data, one client, all smallest, all
    largest, 10^9 clients.
    """
    made: list[pb.Agent] = []
    for threshold in (row.threshold, *row.edges):
        batches = [
            [],
            [row.smallest],
            [row.largest],
            [row.smallest] * 30,
            [row.largest] * 30,
            row.rewards(40),
        ]
        for batch in batches:
            agent = agent_of(row, policy, threshold)
            if len(batch):
                agent.observe("it", batch)
            made.append(agent)
        if takes_sums(row, policy):
            whole = row.family.support.whole
            for mean in (
                row.mean,
                row.threshold,
                0.999999 * row.threshold,
                row.smallest,
                row.largest,
            ):
                agent = agent_of(row, policy, threshold)
                total = mean * 10**9
                agent.observe("it", count=10**9, total=round(total) if whole else total)
                made.append(agent)
    return made


@every_family
@every_policy
def test_index_says_the_same_as_evidence(row: FamilyRow, policy: pb.Policy) -> None:
    for agent in states(row, policy):
        # Round 1, the order-0 quantile of round 2, and what follows.
        for _ in range(12 if SOAK else 6):
            decision = agent.decide()
            verdict = decision["it"]
            # The index that is shown is moved to the decision's side: what is moved may
            # be rounding only.
            raw = decision._indices(slice(1))[0]
            if (raw >= verdict.threshold) != (verdict.evidence <= verdict.patience):
                assert abs(raw - verdict.threshold) <= 4 * math.ulp(verdict.threshold)
            assert not math.isnan(verdict.evidence)
            assert verdict.evidence >= 0.0
            assert not math.isnan(verdict.index)
            assert (
                verdict.accepted
                == (verdict.evidence <= verdict.patience)
                == (verdict.index >= verdict.threshold)
            )
            assert verdict.propensity is not None
            assert 0.0 <= verdict.propensity <= 1.0


@every_family
@every_policy
def test_the_index_is_where_the_evidence_meets_the_patience(
    row: FamilyRow, policy: pb.Policy
) -> None:
    """Moving the threshold to just below or above the index changes the decision: the
    index is the paper's sup.
    """
    agent = agent_of(row, policy)
    agent.observe("it", row.rewards(25))
    agent.decide()
    for _ in range(30 if SOAK else 15):
        before = copy.copy(agent)
        verdict = agent.decide()["it"]
        low, high = row.family.mean_domain
        if verdict.index in (low, high, math.inf, -math.inf) or verdict.index >= (
            row.bound or math.inf
        ):
            continue
        # Go back to the state before it, and put the threshold on either side of the
        # index.
        for side, expected in ((-1.0, True), (1.0, False)):
            threshold = verdict.index + side * 1e-7 * (1.0 + abs(verdict.index))
            if not low <= threshold <= high:
                continue
            moved = copy.copy(before)
            moved.set_threshold("it", threshold)
            evidence = moved["it"].evidence
            assert (evidence <= verdict.patience) is expected, (verdict, evidence)


# It ends at an edge.
@pytest.mark.filterwarnings("ignore:threshold:profitable.errors.ProfitableWarning")
@every_family
@every_policy
def test_evidence_grows_with_the_threshold(row: FamilyRow, policy: pb.Policy) -> None:
    low, high = row.family.mean_domain
    ends = (max(low, -3.0), min(high, row.bound or math.inf, 3.0 * row.threshold))
    agent = agent_of(row, policy)
    agent.observe("it", row.rewards(17))
    seen: list[float] = []
    for threshold in np.linspace(*ends, 60):
        agent.set_threshold("it", float(threshold))
        seen.append(agent["it"].evidence)
    assert all(later >= earlier for earlier, later in itertools.pairwise(seen))
    assert seen[-1] > 0.0


@every_family
@every_policy
def test_nothing_speaks_against_a_category_without_outcomes(
    row: FamilyRow, policy: pb.Policy
) -> None:
    agent = agent_of(row, policy)
    for _ in range(5):
        verdict = agent.decide()["it"]
        assert verdict.accepted
        assert verdict.evidence == 0.0
        assert verdict.propensity == 1.0
        assert verdict.mean is None


@every_family
@every_policy
def test_next_round_is_the_first_in_which_patience_suffices(
    row: FamilyRow, policy: pb.Policy
) -> None:
    agent = agent_of(row, policy)
    agent.decide()
    agent.observe("it", row.rewards(60, mean=row.mean))
    for _ in range(4):
        per_round = 60 / agent["it"].rounds
        verdict = agent.decide()["it"]
        if verdict.accepted:
            assert verdict.next_round is None
        elif policy.draws:
            assert verdict.next_round == agent.round + 1
        elif verdict.next_round is not None:
            assert verdict.next_round > agent.round
            late, early = (
                policy.patience(verdict.next_round - back, known=60, per_round=per_round)
                for back in (1, 2)
            )
            assert late >= verdict.evidence
            assert verdict.next_round == agent.round + 1 or early < verdict.evidence


@every_family
@every_policy
def test_saving_changes_nothing(row: FamilyRow, policy: pb.Policy, tmp_path: Path) -> None:
    agent = agent_of(row, policy)
    for seed in range(3):
        agent.decide()
        agent.observe("it", row.rewards(5, seed))
    agent.expect("it", 4)
    agent.save(tmp_path / "agent.json")
    twin = pb.Agent.load(tmp_path / "agent.json")
    for seed in range(3, 40 if SOAK else 21):
        one, other = agent.decide(), twin.decide()
        assert one.to_dict() == other.to_dict()
        agent.observe("it", row.rewards(2, seed))
        twin.observe("it", row.rewards(2, seed))
    assert agent["it"] == twin["it"]


@every_family
@every_policy
def test_a_correction_undoes_an_observation(row: FamilyRow, policy: pb.Policy) -> None:
    agent, clean = agent_of(row, policy), agent_of(row, policy)
    rewards = row.rewards(20)
    agent.observe("it", rewards)
    clean.observe("it", rewards[:-2])
    agent.correct("it", was=rewards[-2:])
    for one, other in zip(_numbers(agent), _numbers(clean), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
    agent.correct("it", was=rewards[0], now=rewards[1])
    assert agent["it"].clients == 18


def _numbers(agent: pb.Agent) -> tuple[float, ...]:
    standing = agent["it"]
    assert standing.mean is not None
    return (standing.clients, standing.mean, standing.evidence, standing.revenue, standing.cost)


@every_family
@every_policy
def test_a_total_is_as_good_as_a_list_or_refused(row: FamilyRow, policy: pb.Policy) -> None:
    rewards = row.rewards(9)
    listed, summed = agent_of(row, policy), agent_of(row, policy)
    listed.observe("it", rewards)
    if takes_sums(row, policy):
        summed.observe("it", count=9, total=float(rewards.sum()))
        assert summed["it"].evidence == pytest.approx(listed["it"].evidence, rel=1e-12)
        assert summed["it"].profit == pytest.approx(listed["it"].profit, rel=1e-9, abs=1e-9)
    else:
        before = summed["it"]
        try:
            summed.observe("it", count=9, total=float(rewards.sum()))
        except SumNotEnoughError:
            assert summed["it"] == before
        else:  # a total below the bound cannot hide a reward that is cut
            assert rewards.sum() <= (row.bound or 0.0)
            assert summed["it"].evidence == pytest.approx(listed["it"].evidence, rel=1e-12)


@every_family
@every_policy
def test_illegal_rewards_change_nothing(row: FamilyRow, policy: pb.Policy) -> None:
    agent = agent_of(row, policy)
    agent.observe("it", row.rewards(5))
    before = agent["it"]
    for bad in row.illegal:
        with pytest.raises(RewardError):
            agent.observe("it", [*row.rewards(2), bad])
        with pytest.raises(RewardError):
            agent.observe({"it": [bad]})
        assert agent["it"] == before


@every_family
def test_thresholds_on_the_edge_are_legal_and_beyond_it_not(row: FamilyRow) -> None:
    for edge in row.edges:
        row.category(edge)
        beyond = edge - 0.01 if edge == row.family.mean_domain[0] else edge + 0.01
        with pytest.raises(ThresholdError):
            row.category(beyond)
    for bad in (math.nan, math.inf, "0.2", None, True):
        with pytest.raises(ThresholdError):
            pb.Category("it", row.family, threshold=bad)  # type: ignore[arg-type]


@every_family
def test_divergence(row: FamilyRow) -> None:
    assert row.divergence(row.mean, row.mean) == 0.0
    assert row.divergence(row.mean, row.threshold) > 0.0
    further = row.threshold + 0.5 * (row.threshold - row.mean)
    assert row.divergence(row.mean, further) > row.divergence(row.mean, row.threshold)
    # Locally d(x, y) is (x - y)^2 / (2 V(x)): symmetric to third order.
    step = 1e-4 * row.mean
    there, back = (
        row.divergence(row.mean, row.mean + step),
        row.divergence(row.mean + step, row.mean),
    )
    assert there == pytest.approx(back, rel=2e-3)


@every_family
def test_posterior_quantile_inverts_survival(row: FamilyRow) -> None:
    posterior = row.posterior(row.around(row.typical, 10))
    for order in (1e-6, 0.01, 0.5, 0.9, 0.999999):
        quantile = posterior.quantile(order)
        if math.isinf(quantile):
            assert posterior.survival(1e12) >= 1.0 - order
        else:
            assert posterior.survival(quantile) == pytest.approx(1.0 - order, rel=1e-9)
    assert posterior.quantile(0.0) == row.family.mean_domain[0]
    assert posterior.quantile(1.0) == row.family.mean_domain[1]


@every_family
def test_support_is_explained(row: FamilyRow) -> None:
    assert str(row.family.support)
    assert str(row.family).startswith(type(row.family).__name__)


@every_policy
def test_names_round_trip(policy: pb.Policy) -> None:
    assert pb.Policy.parse(str(policy)) == policy


def test_kl_emp_and_kl_ucb_decide_alike_on_bernoulli_rewards() -> None:
    category = pb.Category("it", pb.Bernoulli(), threshold=0.37)
    rng = np.random.default_rng(5)
    for trial in range(30):
        agents = [
            pb.Agent([category], policy=policy, seed=1)
            for policy in (pb.KLEmpUCB(c=trial % 3), pb.KLUCB(c=trial % 3))
        ]
        for _ in range(200):
            verdicts = [agent.decide()["it"] for agent in agents]
            assert verdicts[0] == verdicts[1]
            if verdicts[0].accepted:
                rewards = (rng.random(rng.integers(1, 4)) < 0.3).astype(float)
                for agent in agents:
                    agent.observe("it", rewards)


@every_family
def test_bayes_ucb_accepts_nobody_in_round_two(row: FamilyRow) -> None:
    """The quantile of order 0 is the lower edge of the domain, however good the data
    look.
    """
    agent = agent_of(row, pb.BayesUCB())
    agent.decide()
    agent.observe("it", row.around(row.largest, 200))
    assert not agent.decide()["it"].accepted
    assert agent.decide()["it"].accepted
    for edge in row.edges[:1]:  # unless the threshold is that edge
        agent = agent_of(row, pb.BayesUCB(), edge)
        agent.decide()
        agent.observe("it", [row.largest] * 5)
        assert agent.decide()["it"].accepted


def test_the_matrix_is_complete() -> None:
    assert {row.family.name for row in FAMILIES} == {
        cls.name for cls in exported(FAMILY_CLASSES).values()
    }
    assert {row.name for row in POLICY_ROWS} == {
        cls.name for cls in exported(POLICY_CLASSES).values()
    }
    assert all(row.law is not None for row in FAMILIES if row.family.has_law)


def test_no_two_rules_share_a_code() -> None:
    rules = {policy.rule for policy in POLICIES}
    assert len({rule.code for rule in rules}) == len(rules)


@every_policy
def test_rules_are_what_they_say(policy: pb.Policy) -> None:
    """`is_zero_above`, `is_monotone`, `scales` and `logarithms`, asked of the evidence
    itself on Bernoulli rewards.
    """
    rule, bernoulli = policy.rule, law.Law(law.BINOMIAL, 0.0, 1.0, 1.0)
    rng = np.random.default_rng(3)

    def nats(clients: float, total: float, threshold: float) -> float:
        values, counts = np.array([0.0, 1.0]), np.array([clients - total, total])
        seen = Observed(
            clients, total, total - total**2 / clients, values, counts, rounds=0.5 * clients
        )
        return evidence(rule, bernoulli, seen, threshold)

    for _ in range(300):
        number = int(rng.integers(2, 200))
        clients, total = float(number), float(rng.integers(1, number))
        threshold = float(rng.uniform(0.05, 0.95))
        if rule.is_zero_above and total / clients >= threshold:
            assert nats(clients, total, threshold) == 0.0
        if rule.is_monotone:
            worst = nats(clients + 1.0, total, threshold)
            assert nats(clients + 1.0, total + 1.0, threshold) <= worst * (1.0 + 1e-9) + 1e-300
            assert nats(clients, total, threshold) <= worst * (1.0 + 1e-9) + 1e-300
            assert not rule.needs_rewards
        if rule.scales:
            half = faded(rule, nats(clients, total, threshold), clients, 0.5 * clients, 0.5)
            assert half == pytest.approx(
                nats(0.5 * clients, 0.5 * total, threshold), rel=1e-9, abs=1e-12
            )
    if rule.logarithms >= 0.0:
        extra = [
            nats(n, 0.25 * n, 0.5) - law.against(bernoulli, n, 0.25 * n, 0.5) for n in (1e4, 1e8)
        ]
        assert (extra[1] - extra[0]) / math.log(1e4) == pytest.approx(rule.logarithms, abs=0.01)


@every_family
def test_a_family_is_what_it_says(row: FamilyRow) -> None:
    """Parameters are checked; the statistic grows with the reward, and begins where its
    range does.
    """
    view = row.family.view()
    for each in fields(row.family):
        with pytest.raises(ParameterError):
            replace(row.family, **{each.name: math.nan})
    assert view.statistic.of_mean(row.mean) == pytest.approx(row.of_mean(row.mean), rel=1e-12)
    assert view.statistic.of_mean(row.threshold) > view.statistic.of_mean(row.mean)
    low, high = view.statistic_range
    smallest, largest = view.statistic.of_rewards(np.array([row.smallest, row.largest])).tolist()
    assert low <= smallest < largest <= high
    assert low == -math.inf or smallest - low < 0.01
    rewards = row.rewards(50)
    np.testing.assert_allclose(
        view.statistic.rewards_of(view.statistic.of_rewards(rewards)), rewards, rtol=1e-9
    )
    assert row.illegal


def batches(row: FamilyRow) -> list[list[float]]:
    """Rewards whose mean lies below the threshold, and above it; the second with values
    of its own.
    """
    return [row.rewards(12, seed).tolist() for seed in (1, 4)] + [
        row.rewards(5, 7, mean=row.threshold).tolist()
    ]


@every_family
@pytest.mark.parametrize("rule", POLICY_ROWS, ids=str)
def test_evidence_is_that_of_an_independent_formula(row: FamilyRow, rule: PolicyRow) -> None:
    """For two thresholds each, and whichever way the rewards come in: between
    decisions, or at once before any.
    """
    for rewards in batches(row):
        for threshold in (row.threshold, 0.5 * (row.mean + row.threshold)):
            expected = rule.evidence(row, rewards, threshold)
            agent, rounds = agent_of(row, rule.policies[0], threshold), 0
            for reward in rewards:
                rounds += agent.decide().accepts("it")
                agent.observe("it", [reward])
            added = math.log(rounds) if rule.adds_rounds and expected > 0.0 else 0.0
            assert agent["it"].evidence == pytest.approx(expected + added, rel=1e-5, abs=1e-9)
            at_once = agent_of(row, rule.policies[0], threshold)
            at_once.observe({"it": rewards})
            assert at_once["it"].evidence == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("memory", [{}, {"forget": 0.85}, {"forget": 0.2}, {"window": 4}], ids=str)
@pytest.mark.parametrize("row", [row for row in FAMILIES if row.family.has_law], ids=str)
@every_policy
def test_a_simulated_run_decides_as_an_agent_does(
    row: FamilyRow, policy: pb.Policy, memory: dict[str, float]
) -> None:
    """`run_rounds`, followed round by round by an agent who sees the very same rewards;
    also if both forget.
    """
    horizon, clients, seed = 60, 2, 5
    policy = replace(policy, **memory)
    truth = pb.Truth(row.category(), mean=row.mean, clients=clients, sigma=row.sigma)
    played = play(
        "rounds",
        policy,
        truth,
        horizon=horizon,
        runs=1,
        seed=seed,
        checkpoints=range(1, horizon),
        every_reward=True,
    )
    world, own = (np.random.Generator(np.random.PCG64([seed, part])) for part in (0, 1))
    agent = agent_of(row, policy)
    decisions: list[bool] = []
    for t in range(horizon):
        decision = agent.decide()
        drawn = policy.draws and t > 0
        decisions.append(
            decision.evidence[0] <= own.standard_exponential() if drawn else decision.accepts("it"),
        )
        if decisions[-1]:
            if isinstance(row.family, pb.Bernoulli):  # drawn as their sum
                ones = int(row.family.draw_total(world, mean=row.mean, clients=clients)[0])
                agent.observe("it", [1.0] * ones + [0.0] * (clients - ones))
            else:
                agent.observe("it", row.drawn.draw(world, mean=row.mean, size=clients))
    assert np.diff(played.accepted[0], prepend=0).tolist() == decisions
    assert played.runs["revenue"][0] == pytest.approx(agent["it"].revenue, rel=1e-9)
    assert played.runs["clients"][0] == pytest.approx(agent["it"].counted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [5, 1_000, 10**6])
def test_ties_accept(size: int) -> None:
    """2 of 5 is not below 0.4, although the double 0.4 is a little more than 2/5."""
    for tenth in range(1, 10):
        threshold = tenth / 10
        for policy in (each for each in POLICIES if each.rule.is_zero_above):
            agent = pb.Agent(
                [pb.Category("it", pb.Bernoulli(), threshold=threshold)], policy=policy
            )
            agent.observe("it", count=size * 2, total=tenth * size // 5)
            assert agent["it"].mean == threshold
            assert agent["it"].evidence == 0.0


def test_ties_of_bayes_ucb() -> None:
    """P(mean >= 1/2) is 1/2 by symmetry, and patience(2) is log 2."""
    for half in (1, 2, 50, 10**6):
        agent = pb.Agent([pb.Category("it", pb.Bernoulli(), threshold=0.5)], policy=pb.BayesUCB())
        agent.observe("it", count=2 * half, total=half)
        agent.decide()
        agent.decide()
        assert agent.decide()["it"].accepted


def test_kl_emp_s_dual_is_the_bernoulli_divergence_on_two_points() -> None:
    for clients in (2, 50, 10**4, 10**6, 10**9):
        for share in (0.01, 0.3, 0.5):
            ones = max(1.0, float(round(clients * share)))
            for threshold in (ones / clients + 1e-3 / math.sqrt(clients), 0.7, 0.999, 1 - 1e-9):
                if not ones / clients < threshold < 1.0:
                    continue
                dual = empirical.empirical_evidence(
                    np.array([0.0, 1.0]), np.array([clients - ones, ones]), 1.0, threshold
                )
                closed = law.against(
                    law.Law(law.BINOMIAL, 0.0, 1.0, 1.0), float(clients), ones, threshold
                )
                assert dual == pytest.approx(closed, rel=1e-10 if clients <= 10**6 else 1e-7)
