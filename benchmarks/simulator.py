"""Measure the simulator: kernels, horizons, workers, and slopes against theory.

    .venv/bin/python benchmarks/simulator.py [--quick]

Jobs of a ratio take turns in one run.

Why slopes differ from the lower bound's constant: kl-UCB accepts until N d(mean, tau)
reaches log t: N follows log t / d, and its slope is the constant.  kl-UCB+ counts log N
as evidence, too, and the posterior about half of it (-log P(mean >= tau) is
N d + log(N)/2 and a constant): from N d + k log N = log t follows
d N'(log t) = 1 - k/(N d + k), below 1 by about k/log t, k = 1 or 1/2: 6 % and 3 % at
t = 10^9, vanishing as t grows.  By 10^6 profitable categories are accepted for good and
add nothing.
"""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import profitable as pb
from common import seconds, side_by_side
from profitable.paper.asymptotics import expected_slope
from rows import Group, Row, alone, limited

POLICIES = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
AHEAD = ("optimal:horizon", "optimal", "optimal:discount=0.9999")
# Events beside rounds.  `rounds` with a posterior takes half the time of the first
# version, whose bar was 50; what `events` gains beyond the bar is kept by the baseline.
AT_LEAST = {"kl-ucb": 30.0, "kl-ucb+": 30.0, "bayes-ucb": 25.0, "ts": 25.0} | dict.fromkeys(
    AHEAD, 30.0
)
T = 10_000
GROWTH = 3.0  # times the cost, from T = 10^4 to 10^9
WORKERS = 1.6  # times as fast with two workers as with one
LONG = 11.0  # seconds of a job for two workers
SLOPES = {"kl-ucb": 0.02, "kl-ucb+": 0.10, "bayes-ucb": 0.10, "ts": 0.10}  # off the constant
NORMAL_SLOPE = 0.03  # off the constant, kl-UCB


def paper(
    name: str, family: pb.Family, means: tuple[float, ...], thresholds: tuple[float, ...]
) -> pb.Scenario:
    """K = 5, C_a - 1 ~ Poisson(3, 4, 5, 6, 7)."""
    truths = [
        pb.Truth(
            pb.Category(f"arm {i + 1}", family, threshold=tau),
            mean=mu,
            clients=pb.OnePlusPoisson(rate=3 + i),
        )
        for i, (mu, tau) in enumerate(zip(means, thresholds, strict=True))
    ]
    return pb.Scenario(name, truths)


BERNOULLI = paper("Bernoulli", pb.Bernoulli(), (0.1, 0.3, 0.5, 0.5, 0.7), (0.2, 0.2, 0.4, 0.6, 0.8))
POISSON = paper("Poisson", pb.Poisson(), (1, 2, 3, 4, 5), (2, 1, 4, 3, 6))
SHARP = paper("sharp Poisson", pb.Poisson(), (1, 2, 3, 4, 5), (1.1, 1.9, 3.1, 3.9, 5.1))


def run(
    scenario: pb.Scenario,
    policy: str,
    runs: int,
    *,
    horizon: int = T,
    kernel: str = "events",
    workers: int = 1,
) -> pb.Result:
    return pb.simulate(
        scenario,
        [policy],
        horizon=horizon,
        runs=runs,
        seed=1,
        kernel=kernel,
        workers=workers,
        progress=False,
    )


def speed(scenario: pb.Scenario, policy: str, counts: tuple[int, int], turns: int) -> list[Row]:
    """Time a trajectory on one worker: both kernels at T = 10^4, events at 10^9.

    Close to the thresholds (sharp Poisson) there are no bars: most rounds count.
    """
    many, few = counts
    jobs: list[Callable[[], Callable[[], object]]] = [
        partial(partial, run, scenario, policy, many),
        partial(partial, run, scenario, policy, few, kernel="rounds"),
        partial(partial, run, scenario, policy, many, horizon=10**9),
    ]
    events, rounds, far = side_by_side(jobs, turns)
    events, rounds, far = (1e6 * each for each in (events / many, rounds / few, far / many))
    is_barred = scenario is not SHARP
    job = f"{scenario.name} {policy} events"
    return [
        Row(
            f"{job} / rounds",
            events,
            rounds,
            "us",
            bar=AT_LEAST[policy] if is_barred else None,
            at_least=True,
        ),
        Row(f"{job}, T = 1e9 / 1e4", far, events, "us", bar=GROWTH if is_barred else None),
    ]


