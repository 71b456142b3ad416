"""One decision and one observation per event, beside river's bandits in the same run.

    make bench

An event is a client at the door: decide, look whether that client's category is
accepted, report one outcome.  (Second lines: the same, reading the names of all
accepted categories instead.) river's policies pick one arm of K for the event, and
learn its reward: the same amount of news per event.
"""

import random
from collections.abc import Callable
from functools import partial

import numpy as np
from river import bandit, proba

import profitable as pb
from common import side_by_side, verdict

Ask = Callable[[pb.Decision, str], object]


def one_client(decision: pb.Decision, name: str) -> object:
    return decision.accepts(name)


def everybody(decision: pb.Decision, name: str) -> object:
    return decision.accepted


def events(categories: int, number: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(1)
    return rng.integers(0, categories, number).tolist(), (rng.random(number) < 0.5).astype(
        int
    ).tolist()


def ours(
    policy: pb.Policy, categories: int, number: int, ask: Ask
) -> Callable[[], Callable[[], None]]:
    names = [f"category {i}" for i in range(categories)]
    which, rewards = events(categories, number)

    def prepare() -> Callable[[], None]:
        agent = pb.Agent(
            [pb.Category(name, pb.Bernoulli(), threshold=0.45) for name in names],
            policy=policy,
            seed=1,
        )

        def run() -> None:
            for i, reward in zip(which, rewards, strict=True):
                name = names[i]
                ask(agent.decide(), name)
                agent.observe(name, [reward])

        return run

    return prepare


def theirs(
    make: Callable[[], bandit.base.Policy], categories: int, number: int
) -> Callable[[], Callable[[], None]]:
    arms = list(range(categories))
    _, rewards = events(categories, number)

    def prepare() -> Callable[[], None]:
        policy = make()

        def run() -> None:
            for reward in rewards:
                policy.update(policy.pull(arms), reward)

        return run

    return prepare


def main() -> None:
    random.seed(1)
    pairs = [
        ("kl-UCB / river UCB", pb.KLUCB(), lambda: bandit.UCB(delta=1.0, seed=1)),
        (
            "TS / river ThompsonSampling",
            pb.ThompsonSampling(),
            lambda: bandit.ThompsonSampling(proba.Beta(), seed=1),
        ),
    ]
    print(f"{'':32}{'categories':>12}{'ours, us':>12}{'river, us':>12}{'ratio':>8}   bar")
    for name, policy, river_policy in pairs:
        for categories, number, repeats, bar in ((5, 4_000, 21, 1.0), (1_000, 600, 5, 20.0)):
            jobs = [ours(policy, categories, number, ask) for ask in (one_client, everybody)]
            *mine, other = side_by_side([*jobs, theirs(river_policy, categories, number)], repeats)
            for label, time in zip((name, "  reading all accepted names"), mine, strict=True):
                ratio = other / time
                bar_text = (
                    f"   at least {bar:g}: {verdict(ratio, bar, at_least=True)}"
                    if label == name
                    else ""
                )
                micro = f"{time / number * 1e6:12.2f}{other / number * 1e6:12.2f}"
                print(f"{label:32}{categories:12,}{micro}{ratio:8.1f}{bar_text}")
    million()


def mask(agent: pb.Agent) -> object:
    return agent.decide().accepted_mask


def million() -> None:
    size = 1_000_000
    rng = np.random.default_rng(1)
    print(
        f"\n{'one decision over 1 000 000':32}{'ms':>12}{'exponentials, ms':>20}{'ratio':>8}   bar"
    )
    categories = [pb.Category(f"category {i}", pb.Bernoulli(), threshold=0.45) for i in range(size)]
    for policy in (
        pb.KLUCB(),
        pb.BayesUCB(),
        pb.ThompsonSampling(),
        pb.Optimal(horizon=10_000),
        pb.Optimal(),
    ):
        agent = pb.Agent(categories, policy=policy, seed=1)
        agent.decide()
        agent.observe({category.name: [i % 2] for i, category in enumerate(categories)})
        mine, draws = side_by_side(
            [partial(partial, mask, agent), partial(partial, rng.standard_exponential, size)], 9
        )
        ratio = mine / draws
        print(
            f"{policy!s:32}{mine * 1e3:12.1f}{draws * 1e3:20.1f}{ratio:8.2f}"
            f"   at most 10: {verdict(ratio, 10.0, at_least=False)}"
        )


def forgetting() -> None:
    """Time the same with forgetting: each decision ages a million categories.

    They have 20 to 400 clients and any mean.
    """
    size = 1_000_000
    rng = np.random.default_rng(1)
    print(f"\n{'with forgetting, 1 000 000':32}{'ms':>12}{'without, ms':>20}{'ratio':>8}   bar")
    categories = [pb.Category(f"category {i}", pb.Bernoulli(), threshold=0.45) for i in range(size)]
    counts = rng.integers(20, 400, size)
    totals = rng.binomial(counts, rng.uniform(0.05, 0.95, size))
    seen = {
        category.name: pb.Batch(count=count, total=total)
        for category, count, total in zip(categories, counts.tolist(), totals.tolist(), strict=True)
    }
    for kind in (pb.KLUCB, pb.KLUCBPlus, pb.BayesUCB, pb.ThompsonSampling, pb.Optimal):
        agents = [
            pb.Agent(categories, policy=kind(forget=forget), seed=1) for forget in (0.99, 1.0)
        ]
        for agent in agents:
            agent.decide()
            agent.observe(seen)
        mine, plain = side_by_side([partial(partial, mask, agent) for agent in agents], 9)
        ratio = mine / plain
        bar = f"   at most 2: {verdict(ratio, 2.0, at_least=False)}" if kind.rule.scales else ""
        print(
            f"{agents[0].policy!s:32}{mine * 1e3:12.1f}{plain * 1e3:20.1f}{ratio:8.2f}{bar}",
            flush=True,
        )


if __name__ == "__main__":
    main()
    forgetting()
