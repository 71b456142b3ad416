"""Shared by the tests of executors: simulations, the bytes of their results, and
policies.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import profitable as pb
from tests.simulation.worlds import BERNOULLI, paper

FIVE = paper("five", BERNOULLI)


class Cautious:
    """A policy of one's own."""

    name = "cautious"

    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> Any:
        return seen.mean + 1.0 / seen.clients**0.5


class Deadly(Cautious):
    """Ends the process in which it is asked."""

    name = "deadly"

    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> Any:
        os._exit(9)


class Faulty(Cautious):
    """Fails."""

    name = "faulty"

    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> Any:
        raise LookupError("no table of mine")


class Locked(Cautious):
    """Cannot be sent anywhere."""

    name = "locked"

    def __init__(self) -> None:
        self.lock = threading.Lock()


def cannot_be_made(where: int) -> "Unreadable":
    if os.getpid() != where:
        raise ModuleNotFoundError("No module named 'mine'")
    return Unreadable()


class Unreadable(Cautious):
    """Can be sent, and cannot be read anywhere else."""

    name = "unreadable"

    def __reduce__(self) -> Any:
        return cannot_be_made, (os.getpid(),)


# What is played: all that a block may do.  The last block is smaller than the others.
PLAYED: dict[str, dict[str, Any]] = {
    "several policies": {
        "policies": ["kl-ucb", "ts", "optimal", Cautious()],
        "horizon": 60,
        "runs": 450,
    },
    "common random numbers": {
        "policies": ["kl-ucb", "bayes-ucb", Cautious()],
        "horizon": 20,
        "runs": 220,
        "common_random_numbers": True,
    },
}
# Hours.
LONG: dict[str, Any] = {
    "policies": ["kl-ucb", "ts"],
    "horizon": 300,
    "runs": 10**9,
    "kernel": "rounds",
}


def play(out: Path, *, policies: list[Any], **options: Any) -> pb.Result:
    return pb.simulate(FIVE, policies, out=out, **{"progress": False, **options})


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files of a result; the third one, of the seconds it took, differs from time
    to time.
    """
    return {name: (folder / name).read_bytes() for name in ("result.json", "statistics.parquet")}


def once(there: Path, deed: Callable[[], object]) -> Callable[[float], None]:
    """A progress function that does a deed when there is a file."""
    done: list[object] = []

    def progress(share: float) -> None:
        if not done and there.exists():
            done.append(deed())

    return progress
