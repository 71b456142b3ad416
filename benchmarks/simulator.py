"""Measure the simulator: kernels, horizons, workers, and slopes against theory.

    .venv/bin/python benchmarks/simulator.py [speed] [full] [workers] [slope] [normal]

Everything in a table is measured in the same run, jobs taking turns.
"""

import itertools
import math
import statistics
import sys
import time
from typing import Any

import profitable as pb
from common import seconds, verdict
from profitable.common.text_tables import text_table
from profitable.paper.asymptotics import expected_slope

POLICIES = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
AHEAD = ("optimal:horizon", "optimal", "optimal:discount=0.9999")
AT_LEAST = {"kl-ucb": 30.0, "kl-ucb+": 30.0, "bayes-ucb": 50.0, "ts": 50.0} | dict.fromkeys(
    AHEAD, 30.0
)
T = 10_000


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
):
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


def per_run(scenario: pb.Scenario, policy: str, runs: int, **options: Any) -> float:
    return seconds(lambda: run(scenario, policy, runs, **options)) / runs


def speed() -> None:
    """Time a trajectory on one worker: both kernels at T = 10^4, events at 10^9."""
    rows: list[list[str]] = []
    for scenario, counts in ((BERNOULLI, (2_000, 60)), (POISSON, (2_000, 60)), (SHARP, (300, 60))):
        for policy in (*POLICIES, *AHEAD):
            run(scenario, policy, 10)
            run(scenario, policy, 2, kernel="rounds")
            turns: list[tuple[float, float, float]] = []
            for _ in range(3):
                events = per_run(scenario, policy, counts[0])
                rounds = per_run(scenario, policy, counts[1], kernel="rounds")
                far = per_run(scenario, policy, counts[0], horizon=10**9)
                turns.append((events, rounds, far))
            events, rounds, far = (statistics.median(column) for column in zip(*turns, strict=True))
            ratio = statistics.median(turn[1] / turn[0] for turn in turns)
            growth = statistics.median(turn[2] / turn[0] for turn in turns)
            barred = scenario is not SHARP
            rows.append(
                [
                    scenario.name,
                    policy,
                    f"{1e6 * events:.0f}",
                    f"{1e6 * rounds:.0f}",
                    f"{ratio:.0f}x",
                    f">= {AT_LEAST[policy]:.0f}: {verdict(ratio, AT_LEAST[policy], at_least=True)}"
                    if barred
                    else "",
                    f"{1e6 * far:.0f}",
                    f"{growth:.2f}x",
                    f"<= 3: {verdict(growth, 3.0, at_least=False)}" if barred else "",
                ]
            )
    headers = (
        "scenario",
        "policy",
        "events us",
        "rounds us",
        "ratio",
        "bar",
        "T = 1e9 us",
        "growth",
        "bar ",
    )
    print(
        f"Microseconds per trajectory of 5 categories, T = {T}, one worker:\n"
        f"{text_table(headers, rows)}\n"
    )


def full() -> None:
    """Time the paper's size: 10^4 trajectories at T = 10^4, two workers."""
    rows = [
        [
            scenario.name,
            policy,
            f"{seconds(lambda s=scenario, p=policy: run(s, p, 10_000, workers=2)):.2f} s",
        ]
        for scenario in (BERNOULLI, POISSON, SHARP)
        for policy in POLICIES
    ]
    print(
        f"10 000 trajectories at T = {T}, two workers:\n"
        f"{text_table(('scenario', 'policy', 'time'), rows)}\n"
    )


def workers() -> None:
    """Two workers beside one: jobs of 5 s or more, five turns."""
    runs = 10_000
    while (one := per_run(BERNOULLI, "bayes-ucb", runs) * runs) < 11.0:
        runs = int(runs * 12.0 / one) + 1
    ratios: list[float] = []
    for _ in range(5):
        one = per_run(BERNOULLI, "bayes-ucb", runs, workers=1)
        ratios.append(one / per_run(BERNOULLI, "bayes-ucb", runs, workers=2))
    ratio = statistics.median(ratios)
    shown = ", ".join(f"{each:.2f}" for each in ratios)
    print(
        f"Two workers beside one ({runs} runs, {one * runs:.1f} s with one): "
        f"{shown}; median {ratio:.2f}"
    )
    print(f"  bar 1.6: {verdict(ratio, 1.6, at_least=True)}\n")


