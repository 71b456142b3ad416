"""A block: some runs of one policy in all categories, with random streams of its own.

`play_block` returns one row of numbers for each run.
"""

import hashlib
from dataclasses import replace

import numpy as np

from profitable.common.types import FloatArray, IntArray, RecordArray
from profitable.kernels.draw import draw_total
from profitable.kernels.law import GAMMA, Law
from profitable.kernels.rounds import run_rounds
from profitable.kernels.run_record import RUN, Problem, Tables
from profitable.kernels.skip_ahead import run_events
from profitable.policy.policy import Policy
from profitable.simulation.curve import PARTS, Layout
from profitable.simulation.custom_policy import run_custom
from profitable.simulation.kernel_input import KernelInput, knows_revenue
from profitable.simulation.scenario import Phase, Truth
from profitable.simulation.settings import Settings, stream_name

FEW = 5  # rounds that are played before anything counts, to compile what they need


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The random generator of a seed and names.

    It gives the same numbers on every machine.  Generators with other names are independent of it.
    """
    digests = [int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:16], "big") for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *digests])))


def compile_kernels(settings: Settings) -> None:
    """Compile the kernels by playing a few rounds.  Here Ctrl-C can stop the compilation; in a worker it cannot."""
    flags = np.zeros(2, dtype=np.int64)
    for which, inputs in enumerate(settings.inputs):
        if isinstance(settings.policies[which], Policy):
            for truth, given in zip(settings.scenario.truths, inputs, strict=True):
                few = given.problem._replace(horizon=min(given.problem.horizon, FEW))
                _play(settings, which, 0, truth, replace(given, problem=few), flags, 1)


def play_block(settings: Settings, which: int, block: int, flags: IntArray) -> FloatArray | None:
    """The numbers of one block of runs of one policy, [runs, columns]; None if it was stopped."""
    number = settings.runs_in(block)
    layout = Layout(settings.checkpoints.size, len(settings.scenario.truths))
    rows = np.zeros((number, layout.size))
    right, lost = np.ones(number, dtype=np.bool_), np.zeros(number, dtype=np.bool_)
    accepted_columns: list[FloatArray] = []
    for k, (truth, given) in enumerate(zip(settings.scenario.truths, settings.inputs[which], strict=True)):
        played = _play(settings, which, block, truth, given, flags, number)
        if played is None:
            return None
        tables, runs = played
        phases = truth.phases(settings.horizon)
        shown = np.isin(tables.times, settings.checkpoints)
        accepted_columns.append(tables.accepted[:, shown].astype(np.float64))
        for phase in phases:
            side = "profitable" if phase.truth.profitable else "unprofitable"
            rows[:, layout.place(side)] += regret_of(phase, tables)[:, shown]
        last = phases[-1].truth
        if last.loss > 0.0:
            right &= (runs["accepted_last"] != 0) == last.profitable
        if last.profitable and not truth.changes_sides(settings.horizon):
            lost |= runs["rounds"] < settings.horizon - runs["rounds"]
        rows[:, layout.place("clients")][:, k] = runs["arrived"]
        profit = _profit(settings, which, block, truth, given.problem, runs)
        rows[:, layout.place("profit")][:, k] = profit
        rows[:, layout.place("total_profit")] += profit[:, None]
    rows[:, layout.place("regret")] = rows[:, layout.place("profitable")] + rows[:, layout.place("unprofitable")]
    for part in PARTS:
        values = rows[:, layout.place(part)]
        rows[:, layout.place(f"{part}_rise")] = values[:, -1:] - values
    rows[:, layout.place("accepted")] = np.concatenate(accepted_columns, axis=1)
    rows[:, layout.place("right_set")] = right[:, None]
    # A category that changes sides is profitable in some rounds only: it cannot be lost in most of them.
    defined = not any(truth.changes_sides(settings.horizon) for truth in settings.scenario.truths)
    rows[:, layout.place("lost")] = lost[:, None] if defined else np.nan
    return rows


def _play(
    settings: Settings, which: int, block: int, truth: Truth, given: KernelInput, flags: IntArray, number: int
) -> tuple[Tables, RecordArray] | None:
    """Play `number` runs in one category; None if it was stopped."""
    policy, key, name = settings.policies[which], stream_name(settings.policies[which]), truth.category.name
    times = given.times(settings.checkpoints)
    accepted = np.zeros((number, times.size), dtype=np.int64)
    counted = np.zeros((number, times.size if given.listed.size else 1), dtype=np.int64)
    tables, runs = given.tables(times, accepted, counted), np.zeros(number, dtype=RUN)
    if not settings.common or number == 0:
        parts = [slice(0, number)]
        worlds = [stream(settings.seed, "world", key, name, block)]
        owns = [stream(settings.seed, "own", key, name, block)]
    else:
        parts = [slice(i, i + 1) for i in range(number)]
        worlds = [stream(settings.seed, "world", name, block, i) for i in range(number)]
        owns = [stream(settings.seed, "own", key, name, block, i) for i in range(number)]
    if not isinstance(policy, Policy):
        done = run_custom(policy, truth.category, worlds, flags, given.problem, tables, runs)
        return (tables, runs) if done == number else None
    run = run_rounds if settings.kernels[which] == "rounds" else run_events
    for part, world, own in zip(parts, worlds, owns, strict=True):
        some = tables._replace(accepted=accepted[part], counted=counted[part])
        if run(world, own, flags, given.problem, some, runs[part]) < len(runs[part]):
            return None
    return tables, runs


def regret_of(phase: Phase, tables: Tables) -> FloatArray:
    """What the wrong decisions about a category in one phase cost up to each of the tables' times, [runs, n]."""
    truth = phase.truth
    # Rounds are subtracted as integers: at T = 10^15 products of rounds and clients are no longer exact.
    if tables.listed.size:
        all_clients, accepted = tables.listed[tables.times], tables.counted
    else:
        all_clients, accepted = tables.times, tables.accepted
    wrong = _within(phase, tables.times, all_clients - accepted if truth.profitable else accepted)
    if tables.listed.size:
        return truth.loss * wrong.astype(np.float64)
    return truth.loss * truth.clients.average * wrong.astype(np.float64)