def workers() -> list[Row]:
    """Two workers beside one: jobs of 5 s or more, wall time on two free cores."""
    runs = 10_000
    while (one := seconds(partial(run, BERNOULLI, "bayes-ucb", runs))) < LONG:
        runs = int(runs * (LONG + 1.0) / one) + 1
    jobs = [partial(partial, run, BERNOULLI, "bayes-ucb", runs, workers=n) for n in (2, 1)]
    two, one = side_by_side(jobs, 3, clock=time.perf_counter)
    return [Row("two workers / one", two, one, "s", bar=WORKERS, at_least=True)]


def slope(policy: str) -> list[Row]:
    """Compare regret per log t up to T = 10^12 with the lower bound's constant."""
    checkpoints = [10**6, 10**12]
    result = pb.simulate(
        BERNOULLI,
        [policy],
        horizon=checkpoints[-1],
        runs=40_000,
        seed=1,
        checkpoints=checkpoints,
        progress=False,
    )
    value, _ = result[policy].slope(10**6)
    off = abs(value / BERNOULLI.lower_bound().total - 1.0)
    return [limited(f"Bernoulli {policy}, slope to 1e12, off by", off, SLOPES[policy], "")]


# Unprofitable categories only: accepted rounds of a profitable one have to be stepped,
# because no reward is the worst.
NORMAL = pb.Scenario(
    "Normal",
    [
        pb.Truth(
            pb.Category(f"arm {i + 1}", pb.Normal(), threshold=tau),
            mean=mu,
            sigma=sigma,
            clients=clients,
        )
        for i, (mu, tau, sigma, clients) in enumerate(
            ((0.0, 0.5, 1.0, 1), (1.0, 1.2, 0.3, 2), (-1.0, 0.0, 2.0, 1))
        )
    ],
)
DECADES = (10**3, 10**5, 10**7, 10**9)


def normal(policy: str) -> list[Row]:
    """Compare the slope at T = 10^9, variance unknown, with the constant and theory.

    Theory: N d + k log N = log t, k = 0 for kl-UCB, 1 for kl-UCB+ and 1/2 for the two
    others, whose slopes rise towards the constant from below.
    """
    constant = NORMAL.lower_bound().total
    result = pb.simulate(
        NORMAL,
        [policy],
        horizon=DECADES[-1],
        runs=10_000,
        seed=1,
        checkpoints=DECADES,
        progress=False,
    )
    curve = result[policy]
    value, _ = curve.slope(10**5)
    theory = expected_slope(NORMAL, policy, 10**5, 10**9)
    job = f"Normal {policy}, slope to 1e9"
    rows = [Row(f"{job} / theory", value, theory, "")]
    if policy == "kl-ucb":
        rows.append(limited(f"{job}, off by", abs(value / constant - 1.0), NORMAL_SLOPE, ""))
    elif policy in ("bayes-ucb", "ts"):
        trend = [
            (curve.regret[place + 1] - curve.regret[place]) / math.log(late / early) / constant
            for place, (early, late) in enumerate(itertools.pairwise(DECADES))
        ]
        falls = [early / late for early, late in itertools.pairwise(trend)]
        rows.append(limited(f"{job}, rises to below 1", max(*falls, trend[-1]), 1.0, ""))
    return rows


def groups(*, quick: bool) -> Iterator[Group]:
    for scenario, counts in ((BERNOULLI, (2_000, 60)), (POISSON, (2_000, 60)), (SHARP, (300, 60))):
        for policy in (*POLICIES, *AHEAD):
            if not quick or (scenario is BERNOULLI and policy in POLICIES):
                measure = partial(speed, scenario, policy, counts, 3)
                yield Group(f"events beside rounds, {scenario.name} {policy}", measure)
    if quick:
        return
    yield Group("two workers beside one", workers, 2)
    for policy in SLOPES:
        yield Group(f"slope of {policy} to 1e12", partial(slope, policy), 1)
    for policy in POLICIES:
        yield Group(f"slope of {policy}, Normal", partial(normal, policy), 1)


if __name__ == "__main__":
    sys.exit(alone(groups))
