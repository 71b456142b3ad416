"""Patience by an independent formula: of the policy, of the agent, and of both kernels.

`tests/matrix.py` has the policies; a new row there is tested here, too.  Patience does
not depend on the family, so rewards are 0 and 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.kernels.evidence import Observed, evidence
from tests.matrix import POLICY_ROWS
from tests.simulation.worlds import play, single

MEMORIES: list[dict[str, Any]] = [{}, {"forget": 0.9}, {"window": 12}]
SCANNED = 1_000  # rounds
FORGOTTEN = 1e-9  # clients; fewer count for nothing


@dataclass(frozen=True)
class Patient:
    """A policy, and its patience by the matrix's own formula."""

    policy: pb.Policy
    formula: Callable[[pb.Policy, float, float, float], float]

    def at(self, t: float, known: float = 0.0, per_round: float = 1.0) -> float:
        return self.formula(self.policy, float(t), known, per_round)

    def that_remembers(self, memory: dict[str, Any]) -> "Patient":
        return replace(self, policy=replace(self.policy, **memory))

    def __str__(self) -> str:
        return str(self.policy)


PATIENT = [Patient(policy, row.patience) for row in POLICY_ROWS for policy in row.policies]
every_policy = pytest.mark.parametrize("each", PATIENT, ids=str)
every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=str)


@every_memory
@every_policy
def test_of_the_policy(each: Patient, memory: dict[str, Any]) -> None:
    each = each.that_remembers(memory)
    for t in (0, 1, 2, 3, 10, 57, 299, 300, 301, 10**4, 10**12):
        for known, per_round in ((0.0, 1.0), (1.0, 1.0), (7.0, 2.5), (1e4, 30.0)):
            expected = each.at(t, known, per_round)
            assert expected >= 0.0
            assert each.policy.patience(t, known=known, per_round=per_round) == pytest.approx(
                expected, rel=1e-9
            )


@every_memory
@every_policy
def test_the_next_round_is_the_first_that_tolerates_the_evidence(
    each: Patient, memory: dict[str, Any]
) -> None:
    """One category at a time, and so many at once that a kernel does them."""
    each = each.that_remembers(memory)
    for now in (1, 3, 40):
        for known, came in ((2.0, 1.0), (9.0, 2.5)):
            per_round = each.policy.terms.clients or came
            tolerated = [each.at(t, known, per_round) for t in range(now, now + SCANNED)]
            nats = np.linspace(0.003, 9.0, 40)
            many = each.policy.next_rounds(nats, now, np.full(40, known), np.full(40, per_round))
            for needed, found in zip(nats.tolist(), many, strict=True):
                assert (
                    each.policy.next_round(needed, now, known=known, per_round=per_round) == found
                )
                first = next((t for t, limit in enumerate(tolerated, now) if limit >= needed), None)
                if first is None:
                    assert found is None or found > now + SCANNED
                else:
                    assert found == first + 1  # patience(t) is that of round t + 1


def weights(policy: pb.Policy, accepted: list[int], t: int) -> float:
    """Return the weight of the accepted rounds after t rounds."""
    kept = [each for each in accepted if policy.window is None or each > t - policy.window]
    return math.fsum(policy.forget ** (t - each) for each in kept)


@every_memory
@every_policy
def test_of_the_agent(each: Patient, memory: dict[str, Any]) -> None:
    """Two clients in each accepted round, of whom one now and then brings something.

    A rejected category comes back when the verdict said that it would.
    """
    each = each.that_remembers(memory)
    agent = pb.Agent([pb.Category("it", pb.Bernoulli(), threshold=0.3)], policy=each.policy, seed=3)
    accepted: list[int] = []
    before: pb.Verdict | None = None
    for t in range(80):
        known = 2.0 * weights(each.policy, accepted, t)
        verdict = agent.decide()["it"]
        if each.policy.draws and t > 0:
            assert verdict.propensity == pytest.approx(math.exp(-verdict.evidence), rel=1e-9)
        else:
            expected = each.at(t, known, 2.0 if accepted else 1.0)
            assert verdict.patience == pytest.approx(expected, rel=1e-9)
            assert verdict.accepted == (verdict.evidence <= expected)
            if before is not None and not before.accepted:
                assert verdict.accepted == (before.next_round == t + 1)
        before = verdict
        if verdict.accepted:
            accepted.append(t + 1)
            agent.observe("it", [float(t % 7 == 0), 0.0])
    assert 3 <= len(accepted) < 80 + each.policy.forgets


