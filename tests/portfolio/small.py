"""A small portfolio that many tests start from."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import profitable as pb
from profitable.portfolio.outcome import Receipt
from tests.portfolio.places import Place


def categories() -> list[pb.Category]:
    return [
        pb.Category("students", pb.Bernoulli(), threshold=0.4),
        pb.Category("shops", pb.Poisson(), threshold=2.0, bound=20.0),
        pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3),
        pb.Category.returns("cards", required=0.05),
    ]


def small(place: Place, policy: str = "ts", **options: Any) -> pb.Portfolio:
    """A portfolio that has decided one round, which accepts everybody."""
    book = place.create(categories(), policy=policy, seed=7, **options)
    assert len(book.decide(key="day 1").accepted) == 4
    return book


def outcomes(
    category: str, *rewards: float, prefix: str = "client", **fields: Any
) -> list[pb.Outcome]:
    """Outcomes of clients who are numbered from 1."""
    return [
        pb.Outcome(f"{prefix} {i}", category, reward=reward, **fields)
        for i, reward in enumerate(rewards, 1)
    ]


def statuses(receipt: Receipt) -> list[str]:
    return [answer.status for answer in receipt]


def assert_clean(book: pb.Portfolio) -> None:
    """Nothing is found, and nothing is worth a note."""
    found = book.verify()
    assert (found.findings, found.notes) == ((), ()), str(found)


@contextmanager
def elsewhere(place: Place, number: int) -> Generator[None]:
    """While another process, which nobody has forked, has a portfolio open; first it
    reports some outcomes.
    """
    code = f"""
import sys, profitable as pb
with pb.Portfolio({place.where!r}) as book:
    book.observe([pb.Outcome(f"elsewhere {{i}}", "students", reward=1) for i in range({number})])
    print("reported", flush=True)
    sys.stdin.read()
"""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reported\n"
        yield
        process.communicate()
    assert process.returncode == 0
