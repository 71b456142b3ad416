"""Worker: plays blocks of runs in a thread, a process or on another machine.

A block is some runs of one policy in all categories, with random streams of its own.
`play_block` returns one row of numbers for each run, and a worker replies with sums
over them.  A worker in this process shares memory with its client: it gets the settings
themselves, and an array of flags by which it can be stopped.  Another one gets the
settings as bytes (`pack`), and keeps the last few that it has read.
"""

import hashlib
import pickle
import platform
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from profitable.common.types import FloatArray, IntArray, RecordArray
from profitable.errors import ExecutorError, ParameterError, ProfitableError
from profitable.kernels.compile import SOURCES, compiler
from profitable.kernels.draw import draw_total
from profitable.kernels.law import GAMMA, Law
from profitable.kernels.rounds import run_rounds
from profitable.kernels.run_record import RUN, Feed, Problem, RunTables, Signal
from profitable.kernels.skip_ahead import run_events
from profitable.policy.policies import Policy
from profitable.simulation.curve import PARTS
from profitable.simulation.custom_policy import run_custom
from profitable.simulation.kernel_input import KernelInput
from profitable.simulation.lending_rounds import LoanRecord, play_loans
from profitable.simulation.order_runs import play_order
from profitable.simulation.running_stats import BlockSums, Moments
from profitable.simulation.scenario import Phase, Truth
from profitable.simulation.settings import PreparedPolicy, Settings
from profitable.version import VERSION

FEW = 5  # rounds that are played before anything counts, to compile what they need
SETTINGS_KEPT = 16  # settings that a worker keeps, so that it need not read them for every task
_one_at_a_time = threading.Lock()


class Environment(NamedTuple):
    """Versions on which numbers depend besides the settings.

    If they are the same everywhere, numbers are the same to the last bit.  numba's has
    the processor for which it compiles.
    """

    profitable: str
    kernels: str
    python: str
    numpy: str
    numba: str

    def check(self, here: "Environment") -> str:
        """Describe what differs from `here`; ExecutorError if it is this package.

        >>> HERE.check(HERE)
        ''
        >>> HERE.check(HERE._replace(numpy="1.0"))[:18]
        'a worker has numpy'
        """
        if (self.profitable, self.kernels) != (here.profitable, here.kernels):
            problem = f"is not the version here, {here.profitable}"
            if self.profitable == here.profitable:
                problem = "has other source files than the same version here"
            raise ExecutorError(
                "profitable on a worker",
                self.profitable,
                problem,
                f"install profitable {here.profitable} on every worker",
            )
        differences = [
            f"{name} {theirs} instead of {ours}"
            for name, theirs, ours in zip(self._fields, self, here, strict=True)
            if theirs != ours
        ]
        return (
            f"a worker has {', '.join(differences)}: its numbers may differ in the last digits"
            if differences
            else ""
        )


HERE = Environment(VERSION, SOURCES, platform.python_version(), np.__version__, compiler())


@dataclass(frozen=True, slots=True)
class Reply:
    """The sums of each policy in each block of a task, [blocks][policies].

    `pairs` are the differences between policies in each block, with common random
    numbers only.  `error` is what the work itself raised, for example a policy of the
    user's own.  So whatever a future raises comes from the executor.
    """

    blocks: list[list[BlockSums]] = field(default_factory=list[list[BlockSums]])
    pairs: list[Moments] = field(default_factory=list[Moments])
    error: Exception | None = None
    environment: Environment = HERE

    @property
    def size(self) -> int:
        """Its size in bytes, about."""
        return sum(block.size for blocks in self.blocks for block in blocks) + 6 * sum(
            each.mean.nbytes for each in self.pairs
        )


def play(
    settings: Settings, policies: Sequence[int], blocks: Sequence[int], flags: IntArray
) -> Reply:
    """Play some blocks of some policies; with common random numbers, of all of them."""
    reply, regret = Reply(), settings.layout.place("regret")
    try:
        for block in blocks:
            played: list[BlockSums] = []
            regrets: list[FloatArray] = []
            for which in policies:
                start = time.perf_counter()
                rows = play_block(settings, which, block, flags)
                if rows is None:
                    return Reply()  # nobody waits for it
                played.append(
                    BlockSums.of(rows, regret, settings.scenario.unit, time.perf_counter() - start)
                )
                regrets.append(rows[:, regret])
            reply.blocks.append(played)
            if settings.common:
                differences = [first - second for first in regrets for second in regrets]
                reply.pairs.append(Moments.of(np.concatenate(differences, axis=1)))
    except Exception as error:
        return Reply(error=error)
    return reply


