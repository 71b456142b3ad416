"""The agent's table: the sums and the evidence of each category.

Rewards are checked, turned into statistics and added to the sums; then the evidence is
recomputed.  The table is one array of floats, [rows, K], with a column for each
category, so that a decision can copy it in one step.  `AgentRow` names its rows:
`table[AgentRow.CLIENTS, k]` is the number of clients of category k.

Example: `absorb` of the rewards 1 and 0 adds 2 to CLIENTS, 1 to TOTAL, the worth of 1
to REVENUE and the price of two clients to COST, recomputes EVIDENCE and returns -1: no
reward was illegal.
"""

from enum import IntEnum

import numpy as np

from profitable.common.check import MOST
from profitable.common.types import BoolArray, FloatArray, IntArray, Matrix
from profitable.kernels.batch import Sums, digest, money, weighted
from profitable.kernels.coded_view import CodedView, edges, view_of, widest
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.evidence import Observed, evidence_of_rewards, evidence_of_sums, faded
from profitable.kernels.exact import exact_sum, squared_deviations, weighted_deviations


class AgentRow(IntEnum):
    """Rows of the table.

    Sums are pairs, the sum and what it lost to rounding (its carry).
    """

    # N: as how many clients the known outcomes count; with forgetting, old ones count
    # for less.
    CLIENTS = 0
    TOTAL = 1  # S: the sum of their statistics, weighted in the same way
    SPREAD = 2  # squared deviations of the statistics from their mean, for rules that need them
    THRESHOLD = 3  # in the units of the rewards
    EVIDENCE = 4
    PATIENCE = 5  # of the latest decision
    PER_ROUND = 6  # clients in a round, as the latest decision expected them
    WAITING = 7  # accepted clients whose outcome has not come yet
    PAUSED = 8  # 1 if it is not accepted until it is resumed
    KNOWN = 9  # clients whose outcome was reported
    # 1 if EVIDENCE is a bound on the right side of PATIENCE, or not computed since the
    # sums have aged.
    ROUGH = 10
    ACCEPTED = 11  # 1 if the latest decision accepts it, by patience or by the floor
    TAKEN = 12  # as how many the rounds that accepted it count, for rules that need them
    TARGET = 13  # the threshold in the units of the statistic
    IMAGINARY = 14  # the imaginary clients of its prior
    ROUNDS = 15  # decisions that accepted it
    EARLIER = 16  # clients from before the first of them
    REVENUE = 17  # in money
    COST = 18  # in money
    WORTH = 19  # money per unit of reward
    PRICE = 20  # money that accepting one client costs, unless the caller says otherwise
    RECOVERED = 21  # money that one client brings even with a reward of 0
    CARRY = 22  # of TOTAL
    SQUARES = 23  # the sum of the squared statistics, for rules that need the spread
    SQUARES_CARRY = 24
    # The sum of the amounts, where clients weigh as much as they are lent; then SQUARES
    # is weighted, too.
    LENT = 25
    LENT_CARRY = 26
    LENT_SQUARES = 27  # the sum of the squared amounts
    LENT_SQUARES_CARRY = 28
    BACK = 29  # the sum of amount times statistic
    BACK_CARRY = 30
    OUTSTANDING = 31  # of WAITING, those in cohorts
    # 1 if it ever had a cohort whose clients count by their age, so that its sums can
    # leave their range.
    LATE = 32
    DEBT = 33  # what TOTAL lacks, because it is kept inside that range (0 unless LATE)


# A row behind those of `AgentRow`, which nobody stores: the round up to which the
# rounds of a category are written into its column (see
# `agent_rounds.write_rounds`).
WRITTEN = len(AgentRow)
# And one where outcomes fade late: the round from which on all rounds accept, if
# nothing is observed; earlier ones reject.  If it is not positive, rounds surely reject
# up to minus this one, and what follows is not known.  If it is more than
# `faded_verdicts.UNTIL`, they surely accept up to what it is more.
COMES_BACK = WRITTEN + 1
# And two where a posterior fades late: the round of the latest look at the category,
# and the rounds that had accepted it then.
LOOKED, ACCEPTED_SO_FAR = WRITTEN + 2, WRITTEN + 3
NONE = -1  # no reward was refused
FULL = -2  # the category would have more clients than can be counted
SNAPSHOT = int(AgentRow.TARGET)  # a decision is made of the rows before this one
FORGOTTEN = 1e-9  # clients: what counts for less counts for nothing
NO_MONEY = 1e-20  # the share of an earlier sum of amounts below which the rest is rounding


