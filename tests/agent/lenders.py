"""Agents that lend to made-up clients, for tests."""

from collections.abc import Callable
from typing import Any

import numpy as np

import profitable as pb

MULTIPLIERS = {"cars": 0.6, "homes": 0.9, "business": 2.6, "weddings": 1.1}
PRODUCTS = {24: 0.09, 36: 0.12}  # rates by term


def new_lender(policy: str = "bayes-ucb", **terms: Any) -> pb.Agent:
    lending = pb.Lending(**{"required": 0.05, "recovery": 0.08, "lag": 3} | terms)
    return pb.Agent(map(pb.Category.returns, MULTIPLIERS), policy=policy, lending=lending, seed=1)


def lend(
    agent: pb.Agent,
    rounds: int,
    seed: int = 0,
    *,
    seen: Callable[[pb.Decision], object] = lambda _: None,
) -> pb.Agent:
    """Let clients ask, and loans default and close, for some rounds."""
    rng, still = np.random.default_rng(seed), dict[tuple[str, int, int], int]()
    for _ in range(rounds):
        for name in agent.names:
            for term, rate in PRODUCTS.items():
                agent.quote(name, 30, term=term, rate=rate)
        decision = agent.decide()
        seen(decision)
        for (name, term, vintage), number in [*still.items()]:
            age = agent.round - vintage
            hazard = MULTIPLIERS[name] * 0.006 * min(age / 8, 1.0)
            bad = int(rng.binomial(number, hazard))
            closed = int(rng.binomial(number - bad, 0.015)) if age < term else number - bad
            if bad or closed:
                agent.observe(name, defaulted=bad, closed=closed, accepted_in=vintage, term=term)
            still[name, term, vintage] -= bad + closed
            if not still[name, term, vintage]:
                del still[name, term, vintage]
        for name in decision.accepted:
            for term in PRODUCTS:
                agent.expect(name, 30, term=term)
                still[name, term, agent.round] = 30
    return agent