def play_packed(packed: bytes, policies: Sequence[int], blocks: Sequence[int]) -> Reply:
    """Play as `play` does, in another process."""
    try:
        with _one_at_a_time:  # a worker may have several threads, and one of them should do it
            settings = _unpack(packed)
    except Exception as error:
        return Reply(error=error)
    reply = play(settings, policies, blocks, no_flags())
    if reply.error is not None and not isinstance(reply.error, ProfitableError):
        reply.error.add_note("In a worker:\n" + "".join(traceback.format_exception(reply.error)))
    return reply


@lru_cache(maxsize=SETTINGS_KEPT)
def _unpack(packed: bytes) -> Settings:
    """Read the settings and compile their kernels, before time is measured."""
    try:
        settings: Settings = pickle.loads(packed)
    except Exception as error:
        raise ExecutorError(
            "settings",
            f"{len(packed)} bytes",
            f"cannot be read by a worker ({error})",
            "install on every worker what your policies need, or use threads (executor=None)",
        ) from None
    compile_kernels(settings)
    return settings


def pack(settings: Settings) -> bytes:
    """Return the settings as bytes; ParameterError if a policy cannot be sent."""
    try:
        return _pickled(settings)
    except Exception as problem:
        for each in settings.policies:
            try:
                _pickled(each.policy)
            except Exception as error:
                reason = " ".join(str(error).split())
                raise ParameterError(
                    "policy",
                    each.name,
                    f"cannot be sent to a worker ({reason})",
                    "define its class at the top of a module, without open files or locks,"
                    " or use threads",
                ) from problem
        raise


def _pickled(value: Any) -> bytes:
    """Return bytes that `pickle.loads` reads.

    With cloudpickle, which comes with Dask, they include classes of a notebook.
    """
    try:
        cloudpickle: Any = import_module("cloudpickle")
    except ImportError:
        return pickle.dumps(value)
    return cloudpickle.dumps(value)


# ---------------------------------------------------------------------- blocks