@lazy
def _renew_spread(table: Matrix, k: int, view: CodedView) -> None:
    """Recompute the spread of category k."""
    number, total, carry = (
        table[AgentRow.CLIENTS, k],
        table[AgentRow.TOTAL, k],
        table[AgentRow.CARRY, k],
    )
    share = 1.0
    if view.by_money:
        number, total, carry = (
            table[AgentRow.LENT, k],
            table[AgentRow.BACK, k],
            table[AgentRow.BACK_CARRY, k],
        )
        share = share_of(table, k)
    squares, squares_carry = table[AgentRow.SQUARES, k], table[AgentRow.SQUARES_CARRY, k]
    if table[AgentRow.CLIENTS, k] == table[AgentRow.KNOWN, k]:
        table[AgentRow.SPREAD, k] = share * squared_deviations(
            number, total, carry, squares, squares_carry
        )
    else:
        table[AgentRow.SPREAD, k] = share * weighted_deviations(
            number, total, carry, squares, squares_carry
        )
    if table[AgentRow.LATE, k] != 0.0:
        table[AgentRow.SPREAD, k] = min(
            table[AgentRow.SPREAD, k],
            widest(view, table[AgentRow.CLIENTS, k], table[AgentRow.TOTAL, k]),
        )


@lazy
def renew_one(table: Matrix, k: int, view: CodedView) -> None:
    """Recompute spread and evidence of category k.

    If the rule needs the values, the agent computes the evidence.
    """
    if view.rule.needs_spread:
        _renew_spread(table, k, view)
    table[AgentRow.ROUGH, k] = 0.0
    if view.rule.needs_values:
        return
    clients = table[AgentRow.CLIENTS, k] + view.prior_clients
    total, error = exact_sum(table[AgentRow.TOTAL, k], view.prior_total)
    carry, target = table[AgentRow.CARRY, k] + error, table[AgentRow.TARGET, k]
    taken = table[AgentRow.TAKEN, k]
    if view.rule.needs_spread:
        nothing = table[0, :0]
        seen = Observed(clients, total, table[AgentRow.SPREAD, k], nothing, nothing, taken, carry)
        table[AgentRow.EVIDENCE, k] = evidence_of_rewards(view.rule, view.law, seen, target)
    else:
        table[AgentRow.EVIDENCE, k] = evidence_of_sums(
            view.rule, view.law, clients, total, taken, target, carry
        )


@kernel
def renew(table: FloatArray, positions: IntArray, which: IntArray, view_rows: FloatArray) -> None:
    """Recompute the evidence of several categories.

    `which` [K] is the row of `view_rows` that belongs to each.
    """
    for k in positions:
        renew_one(table, k, view_of(view_rows[which[k]]))


@part
def _accumulate(
    table: FloatArray, rows: tuple[int, int], k: int, value: float, lost: float
) -> None:
    """Add a pair (value, what it lost) to the pair in two rows of the table."""
    row, carry = rows
    total, error = exact_sum(table[row, k], value)
    table[row, k], table[carry, k] = exact_sum(total, error + table[carry, k] + lost)


@lazy
def _keep_inside(table: Matrix, k: int, view: CodedView) -> None:
    """Clip the sums of a category with late outcomes to the possible range.

    DEBT is the difference.

    Example: a loan is lost when all of them count as 0.5 observations of the promised
    reward 1.  So S = 0.5 - 1 is kept at 0, and DEBT is -0.5.
    """
    low, high = edges(view)
    if table[AgentRow.CLIENTS, k] < FORGOTTEN:
        table[AgentRow.CLIENTS, k] = 0.0
    total, clients = table[AgentRow.TOTAL, k], table[AgentRow.CLIENTS, k]
    inside = min(max(total, clients * low), clients * high) if clients > 0.0 else 0.0
    if inside != total or clients == 0.0:
        table[AgentRow.DEBT, k] += (total - inside) + table[AgentRow.CARRY, k]
        table[AgentRow.TOTAL, k], table[AgentRow.CARRY, k] = inside, 0.0