def slope() -> None:
    """Compare regret per log t up to T = 10^12 with the lower bound's constant."""
    constant = BERNOULLI.lower_bound().total
    rows: list[list[str]] = []
    for policy, bar in (("kl-ucb", 0.02), ("kl-ucb+", 0.10), ("bayes-ucb", 0.10), ("ts", 0.10)):
        start = time.perf_counter()
        result = pb.simulate(
            BERNOULLI,
            [policy],
            horizon=10**12,
            runs=40_000,
            seed=1,
            checkpoints=[10**6, 10**12],
            progress=False,
        )
        taken = time.perf_counter() - start
        curve = result[policy]
        value, error = curve.slope(10**6)
        good, good_error = curve.slope(10**6, "profitable")
        bad, bad_error = curve.slope(10**6, "unprofitable")
        off = value / constant - 1.0
        rows.append(
            [
                policy,
                f"{value:.3f} ± {error:.3f}",
                f"{off:+.1%}",
                f"<= {bar:.0%}: {verdict(abs(off), bar, at_least=False)}",
                f"{bad:.3f} ± {bad_error:.3f}",
                f"{good:.3f} ± {good_error:.3f}",
                f"{taken:.1f} s",
            ]
        )
    headers = ("policy", "slope per log t", "off", "bar", "unprofitable", "profitable", "time")
    print(
        "Bernoulli, T = 10^12, 40 000 runs, slope from 10^6 on; the lower "
        f"bound's constant is {constant:.3f}:"
    )
    print(text_table(headers, rows))
    print(
        "Why the signs: kl-UCB accepts until N d(mean, tau) reaches log t: N "
        "follows log t / d, and its slope is the\n"
        "constant.  kl-UCB+ counts log N as evidence, too, and the posterior "
        "about half of it (-log P(mean >= tau) is\n"
        "N d + log(N)/2 and a constant): from N d + k log N = log t follows d "
        "N'(log t) = 1 - k/(N d + k), below 1 by\n"
        "about k/log t, k = 1 or 1/2: 6 % and 3 % at t = 10^9, vanishing as t "
        "grows.  By 10^6 profitable categories\n"
        "are accepted for good and add nothing.\n"
    )


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


def normal() -> None:
    """Compare the slope at T = 10^9, variance unknown, with theory; show its trend."""
    constant, runs = NORMAL.lower_bound().total, 10_000
    rows: list[list[str]] = []
    for policy in POLICIES:
        start = time.perf_counter()
        result = pb.simulate(
            NORMAL,
            [policy],
            horizon=DECADES[-1],
            runs=runs,
            seed=1,
            checkpoints=DECADES,
            progress=False,
        )
        taken = time.perf_counter() - start
        curve = result[policy]
        trend: list[float] = []
        cells: list[str] = []
        for place, (early, late) in enumerate(itertools.pairwise(DECADES)):
            rise = (curve.regret[place + 1] - curve.regret[place]) / math.log(late / early)
            trend.append(rise / constant)
            cells += [
                f"{trend[-1]:.3f}",
                f"{expected_slope(NORMAL, policy, early, late) / constant:.3f}",
            ]
        value, error = curve.slope(10**5)
        bar = ""
        if policy == "kl-ucb":
            bar = f"within 3 % of 1: {verdict(abs(value / constant - 1.0), 0.03, at_least=False)}"
        elif policy in ("bayes-ucb", "ts"):
            bar = (
                "rises to below 1: "
                f"{'met' if trend == sorted(trend) and trend[-1] < 1.0 else 'MISSED'}"
            )
        whole = expected_slope(NORMAL, policy, 10**5, 10**9) / constant
        rows.append(
            [
                policy,
                *cells,
                f"{value / constant:.3f} ± {error / constant:.3f}",
                f"{whole:.3f}",
                bar,
                f"{taken:.1f} s",
            ]
        )
    spans = [
        f"10^{math.log10(a):.0f} to 10^{math.log10(b):.0f}" for a, b in itertools.pairwise(DECADES)
    ]
    headers = [
        "policy",
        *(text for span in spans for text in (span, "theory")),
        "10^5 to 10^9",
        "theory",
        "bar",
        "time",
    ]
    print(
        f"Normal, T = 10^9, {runs} runs: slope per log t over the lower "
        f"bound's constant {constant:.3f}, beside theory:"
    )
    print(text_table(headers, rows))
    print(
        "Theory: N d + k log N = log t, k = 0 for kl-UCB, 1 for kl-UCB+ and "
        "1/2 for the two others.\n"
    )


PARTS = {"speed": speed, "full": full, "workers": workers, "slope": slope, "normal": normal}

if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(PARTS):
        sys.exit(f"unknown part {unknown.pop()!r}; choose from {', '.join(PARTS)}")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
