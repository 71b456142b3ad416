"""Measure the false discovery rate and the power of stop lists in simulated worlds.

.venv/bin/python benchmarks/stop_list.py

It takes two minutes; give a number of portfolios (500 unless given).  Each portfolio
has 20 categories whose sizes vary.  In a world, 40 % of them just pay, 40 % pay, and
20 % do not; "all just pay" is the worst case.  Printed are the mean share of wrong
categories on the list, in percent with its standard error, and the share of the bad
categories that it finds.  The tables stand in docs/stop-list.md.

| method | p-value |
| --- | --- |
| clients | normal, as if clients were independent |
| rounds | Student's, clustered by rounds |
| wild | wild bootstrap of the signs of 8 periods, with the null hypothesis imposed |
| periods | Student's, clustered by 8 periods |
| Hall | the same, corrected for skewness by Hall's transformation |
| one look | the same, with two imagined clients |
| stop list | the same, at the whole past and at its later half: what the library does |

A category is wrong on the list if it pays over the whole past and over its later half.
With "bets", e-values: what the library does where the past chose clients.
"""

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from profitable.advice.betting import betting_test
from profitable.advice.judged import BY_BETS, BY_ORDER
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import Periods, PeriodTest, later_half
from profitable.advice.stop_list import STOP_LEVEL, chosen, probabilities
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.special import student_tails
from profitable.past.past import SingleClients

CATEGORIES, PORTFOLIOS = 20, 500
GAIN, LOSS = 0.1, -0.6  # of a loan that is repaid, or not
SHOCK = 0.28  # of the log of the default rate, between vintages
SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))


@dataclass(frozen=True)
class World:
    """What portfolios are drawn from."""

    rounds: int = 60
    clients: float = 30.0  # of a category and round, on average
    shock: float = SHOCK
    persistence: float = 0.0  # autocorrelation of the shocks
    drift: float = 0.0  # of the default rate, from the first round to the last
    # What bad categories earn since then; before, they earn what good ones do.
    turned: float = 0.0
    then: float = 2.0 / 3.0  # of the rounds
    growth: float = 1.0  # of the number of clients
    largest: float = 0.0  # of a rare reward; 0 for loans
    just_pay: float = 0.4
    policy: str = ""  # that chose the clients


@dataclass(frozen=True, eq=False)
class Portfolio:
    """What one sees of a portfolio, and the true means of its categories, [K]."""

    outcomes: Outcomes
    squares: FloatArray  # sums of squares of the profits, [K]
    cubes: FloatArray
    mean: FloatArray
    recent: FloatArray  # true means of the later half, [K]

    @property
    def pays(self) -> BoolArray:
        """Whether the null hypothesis is true, [K]."""
        return (self.mean >= 0.0) & (self.recent >= 0.0)


def shocks(rng: np.random.Generator, world: World) -> FloatArray:
    """Return factors on the default rate with mean 1, [R, 1]."""
    steps = rng.standard_normal(world.rounds)
    found = np.empty(world.rounds)
    found[0] = steps[0]
    for t in range(1, world.rounds):
        rest = math.sqrt(1.0 - world.persistence**2)
        found[t] = world.persistence * found[t - 1] + rest * steps[t]
    return np.exp(world.shock * found - world.shock**2 / 2.0)[:, np.newaxis]


def sizes(rng: np.random.Generator, world: World) -> IntArray:
    """Return the number of clients who ask, [R, K]."""
    place = np.arange(world.rounds) / max(world.rounds - 1, 1)
    by_round = world.growth**place
    usual = world.clients * np.exp(rng.normal(0.0, 0.8, CATEGORIES))
    return rng.poisson(np.outer(by_round / by_round.mean(), usual))