@part
def _book(
    table: FloatArray, k: int, view: CodedView, books: float, counts: float, batch: Sums
) -> None:
    """Add a batch to the sums; the evidence is not renewed."""
    late = table[AgentRow.LATE, k] != 0.0
    if late:
        _accumulate(table, (AgentRow.TOTAL, AgentRow.CARRY), k, table[AgentRow.DEBT, k], 0.0)
        table[AgentRow.DEBT, k] = 0.0
    table[AgentRow.KNOWN, k] += books * batch.clients
    if view.by_money:
        _add_money(table, k, counts, batch)
    else:
        table[AgentRow.CLIENTS, k] += counts * batch.clients
        _accumulate(
            table,
            (AgentRow.TOTAL, AgentRow.CARRY),
            k,
            counts * batch.total,
            counts * batch.total_lost,
        )
    if view.rule.needs_spread:
        _accumulate(
            table,
            (AgentRow.SQUARES, AgentRow.SQUARES_CARRY),
            k,
            counts * batch.squares,
            counts * batch.squares_lost,
        )
    if late:
        _keep_inside(table, k, view)
    elif table[AgentRow.CLIENTS, k] < FORGOTTEN:
        _forget_sums(table, k)
    table[AgentRow.REVENUE, k] += books * batch.revenue
    table[AgentRow.COST, k] += books * batch.cost


@lazy
def _add_money(table: Matrix, k: int, counts: float, batch: Sums) -> None:
    """Add amounts; they count as N = (sum a)^2 / sum a^2 clients.

    The mean of these clients is that of the money.
    """
    before = table[AgentRow.LENT, k]
    _accumulate(
        table,
        (AgentRow.LENT, AgentRow.LENT_CARRY),
        k,
        counts * batch.lent,
        counts * batch.lent_lost,
    )
    squares, lost = counts * batch.lent_squares, counts * batch.lent_squares_lost
    _accumulate(table, (AgentRow.LENT_SQUARES, AgentRow.LENT_SQUARES_CARRY), k, squares, lost)
    _accumulate(
        table,
        (AgentRow.BACK, AgentRow.BACK_CARRY),
        k,
        counts * batch.total,
        counts * batch.total_lost,
    )
    if table[AgentRow.KNOWN, k] <= 0.0 or table[AgentRow.LENT, k] <= NO_MONEY * before:
        _forget_sums(table, k)
    share = share_of(table, k)
    table[AgentRow.CLIENTS, k] = table[AgentRow.LENT, k] * share
    table[AgentRow.TOTAL, k] = table[AgentRow.BACK, k] * share
    table[AgentRow.CARRY, k] = table[AgentRow.BACK_CARRY, k] * share


@part
def share_of(table: FloatArray, k: int) -> float:
    """Return how many clients a unit of money counts as: sum a / sum a^2.

    It is 1 if all amounts are 1.
    """
    squares = table[AgentRow.LENT_SQUARES, k]
    return table[AgentRow.LENT, k] / squares if squares > 0.0 else 0.0


@lazy
def _forget_sums(table: Matrix, k: int) -> None:
    table[AgentRow.CLIENTS, k] = table[AgentRow.TOTAL, k] = table[AgentRow.CARRY, k] = 0.0
    table[AgentRow.SQUARES, k] = table[AgentRow.SQUARES_CARRY, k] = table[AgentRow.SPREAD, k] = 0.0
    table[AgentRow.LENT : AgentRow.BACK_CARRY + 1, k] = 0.0