def no_flags() -> IntArray:
    """Return the flags of a task that nobody stops (`Signal`)."""
    return np.zeros(2, dtype=np.int64)


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random generator of a seed and names.

    It gives the same numbers on every machine.  Generators with other names are
    independent of it.
    """
    digests = [
        int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:16], "big") for name in names
    ]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *digests])))


def compile_kernels(settings: Settings) -> None:
    """Compile the kernels by playing a few rounds.

    Here Ctrl-C can stop the compilation; in a worker it cannot.
    """
    world, few = settings.scenario.lending, min(settings.horizon, FEW)
    for prepared in settings.policies:
        if world is not None:
            play_loans(world, prepared.policy, few, stream(settings.seed))
        elif isinstance(prepared.policy, Policy):
            together = _play_orders(settings, prepared, 0, no_flags(), 1, few) or {}
            alone = [k for k in range(len(prepared.inputs)) if k not in together]
            for truth, given in ((settings.scenario.truths[k], prepared.inputs[k]) for k in alone):
                short = replace(given, problem=given.problem._replace(horizon=few))
                _play(settings, prepared, 0, truth, short, no_flags(), 1)


def play_block(settings: Settings, which: int, block: int, flags: IntArray) -> FloatArray | None:
    """Play one block of runs of one policy, [runs, columns]; None if it was stopped."""
    number, horizon, truths = settings.runs_in(block), settings.horizon, settings.scenario.truths
    prepared, layout = settings.policies[which], settings.layout
    rows = np.zeros((number, layout.size))
    columns = {name: rows[:, layout.place(name)] for name in layout.sizes}  # they share memory
    columns["right_set"][:] = True
    if settings.scenario.lending is not None:
        if not _play_lending(settings, prepared, block, columns, flags):
            return None
        truths = ()
    lost: FloatArray = np.zeros(number)
    together = _play_orders(settings, prepared, block, flags, number, horizon)
    if together is None:
        return None
    for k, (truth, given) in enumerate(zip(truths, prepared.inputs, strict=True)):
        played = together.get(k)
        if played is None:
            played = _play(settings, prepared, block, truth, given, flags, number)
        if played is None:
            return None
        tables, runs = played
        phases = truth.phases(horizon)
        shown = np.isin(tables.times, settings.checkpoints)
        columns["accepted"][:, k * layout.points :][:, : layout.points] = tables.accepted[:, shown]
        for phase in phases:
            side = "profitable" if phase.truth.profitable else "unprofitable"
            columns[side] += regret_of(phase, tables)[:, shown]
        last = phases[-1].truth
        if last.loss > 0.0:
            columns["right_set"][:, 0] *= (runs["accepted_last"] != 0) == last.profitable
        if truth.changes_sides(horizon):
            # It is profitable in some rounds only: it cannot be lost in most of them.
            lost[:] = np.nan
        elif last.profitable:
            lost = np.maximum(lost, runs["rounds"] < horizon - runs["rounds"])
        columns["clients"][:, k] = runs["arrived"]
        profit = _profit(settings, prepared, block, truth, given.problem, runs)
        columns["profit"][:, k] = profit
        columns["total_profit"][:, 0] += profit
    columns["lost"][:, 0] += lost
    columns["regret"][:] = columns["profitable"] + columns["unprofitable"]
    for part in PARTS:
        columns[f"{part}_rise"][:] = columns[part][:, -1:] - columns[part]
    return rows


def _play_lending(
    settings: Settings,
    prepared: PreparedPolicy,
    block: int,
    columns: dict[str, FloatArray],
    flags: IntArray,
) -> bool:
    """Play a block in a lending world, and fill the columns; False if stopped."""
    world, horizon, key = settings.scenario.lending, settings.horizon, prepared.key
    assert world is not None
    policy: Policy = prepared.policy.within(horizon)
    rng = stream(settings.seed, "world", key, block)
    own = stream(settings.seed, "own", key, block)
    for i in range(settings.runs_in(block)):
        if flags[Signal.STOP]:
            return False
        if settings.common:
            rng = stream(settings.seed, "world", block, i)
        record = play_loans(world, policy, horizon, rng, seed=int(own.random() * 2**53))
        _fill(settings, record, {name: column[i] for name, column in columns.items()})
        flags[Signal.DONE] += len(world.borrowers)
    return True


def _fill(settings: Settings, record: LoanRecord, row: dict[str, FloatArray]) -> None:
    """Fill one run's columns; regret counts expected clients."""
    world, shown = settings.scenario.lending, settings.checkpoints - 1
    assert world is not None
    above, accepted = record.values - 1.0, record.accepted
    mean = np.array([world.clients_in(t) for t in range(1, settings.horizon + 1)])
    row["profitable"][:] = (np.maximum(above, 0.0) * mean * ~accepted).sum(axis=1).cumsum()[shown]
    row["unprofitable"][:] = (np.maximum(-above, 0.0) * mean * accepted).sum(axis=1).cumsum()[shown]
    row["accepted"][:] = accepted.cumsum(axis=0)[shown].T.ravel()
    row["clients"][:], row["profit"][:] = record.clients, record.profit
    row["total_profit"][:] = record.profit.sum()
    row["right_set"][:] = ((above[-1] == 0.0) | (accepted[-1] == (above[-1] > 0.0))).all()
    sides = world.sides(settings.horizon)
    rejected = 2 * accepted.sum(axis=0) < settings.horizon
    row["lost"][:] = np.nan if None in sides else (rejected & np.array(sides, np.bool_)).any()


