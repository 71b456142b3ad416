"""Describe a past as it was understood, before any policy is replayed.

>>> from profitable.past.layout import Layout
>>> table = {"month": [1, 2, 3] * 2, "job": ["a", "b"] * 3, "y": [0, 1, 1, 1, 0, 1]}
>>> print(describe(table, Layout(category="job", time="month", reward="y", cost=0.5)))
Outcomes assumed immediate: ...
the table: 6 rows; a round is one number.
...

Leaks are columns that seem to know the outcome, because they were written later.
How well a column predicts is measured on rows that it did not learn from: the rows are
split into five parts, and the outcome of each part is predicted by the means of the
others, value by value or band by band.

>>> rng = np.random.default_rng(1)
>>> outcome, noise = rng.random(1_000), rng.random(1_000)
>>> [round(predicts(_bands(column), outcome), 1) for column in (outcome, noise)]
[1.0, 0.0]
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.common.text_tables import ROWS_SHOWN, money_text, number_text, text_table
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.model.families import Family
from profitable.past import calendar_rounds as rounds
from profitable.past.calendar_rounds import MISSING
from profitable.past.layout import Layout
from profitable.past.past import SAMPLE, Past, SingleClients
from profitable.past.read import Reader, read
from profitable.past.source import OnShare, Piece, Source, open_source, pa, pc
from profitable.past.typed_columns import Dates, decoded, is_text, numbers
from profitable.past.units import Units
from profitable.replay import backtest_summary
from profitable.replay.backtest_result import plain
from profitable.replay.family_choice import FamilyChoice, choose_family

LEARNED_PARTS = 5
BANDS = 20  # a column of numbers is cut into so many
FEW_VALUES = 50  # up to so many different numbers are not cut
PULL = 5.0  # imaginary clients with the mean of everybody, so that rare values say little
ENDS = 0.005  # the share of outcomes at either end that are cut
# The share of the outcome's spread that a column explains, from which on it is the
# outcome.
ALMOST_ALL = 0.6
# From which on a column is suspicious: what is known beforehand rarely explains so much
# of single clients.
# Share of defaults whose term is their age, or who have a rate that hardly anybody else
# has.
OVERWRITTEN = 0.5
HARDLY_ANYBODY_ELSE = 0.01
ENOUGH_DEFAULTS = 20  # so that a rare rate among them is no chance
MUCH = 0.12
SOME = 0.05  # suspicious if it is also several times what the next column explains
TIMES_MORE = 3.0
MISSING_SAYS = 0.01  # the share of the spread that is explained by whether a column is missing
AFTERWARDS = 0.05  # the share of rows whose date lies after the client asked
ADVICE = "Ask when it was written down; leave it out unless that was before the decision."
ROUNDS_SHOWN = 8  # rounds at which the text says how much was known
NO_PROOF = (
    "No check finds every leak. A column that was overwritten when the outcome came, such as a "
    "loan's term that changed in a default, looks like an honest one that predicts well. Ask of "
    "each column of the categories when it was written."
)


# -------------------------------------------------------------------------------- leaks


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


@dataclass(frozen=True)
class Measured:
    """Measures of what a column says about the outcome."""

    column: str
    explains: float
    missing: float  # what is explained by whether the column is missing
    missing_rows: int
    after: float  # the share of rows whose date lies after the client asked


def find_leaks(
    source: Source, layout: Layout, rows: int, columns: Sequence[str] | None = None
) -> list[Leak]:
    """Return the columns that seem to know the outcome, worst first.

    All columns are checked unless some are given, except those of the outcome.

    Give `columns` to check those only, for example the categories of a backtest.  A
    stream that is used up has none.
    """
    if not source.again:
        return []
    reader = Reader(source, layout)
    source, outcome = reader.source, [*reader.roles.values()]
    others = {*outcome, *source.behind(outcome), layout.propensity, *layout.times}
    checked = [name for name in (columns or source.columns) if name not in others]
    measured = measure(source, reader, rows, checked)
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
    if one.after >= AFTERWARDS:
        reason = f"it holds dates after the client asked ({one.after:.0%} of the rows)"
    elif one.explains >= ALMOST_ALL:
        reason = f"it predicts the outcome almost perfectly ({one.explains:.0%} of its spread)"
    elif one.missing >= MISSING_SAYS:
        reason = f"it is missing in {one.missing_rows} sampled rows, depending on the outcome"
    elif one.explains >= MUCH:
        reason = f"it predicts the outcome suspiciously well ({one.explains:.0%} of its spread)"
    elif one.explains >= SOME and len(below) > 1 and one.explains >= TIMES_MORE * max(below):
        reason = (
            f"it predicts the outcome far better than any other column ({one.explains:.1%} of "
            "its spread)"
        )
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
    measured = {name: (_bands(values), rewards) for name, (values, rewards) in past.uncut.items()}
    if len(past.uncut) < len(past.layout.categories) or not measured:
        name = " × ".join(past.layout.categories)
        measured[name] = clients.category[chosen].astype(np.int64), clients.reward[chosen]
    warnings = loans_that_know(clients, past.layout)
    for name, (codes, rewards) in measured.items():
        known = ~np.isnan(rewards)
        explains = predicts(codes[known], _cut_ends(rewards[known]))
        if explains >= limit:
            how = "almost perfectly" if explains >= ALMOST_ALL else "suspiciously well"
            warnings.append(
                f"the category {name} predicts the outcome {how} ({explains:.0%} of its spread). "
                f"{ADVICE}"
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
            f"the column {layout.term} says of {share:.0%} of the loans that defaulted how old "
            "they were then: it was overwritten and knows the outcome. Give the term of the "
            "contract"
        )
    rates = clients.rate
    if rates is not None and isinstance(layout.rate, str) and defaulted.sum() >= ENOUGH_DEFAULTS:
        values, times = np.unique(rates[defaulted], return_counts=True)
        usual, share = float(values[times.argmax()]), float(times.max() / defaulted.sum())
        if share >= OVERWRITTEN and (rates[~defaulted] == usual).mean() <= HARDLY_ANYBODY_ELSE:
            found.append(
                f"the column {layout.rate} is {usual:g} in {share:.0%} of the loans that "
                "defaulted, and in hardly any other: it was overwritten and knows the outcome. "
                "Give the rate of the contract"
            )
    return found


# ---------------------------------------------------------------------------- measuring


def measure(source: Source, reader: Reader, rows: int, columns: Sequence[str]) -> list[Measured]:
    """Measure what each column says about the outcome, on a sample of rows."""
    every = list(dict.fromkeys([*reader.columns, *columns]))
    piece = _sampled(source, every, max(rows // SAMPLE, 1))
    reward, marked = reader.rewards(piece), piece.marked()
    given = ~np.isnan(reward)
    asked = reader.time.read(marked) if reader.layout.times else None
    outcome = _cut_ends(reward[given])
    amount, by_amount = None, 0.0
    if reader.layout.amount is not None:
        amount = numbers(marked, reader.layout.amount)[given]
        by_amount = predicts(_bands(amount), outcome)
    found: list[Measured] = []
    for name in columns:
        codes, plain, times, kind = _coded(piece, name, given, reader.layout.format_of(name))
        explains = predicts(codes, outcome)
        # Money is compared per unit of money, as the outcome is.
        if plain is not None and amount is not None:
            explains = max(explains, predicts(_bands(plain / amount), outcome) - by_amount)
        after = 0.0
        if times is not None and asked is not None and reader.time.kind != rounds.NUMBER:
            first, second = times[given], asked[given]
            late = rounds.before(second, first, kind, reader.time.kind)
            after = float(late.mean()) if late.size else 0.0
            both = (first != MISSING) & (second != MISSING)
            delay = np.where(both, (first - second).astype(np.float64), np.nan)
            explains = max(explains, predicts(_bands(delay), outcome))
        missing = codes == 0
        says = (
            predicts(missing.astype(np.int64), outcome) if 0 < missing.sum() < missing.size else 0.0
        )
        found.append(Measured(name, explains, says, int(missing.sum()), after))
    return found


def predicts(codes: IntArray, outcome: FloatArray) -> float:
    """Return the share of variance that codes explain, cross-validated."""
    spread = float(((outcome - outcome.mean()) ** 2).sum()) if outcome.size else 0.0
    if not spread > 0.0:
        return 0.0
    part = np.random.default_rng(1).permutation(outcome.size) % LEARNED_PARTS
    size = int(codes.max()) + 1
    missed = 0.0
    for fold in range(LEARNED_PARTS):
        learn, test = part != fold, part == fold
        if not learn.any() or not test.any():
            continue
        mean = outcome[learn].mean()
        total = np.bincount(codes[learn], outcome[learn] - mean, minlength=size)
        clients = np.bincount(codes[learn], minlength=size)
        guess = mean + (total / (clients + PULL))[codes[test]]
        missed += float(((outcome[test] - guess) ** 2).sum())
    return max(1.0 - missed / spread, 0.0)


def _sampled(source: Source, columns: list[str], step: int) -> Piece:
    """Every so many rows of a source, as one piece."""
    batches: list[Any] = []
    before, units = 0, Units()
    for piece in source.pieces(columns):
        rows, units = piece.batch.num_rows, piece.units
        taken = piece.batch.take(pa.array(np.arange(-before % step, rows, step)))
        # Files may encode columns differently.
        plain = list(map(decoded, taken.columns))
        batches.append(pa.RecordBatch.from_arrays(plain, names=taken.schema.names))
        before += rows
    table = pa.Table.from_batches(batches).combine_chunks()
    rows = table.to_batches()[0] if table.num_rows else batches[0]
    return Piece(rows, source.name, 1, units=units)


def _cut_ends(values: FloatArray) -> FloatArray:
    """Outcomes without their ends: a few huge ones must not decide."""
    if not values.size:
        return values
    low, high = np.quantile(values, [ENDS, 1.0 - ENDS])
    return np.clip(values, low, high) if low < high else values


def _coded(
    piece: Piece, name: str, given: BoolArray, date_format: str | None
) -> tuple[IntArray, FloatArray | None, IntArray | None, str | None]:
    """Read a column as dates if possible, else as numbers, else as words.

    Returns codes [n], 0 where it is missing, its numbers, or its times and their kind.
    """
    for pattern in dict.fromkeys((None, date_format)):
        read = Dates((name,), pattern)
        with suppress(InputError):
            times = read.read(piece)
            if read.kind not in (None, rounds.NUMBER):
                plain = np.where(times == MISSING, np.nan, times.astype(np.float64))
                return _bands(plain[given]), None, times, read.kind
    with suppress(InputError):
        plain = numbers(piece, name)[given]
        return _bands(plain), plain, None, None
    return _words(piece.column(name), given), None, None, None


def _words(values: Any, given: BoolArray) -> IntArray:
    if not is_text(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowException:  # lists and the like
            return np.zeros(int(given.sum()), np.int64)
    empty = pc.equal(pc.utf8_trim_whitespace(values), "")  # a word such as none may be an answer
    encoded = pc.if_else(empty, pa.scalar(None, pa.string()), values).dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)[given] + 1


def _bands(values: FloatArray) -> IntArray:
    """Return codes of values, or of bands if there are many; 0 where missing."""
    known = values[~np.isnan(values)]
    edges, count = np.unique(known, return_counts=True)
    if edges.size > FEW_VALUES:
        # Numbers that many rows share, as 0: each is a band of its own.
        common = edges[count * BANDS >= known.size]
        quantiles = np.quantile(known, np.arange(1, BANDS) / BANDS)
        edges = np.unique(np.concatenate([quantiles, common, np.nextafter(common, np.inf)]))
    codes = np.searchsorted(edges, values, side="right") + 1
    codes[np.isnan(values)] = 0
    return codes.astype(np.int64)


# ---------------------------------------------------------------------- the description


@dataclass(frozen=True)
class Description:
    """A past as it was understood, and columns that look like leaks."""

    past: Past
    terms: FamilyChoice
    leaks: list[Leak]
    can_read_again: bool  # else leaks were looked for among the categories only

    @property
    def warnings(self) -> list[str]:
        """Warnings about results that are doubtful."""
        left = [each.warning for each in self.past.left_out if each.warning is not None]
        return [*self.past.warnings, *left, *check_categories(self.past), *self.terms.warnings()]

    @property
    def categories(self) -> list[dict[str, Any]]:
        """A row for each category, with the mean cost of a client."""
        rows = backtest_summary.categories(self.past, self.terms)
        costs, cost = self.past.costs, self.past.layout.cost
        for k, row in enumerate(rows):
            row["cost"] = float(costs[k]) if costs is not None else cost
        return rows

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        clients = self.past.clients
        return plain(
            {
                "first_line": backtest_summary.first_line(self.past),
                "settings": {"data": self.past.source, **self.past.layout.to_dict()},
                "rows": self.past.rows,
                "clients": len(clients),
                "round": self.past.round,
                "rounds": list(clients.labels),
                "family": {"name": str(self.terms.family), "reason": self.terms.reason},
                "categories": self.categories,
                "known": backtest_summary.known_over_time(clients),
                "left_out": self.past.left_out,
                "notes": self.past.notes,
                "warnings": self.warnings,
                "leaks": self.leaks,
            }
        )

    def __str__(self) -> str:
        past = self.past
        of = (
            f"{number_text(past.round)} rows"
            if isinstance(past.round, int)
            else f"one {past.round}"
        )
        head = [
            backtest_summary.first_line(past),
            f"{past.source}: {number_text(past.rows)} rows; a round is {of}.",
            *backtest_summary.headline(past, self.terms),
        ]
        remarks = [
            *(f"note: {text}" for text in past.notes),
            *(f"warning: {text}" for text in self.warnings),
        ]
        parts = [
            "\n".join(head),
            self._category_table(),
            self._known_table(),
            self._left_out(),
            self._leaks(),
            "\n".join(remarks),
        ]
        return "\n\n".join(filter(None, parts))

    def _category_table(self) -> str:
        rows = self.categories
        shown = sorted(rows, key=lambda row: -row["clients"])[:ROWS_SHOWN]
        lent = self.past.clients.amount is not None
        columns = {"category": "name", "clients": "clients", "mean": "mean"}
        columns |= {"by money": "mean_by_money", "lent": "amount"} if lent else {"cost": "cost"}
        columns |= {"threshold": "threshold", "profit": "profit", "± error": "profit_error"}
        table = text_table(
            list(columns), [[_shown(key, row[key]) for key in columns.values()] for row in shown]
        )
        more = len(rows) - len(shown)
        return table + (
            f"\n... and {number_text(more)} categories with fewer clients" if more else ""
        )

    def _known_table(self) -> str:
        clients = self.past.clients
        if clients.is_immediate:
            return ""
        known = plain(backtest_summary.known_over_time(clients))
        moments: list[int] = np.unique(
            np.linspace(0, clients.rounds - 1, ROUNDS_SHOWN).round().astype(int)
        ).tolist()
        rows = [
            [
                clients.labels[t],
                "-" if known["share_known"][t] is None else f"{known['share_known'][t]:.0%}",
                number_text(known["known_mean"][t]),
                number_text(known["final_mean"][t]),
            ]
            for t in moments
        ]
        table = text_table(["by the end of", "known", "known mean", "final mean"], rows)
        return f"What was known of the clients who had asked:\n\n{table}"

    def _left_out(self) -> str:
        if not self.past.left_out:
            return "No row is left out."
        rows = [
            [
                each.reason,
                number_text(each.rows),
                number_text(each.mean_reward),
                number_text(each.kept_mean),
            ]
            for each in self.past.left_out
        ]
        return "Left out:\n\n" + text_table(
            ["reason", "rows", "their mean", "mean of those kept"], rows
        )

    def _leaks(self) -> str:
        if not self.can_read_again:
            return (
                "A stream is read once: only the categories were checked for leaks, "
                f"and no other column. {NO_PROOF}"
            )
        if not self.leaks:
            return f"No column looks like a leak. {NO_PROOF}"
        return (
            "Columns that look like leaks:\n"
            + "\n".join(f"- {each}" for each in self.leaks)
            + f"\n{ADVICE} {NO_PROOF}"
        )


def _shown(key: str, value: Any) -> str:
    if key == "name":
        return str(value)
    return money_text(value) if key in ("amount", "profit", "profit_error") else number_text(value)


def describe(
    data: Any,
    layout: Layout,
    *,
    family: Family | str | None = None,
    bound: float | None = None,
    progress: OnShare = None,
) -> Description:
    """Read a past and describe it."""
    source = open_source(data)
    past = read(source, layout, progress=progress)
    terms = choose_family(past, family=family, bound=bound)
    return Description(past, terms, find_leaks(source, layout, past.rows), source.again)