@kernel
def add(
    table: FloatArray, k: int, view_row: FloatArray, books: float, counts: float, batch: FloatArray
) -> None:
    """Add a batch, and renew the evidence; the batch is `Sums` as an array [11].

    `books` is 1 to book its clients and money, -1 to take them back and 0 to leave
    them.  `counts` is what each outcome adds to the sums that decide: 1, less if some
    of it is forgotten, or negative to take it away.
    """
    view = view_of(view_row)
    _book(table, k, view, books, counts, _sums(batch))
    renew_one(table, k, view)


@part
def _sums(batch: FloatArray) -> Sums:
    statistics, money = (batch[0], batch[1], batch[2], batch[3], batch[4]), (batch[5], batch[6])
    return Sums(*statistics, *money, batch[7], batch[8], batch[9], batch[10])


@part
def _put_sums(out: FloatArray, batch: Sums) -> None:
    # Numba's own conversion of a tuple takes a second to compile.
    for place in range(out.size):
        out[place] = batch[place]


@part
def arrive(table: FloatArray, k: int, count: float) -> None:
    """Subtract arrived outcomes from those awaited.

    Outcomes of cohorts are counted by the cohorts.
    """
    table[AgentRow.WAITING, k] = max(
        table[AgentRow.OUTSTANDING, k], table[AgentRow.WAITING, k] - count
    )


@kernel
def absorb(table: FloatArray, k: int, view_row: FloatArray, rewards: FloatArray) -> int:
    """Check rewards of one category and add them at its own price.

    Returns NONE, FULL, or the position of the first illegal reward.
    """
    if table[AgentRow.KNOWN, k] + rewards.size > MOST:
        return FULL
    view = view_of(view_row)
    bad, batch = digest(view, rewards)
    if bad < 0:
        book_own_price(table, k, view, batch)
    return bad


@part
def book_own_price(table: FloatArray, k: int, view: CodedView, batch: Sums) -> None:
    """Let rewards that were checked count, at the category's own price."""
    _book(table, k, view, 1.0, 1.0, _at_own_price(table, k, batch))
    renew_one(table, k, view)
    arrive(table, k, batch.clients)


@part
def _at_own_price(table: FloatArray, k: int, batch: Sums) -> Sums:
    """Return the sums with the money of clients at the category's own price."""
    revenue, cost = money(
        table[AgentRow.WORTH, k],
        table[AgentRow.PRICE, k],
        table[AgentRow.RECOVERED, k],
        batch.revenue,
        batch.cost,
    )
    statistics = (batch.total, batch.total_lost, batch.squares, batch.squares_lost)
    lent = (batch.lent, batch.lent_lost, batch.lent_squares, batch.lent_squares_lost)
    return Sums(batch.clients, *statistics, revenue, cost, *lent)


@kernel
def digest_all(
    table: FloatArray,
    positions: IntArray,
    ends: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    rewards: FloatArray,
    amounts: FloatArray,
) -> tuple[int, IntArray, FloatArray]:
    """Check and add up batches of rewards; nothing is added to the table.

    `ends` [M] says where the rewards of each position end.  `amounts` are those of the
    rewards, or empty.  Returns the first batch that is refused (or NONE); of each, [M],
    NONE, FULL, or the position in `rewards` of its first illegal reward; and `Sums` as
    an array [M, 11].
    """
    bad, batches = np.empty(positions.size, dtype=np.int64), np.zeros((positions.size, 11))
    start, first = 0, NONE
    for i in range(positions.size):
        k, end = positions[i], ends[i]
        view = view_of(view_rows[which[k]])
        place, batch = digest(view, rewards[start:end])
        bad[i] = NONE
        if table[AgentRow.KNOWN, k] + end - start > MOST:
            bad[i] = FULL
        elif place >= 0:
            bad[i] = start + place
        else:
            if amounts.size > 0:
                batch = weighted(view, batch, rewards[start:end], amounts[start:end])
            _put_sums(batches[i], _at_own_price(table, k, batch))
        if first == NONE and bad[i] != NONE:
            first = i
        start = end
    return first, bad, batches


