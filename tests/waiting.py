"""Waiting for what has happened, never for an amount of time: no test may depend on how
fast the machine is.

As a program (`python -P tests/waiting.py DEED MOMENT ARGUMENT ...`) this file is the
command line of the package, to which a deed is done at a named moment: DEED is the name
of a signal that it sends to itself, or a file to make.
"""

import faulthandler
import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

LIMIT = 600.0  # seconds; what hangs takes longer, and nothing else does
NOTICE = "compiling numerical kernels"  # said on standard error when the cache of kernels is empty

# Where a moment can be noticed (a module and the name of a function), and which call of
# the function is the moment.
MOMENTS: dict[str, tuple[str, str, Callable[..., bool]]] = {
    "some runs are finished": (
        "profitable.simulation.pool",
        "_merge",
        lambda call, result, *_: result.finished > 0,
    ),
    "in the first experiment": (
        "profitable.simulation.pool",
        "_merge",
        lambda call, result, *_: result.finished > 0 and result.scenario.name == "Bernoulli",
    ),
    "in the last block of the first experiment": (
        "profitable.simulation.pool",
        "_merge",
        lambda call, result, *_: result.finished == 200 and result.scenario.name == "Bernoulli",
    ),
    "in a later experiment": (
        "profitable.simulation.pool",
        "_merge",
        lambda call, result, *_: (
            result.finished > 0 and result.scenario.name == "Ten clients a round"
        ),
    ),
    "while a later result is saved": (
        "os",
        "replace",
        lambda call, _, path: str(path).endswith("arrivals/result.json"),
    ),
    "while the report is written": (
        "os",
        "replace",
        lambda call, _, path: str(path).endswith("report.html"),
    ),
    "in the second play": ("profitable.paper.credit", "play", lambda call, *_: call == 2),
}


def at(moment: str, deed: str, *arguments: str) -> list[str]:
    """The command that runs the command line with a deed done to it at a moment."""
    assert moment in MOMENTS
    return [sys.executable, "-P", __file__, deed, moment, *arguments]


@contextmanager
def started(command: list[str], cwd: Path, **options: Any) -> Generator[subprocess.Popen[str]]:
    """A process that does not outlive the test, even if the test fails."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=cwd, **pipes, **options) as job:
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
def comes_to_an_end() -> Generator[None]:
    """For work that would take hours if something were wrong: then all tests end here,
    for no thread can be killed.
    """
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def ctrl_c_when(it_is_time: Callable[[], bool]) -> Callable[[float], None]:
    """A progress function that presses Ctrl-C when it is time.

    Simulations call it while their workers are at work.
    """

    def progress(share: float) -> None:
        if it_is_time():
            signal.raise_signal(signal.SIGINT)

    return progress


class Kernels:
    """Kernels under observation: whether they are in the middle of their work, and how
    many left it unfinished.
    """

    def __init__(self, monkeypatch: "pytest.MonkeyPatch") -> None:
        from profitable.simulation import worker

        self._streams: list[Any] = []
        self._states: list[Any] = []
        self._moves = 0
        self.unfinished = 0
        make, play = worker.stream, worker.play_block

        def stream(*names: Any) -> Any:
            self._streams.append(make(*names))
            return self._streams[-1]

        def play_block(*given: Any) -> Any:
            rows = play(*given)
            self.unfinished += rows is None
            return rows

        monkeypatch.setattr(worker, "stream", stream)
        monkeypatch.setattr(worker, "play_block", play_block)

    def at_work(self) -> bool:
        """Whether, asked again and again, it has seen three times that random numbers
        were drawn since the last.
        """
        states = [each.bit_generator.state["state"] for each in self._streams]
        self._moves += any(now != before for now, before in zip(states, self._states, strict=False))
        self._states = states
        return self._moves >= 3


def heed_ctrl_c() -> None:
    """Make Ctrl-C count in this process and its children, however it was started.

    A shell starts background jobs (`nohup make test &`) with SIGINT ignored; Python and
    every child process inherit that, and no Ctrl-C would ever arrive.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def said(errors: str) -> list[str]:
    """The lines on standard error, without the notice about compiling kernels."""
    return [line for line in errors.strip().splitlines() if not line.startswith(NOTICE)]


def main() -> None:
    """The command line, to which a deed is done at a moment."""
    deed, moment, *arguments = sys.argv[1:]
    module, name, is_now = MOMENTS[moment]
    place = importlib.import_module(module)
    function = getattr(place, name)
    calls = count(1)
    done: list[str] = []

    def watched(*given: Any, **named: Any) -> Any:
        if not done and is_now(next(calls), *given):
            done.append(deed)
            if deed in signal.Signals.__members__:
                signal.raise_signal(signal.Signals[deed])
            else:
                Path(deed).touch()
        return function(*given, **named)

    setattr(place, name, watched)
    sys.argv = ["profitable", *arguments]
    from profitable.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
