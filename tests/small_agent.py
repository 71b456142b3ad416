"""A small agent that many tests start from."""

import profitable as pb


def portfolio(policy: pb.Policy, seed: int = 7) -> pb.Agent:
    return pb.Agent(
        [
            pb.Category("students", pb.Bernoulli(), threshold=0.20),
            pb.Category("shops", pb.Exponential(), threshold=3.0),
            pb.Category.loan("car loans", amount=1_000, rate=0.12),
        ],
        policy=policy,
        seed=seed,
    )
