"""Waiting for what has happened, never for an amount of time: no test may depend on how fast the machine is.

As a program (`python -P tests/waiting.py DEED MOMENT ARGUMENT ...`) this file is the command line of the package, to
which a deed is done at a named moment: DEED is the name of a signal that it sends to itself, or a file to make.
"""

import faulthandler
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT = 600.0  # seconds; what hangs takes longer, and nothing else does
NOTICE = "compiling numerical kernels"  # said on standard error when the cache of kernels is empty

# Where the moment can be noticed (a module and the name of a function), and whether a call is the moment.
MOMENTS: dict[str, tuple[str, str, Callable[..., bool]]] = {
    "some runs are finished": ("profitable.simulation.runner", "_merge", lambda result, _: result.finished > 0),
    "in the first experiment": (
        "profitable.simulation.runner",
        "_merge",
        lambda result, _: result.finished > 0 and result.scenario.name == "Bernoulli",
    ),
    "in a later experiment": (
        "profitable.simulation.runner",
        "_merge",
        lambda result, _: result.finished > 0 and result.scenario.name == "Ten clients a round",
    ),
    "while a later result is saved": ("os", "replace", lambda _, path: str(path).endswith("arrivals/result.json")),
    "while the report is written": ("os", "replace", lambda _, path: str(path).endswith("report.html")),
    "in the second play": ("profitable.paper.credit", "play", lambda *_: next(PLAYS) == 1),
}
PLAYS = iter(range(10**9))


def at(moment: str, deed: str, *arguments: str) -> list[str]:
    """The command that runs the command line with a deed done to it at a moment."""
    assert moment in MOMENTS
    return [sys.executable, "-P", __file__, deed, moment, *arguments]


@contextmanager
def started(command: list[str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the test, even if the test fails."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        try:
            yield job
        finally:
            job.kill()


def wait_for(there: Path, job: subprocess.Popen[str]) -> None:
    """Until a process has made a file."""
    start = time.monotonic()
    while not there.exists():
        assert job.poll() is None, "the process ended before"
        assert time.monotonic() - start < LIMIT, f"{there} is not made"
        time.sleep(0.01)


@contextmanager
def comes_to_an_end() -> Iterator[None]:
    """For work that would take hours if something were wrong: then all tests end here, for no thread can be killed."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def said(errors: str) -> list[str]:
    """The lines on standard error, but for the notice that kernels are being compiled."""
    return [line for line in errors.strip().splitlines() if not line.startswith(NOTICE)]


def main() -> None:
    """The command line, to which a deed is done at a moment."""
    deed, moment, *arguments = sys.argv[1:]
    module, name, is_now = MOMENTS[moment]
    place = importlib.import_module(module)
    function = getattr(place, name)
    done = False

    def watched(*given: Any) -> Any:
        nonlocal done
        if not done and is_now(*given):
            done = True
            if deed in signal.Signals.__members__:
                os.kill(os.getpid(), signal.Signals[deed])
            else:
                Path(deed).touch()
        return function(*given)

    setattr(place, name, watched)
    sys.argv = ["profitable", *arguments]
    from profitable.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
