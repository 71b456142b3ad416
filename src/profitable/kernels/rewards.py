"""Rewards of a category's clients; a batch is drawn at once where that is exact.

How a batch of n clients is drawn (its feed) depends on what the policy needs of them:

| feed      | drawn                               | for                              |
| --------- | ----------------------------------- | -------------------------------- |
| `SUM`     | the sum of the statistics, at once  | policies that need only the sum  |
| `CELLS`   | clients of each value (multinomial) | whole numbers, cut or kept       |
| `SINGLES` | every reward                        | continuous rewards, cut or kept  |
| `PIECES`  | number cut, and sum of the others   | Exponential rewards, seldom cut  |
| `MOMENTS` | sum and squared deviations, at once | normal rewards, if spread counts |

Example: 1 000 Bernoulli(0.3) clients under kl-UCB are one Binomial(1 000, 0.3) draw,
added to `run.total`.  The same number of Poisson(2) clients under KL-Emp-UCB are about
ten binomial draws, one for each likely value.

A policy that needs the values keeps them in a sample [2, places]: values, and how often
each came.  `run.kept` of the places are in use.
"""

import math

import numpy as np

from profitable.common.types import Matrix
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.cut_exponential import draw_piece, largest_piece
from profitable.kernels.draw import draw_binomial, draw_deviations, draw_total
from profitable.kernels.law import GAMMA, SMALLEST_POSITIVE, log_mass
from profitable.kernels.run_record import Feed, Run, TrueLaw
from profitable.kernels.statistic import IDENTITY, reward_of


@part
def draw_from(rng: np.random.Generator, truth: TrueLaw, start: float, probability: float) -> float:
    """Draw a whole-number reward given that it is at least `start`.

    That happens with the given probability.
    """
    left = rng.random() * probability
    value = start
    while value < start + 1e6:  # far beyond: `left` was a rounding error
        left -= math.exp(log_mass(truth.law, truth.mean, value))
        if left <= 0.0:
            break
        value += 1.0
    return value


@part
def make_room(sample: Matrix, size: int, needed: int) -> Matrix:
    """Return the sample in a larger array if `needed` places are more than it has."""
    if needed <= sample.shape[1]:
        return sample
    larger = np.ones((2, max(2 * size, needed)))
    # An assignment of slices would be compiled with the text of its error message.
    for row in range(2):
        for place in range(size):
            larger[row, place] = sample[row, place]
    return larger


@part
def keep(run: Run, sample: Matrix, value: float, count: float) -> Matrix:
    """Write one more value into the sample, and how often it came."""
    sample = make_room(sample, run.kept, run.kept + 1)
    sample[0, run.kept] = value
    sample[1, run.kept] = count
    run.kept += 1
    return sample


@lazy
def draw_singles(
    rng: np.random.Generator, truth: TrueLaw, clients: int, run: Run, sample: Matrix, keeps: bool
) -> Matrix:
    """Draw every reward: `draw_batch` for continuous rewards that are cut or kept."""
    plain = truth.statistic.code == IDENTITY
    # The common case, without the general machinery.
    exponential = truth.law.code == GAMMA and truth.law.size == 1.0
    total = squares = revenue = 0.0
    for _ in range(clients):
        if exponential:
            value = max(truth.mean * rng.standard_exponential(), SMALLEST_POSITIVE)
        else:
            value = draw_total(rng, truth.law, truth.mean, 1.0)
        reward = value if plain else reward_of(truth.statistic, value)
        seen = min(max(reward, truth.cut_low), truth.cut_high) if truth.is_cut else value
        total += seen
        squares += seen * seen
        revenue += reward
        if keeps:
            sample = keep(run, sample, seen, 1.0)
    run.total += total
    run.squares += squares
    run.revenue += revenue
    return sample


