"""Rows of the one table that `make bench` prints, and what makes a row fail.

Everything measured is a cost: lower is better.  It stands beside a peer, measured in
the same run, or beside a limit.  A row fails if its ratio misses its bar, or if the
ratio is 15 % worse than that of the last release.

>>> row = Row("a decision", ours=8.5, peer=6.4, unit="us", bar=2.0, at_least=True)
>>> round(row.ratio, 2), row.bar_text, row.failures({})
(0.75, '>= 2', ['misses its bar'])
>>> row = Row("an import", ours=0.3, peer=0.4, unit="s", bar=1.2)
>>> round(row.ratio, 2), row.failures({"an import": 0.6})
(0.75, ['is 25 % worse than the baseline 0.6'])
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import machine

WORSE = 0.15  # a ratio may be so much worse than that of the last release
# Machines are noisy: what fails is measured again before it counts; in the quick form
# once.
ATTEMPTS, QUICK_ATTEMPTS = 3, 2
TIMES = ("s", "ms", "us")  # units in which a limit depends on the machine
HEADERS = ("job", "ours", "peer or limit", "ratio", "bar", "verdict")


@dataclass(frozen=True)
class Row:
    """A job: its cost, that of its peer or its limit, and the bar of the ratio.

    The ratio is peer / ours if it must be `at_least` the bar, otherwise ours / peer.
    Without a bar, only the baseline counts.
    """

    job: str
    ours: float
    peer: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    is_limit: bool = False
    attempts: int = 1

    @property
    def ratio(self) -> float:
        return self.peer / self.ours if self.at_least else self.ours / self.peer

    @property
    def bar_text(self) -> str:
        return "" if self.bar is None else f"{'>=' if self.at_least else '<='} {self.bar:g}"

    @property
    def is_met(self) -> bool:
        if self.bar is None:
            return True
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def worse_by(self, before: float) -> float:
        """Return by which share the ratio is worse than before; negative: better."""
        return (before / self.ratio if self.at_least else self.ratio / before) - 1.0

    def failures(self, baseline: Mapping[str, float]) -> list[str]:
        """Say what is wrong with the row; an empty list if nothing is."""
        found = [] if self.is_met else ["misses its bar"]
        before = baseline.get(self.job)
        if before is not None and self.worse_by(before) > WORSE:
            found.append(f"is {self.worse_by(before):.0%} worse than the baseline {before:g}")
        return [text.replace("%", " %") for text in found]

    def cells(self, baseline: Mapping[str, float]) -> list[str]:
        """Return the row of the table."""
        failures = self.failures(baseline)
        said = "met" if self.bar is not None else "-"
        if not self.is_met:
            said = "MISSED"
        if len(failures) > (not self.is_met):
            said = "WORSE" if self.is_met else "MISSED, WORSE"
        if self.attempts > 1:
            said += f" ({self.attempts} attempts)"
        peer = f"{'limit ' if self.is_limit else ''}{self.peer:.3g} {self.unit}".strip()
        ours = f"{self.ours:.3g} {self.unit}".strip()
        return [self.job, ours, peer, f"{self.ratio:.3g}", self.bar_text, said]


def limited(job: str, ours: float, limit: float, unit: str) -> Row:
    """Return a row that must stay within a limit; one of time is for this machine."""
    scaled = limit * machine.slowness() if unit in TIMES else limit
    return Row(job, ours, scaled, unit, bar=1.0, is_limit=True)


@dataclass(frozen=True)
class Group:
    """Jobs that are measured together, taking turns, and measured again together."""

    name: str
    measure: Callable[[], Sequence[Row]]
    attempts: int = ATTEMPTS


class Groups(Protocol):
    """What each script contributes: its groups, in full or in the quick form."""

    def __call__(self, *, quick: bool) -> Iterator[Group]: ...


def better(one: Row, other: Row) -> Row:
    """Return the better of two measurements of a job."""
    return one if (one.ratio >= other.ratio) == one.at_least else other


def measured(group: Group, baseline: Mapping[str, float], attempts: int = ATTEMPTS) -> list[Row]:
    """Measure a group, and again if a row fails; the best ratio of each row counts.

    Noise only ever adds to a cost.
    """
    best: dict[str, Row] = {}
    most = min(group.attempts, attempts)
    for attempt in range(1, most + 1):
        for row in group.measure():
            old = best.get(row.job)
            failed = old is None or old.failures(baseline)
            if failed:
                chosen = row if old is None else better(row, old)
                best[row.job] = replace(chosen, attempts=attempt)
        missed = [row.job for row in best.values() if row.failures(baseline)]
        if not missed:
            break
        if attempt < most:
            said(f"  measured again: {'; '.join(missed)}")
    return list(best.values())


def said(text: str) -> None:
    """Say what goes on; the table itself goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def rows_of(
    groups: Iterable[Group], baseline: Mapping[str, float], *, quick: bool = False
) -> list[Row]:
    """Measure all groups, and say which one is being measured."""
    rows: list[Row] = []
    for group in groups:
        start = time.perf_counter()
        said(group.name)
        rows += measured(group, baseline, QUICK_ATTEMPTS if quick else ATTEMPTS)
        said(f"  took {time.perf_counter() - start:.0f} s")
    return rows


def table(rows: Sequence[Row], baseline: Mapping[str, float]) -> str:
    """Return the one table; never broken into parts, so that it can be quoted."""
    # Old versions, which before_after.py measures with this file, do not have it.
    from profitable.common.text_tables import text_table

    return text_table(HEADERS, [row.cells(baseline) for row in rows], width=10**6)


def complaints(rows: Iterable[Row], baseline: Mapping[str, float]) -> list[str]:
    """Name each job that fails, with the reason."""
    return [
        f"{row.job}: ratio {row.ratio:.3g} {failure}"
        for row in rows
        for failure in row.failures(baseline)
    ]


def concluded(rows: Sequence[Row], baseline: Mapping[str, float]) -> int:
    """Print the table and what fails; return the exit code."""
    if any(row.is_limit and row.unit in TIMES for row in rows):
        print(f"Limits of time are multiplied by {machine.slowness():.2f}, measured in this run.\n")
    print(table(rows, baseline))
    failed = complaints(rows, baseline)
    if failed:
        print("\nFailed:\n" + "\n".join(f"- {line}" for line in failed))
    return 1 if failed else 0


def alone(groups: Groups) -> int:
    """Run one script alone: its rows in the same table, without a baseline."""
    unknown = [word for word in sys.argv[1:] if word != "--quick"]
    if unknown:
        said(f"unknown argument {unknown[0]!r}; the only one is --quick")
        return 2
    quick = "--quick" in sys.argv[1:]
    return concluded(rows_of(groups(quick=quick), {}, quick=quick), {})