def _within(phase: Phase, times: IntArray, counts: IntArray) -> IntArray:
    """The part of cumulative counts [runs, n] at some times that belongs to a phase.

    The last round of a phase is among the times, unless it is the last one of all.
    """
    places = np.arange(times.size)
    last = np.searchsorted(times, phase.end, side="right") - 1  # the last place within the phase
    before = np.searchsorted(times, phase.start) - 1  # the last place before it; -1 for the first phase
    upto = counts[:, np.minimum(places, last)]
    inside = upto - (counts[:, [before]] if before >= 0 else 0)
    return np.where(places > before, inside, 0)


def _profit(
    settings: Settings, which: int, block: int, truth: Truth, problem: Problem, runs: RecordArray
) -> FloatArray:
    """Realised profit in money, [runs]; NaN if only the sum of another statistic is known, not that of the rewards."""
    category = truth.category
    if not knows_revenue(problem, truth):
        return np.full(len(runs), np.nan)
    if truth.amount_sd == 0.0:
        return runs["revenue"] * category.worth - runs["arrived"] * (category.price - category.recovered)
    # Amounts do not influence decisions.  So they are drawn at the end: a sum for repaid loans and one for lost loans.
    rng = stream(settings.seed, "amounts", stream_name(settings.policies[which]), category.name, block)
    law = Law(GAMMA, size=(category.price / truth.amount_sd) ** 2)
    repaid, kept = runs["revenue"], 1.0 - category.recovery

    def lent(loans: float) -> float:
        return draw_total(rng, law, category.price, loans) if loans > 0.0 else 0.0

    back = np.array([lent(number) for number in repaid])
    lost = np.array([lent(number) for number in runs["arrived"] - repaid])
    return kept * ((1.0 / category.threshold - 1.0) * back - lost)