def draw(rng: np.random.Generator, world: World) -> Portfolio:
    """Draw a portfolio."""
    number = sizes(rng, world)
    kind = rng.random(CATEGORIES)
    is_fair = kind < world.just_pay
    factors = shocks(rng, world)
    change = np.zeros(number.shape)  # of the mean profit of a client
    if world.largest:
        # A client costs 1.  A reward of `largest` is as frequent as it must be.
        worth = np.where(is_fair, 1.0, np.where(kind < 0.8, 1.5, 0.4))
        rate = np.minimum(worth / world.largest * factors, 1.0)
        values = -1.0, world.largest - 1.0
        mean = worth - 1.0
    else:
        mean = np.where(is_fair, 0.0, np.where(kind < 0.8, 0.02, -0.04))
        rate = (GAIN - mean) / (GAIN - LOSS) * factors
        if world.turned:
            later = np.arange(world.rounds) + 0.5 > world.then * world.rounds
            earned = np.where(later, world.turned, 0.02)[:, np.newaxis]
            change = np.where(mean < 0.0, earned - mean, 0.0)
            rate = (GAIN - mean - change) / (GAIN - LOSS) * factors
        # Around 0, weighted by clients, so that the mean of all rounds stays.
        weights = number.sum(axis=1) / max(number.sum(), 1)
        course = np.linspace(0.0, world.drift, world.rounds)
        course = (course - weights @ course)[:, np.newaxis]
        change = change - (GAIN - LOSS) * course
        rate = np.clip(rate + course, 0.0, 1.0)
        values = GAIN, LOSS
    rare = rng.binomial(number, rate)
    if world.policy:
        accepted = POLICIES[world.policy](
            rng, number, (number - rare) * values[0] + rare * values[1]
        )
        number, rare = number * accepted, rare * accepted
    usual = number - rare
    first, second, third = (usual * values[0] ** n + rare * values[1] ** n for n in (1, 2, 3))
    outcomes = Outcomes(
        tuple(str(k) for k in range(CATEGORIES)),
        tuple(str(t) for t in range(world.rounds)),
        number.astype(np.float64),
        first,
        np.zeros(number.shape),
        world.rounds,
        most=max(value for value, there in zip(values, (usual, rare), strict=True) if there.any()),
        least=min(values),
    )
    halves = later_half(outcomes).clients
    recent = mean + (halves * change).sum(axis=0) / np.maximum(halves.sum(axis=0), 1.0)
    if world.turned:
        mean = mean + (number * change).sum(axis=0) / np.maximum(number.sum(axis=0), 1)
    return Portfolio(outcomes, second.sum(axis=0), third.sum(axis=0), mean, recent)


# ----------------------------------------------------------- how the past chose clients


def thompson(rng: np.random.Generator, number: IntArray, profit: FloatArray) -> IntArray:
    """Accept a category if a draw from its posterior is positive."""
    return _learn(
        number, lambda mean, error, _: mean + error * rng.standard_normal(mean.size) >= 0.0, profit
    )


def optimist(_: np.random.Generator, number: IntArray, profit: FloatArray) -> IntArray:
    """Accept a category while an upper confidence bound is positive."""
    return _learn(
        number, lambda mean, error, t: mean + error * math.sqrt(math.log(t + 2.0)) >= 0.0, profit
    )


def lender(_: np.random.Generator, number: IntArray, profit: FloatArray) -> IntArray:
    """Stop a category for ever at the first significant loss after a year."""
    return _learn(
        number,
        lambda mean, error, t: np.full(mean.shape, t < 12) | (mean >= -2.3 * error),
        profit,
        for_ever=True,
    )


def _learn(
    number: IntArray,
    accepts: Callable[[FloatArray, FloatArray, int], BoolArray],
    profit: FloatArray,
    *,
    for_ever: bool = False,
) -> IntArray:
    chosen_in = np.zeros_like(number)
    seen, total = np.zeros(number.shape[1]), np.zeros(number.shape[1])
    for t in range(number.shape[0]):
        with np.errstate(divide="ignore", invalid="ignore"):
            found = accepts(total / seen, 0.25 / np.sqrt(seen), t) | (seen == 0.0)
        if for_ever and t:
            found &= chosen_in[t - 1] > 0
        chosen_in[t] = found
        seen += found * number[t]
        total += found * profit[t]
    return chosen_in


POLICIES = {"thompson": thompson, "optimist": optimist, "lender": lender}


# ------------------------------------------------------------------------------ methods


