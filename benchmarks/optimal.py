"""Measure how far each policy is from the best that is possible.

The Bayes regret of each is divided by that of the exact optimum.

python benchmarks/optimal.py [quick]     takes half an hour or more; quick: fewer
thresholds, horizons up to 1 000

The optimum of a category alone is computed by dynamic programming
(`one_armed.py`).  Policies that stop for good (`optimal:horizon`,
`optimal:discount`) are computed in the same way, without chance.  Policies that come
back are simulated: one scenario whose means are the points of a quadrature over the
prior.  Bernoulli rewards have Jeffreys' prior, the others Jeffreys' after one client,
and thresholds that the prior exceeds with a probability of 1/4 or more.

Unless quick, it renews the table in docs/optimal.md and the picture
docs/optimal-boundary.svg.
"""

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from scipy import stats

import profitable as pb
from one_armed import Accepts, OneArmed, one_armed
from profitable.common.charts import Rows, saved, styled, titled
from profitable.common.line_styles import (
    BLACK,
    BLUE,
    DASH_DOT,
    DASHED,
    GREEN,
    GREY,
    VERMILION,
)
from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.agent_table import AgentRow, renew
from profitable.kernels.coded_view import row
from rows import Group, Row, concluded, limited, rows_of, said

TABLE_BEGINS, TABLE_ENDS = "<!-- table: benchmarks/optimal.py writes it -->\n", "<!-- end -->"
DOCS = Path(__file__).parent.parent / "docs"
BERNOULLI, POISSON, EXPONENTIAL, GAUSSIAN = (
    pb.Bernoulli(),
    pb.Poisson(),
    pb.Exponential(),
    pb.Gaussian(sigma=1.0),
)
PRIORS = {"poisson": 1.0, "exponential": 1.0, "gaussian": 0.0}  # the mean of the imaginary client
LAWS: dict[str, Any] = {  # of the mean, under the prior
    "bernoulli": stats.beta(0.5, 0.5),
    "poisson": stats.gamma(1.5),
    "exponential": stats.invgamma(1.0),
    "gaussian": stats.norm(0.0, 1.0),
}
CHANCES = (0.95, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25)  # P(mu >= tau) under the prior
FINE_CHANCES = (0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005)
COMING_BACK = ("optimal", "kl-ucb", "kl-ucb+", "bayes-ucb", "ts")
POINTS = 16  # of the quadrature, on either side of the threshold
# Median, worst.
BARS = {"bernoulli": (1.05, 1.20), "others": (math.inf, 1.07), "discount": (math.inf, 1.20)}
SHORT_BAR = 1.35  # Bernoulli at T = 100
LONG = 100_000  # rounds; from here on every fourth threshold, and no simulation
RUNS = 200


class Problem(NamedTuple):
    """A category with so many clients per round, up to a horizon or with a discount."""

    family: pb.Family
    clients: int
    threshold: float
    horizon: int | None = None
    discount: float | None = None

    @property
    def category(self) -> pb.Category:
        """With its prior."""
        mean = PRIORS.get(self.family.name)
        prior = None if mean is None else pb.Prior.like(clients=1, mean=mean)
        return pb.Category("it", self.family, threshold=self.threshold, prior=prior)

    def optimal(self, risk: float) -> pb.Policy:
        """Return the policy that knows the horizon or the discount."""
        return pb.Optimal(horizon=self.horizon, discount=self.discount, risk=risk)

    def solve(self) -> OneArmed:
        """Return the exact optimum."""
        return one_armed(
            self.category, horizon=self.horizon, discount=self.discount, clients=self.clients
        )


class Ratios(NamedTuple):
    """Bayes regrets over that of the optimum; `coming_back` only if simulated."""

    problem: Problem
    regret: float
    optimal: float
    careful: float
    coming_back: dict[str, tuple[float, float]]