def evidence_of_zeros(policy: pb.Policy, threshold: float) -> Callable[[float, float], float]:
    """The evidence after so many clients who brought nothing, in so many accepted
    rounds.
    """
    view = policy.view(pb.Category("it", pb.Bernoulli(), threshold=threshold))
    rule, zero = policy.rule.under(view.law), np.zeros(1)

    def nats(clients: float, rounds: float) -> float:
        return evidence(
            rule,
            view.law,
            Observed(clients, 0.0, 0.0, zero, np.full(1, clients), rounds),
            threshold,
        )

    return nats


@pytest.mark.parametrize(("threshold", "clients"), [(0.05, 1), (0.4, 1), (0.02, 3)])
@every_memory
@pytest.mark.parametrize("each", [each for each in PATIENT if not each.policy.draws], ids=str)
def test_of_both_kernels(
    each: Patient, memory: dict[str, Any], threshold: float, clients: int
) -> None:
    """Nobody brings anything, so nothing is left to chance: every round is accepted or
    rejected as computed here.

    The worst that can come does come.  So a kernel that accepts many rounds at once
    must be right about each of them.
    """
    each, horizon = each.that_remembers(memory), 400
    nats = evidence_of_zeros(each.policy, threshold)
    accepted: list[int] = []
    for t in range(horizon):
        rounds = weights(each.policy, accepted, t)
        limit = each.at(t, clients * rounds, float(clients) if accepted else 1.0)
        if clients * rounds < FORGOTTEN or nats(clients * rounds, rounds) <= limit:
            accepted.append(t + 1)
    assert len(accepted) > 3 or nats(float(clients), 1.0) == math.inf
    truth = single(pb.Bernoulli(), 0.0, threshold, clients)
    options: dict[str, Any] = {
        "horizon": horizon,
        "runs": 1,
        "seed": 1,
        "checkpoints": range(1, horizon),
    }
    ways = [("rounds", False)] + (
        [] if each.policy.forgets else [("events", False), ("events", True)]
    )
    for kernel, blocks in ways:
        played = play(kernel, each.policy, truth, blocks=blocks, **options)
        found = np.flatnonzero(np.diff(played.accepted[0], prepend=0)) + 1
        assert found.tolist() == accepted, (kernel, blocks)


@pytest.mark.statistical
@pytest.mark.parametrize("kernel", ["rounds", "events"])
@pytest.mark.parametrize("each", [each for each in PATIENT if each.policy.draws], ids=str)
def test_of_both_kernels_where_it_is_drawn(each: Patient, kernel: str) -> None:
    """The number of accepted rounds by its exact law: one more with probability
    exp(-evidence) (5 standard errors).
    """
    horizon, runs, nats = 60, 4_000, evidence_of_zeros(each.policy, 0.3)
    law = np.zeros(horizon + 1)
    law[1] = 1.0
    chances = np.exp([-nats(float(n), float(n)) if n else 0.0 for n in range(horizon + 1)])
    for _ in range(horizon - 1):
        law = law * (1.0 - chances) + np.append(0.0, (law * chances)[:-1])
    numbers = np.arange(horizon + 1.0)
    mean = float(law @ numbers)
    error = math.sqrt(float(law @ (numbers - mean) ** 2) / runs)
    found = play(
        kernel, each.policy, single(pb.Bernoulli(), 0.0, 0.3, 1), horizon=horizon, runs=runs, seed=2
    )
    assert abs(float(found.accepted[:, -1].mean()) - mean) < 5.0 * error