@lazy
def draw_cells(
    rng: np.random.Generator,
    truth: TrueLaw,
    cells: Matrix,
    clients: int,
    run: Run,
    sample: Matrix,
    keeps: bool,
) -> Matrix:
    """Draw how many clients have each value.

    This is `draw_batch` for whole-number rewards that are cut or kept.

    `cells` [4, D + 1] are the distinct rewards, most likely first: the reward; its
    statistic, as the policy sees it; the probability that a reward is this one, given
    that it is none before; the cell of each reward 0, 1, ..., D - 1.  The last column
    stands for all rewards from D on.
    """
    told_apart = cells.shape[1] - 1
    one_by_one = clients <= told_apart
    left = clients
    cell = 0
    while left > 0:
        hits = 1
        if one_by_one:
            reward = draw_total(rng, truth.law, truth.mean, 1.0)
            cell = int(cells[3, int(reward)]) if reward < told_apart else told_apart
        else:
            if cell < told_apart:
                hits = draw_binomial(rng, left, float(cells[2, cell]))
            reward = (
                cells[0, cell]
                if cell < told_apart
                else draw_from(rng, truth, told_apart, cells[2, told_apart])
            )
        if hits > 0:
            seen = min(reward, truth.cut_high)
            run.total += hits * seen
            run.squares += hits * seen * seen
            run.revenue += hits * reward
            left -= hits
            if keeps and cell < told_apart:
                sample[1, cell] += hits
                run.kept = max(run.kept, cell + 1)
            elif keeps:
                run.kept = max(run.kept, told_apart)
                sample = keep(run, sample, seen, 1.0)
        if not one_by_one and cell < told_apart:
            cell += 1
    return sample


@lazy
def draw_pieces(
    rng: np.random.Generator, truth: TrueLaw, clients: int, run: Run, sample: Matrix, keeps: bool
) -> Matrix:
    """Draw how many rewards are cut, and the sum of the others.

    This is `draw_batch` for Exponential rewards.

    The sample keeps the sums of pieces and how many rewards each holds.
    `kernels/run_evidence.py` draws these if they are needed.
    """
    high = truth.cut_high
    bound = high / truth.mean
    cut = draw_binomial(rng, clients, math.exp(-bound))
    most = largest_piece(bound)
    left = clients - cut
    seen = cut * high
    run.kept = max(run.kept, 1)  # the first place is for those that are cut
    while left > 0:
        number = min(left, most)
        total = draw_piece(rng, number, bound)
        seen += truth.mean * total
        left -= number
        if keeps:
            sample = keep(run, sample, total, float(number))
    run.total += seen
    run.squares += cut * high * high
    run.revenue += seen
    if cut > 0:
        run.revenue += truth.mean * rng.standard_gamma(float(cut))
        if keeps:
            sample[1, 0] += cut
    return sample


@lazy
def draw_moments(rng: np.random.Generator, truth: TrueLaw, clients: int, run: Run) -> None:
    """Draw the sum and the squared deviations.

    This is `draw_batch` for normal rewards whose spread the policy needs.

    `run.clients` counts this batch already.  The deviations from the common mean are
    those from the two means, and what these lie apart (Chan, Golub and LeVeque):
    nothing cancels.
    """
    number = float(clients)
    total = draw_total(rng, truth.law, truth.mean, number)
    earlier = run.clients - number
    if earlier > 0.0:
        apart = total / number - run.total / earlier
        run.spread += apart * apart * (earlier * (number / run.clients))
    run.spread += draw_deviations(rng, truth.law.size, number)
    run.total += total
    run.revenue += total


@part
def draws_per_client(truth: TrueLaw, keeps: bool) -> float:
    """Return the cost of a batch for each of its clients: draws, or pieces."""
    if truth.feed == Feed.SINGLES or (truth.feed == Feed.PIECES and keeps):
        return 1.0
    return 1.0 / largest_piece(truth.cut_high / truth.mean) if truth.feed == Feed.PIECES else 0.0


@kernel
def draw_batch(
    rng: np.random.Generator,
    truth: TrueLaw,
    cells: Matrix,
    clients: int,
    run: Run,
    sample: Matrix,
    keeps: bool,
) -> Matrix:
    """Draw the rewards of a batch and add them to the run; return the sample."""
    run.clients += clients
    if truth.feed == Feed.SINGLES:
        return draw_singles(rng, truth, clients, run, sample, keeps)
    if truth.feed == Feed.PIECES:
        return draw_pieces(rng, truth, clients, run, sample, keeps)
    if truth.feed == Feed.CELLS:
        return draw_cells(rng, truth, cells, clients, run, sample, keeps)
    if truth.feed == Feed.MOMENTS:
        draw_moments(rng, truth, clients, run)
        return sample
    total = (
        draw_total(rng, truth.law, truth.mean, float(clients))
        if truth.feed == Feed.SUM
        else math.nan
    )
    run.total += total
    # Right for rewards of 0 and 1, which are their own squares; nobody else asks for
    # it.
    run.squares += total
    run.revenue += total
    return sample
