"""Leaks: columns that seem to know the outcome, because they were written later.

>>> from profitable.past.source import open_source
>>> table = {"month": [1, 2, 3] * 40, "job": ["a", "b"] * 60, "y": [0, 1, 1] * 40}
>>> table["status"] = ["paid" if y else "lost" for y in table["y"]]
>>> layout = Layout(category="job", time="month", reward="y", cost=0.5)
>>> print(*find_leaks(open_source(table), layout))
status: it predicts the outcome almost perfectly (...% of its spread)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profitable.common.text_tables import percent_text
from profitable.past.column_sample import sampled
from profitable.past.layout import Layout
from profitable.past.leak_measures import Measured, banded, measure, predicts, without_ends
from profitable.past.past import SAMPLE, Past, SingleClients
from profitable.past.read import Reader
from profitable.past.source import Source

# The share of the outcome's spread that a column explains, from which on it is the
# outcome.
ALMOST_ALL = 0.6
# From which on a column is suspicious: what is known beforehand rarely explains so much
# of single clients.
MUCH = 0.12
SOME = 0.05  # suspicious if it is also several times what the next column explains
TIMES_MORE = 3.0
MISSING_SAYS = 0.01  # the share of the spread that is explained by whether a column is missing
AFTERWARDS = 0.05  # the share of rows whose date lies after the client asked
# Share of defaults whose term is their age, or who have a rate that hardly anybody else
# has.
OVERWRITTEN = 0.5
HARDLY_ANYBODY_ELSE = 0.01
ENOUGH_DEFAULTS = 20  # so that a rare rate among them is no chance
ADVICE = "Ask when it was written down; leave it out unless that was before the decision."
NO_PROOF = (
    "No check finds every leak. A column that was overwritten when the outcome came, such as a "
    "loan's term that changed in a default, looks like an honest one that predicts well. Ask of "
    "each column of the categories when it was written."
)


@dataclass(frozen=True)
class Leak:
    """A column that seems to know the outcome, and why."""

    column: str
    # Share of the spread of the outcomes that it explains, on rows it has not learned
    # from.
    explains: float
    reason: str
    is_category: bool  # whether the backtest decides by it
    is_certain: bool  # a date after the client asked, or the outcome itself

    def __str__(self) -> str:
        used = " (used as category)" if self.is_category else ""
        return f"{self.column}{used}: {self.reason}"


def find_leaks(source: Source, layout: Layout, columns: Sequence[str] | None = None) -> list[Leak]:
    """Return the columns that seem to know the outcome, worst first.

    All columns are checked unless some are given, except those of the outcome.

    Give `columns` to check those only, for example the categories of a backtest.  A
    stream that is used up has none.
    """
    if not source.again:
        return []
    reader = Reader(source, layout)
    source, outcome = reader.source, [*reader.roles.values()]
    others = {*outcome, *source.behind(outcome), layout.propensity, *layout.times, layout.open}
    checked = [name for name in (columns or source.columns) if name not in others]
    every = list(dict.fromkeys([*reader.columns, *checked]))
    measured = measure(sampled(source, every).piece, reader, checked)
    by_category = {cut.column for cut in reader.cuts}
    leaks = [
        _judge(each, measured, by_category) for each in measured if each.column != layout.known
    ]
    found = (leak for leak in leaks if leak is not None)
    return sorted(found, key=lambda leak: (not leak.is_certain, -leak.explains, leak.column))


def _judge(one: Measured, everyone: list[Measured], by_category: set[str]) -> Leak | None:
    """Why a column seems to know the outcome; None if it does not."""
    below = [
        each.explains for each in everyone if each.column != one.column and each.explains < MUCH
    ]
    explained = f"({percent_text(one.explains)} of its spread)"
    if one.after >= AFTERWARDS:
        reason = f"it holds dates after the client asked ({percent_text(one.after)} of the rows)"
    elif one.explains >= ALMOST_ALL:
        reason = f"it predicts the outcome almost perfectly {explained}"
    elif one.missing >= MISSING_SAYS:
        reason = f"it is missing in {one.missing_rows} sampled rows, depending on the outcome"
    elif one.explains >= MUCH:
        reason = f"it predicts the outcome suspiciously well {explained}"
    elif one.explains >= SOME and len(below) > 1 and one.explains >= TIMES_MORE * max(below):
        reason = f"it predicts the outcome far better than any other column {explained}"
    else:
        return None
    is_certain = one.after >= AFTERWARDS or one.explains >= ALMOST_ALL
    return Leak(one.column, one.explains, reason, one.column in by_category, is_certain)


def check_categories(past: Past) -> list[str]:
    """Warn if the categories themselves seem to know the outcome."""
    clients = past.clients
    if not isinstance(clients, SingleClients):
        return []
    # A scorecard should predict outcomes, and was fitted to earlier ones.
    limit = MUCH if past.layout.scorecard is None else ALMOST_ALL
    chosen = np.arange(0, len(clients), max(len(clients) // SAMPLE, 1))
    if clients.logged is not None:
        chosen = chosen[clients.logged[chosen]]
    measured = {name: (banded(values), rewards) for name, (values, rewards) in past.uncut.items()}
    if len(past.uncut) < len(past.layout.categories) or not measured:
        name = " × ".join(past.layout.categories)
        measured[name] = clients.category[chosen].astype(np.int64), clients.reward[chosen]
    warnings = loans_that_know(clients, past.layout)
    for name, (codes, rewards) in measured.items():
        known = ~np.isnan(rewards)
        explains = predicts(codes[known], without_ends(rewards[known]))
        if explains >= limit:
            how = "almost perfectly" if explains >= ALMOST_ALL else "suspiciously well"
            warnings.append(
                f"the category {name} predicts the outcome {how} ({percent_text(explains)} of its "
                f"spread). {ADVICE}"
            )
    return warnings


def loans_that_know(clients: SingleClients, layout: Layout) -> list[str]:
    """Warn if the term or the rate of loans seems overwritten when they defaulted.

    In some exports, the "term" of a loan that defaulted is its age at that time, or its
    rate is 0.
    """
    term, defaulted = clients.term, clients.defaulted
    if term is None or defaulted is None or not defaulted.any() or defaulted.all():
        return []
    ages = clients.known - clients.round
    near = np.abs(term - ages) <= layout.lag + 1
    early = near & (term < np.median(term[~defaulted]))
    share = float(early[defaulted].mean())
    found: list[str] = []
    if share >= OVERWRITTEN and isinstance(layout.term, str):
        found.append(
            f"the column {layout.term} says of {percent_text(share)} of the loans that defaulted "
            "how old they were then: it was overwritten and knows the outcome. Give the term of "
            "the contract"
        )
    rates = clients.rate
    if rates is not None and isinstance(layout.rate, str) and defaulted.sum() >= ENOUGH_DEFAULTS:
        values, times = np.unique(rates[defaulted], return_counts=True)
        usual, share = float(values[times.argmax()]), float(times.max() / defaulted.sum())
        if share >= OVERWRITTEN and (rates[~defaulted] == usual).mean() <= HARDLY_ANYBODY_ELSE:
            found.append(
                f"the column {layout.rate} is {usual:g} in {percent_text(share)} of the loans that "
                "defaulted, and in hardly any other: it was overwritten and knows the outcome. "
                "Give the rate of the contract"
            )
    return found
