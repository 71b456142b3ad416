"""Worker: plays blocks of runs wherever it is, in a thread, a process or on another machine, and replies with sums.

A worker in this process shares memory with its client: it gets the settings themselves, and an array of flags by which
it can be stopped.  Another one gets the settings as bytes (`pack`), and keeps the last few that it has read.
"""

import pickle
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import ExecutorError, ParameterError, ProfitableError
from profitable.simulation.block import compile_kernels, play_block
from profitable.simulation.block_sums import BlockSums
from profitable.simulation.curve import Layout
from profitable.simulation.result import paired
from profitable.simulation.running_stats import Moments
from profitable.simulation.settings import Settings
from profitable.simulation.surroundings import HERE, Surroundings

SETTINGS_KEPT = 16  # settings that a worker keeps, so that it need not read them for every task
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Reply:
    """What comes home of a task: the sums of each policy in each block, [blocks][policies].

    `pairs` are the differences between policies in each block, with common random numbers only.  `error` is what the
    work itself raised, for example a policy of the user's own.  So whatever a future raises comes from the executor.
    """

    blocks: list[list[BlockSums]] = field(default_factory=list[list[BlockSums]])
    pairs: list[Moments] = field(default_factory=list[Moments])
    error: Exception | None = None
    stopped: bool = False
    surroundings: Surroundings = HERE

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return sum(block.size for blocks in self.blocks for block in blocks) + 6 * sum(
            each.mean.nbytes for each in self.pairs
        )


def play(settings: Settings, policies: Sequence[int], blocks: Sequence[int], flags: IntArray) -> Reply:
    """Play some blocks of some policies; with common random numbers, of all of them."""
    reply = Reply()
    regret = Layout(settings.checkpoints.size, len(settings.scenario.truths)).place("regret")
    unit = settings.scenario.unit
    try:
        for block in blocks:
            played: list[BlockSums] = []
            regrets: list[FloatArray] = []
            for which in policies:
                start = time.perf_counter()
                rows = play_block(settings, which, block, flags)
                if rows is None:
                    return Reply(stopped=True)
                played.append(BlockSums.of(rows, regret, unit, time.perf_counter() - start))
                regrets.append(rows[:, regret])
            reply.blocks.append(played)
            if settings.common:
                reply.pairs.append(paired(regrets))
    except Exception as error:
        return Reply(error=error)
    return reply


def play_packed(packed: bytes, policies: Sequence[int], blocks: Sequence[int]) -> Reply:
    """`play` in another process."""
    try:
        with _one_at_a_time:  # a worker may have several threads, and one of them should do it
            settings = _unpack(packed)
    except Exception as error:
        return Reply(error=error)
    reply = play(settings, policies, blocks, np.zeros(2, dtype=np.int64))
    if reply.error is not None and not isinstance(reply.error, ProfitableError):
        reply.error.add_note("In a worker:\n" + "".join(traceback.format_exception(reply.error)))
    return reply


@lru_cache(maxsize=SETTINGS_KEPT)
def _unpack(packed: bytes) -> Settings:
    """The settings, with their kernels compiled, so that the time of a block is that of its runs."""
    try:
        settings: Settings = pickle.loads(packed)
    except Exception as error:
        remedy = "install on every worker what your policies need, or use threads (executor=None)"
        raise ExecutorError(
            "settings", f"{len(packed)} bytes", f"cannot be read by a worker ({error})", remedy
        ) from None
    compile_kernels(settings)
    return settings


def pack(settings: Settings) -> bytes:
    """The settings as bytes; ParameterError if a policy of the user's own cannot be sent."""
    try:
        return _pickled(settings)
    except Exception as problem:
        for name, policy in zip(settings.names, settings.policies, strict=True):
            try:
                _pickled(policy)
            except Exception as error:
                reason = " ".join(str(error).split())
                remedy = "define its class at the top of a module, without open files or locks, or use threads"
                raise ParameterError("policy", name, f"cannot be sent to a worker ({reason})", remedy) from problem
        raise


def _pickled(value: Any) -> bytes:
    """Bytes that `pickle.loads` reads.  With cloudpickle, which comes with Dask, they include classes of a notebook."""
    try:
        cloudpickle: Any = import_module("cloudpickle")
    except ImportError:
        return pickle.dumps(value)
    return cloudpickle.dumps(value)
