"""A small portfolio for the tests of the command line, and what they look at."""

import io
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import profitable as pb
from tests.cli.test_app import call
from tests.waiting import said

LENDING = """
name = "lending"
policy = "kl-ucb"
seed = 7

[[category]]
name = "students"
family = "bernoulli"
threshold = 0.5

[[category]]
name = "shops"
family = "exponential"
threshold = 3.0
"""
Done = subprocess.CompletedProcess[str]


def made(folder: Path) -> Path:
    """A portfolio in which one round is decided, with the key day-1, and one outcome is
    known, l-1.
    """
    where = folder / "lending.db"
    where.write_bytes(_content())
    return where


@cache
def _content() -> bytes:
    """Made once, for that takes longer than most commands."""
    students = pb.Category("students", pb.Bernoulli(), threshold=0.5)
    shops = pb.Category("shops", pb.Exponential(), threshold=3.0)
    with TemporaryDirectory() as folder:
        where = Path(folder) / "lending.db"
        with pb.Portfolio.create(
            where, [students, shops], policy="kl-ucb", seed=7, name="lending"
        ) as book:
            book.decide(key="day-1")
            book.observe([pb.Outcome("l-1", "students", reward=1, decision=1)])
        return where.read_bytes()


def head(where: Path) -> tuple[int, str]:
    """The end of the journal: it stays the same if nothing was stored."""
    with pb.Portfolio(where) as book:
        return book.head


def with_input(content: bytes, *arguments: str, cwd: Path) -> Done:
    """A command that reads standard input."""
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(content))):
        return call(*arguments, cwd=cwd)


def told(done: Done, code: int = 2) -> str:
    """The one line that a mistake gets, and nothing else."""
    assert done.returncode == code, (done.stdout, done.stderr)
    assert done.stdout == ""
    lines = said(done.stderr)
    assert len(lines) == 1, lines
    assert lines[0].startswith("profitable: ")
    assert lines[0].isprintable()
    return lines[0]
