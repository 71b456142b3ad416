"""Processes that write to a portfolio, and can be killed at any moment.

As a program (`python -m tests.portfolio.writers`) this file waits for jobs, one JSON
text a line, and forks a process for each of them.  So the package is imported once, and
no process inherits a connection.  Each process says on a pipe what was acknowledged, as
soon as it was.  `Writers` is the other end.

| line           | what it says                                                       |
| -------------- | ------------------------------------------------------------------ |
| `17 started`   | the process 17 was forked                                          |
| `17 done 3`    | the first 3 of its calls have returned                             |
| `17 lost ...`  | a call failed, with this error; it will be tried again             |
| `17 ended 0`   | the process has gone, with this status (-9 if it was killed)       |
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

import profitable as pb
from tests.waiting import LIMIT

SIZES = (1, 1, 1, 2, 40)  # outcomes in a call
Call = tuple[str, Any]


def categories() -> list[pb.Category]:
    return [
        pb.Category("students", pb.Bernoulli(), threshold=0.4),
        pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3),
        pb.Category.returns("cards", required=0.05),
    ]


def calls(prefix: str, seed: int) -> Iterator[Call]:
    """Yield the endless calls of a process, which its seed determines."""
    rng = np.random.default_rng(seed)
    for number in range(10**9):
        if rng.random() < 0.2:
            yield "decide", f"{prefix} {number}"
            continue
        names = rng.choice(["students", "cars", "cards"], size=int(rng.choice(SIZES))).tolist()
        yield (
            "observe",
            [outcome(f"{prefix} {number} {i}", name, rng) for i, name in enumerate(names)],
        )


def outcome(id: str, name: str, rng: np.random.Generator) -> pb.Outcome:
    if name == "cards":
        return pb.Outcome(
            id,
            name,
            reward=round(2.0 * rng.random(), 3),
            amount=round(1.0 + 99.0 * rng.random(), 2),
        )
    return pb.Outcome(id, name, reward=float(rng.integers(2)))


def ids_of(call: Call) -> list[str]:
    """The ids of the lines that a call stores."""
    what, content = call
    return [content] if what == "decide" else [each.id for each in content]


# ------------------------------------------------------------------------ the processes


def say(*words: object) -> None:
    """All of it at once, so that the lines of several processes do not mix."""
    os.write(1, f"{os.getpid()} {' '.join(map(str, words))}\n".encode())


def do(book: pb.Portfolio, call: Call) -> None:
    what, content = call
    if what == "decide":
        book.decide(key=content)
    else:
        receipt = book.observe(content)
        assert not receipt.refused, str(receipt)


def write(where: str, prefix: str, seed: int) -> None:
    """Work through the calls until somebody ends this; what cannot be stored is tried
    again.
    """
    book = pb.Portfolio(where)
    for number, call in enumerate(calls(prefix, seed), 1):
        while True:
            try:
                do(book, call)
                break
            except pb.errors.NotStoredError as error:
                say("lost", type(error).__name__, error)
                time.sleep(0.01)  # between two attempts to reach a server that is down
        say("done", number)


def send(where: str, path: str, number: int, size: int) -> None:
    """Send three quarters of the outcomes of a file in a random order, in batches; each
    process leaves another out.
    """
    sent = [
        pb.Outcome(id, name, reward=reward)
        for id, name, reward in json.loads(Path(path).read_text())
    ]
    order = [
        place
        for place in np.random.default_rng(number).permutation(len(sent)).tolist()
        if place % 4 != number
    ]
    with pb.Portfolio(where) as book:
        for start in range(0, len(order), size):
            receipt = book.observe([sent[place] for place in order[start : start + size]])
            assert not receipt.refused, str(receipt)
            say("done", len(receipt.counted))


JOBS: dict[str, Callable[..., None]] = {"write": write, "send": send}


def run(job: str, arguments: list[Any]) -> int:
    """A process does its job; returns its status."""
    try:
        JOBS[job](*arguments)
    except BaseException as error:
        say("failed", type(error).__name__, " ".join(str(error).split()))
        return 1
    return 0


def main() -> None:
    """Fork a process for each line of the input, and say when it has ended."""
    agent = pb.Agent(categories(), policy="ts", seed=1)  # so that everything is compiled
    agent.decide()
    agent.observe({"students": [1], "cars": [0], "cards": [1.0]})
    agent.decide()
    children: set[int] = set()
    waiting = b""
    while True:
        if select.select([0], [], [], 0.002)[0]:
            read = os.read(0, 65536)
            if not read:
                break
            waiting += read
        *lines, waiting = waiting.split(b"\n")
        for line in lines:
            job, *arguments = json.loads(line)
            pid = os.fork()
            if pid == 0:
                say("started")
                os._exit(run(job, arguments))
            children.add(pid)
        for pid in [*children]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                children.discard(pid)
                os.write(1, f"{pid} ended {os.waitstatus_to_exitcode(status)}\n".encode())
    for pid in children:
        os.kill(pid, signal.SIGKILL)


# ------------------------------------------------------------------------ the other end


class Writers:
    """Starts processes that write, hears what they say, and kills them."""

    def __init__(self) -> None:
        command, folder = (
            [sys.executable, "-m", "tests.portfolio.writers"],
            Path(__file__).parents[2],
        )
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._heard = b""
        self._kept: deque[tuple[int, str]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def start(self, job: str, *arguments: object) -> int:
        """Start a process; returns its number."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([job, *arguments]).encode() + b"\n")
        while True:
            pid, said = self._next()
            if said == "started":
                return pid
            self._kept.append((pid, said))  # by others, who are heard later

    def hear(self) -> tuple[int, str]:
        """The next that one of them says."""
        return self._kept.popleft() if self._kept else self._next()

    def _next(self) -> tuple[int, str]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._heard:
            assert select.select([pipe], [], [], LIMIT)[0], "nothing is said any more"
            more = os.read(pipe, 65536)
            assert more, "the processes are gone"
            self._heard += more
        line, self._heard = self._heard.split(b"\n", 1)
        pid, said = line.decode().split(" ", 1)
        assert not said.startswith("failed"), said
        return int(pid), said

    def hear_until(self, word: str) -> list[str]:
        """Return the output up to a line that begins with a word."""
        heard: list[str] = []
        while True:
            _, said = self.hear()
            heard.append(said)
            if said.startswith(word):
                return heard

    def kill(self, pid: int) -> list[str]:
        """Kill a process; returns what it had said, as soon as it has gone."""
        os.kill(pid, signal.SIGKILL)
        return self.hear_until("ended")


if __name__ == "__main__":
    main()