def stopping_rule(policy: pb.Policy, problem: Problem) -> Accepts:
    """Return evidence <= patience for one state of each round at once."""
    view = policy.view(problem.category)
    view_rows = row(view.coded(policy.rule))[None, :]
    cache: dict[int, FloatArray] = {}

    def accepts(t: IntArray, clients: FloatArray, total: FloatArray) -> BoolArray:
        if t.size not in cache:
            known = (clients + view.prior_clients).tolist()
            each = zip(t.tolist(), known, strict=True)
            cache[t.size] = np.array(
                [policy.patience(t, known=n, per_round=problem.clients) for t, n in each]
            )
        table = np.zeros((len(AgentRow), t.size))
        table[AgentRow.CLIENTS], table[AgentRow.TOTAL], table[AgentRow.TARGET] = (
            clients,
            total,
            problem.threshold,
        )
        renew(table, np.arange(t.size), np.zeros(t.size, dtype=np.int64), view_rows)
        return table[AgentRow.EVIDENCE] <= cache[t.size]

    return accepts


def prior_points(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return a quadrature over the prior, with points dense around the threshold."""
    law, closest = (
        LAWS[problem.family.name],
        0.1 / math.sqrt(problem.clients * (problem.horizon or 1)),
    )
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    below = float(law.cdf(problem.threshold))
    means: list[FloatArray] = []
    masses: list[FloatArray] = []
    for side, mass in ((-1.0, below), (1.0, 1.0 - below)):
        low = math.log(closest / mass)
        # Probability between the threshold and the point.
        part = mass * np.exp(low * 0.5 * (1.0 - nodes))
        means.append(law.ppf(below + side * part))
        masses.append(-low * 0.5 * weights * part)
    return np.concatenate(means), np.concatenate(masses)


def simulated(problem: Problem, policies: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the Bayes regret of policies that come back, and its standard error."""
    means, masses = prior_points(problem)
    found: dict[str, tuple[float, float]] = {}
    for policy in policies:
        prior = problem.category.prior if policy in ("optimal", "bayes-ucb", "ts") else None
        truths = [
            pb.Truth(
                pb.Category(f"{i}", problem.family, threshold=problem.threshold, prior=prior),
                mean=float(mean),
                clients=problem.clients,
            )
            for i, mean in enumerate(means)
        ]
        rounds = problem.horizon or 0
        curve = pb.simulate(
            pb.Scenario("prior", truths), [policy], horizon=rounds, runs=RUNS, seed=1, workers=1
        ).curves[0]
        accepted, error = curve.accepted_rounds[:, -1], curve.error("accepted")[:, -1]
        wrong = np.where(means >= problem.threshold, rounds - accepted, accepted)
        loss = problem.clients * np.abs(means - problem.threshold) * masses
        found[policy] = float(loss @ wrong), float(np.sqrt(((loss * error) ** 2).sum()))
    return found


def ratios(problem: Problem, simulate: bool) -> Ratios:
    optimum = problem.solve()
    exact = [
        optimum.regret_of(stopping_rule(problem.optimal(risk), problem)) / optimum.regret
        for risk in (1.0, 0.3)
    ]
    back = simulated(problem, COMING_BACK) if simulate else {}
    shares = {
        policy: (regret / optimum.regret, error / optimum.regret)
        for policy, (regret, error) in back.items()
    }
    return Ratios(problem, optimum.regret, exact[0], exact[1], shares)


def group(
    family: pb.Family, thresholds: Sequence[float], shown: Sequence[float], **form: Any
) -> list[Ratios]:
    """Return a row of the table; policies that come back are simulated if `shown`."""
    problems = [Problem(family, threshold=float(tau), **form) for tau in thresholds]
    simulate = [any(math.isclose(tau, each) for each in shown) for tau in thresholds]
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(ratios, problems, simulate))


def cells(found: Sequence[Ratios]) -> list[str]:
    """Return median and worst exact ratio, and the simulated mean with its error."""
    first = found[0].problem
    length = (
        f"T = {number_text(first.horizon)}" if first.horizon else f"discount {first.discount:g}"
    )
    texts = [first.family.name, length, str(first.clients)]
    for name in ("optimal", "careful"):
        values = [getattr(each, name) for each in found]
        texts.append(f"{statistics.median(values):.3f} ({max(values):.2f})")
    for policy in COMING_BACK:
        back = [each.coming_back[policy] for each in found if each.coming_back]
        mean = statistics.fmean(ratio for ratio, _ in back) if back else math.nan
        error = math.sqrt(sum(error**2 for _, error in back)) / max(len(back), 1)
        texts.append(f"{mean:.2f} ± {error:.2f}" if back else "-")
    return texts