def by_clients(portfolio: Portfolio) -> FloatArray:
    """Return the p-values as if clients were independent."""
    number, profit = (
        each.sum(axis=0) for each in (portfolio.outcomes.clients, portfolio.outcomes.profit)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.maximum(portfolio.squares - profit**2 / number, 0.0))
        return student_tails(profit / error, np.full(profit.size, 1e6))


def by_rounds(portfolio: Portfolio) -> FloatArray:
    """Return the p-values clustered by rounds."""
    number, profit = portfolio.outcomes.clients, portfolio.outcomes.profit
    rounds = np.maximum((number > 0.0).sum(axis=0), 2).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = profit - profit.sum(axis=0) / number.sum(axis=0) * number
        error = np.sqrt(rounds / (rounds - 1.0) * (rest**2).sum(axis=0))
        return student_tails(profit.sum(axis=0) / error, rounds - 1.0)


def wild(portfolio: Portfolio) -> FloatArray:
    """Return the p-values of a wild bootstrap of 8 periods."""
    rounds = len(portfolio.outcomes.labels)
    place = np.arange(rounds) * 8 // rounds
    money = np.stack([portfolio.outcomes.profit[place == j].sum(axis=0) for j in range(8)])
    drawn = SIGNS @ money
    with np.errstate(divide="ignore", invalid="ignore"):
        students = drawn / np.sqrt((money**2).sum(axis=0) - drawn**2 / 8.0)
        found = money.sum(axis=0) / np.sqrt((money**2).sum(axis=0) - money.sum(axis=0) ** 2 / 8.0)
    return (students <= found + 1e-9).mean(axis=0)


