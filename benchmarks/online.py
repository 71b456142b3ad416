"""One decision and one observation per event, beside river's bandits in the same run.

    .venv/bin/python benchmarks/online.py [--quick]

An event is a client at the door: decide, look whether that client's category is
accepted, report one outcome.  (Rows "all names": the same, reading the names of all
accepted categories instead.) river's policies pick one arm of K for the event, and
learn its reward: the same amount of news per event.

Then one decision over a million categories beside drawing a million exponentials with
NumPy, and with forgetting beside without; a batch for 1 000 categories by mapping
beside one by one; and bytes per category.
"""

import random
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

import profitable as pb
from common import side_by_side
from rows import Group, Row, alone, limited

Ask = Callable[[pb.Decision, str], object]
Prepare = Callable[[], Callable[[], object]]
MILLION = 1_000_000
# Categories, events, turns, the bar beside river: so many times as fast.
SIZES = ((5, 4_000, 21, 2.0), (1_000, 600, 5, 60.0))
DECISIONS = {  # over a million categories: times the cost of a million exponentials
    "kl-ucb": 4.0,
    "bayes-ucb": 4.0,
    "ts": 4.0,
    "optimal:horizon=10000": 6.0,
    "optimal": 6.0,
}
FORGETTING = {  # times the cost without; the posterior's evidence does not scale
    "kl-ucb": 2.0,
    "kl-ucb+": 2.0,
    "bayes-ucb": 4.0,
    "ts": 4.0,
    "optimal": 4.0,
}
BATCH, BATCH_BAR = 1_000, 2.0  # categories in a mapping; times as fast as one by one
BYTES = 280.0  # per category: 35 numbers


def one_client(decision: pb.Decision, name: str) -> object:
    return decision.accepts(name)


def all_names(decision: pb.Decision, name: str) -> object:
    return decision.accepted


def named(number: int) -> list[pb.Category]:
    return [pb.Category(f"category {i}", pb.Bernoulli(), threshold=0.45) for i in range(number)]


@cache
def million() -> list[pb.Category]:
    return named(MILLION)


def rewards_of(categories: int, number: int) -> tuple[list[int], list[int]]:
    """Return the categories of events, and their rewards."""
    rng = np.random.default_rng(1)
    which = rng.integers(0, categories, number)
    return which.tolist(), (rng.random(number) < 0.5).astype(int).tolist()


def ours(policy: str, categories: int, number: int, ask: Ask) -> Prepare:
    given = named(categories)
    names = [category.name for category in given]
    which, rewards = rewards_of(categories, number)

    def prepare() -> Callable[[], None]:
        agent = pb.Agent(given, policy=policy, seed=1)

        def run() -> None:
            for i, reward in zip(which, rewards, strict=True):
                name = names[i]
                ask(agent.decide(), name)
                agent.observe(name, [reward])

        return run

    return prepare


def theirs(policy: str, categories: int, number: int) -> Prepare:
    from river import bandit, proba

    arms = list(range(categories))
    _, rewards = rewards_of(categories, number)

    def prepare() -> Callable[[], None]:
        random.seed(1)
        peer = (
            bandit.ThompsonSampling(proba.Beta(), seed=1)
            if policy == "ts"
            else bandit.UCB(delta=1.0, seed=1)
        )

        def run() -> None:
            for reward in rewards:
                peer.update(peer.pull(arms), reward)

        return run

    return prepare


def beside_river(policy: str, size: tuple[int, int, int, float], *, quick: bool) -> list[Row]:
    categories, number, repeats, bar = size
    jobs = [ours(policy, categories, number, ask) for ask in (one_client, all_names)]
    jobs.append(theirs(policy, categories, number))
    times = side_by_side(jobs, min(repeats, 7) if quick else repeats)
    one, names, peer = (1e6 * time / number for time in times)
    job = f"decide + observe, {policy}, {categories} categories / river"
    return [
        Row(job, one, peer, "us", bar=bar, at_least=True),
        Row(f"{job}, all names", names, peer, "us", at_least=True),
    ]


def mask(agent: pb.Agent) -> object:
    return agent.decide().accepted_mask


def over_a_million(policy: str, bar: float) -> list[Row]:
    agent = pb.Agent(million(), policy=policy, seed=1)
    agent.decide()
    agent.observe({category.name: [i % 2] for i, category in enumerate(million())})
    rng = np.random.default_rng(1)
    jobs = [partial(partial, mask, agent), partial(partial, rng.standard_exponential, MILLION)]
    mine, draws = side_by_side(jobs, 9)
    job = f"a decision over 10^6, {policy} / exponentials"
    return [Row(job, 1e3 * mine, 1e3 * draws, "ms", bar=bar)]


def forgetting(kind: str, bar: float) -> list[Row]:
    """Each decision ages a million categories with 20 to 400 clients and any mean."""
    rng = np.random.default_rng(1)
    counts = rng.integers(20, 400, MILLION)
    totals = rng.binomial(counts, rng.uniform(0.05, 0.95, MILLION))
    seen = {
        category.name: pb.Batch(count=count, total=total)
        for category, count, total in zip(million(), counts.tolist(), totals.tolist(), strict=True)
    }
    agents = [pb.Agent(million(), policy=each, seed=1) for each in (f"{kind}:forget=0.99", kind)]
    for agent in agents:
        agent.decide()
        agent.observe(seen)
    mine, plain = side_by_side([partial(partial, mask, agent) for agent in agents], 9)
    job = f"a decision over 10^6, {kind}:forget=0.99 / without"
    return [Row(job, 1e3 * mine, 1e3 * plain, "ms", bar=bar)]


def batch() -> list[Row]:
    """Outcomes for 1 000 categories, by one mapping and one by one."""
    given = named(BATCH)
    outcomes = {category.name: [i % 2] for i, category in enumerate(given)}

    def prepared(observe: Callable[[pb.Agent], object]) -> Prepare:
        def prepare() -> Callable[[], object]:
            agent = pb.Agent(given, policy="kl-ucb", seed=1)
            agent.decide()
            return partial(observe, agent)

        return prepare

    def together(agent: pb.Agent) -> None:
        agent.observe(outcomes)

    def one_by_one(agent: pb.Agent) -> None:
        for name, rewards in outcomes.items():
            agent.observe(name, rewards)

    mine, single = side_by_side([prepared(together), prepared(one_by_one)], 15)
    job = f"observe {BATCH} categories by mapping / one by one"
    return [Row(job, 1e6 * mine / BATCH, 1e6 * single / BATCH, "us", bar=BATCH_BAR, at_least=True)]


def memory() -> list[Row]:
    agent = pb.Agent(named(BATCH), policy="kl-ucb", seed=1)
    return [limited("memory per category", agent.memory / BATCH, BYTES, "bytes")]


def groups(*, quick: bool) -> Iterator[Group]:
    for size in SIZES:
        for policy in ("kl-ucb", "ts"):
            name = f"{policy} beside river, {size[0]} categories"
            yield Group(name, partial(beside_river, policy, size, quick=quick))
    yield Group("observe by mapping", batch)
    yield Group("memory per category", memory, attempts=1)
    for policy, bar in DECISIONS.items():
        if not quick or policy in ("kl-ucb", "ts"):
            yield Group(f"a million, {policy}", partial(over_a_million, policy, bar))
    for kind, bar in FORGETTING.items():
        if not quick or kind == "kl-ucb":
            yield Group(f"a million, {kind} with forgetting", partial(forgetting, kind, bar))


if __name__ == "__main__":
    sys.exit(alone(groups))