def nearness(found: Sequence[Ratios], median_bar: float, worst_bar: float) -> list[Row]:
    """Return the worst and the median ratio as rows beside their bars."""
    values = [each.optimal for each in found]
    job = f"optimal / best possible, {', '.join(cells(found)[:3])} a round"
    rows = [limited(f"{job}, worst of {len(values)}", max(values), worst_bar, "")]
    if median_bar < math.inf:
        rows.append(limited(f"{job}, median", statistics.median(values), median_bar, ""))
    return rows


def thresholds_of(family: pb.Family, chances: Sequence[float]) -> list[float]:
    return [float(LAWS[family.name].isf(chance)) for chance in chances]


class Case(NamedTuple):
    """A row of the table: thresholds, which of them are simulated, and bars."""

    family: pb.Family
    thresholds: Sequence[float]
    shown: Sequence[float]
    bars: tuple[float, float]
    form: dict[str, Any]


def cases(*, quick: bool) -> Iterator[Case]:
    few = np.linspace(0.1, 0.8, 8).tolist()
    taus = few if quick else np.linspace(0.1, 0.8, 29).tolist()
    both = (1, 5)  # clients
    simulated_at = {100: (0.2, 0.5, 0.8), 1_000: (0.2, 0.5, 0.8), 10_000: (0.5,)}
    for horizon in (100, 1_000) if quick else (100, 1_000, 10_000, 100_000):
        bars = (BARS["bernoulli"][0], SHORT_BAR if horizon == 100 else BARS["bernoulli"][1])
        chosen, shown = taus if horizon < LONG else few, simulated_at.get(horizon, ())
        for clients in both:
            form = {"clients": clients, "horizon": horizon}
            yield Case(BERNOULLI, chosen, shown, bars, form)
    for family in (POISSON, EXPONENTIAL, GAUSSIAN):
        every, middle = thresholds_of(family, CHANCES), thresholds_of(family, (0.4,))
        for horizon in (100, 1_000) if quick else (100, 1_000, 10_000):
            chosen = every if horizon < 10_000 else every[1::2]
            for clients in both:
                form = {"clients": clients, "horizon": horizon}
                yield Case(family, chosen, middle, BARS["others"], form)
    for discount in (0.99, 0.999):
        chosen = taus if discount == 0.99 else few
        for clients in both:
            form = {"clients": clients, "discount": discount}
            yield Case(BERNOULLI, chosen, (), BARS["discount"], form)


def measured_case(case: Case) -> list[Row]:
    """Only policies that stop for good: computed without chance, and they have bars."""
    return nearness(group(case.family, case.thresholds, (), **case.form), *case.bars)


def groups(*, quick: bool) -> Iterator[Group]:
    """Yield the quick cases; nothing in the quick form of `make bench`."""
    if not quick:
        for case in cases(quick=True):
            name = f"optimal beside the best possible, {case.family.name}, {case.form}"
            yield Group(name, partial(measured_case, case), 1)


def main() -> int:
    rows: list[Row] = []
    lines: list[list[str]] = []
    for case in cases(quick=False):
        found = group(case.family, case.thresholds, case.shown, **case.form)
        rows += nearness(found, *case.bars)
        lines.append(cells(found))
        said(" ".join(lines[-1]))
    # 141 Bernoulli thresholds.
    for horizon in (100, 1_000):
        for clients in (1, 5):
            taus = np.linspace(0.1, 0.8, 141).tolist()
            found = group(BERNOULLI, taus, (), clients=clients, horizon=horizon)
            worst = SHORT_BAR if horizon == 100 else BARS["bernoulli"][1]
            rows += nearness(found, BARS["bernoulli"][0], worst)
    print(
        "beyond the bars: priors that speak against the category, so that the first decision is "
        "the close one"
    )
    for family in (POISSON, EXPONENTIAL, GAUSSIAN):
        for clients in (1, 5):
            found = group(
                family, thresholds_of(family, FINE_CHANCES), (), clients=clients, horizon=100
            )
            ratios_text = ", ".join(f"{each.optimal:.3f}" for each in found)
            print(f"{family.name}, {clients}: {ratios_text}", flush=True)
    headers = ("rewards", "length", "clients", "optimal", "risk=0.3", "anytime", *COMING_BACK[1:])
    renew_table(DOCS / "optimal.md", markdown(headers, lines))
    draw(DOCS / "optimal-boundary.svg")
    return concluded(rows, {})


def markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (headers, ["---"] * len(headers), *rows)]
    return "\n".join(lines) + "\n"


def renew_table(page: Path, table: str) -> None:
    """Put a table between its two marks on a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(TABLE_BEGINS)
    _, end, after = rest.partition(TABLE_ENDS)
    page.write_text(before + begin + table + end + after, encoding="utf-8")


def draw(path: Path) -> None:
    """Draw the lowest mean that each policy accepts after N clients."""
    problem = Problem(BERNOULLI, 1, 0.5, horizon=10_000)
    clients = np.unique(np.round(np.geomspace(8, 9_999, 300))).astype(np.int64)
    # Sums are whole: between the rejected and the accepted.
    best = (problem.solve().boundary[clients] - 0.5) / clients
    solid, dashed, dash_dot = [1, 0], list(DASHED), list(DASH_DOT)
    lines = [  # policy, its name, its colour and dashes, where the name stands
        (pb.KLUCBPlus(), "kl-ucb+", BLUE, dashed, (9, 0.478)),
        (pb.Optimal(), "optimal (anytime)", GREEN, dash_dot, (9, 0.423)),
        (pb.BayesUCB(), "bayes-ucb", VERMILION, solid, (9, 0.32)),
        (pb.KLUCB(), "kl-ucb", BLUE, solid, (9, 0.215)),
        (problem.optimal(1.0), "solid: optimal:horizon", BLACK, solid, (45, 0.21)),
        (problem.optimal(0.3), "dashed: optimal:horizon,risk=0.3", BLACK, dashed, (45, 0.16)),
    ]
    across = alt.X(
        "x:Q",
        title="clients so far, all of them accepted",
        scale=alt.Scale(type="log", domain=[8, 10_000], nice=False),
        axis=alt.Axis(values=[10, 100, 1_000, 10_000], grid=False),
    )
    up = alt.Y(
        "y:Q",
        title="share that repaid: accept above the line",
        scale=alt.Scale(domain=[0.0, 0.54], nice=False),
    )

    def line(means: FloatArray, colour: str, **style: Any) -> alt.Chart:
        values = zip(clients.tolist(), means.tolist(), strict=True)
        rows: Rows = [{"x": x, "y": y} for x, y in values if not math.isnan(y)]
        chart = alt.Chart(alt.InlineData(values=rows)).mark_line(color=colour, clip=True, **style)
        return chart.encode(x=across, y=up)

    def word(text: str, colour: str, place: tuple[float, float], align: Any = "left") -> alt.Chart:
        at: Rows = [{"x": place[0], "y": place[1], "text": text}]
        chart = alt.Chart(alt.InlineData(values=at))
        chart = chart.mark_text(color=colour, align=align, baseline="bottom", fontSize=13)
        return chart.encode(x=across, y=up, text="text:N")

    level = alt.Chart(alt.InlineData(values=[{"y": problem.threshold}]))
    layers = [
        line(best, BLACK, opacity=0.22, strokeWidth=11.0, strokeJoin="round"),
        level.mark_rule(color=GREY).encode(y=up),
        word("thick grey: the exact optimum", GREY, (45, 0.26)),
        word("threshold", GREY, (9_999, 0.506), "right"),
    ]
    for policy, name, colour, dashes, place in lines:
        means = lowest_means(policy, problem, clients)
        layers.append(line(means, colour, strokeDash=dashes, strokeWidth=2.0))
        layers.append(word(name, colour, place))
    title = titled("When to give up a category: one client a round, 10 000 rounds")
    saved(styled(alt.layer(*layers).properties(width=680, height=430, title=title)), path)


def lowest_means(policy: pb.Policy, problem: Problem, clients: IntArray) -> FloatArray:
    """By halving; NaN where every mean is accepted."""
    accepts = stopping_rule(policy, problem)
    low, high = np.zeros(clients.size), np.ones(clients.size)
    for _ in range(50):
        middle = 0.5 * (low + high)
        yes = accepts(clients, clients.astype(np.float64), middle * clients)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return np.where(
        accepts(clients, clients.astype(np.float64), np.zeros(clients.size)), np.nan, high
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["quick"]:
        sys.exit(concluded(rows_of(groups(quick=False), {}), {}))
    sys.exit(main())