@kernel
def add_all(
    table: FloatArray,
    positions: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    batches: FloatArray,
    arrives: BoolArray,
) -> int:
    """Book batches in their order and let them count, [M, 11] as `add` takes them.

    `arrives` [M] says whether the outcomes of each were waited for; all of them, if it
    is empty.  The sums are to the last bit those of as many calls of `add`.  Batches of
    one category stand together.  Returns NONE, or the batch for which there is no room;
    then nothing is booked.
    """
    known = 0.0
    for i in range(positions.size):
        known = (known if i > 0 and positions[i - 1] == positions[i] else 0.0) + batches[i, 0]
        if table[AgentRow.KNOWN, positions[i]] + known > MOST:
            return i
    for i in range(positions.size):
        k = positions[i]
        view = view_of(view_rows[which[k]])
        _book(table, k, view, 1.0, 1.0, _sums(batches[i]))
        if arrives.size == 0 or arrives[i]:
            arrive(table, k, batches[i, 0])
        if i + 1 == positions.size or positions[i + 1] != k:
            renew_one(table, k, view)
    return NONE


@kernel
def absorb_all(
    table: FloatArray,
    positions: IntArray,
    ends: IntArray,
    which: IntArray,
    view_rows: FloatArray,
    rewards: FloatArray,
) -> tuple[int, int]:
    """Check rewards of many categories, each once, and add all of them or none.

    They are added at the category's own price.  Returns the first batch that is refused
    and why (see `digest_all`); NONE and NONE if all are added.
    """
    first, bad, batches = digest_all(table, positions, ends, which, view_rows, rewards, rewards[:0])
    if first != NONE:
        return first, bad[first]
    return add_all(table, positions, which, view_rows, batches, np.empty(0, np.bool_)), NONE


@kernel
def age(table: FloatArray, which: IntArray, view_rows: FloatArray, forget: float) -> None:
    """Multiply the weight of every outcome by `forget`, as one round passes.

    Evidence that is N times a function of the rewards' empirical law scales in the same
    way (and log N is recomputed).  Other evidence becomes rough: it is computed when it
    is read, or when bounds do not settle a decision.
    """
    for k in range(which.size):
        if table[AgentRow.CLIENTS, k] != 0.0 or table[AgentRow.LATE, k] != 0.0:
            age_one(table, k, view_of(view_rows[which[k]]), forget)


@part
def age_one(table: FloatArray, k: int, view: CodedView, forget: float) -> None:
    """Let one round pass for category k, of which something is known."""
    rule, clients = view.rule, table[AgentRow.CLIENTS, k]
    table[AgentRow.CLIENTS, k] = forget * clients
    table[AgentRow.TOTAL, k] *= forget
    table[AgentRow.CARRY, k] *= forget
    if view.by_money:
        table[AgentRow.LENT : AgentRow.BACK_CARRY + 1, k] *= forget
    if rule.needs_spread:
        table[AgentRow.SQUARES, k] *= forget
        table[AgentRow.SQUARES_CARRY, k] *= forget
        table[AgentRow.SPREAD, k] *= forget
    table[AgentRow.DEBT, k] *= forget
    if forget * clients < FORGOTTEN:
        if table[AgentRow.LATE, k] != 0.0:
            _keep_inside(table, k, view)
        else:
            _forget_sums(table, k)
        table[AgentRow.ROUGH, k] = 1.0
    elif rule.scales:
        table[AgentRow.EVIDENCE, k] = faded(
            rule, table[AgentRow.EVIDENCE, k], clients, table[AgentRow.TAKEN, k], forget
        )
    else:
        table[AgentRow.ROUGH, k] = 1.0


@kernel
def count_rounds(table: FloatArray, forget: float) -> None:
    """Count the latest round where it is accepted, for rules that need the count.

    Earlier rounds are multiplied by `forget`.  The evidence of accepted categories
    becomes rough: usually it is computed with the outcomes of the round.
    """
    for k in range(table.shape[1]):
        table[AgentRow.TAKEN, k] = forget * table[AgentRow.TAKEN, k] + table[AgentRow.ACCEPTED, k]
        if table[AgentRow.ACCEPTED, k] != 0.0 and table[AgentRow.EVIDENCE, k] > 0.0:
            table[AgentRow.ROUGH, k] = 1.0
        table[AgentRow.ACCEPTED, k] = 0.0