def _play(
    settings: Settings,
    prepared: PreparedPolicy,
    block: int,
    truth: Truth,
    given: KernelInput,
    flags: IntArray,
    number: int,
) -> tuple[RunTables, RecordArray] | None:
    """Play `number` runs in one category; None if it was stopped."""
    key, name = prepared.key, truth.category.name
    tables, runs = given.tables(settings.checkpoints, number), np.zeros(number, dtype=RUN)
    parts, world_names = [slice(0, number)], [("world", key, name, block)]
    own_names: list[tuple[str | int, ...]] = [("own", key, name, block)]
    if settings.common:
        parts = [slice(i, i + 1) for i in range(number)]
        world_names = [("world", name, block, i) for i in range(number)]
        own_names = [("own", key, name, block, i) for i in range(number)]
    worlds = [stream(settings.seed, *names) for names in world_names]
    if not isinstance(prepared.policy, Policy):
        done = run_custom(
            prepared.policy, truth.category, worlds, flags, given.problem, tables, runs
        )
        return (tables, runs) if done == number else None
    run = run_rounds if prepared.kernel == "rounds" else run_events
    for part, world, names in zip(parts, worlds, own_names, strict=True):
        own = stream(settings.seed, *names)
        some = tables._replace(accepted=tables.accepted[part], counted=tables.counted[part])
        if run(world, own, flags, given.problem, some, runs[part]) < len(runs[part]):
            return None
    return tables, runs


def _play_orders(
    settings: Settings,
    prepared: PreparedPolicy,
    block: int,
    flags: IntArray,
    number: int,
    horizon: int,
) -> dict[int, tuple[RunTables, RecordArray]] | None:
    """Play the bands of all orders; return their runs by position, None if stopped."""
    found: dict[int, tuple[RunTables, RecordArray]] = {}
    common, key = settings.common, prepared.key
    for order in prepared.orders:
        tables = order.tables(settings.checkpoints, number, common=common)
        who = () if common else (key,)
        world = stream(settings.seed, "world", *who, "order", order.name, block)
        own = stream(settings.seed, "own", key, "order", order.name, block)
        played = play_order(order, tables, (world, own), flags, horizon)
        if played is None:
            return None
        found |= played
    return found


def regret_of(phase: Phase, tables: RunTables) -> FloatArray:
    """Return the cost of wrong decisions in a phase, up to each time, [runs, n]."""
    truth = phase.truth
    # Rounds are subtracted as integers: at T = 10^15 products of rounds and clients are
    # no longer exact.
    counted, everybody, cost = tables.accepted, tables.times, truth.loss * truth.clients.average
    if tables.listed.size:
        counted, everybody, cost = tables.counted, tables.listed[tables.times], truth.loss
    wrong = everybody - counted if truth.profitable else counted
    return cost * _within(phase, tables.times, wrong).astype(np.float64)


def _within(phase: Phase, times: IntArray, counts: IntArray) -> IntArray:
    """Return the part of cumulative counts [runs, n] that belongs to a phase.

    The last round of a phase is among the times, unless it is the last one of all.
    """
    places = np.arange(times.size)
    last = np.searchsorted(times, phase.end, side="right") - 1  # the last place within the phase
    # The last place before it; -1 for the first phase.
    before = np.searchsorted(times, phase.start) - 1
    earlier = counts[:, [before]] if before >= 0 else 0
    return np.where(places > before, counts[:, np.minimum(places, last)] - earlier, 0)


def _profit(
    settings: Settings,
    prepared: PreparedPolicy,
    block: int,
    truth: Truth,
    problem: Problem,
    runs: RecordArray,
) -> FloatArray:
    """Return the realised profit in money, [runs].

    NaN if only the sum of another statistic is known, not that of the rewards.
    """
    category = truth.category
    if problem.truth.feed == Feed.SUM and not truth.family.view().statistic.is_reward:
        return np.full(len(runs), np.nan)
    if truth.amount_sd == 0.0:
        return runs["revenue"] * category.worth - runs["arrived"] * (
            category.price - category.recovered
        )
    # Amounts do not influence decisions.  So they are drawn at the end: a sum for
    # repaid loans and one for lost loans.
    rng = stream(settings.seed, "amounts", prepared.key, category.name, block)
    law = Law(GAMMA, size=(category.price / truth.amount_sd) ** 2)
    back, lost = (
        np.array([draw_total(rng, law, category.price, n) if n > 0.0 else 0.0 for n in loans])
        for loans in (runs["revenue"], runs["arrived"] - runs["revenue"])
    )
    return (1.0 - category.recovery) * ((1.0 / category.threshold - 1.0) * back - lost)
