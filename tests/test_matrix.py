"""Every family with every policy: the properties that make a decision trustworthy."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.errors import RewardError, SumNotEnoughError, ThresholdError
from profitable.kernels import rule as rules
from tests.matrix import FAMILIES, POLICIES, FamilyRow

every_family = pytest.mark.parametrize("row", FAMILIES, ids=str)
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def agent_of(row: FamilyRow, policy: pb.Policy, threshold: float | None = None) -> pb.Agent:
    return pb.Agent([row.category(threshold)], policy=policy, seed=3)


def takes_sums(row: FamilyRow, policy: pb.Policy) -> bool:
    """Whether a count and a total always suffice, by the contract's words."""
    if isinstance(row.family, pb.Bernoulli):
        return True
    if policy.rule in (rules.EMPIRICAL, rules.VARIANCE):
        return False
    bounded = policy.name in ("kl-bernoulli-ucb", "kl-bernoulli-ucb+", "kl-gaussian-ucb")
    return row.family.bounds is not None if bounded else row.sums


def states(row: FamilyRow, policy: pb.Policy) -> list[pb.Agent]:
    """Agents in ordinary states and in corners: no data, one client, all smallest, all largest, 10^9 clients."""
    made: list[pb.Agent] = []
    for threshold in (row.threshold, *row.edges):
        batches = [[], [row.smallest], [row.largest], [row.smallest] * 30, [row.largest] * 30, row.rewards(40)]
        for batch in batches:
            agent = agent_of(row, policy, threshold)
            if len(batch):
                agent.observe("it", batch)
            made.append(agent)
        if takes_sums(row, policy):
            whole = row.family.support.whole
            for mean in (row.mean, row.threshold, 0.999999 * row.threshold, row.smallest, row.largest):
                agent = agent_of(row, policy, threshold)
                total = mean * 10**9
                agent.observe("it", count=10**9, total=round(total) if whole else total)
                made.append(agent)
    return made


@every_family
@every_policy
def test_index_says_the_same_as_evidence(row: FamilyRow, policy: pb.Policy) -> None:
    for agent in states(row, policy):
        for _ in range(12):  # round 1, the order-0 quantile of round 2, and what follows
            verdict = agent.decide()["it"]
            assert not math.isnan(verdict.evidence)
            assert verdict.evidence >= 0.0
            assert not math.isnan(verdict.index)
            assert verdict.accepted == (verdict.evidence <= verdict.patience) == (verdict.index >= verdict.threshold)
            assert 0.0 <= verdict.propensity <= 1.0


@every_family
@every_policy
def test_the_index_is_where_the_evidence_meets_the_patience(row: FamilyRow, policy: pb.Policy) -> None:
    """Moving the threshold to just below or above the index changes the decision: the index is the paper's sup."""
    agent = agent_of(row, policy)
    agent.observe("it", row.rewards(25))
    agent.decide()
    for _ in range(30):
        verdict = agent.decide()["it"]
        low, high = row.family.mean_domain
        if verdict.index in (low, high, math.inf, -math.inf) or verdict.index >= (row.bound or math.inf):
            continue
        # Re-create the state and put the threshold on either side of the index.
        for side, expected in ((-1.0, True), (1.0, False)):
            threshold = verdict.index + side * 1e-7 * (1.0 + abs(verdict.index))
            if not low <= threshold <= high:
                continue
            moved = agent_of(row, policy, threshold)
            moved.observe("it", row.rewards(25))
            evidence = moved["it"].evidence
            assert (evidence <= verdict.patience) is expected, (verdict, evidence)


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
def test_nothing_speaks_against_a_category_without_outcomes(row: FamilyRow, policy: pb.Policy) -> None:
    agent = agent_of(row, policy)
    for _ in range(5):
        verdict = agent.decide()["it"]
        assert verdict.accepted
        assert verdict.evidence == 0.0
        assert verdict.propensity == 1.0
        assert verdict.mean is None


@every_family
@every_policy
def test_next_round_is_the_first_in_which_patience_suffices(row: FamilyRow, policy: pb.Policy) -> None:
    agent = agent_of(row, policy)
    agent.observe("it", row.rewards(60, mean=row.mean))
    agent.decide()
    for _ in range(4):
        verdict = agent.decide()["it"]
        if verdict.accepted:
            assert verdict.next_round is None
        elif policy.draws:
            assert verdict.next_round == agent.round + 1
        elif verdict.next_round is not None:
            assert verdict.next_round > agent.round
            assert policy.patience(verdict.next_round - 1) >= verdict.evidence
            assert verdict.next_round == agent.round + 1 or policy.patience(verdict.next_round - 2) < verdict.evidence


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
    for seed in range(3, 40):
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
    family = row.family
    assert family.divergence(row.mean, row.mean) == 0.0
    assert family.divergence(row.mean, row.threshold) > 0.0
    further = row.threshold + 0.5 * (row.threshold - row.mean)
    assert family.divergence(row.mean, further) > family.divergence(row.mean, row.threshold)
    # Locally d(x, y) is (x - y)^2 / (2 V(x)): symmetric to third order.
    step = 1e-4 * row.mean
    there, back = family.divergence(row.mean, row.mean + step), family.divergence(row.mean + step, row.mean)
    assert there == pytest.approx(back, rel=2e-3)


@every_family
def test_posterior_quantile_inverts_survival(row: FamilyRow) -> None:
    lens = row.family.lens()
    total = 10 * lens.statistic_of_mean(row.mean)
    posterior = row.family.posterior(clients=10, total=total)
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
            pb.Agent([category], policy=policy, seed=1) for policy in (pb.KLEmpUCB(c=trial % 3), pb.KLUCB(c=trial % 3))
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
    """The quantile of order 0 is the lower edge of the domain, however good the data look."""
    agent = agent_of(row, pb.BayesUCB())
    agent.decide()
    agent.observe("it", [row.largest] * 200)
    assert not agent.decide()["it"].accepted
    assert agent.decide()["it"].accepted
    for edge in row.edges[:1]:  # unless the threshold is that edge
        agent = agent_of(row, pb.BayesUCB(), edge)
        agent.decide()
        agent.observe("it", [row.largest] * 5)
        assert agent.decide()["it"].accepted