def plain_periods(portfolio: Portfolio) -> FloatArray:
    """Return the p-values clustered by 8 periods."""
    counts = Periods.of(portfolio.outcomes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return student_tails(counts.profit / np.sqrt(counts.variance), counts.freedom)


def hall(portfolio: Portfolio) -> FloatArray:
    """Return the p-values of 8 periods, with the skewness of clients taken out."""
    counts = Periods.of(portfolio.outcomes)
    number = counts.clients
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = counts.profit / number
        two = portfolio.squares - number * mean**2
        three = portfolio.cubes - 3.0 * mean * portfolio.squares + 2.0 * number * mean**3
        skewness = three / two**1.5 * np.sqrt(np.minimum(two / counts.variance, 1.0))
        t = counts.profit / np.sqrt(counts.variance)
        moved = t + skewness / 3.0 * t**2 + skewness**2 / 27.0 * t**3 + skewness / 6.0
        return student_tails(moved, counts.freedom)


METHODS: dict[str, Callable[[Portfolio], FloatArray]] = {
    "clients": by_clients,
    "rounds": by_rounds,
    "wild": wild,
    "periods": plain_periods,
    "Hall": hall,
    "one look": lambda portfolio: probabilities(portfolio.outcomes, BY_ORDER),
    "stop list": lambda portfolio: probabilities(portfolio.outcomes),
    "bets": lambda portfolio: probabilities(portfolio.outcomes, BY_BETS),
}
WORLDS = {
    "independent clients": World(shock=0.0),
    "vintages vary": World(),
    "the same, all just pay": World(just_pay=1.0),
    "12 rounds": World(rounds=12),
    "20 times as many at the end": World(growth=20.0),
    "default rate falls by 8 points": World(drift=-0.08),
    "default rate rises by 8 points": World(drift=0.08),
    "pays for the first third, loses .08 since": World(turned=-0.08, then=1.0 / 3.0),
    "pays for the first half, loses .08 since": World(turned=-0.08, then=0.5),
    "pays for the first two thirds, loses .08 since": World(turned=-0.08),
    "the same, loses .16 since": World(turned=-0.16),
    "shocks persist, .6": World(persistence=0.6),
    "the same, all just pay ": World(persistence=0.6, just_pay=1.0),
    "shocks persist, .8": World(persistence=0.8),
    "the same, all just pay  ": World(persistence=0.8, just_pay=1.0),
    "shocks persist, .9": World(persistence=0.9),
    "shocks persist, .9, all just pay": World(persistence=0.9, just_pay=1.0),
    "shocks persist, .8, 20 times as many at the end, all just pay": World(
        persistence=0.8, growth=20.0, just_pay=1.0
    ),
    "1 in 20 brings all": World(largest=20.0),
    "the same, all just pay   ": World(largest=20.0, just_pay=1.0),
    "1 in 100 brings all": World(largest=100.0),
    "the same, all just pay    ": World(largest=100.0, just_pay=1.0),
    "1 in 400 brings all, all just pay": World(largest=400.0, just_pay=1.0),
}
CHOSEN = {
    "Thompson sampling": World(policy="thompson", shock=0.0),
    "the same, all just pay": World(policy="thompson", shock=0.0, just_pay=1.0),
    "an upper confidence bound, all just pay": World(policy="optimist", shock=0.0, just_pay=1.0),
    "stopping at t < -2.3": World(policy="lender", shock=0.0),
    "the same, all just pay ": World(policy="lender", shock=0.0, just_pay=1.0),
    "the same, and vintages vary": World(policy="lender", just_pay=1.0),
}


# ------------------------------------------------------------------------------ figures


@dataclass
class Rate:
    """False discoveries and power of one method."""

    shares: list[float]
    found: int = 0
    bad: int = 0
    bias: float = 0.0

    def add(self, stop: BoolArray, pays: BoolArray) -> None:
        self.shares.append(float((stop & pays).sum()) / max(int(stop.sum()), 1))
        self.found += int((stop & ~pays).sum())
        self.bad += int((~pays).sum())

    def __str__(self) -> str:
        error = np.std(self.shares) / math.sqrt(len(self.shares))
        power = f", {self.found / self.bad:.0%}" if self.bad else ""
        return f"{100.0 * np.mean(self.shares):.1f} ± {100.0 * error:.1f}{power}"


def measure(
    world: World, portfolios: int = PORTFOLIOS, methods: tuple[str, ...] = tuple(METHODS)
) -> dict[str, Rate]:
    """Return the rates of some methods in a world."""
    rng = np.random.default_rng([17, portfolios])
    rates = {name: Rate([]) for name in methods}
    for _ in range(portfolios):
        portfolio = draw(rng, world)
        for name, rate in rates.items():
            rate.add(chosen(METHODS[name](portfolio), STOP_LEVEL), portfolio.pays)
    return rates


def measure_nested(world: World, portfolios: int = PORTFOLIOS) -> dict[str, Rate]:
    """Return the rate where five parents of four categories each are tried, too."""
    rng = np.random.default_rng([18, portfolios])
    rate = Rate([])
    for _ in range(portfolios):
        portfolio = draw(rng, world)
        outcomes = portfolio.outcomes
        shape = len(outcomes.labels), 5, 4
        parents = replace(
            outcomes,
            names=tuple("ABCDE"),
            clients=outcomes.clients.reshape(shape).sum(axis=2),
            profit=outcomes.profit.reshape(shape).sum(axis=2),
        )
        earned = (portfolio.mean * outcomes.clients.sum(axis=0)).reshape(5, 4).sum(axis=1)
        both = np.concatenate([probabilities(outcomes), probabilities(parents)])
        truth = np.concatenate([portfolio.pays, earned >= 0.0])
        rate.add(chosen(both, STOP_LEVEL), truth)
    return {"stop list": rate}


def measure_intervals(
    world: World,
    portfolios: int = PORTFOLIOS,
    test: Callable[[Outcomes], PeriodTest] = PeriodTest.of,
) -> str:
    """Return how often the interval of the profit is too high, and too low."""
    rng = np.random.default_rng([20, portfolios])
    found: list[FloatArray] = []
    for _ in range(portfolios):
        portfolio = draw(rng, world)
        interval = test(portfolio.outcomes)
        misses = np.stack([portfolio.mean < interval.low, portfolio.mean > interval.high])
        found.append(misses[:, ~np.isnan(interval.pays)].astype(float))
    above, below = np.concatenate(found, axis=1).mean(axis=1)
    return f"{above:.1%} | {below:.1%}"


def loans(rng: np.random.Generator, world: World) -> tuple[SingleClients, FloatArray]:
    """Draw single loans: losses are known soon, most gains after 12 rounds."""
    number = sizes(rng, world)
    kind = rng.random(CATEGORIES)
    is_fair = kind < world.just_pay
    mean = np.where(is_fair, 0.0, np.where(kind < 0.8, 0.02, -0.04))
    rate = np.clip((GAIN - mean) / (GAIN - LOSS) * shocks(rng, world), 0.0, 1.0)
    cells = np.repeat(np.arange(number.size), number.ravel())
    asked, category = cells // CATEGORIES + 1, cells % CATEGORIES
    defaults = rng.random(cells.size) < rate.ravel()[cells]
    # A tenth of the gains comes early, and a fifth late.
    when = rng.random(cells.size)
    delay = np.where(defaults | (when < 0.1), rng.integers(2, 13, cells.size), 12)
    delay += np.where(~defaults & (when > 0.8), rng.integers(1, 7, cells.size), 0)
    profit = np.where(defaults, LOSS, GAIN)
    clients = SingleClients.of(
        names=[str(k) for k in range(CATEGORIES)],
        labels=[str(t) for t in range(world.rounds)],
        round=asked,
        category=category,
        known=asked + delay,
        reward=profit,
        profit=profit,
    )
    return clients, mean


def measure_late(world: World, portfolios: int = PORTFOLIOS) -> dict[str, Rate]:
    """Return the rates where outcomes are late: of mature rounds, and of all known.

    Their bias is that of the mean profit of a client.
    """
    rng = np.random.default_rng([19, portfolios])
    rates = {"stop list": Rate([]), "all that are known": Rate([])}
    for _ in range(portfolios):
        clients, mean = loans(rng, world)
        for (_, rate), matures in zip(rates.items(), (None, 0), strict=True):
            found = Outcomes.of(clients, until=world.rounds, matures=matures)
            rate.add(chosen(probabilities(found), STOP_LEVEL), mean >= 0.0)
            number = found.clients.sum(axis=0)
            rate.bias += float((found.profit.sum() - mean @ number) / number.sum()) / portfolios
    return rates


def main() -> None:
    portfolios = int(sys.argv[1]) if len(sys.argv) > 1 else PORTFOLIOS
    header = [name for name in METHODS if name != "bets"]
    print(f"| world | {' | '.join(header)} |\n|{' --- |' * (len(header) + 1)}")
    for name, world in WORLDS.items():
        rates = measure(world, portfolios, tuple(header))
        print(f"| {name.strip()} | {' | '.join(map(str, rates.values()))} |", flush=True)
    print("\n| the past chose by | clients | stop list's test | bets |\n| --- | --- | --- | --- |")
    for name, world in {"nothing: it accepted all": World(shock=0.0), **CHOSEN}.items():
        rates = measure(world, portfolios, ("clients", "stop list", "bets"))
        print(f"| {name.strip()} | {' | '.join(map(str, rates.values()))} |", flush=True)
    print("\n| world | list |\n| --- | --- |")
    for name, found in {
        "two groupings, one nested in the other": measure_nested(World(), portfolios),
        "the same, all just pay": measure_nested(World(just_pay=1.0), portfolios),
    }.items():
        print(f"| {name} | {found['stop list']} |", flush=True)
    late = World(rounds=36, clients=60.0)
    for name, world in {
        "losses known first": late,
        "all just pay": replace(late, just_pay=1.0),
    }.items():
        for rule, rate in measure_late(world, max(portfolios // 4, 20)).items():
            print(f"| {name}: {rule} | {rate}, bias {rate.bias:.4f} |", flush=True)
    print("\n| world | the truth is below the interval | above |\n| --- | --- | --- |")
    for name in list(WORLDS):
        if "all just pay" not in name:
            print(f"| {name} | {measure_intervals(WORLDS[name], portfolios)} |", flush=True)
    for name in ("Thompson sampling", "stopping at t < -2.3"):
        for kind, test in (("", PeriodTest.of), (", bets", betting_test)):
            figures = measure_intervals(CHOSEN[name], max(portfolios // 4, 20), test)
            print(f"| {name}{kind} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
