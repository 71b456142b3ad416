"""Read the past: rows of a source become clients, round by round and category by category.

>>> from profitable.replay.layout import Layout
>>> table = {"month": ["2026-01", "2026-02", "2026-03"], "job": ["cook", "clerk", "cook"], "y": [0, 1, 1]}
>>> past = read(table, Layout(category="job", time="month", reward="y", cost=0.1))
>>> past.clients.names, past.clients.labels, past.clients.profit.tolist()
(('clerk', 'cook'), ('2026-01', '2026-02', '2026-03'), [-0.1, 0.9, 0.9])
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.common.text_tables import number
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.replay import dates
from profitable.replay.bands import MISSING_NAME, Part, cross
from profitable.replay.clients import Clients
from profitable.replay.crowd import NEVER_KNOWN, Crowd, SmallInts
from profitable.replay.dates import MISSING
from profitable.replay.layout import CALENDAR, Layout
from profitable.replay.past import SAMPLE, LeftOut, Past, Tally
from profitable.replay.rows import Row, Rows
from profitable.replay.source import Piece, Source, Told, open_source, pyarrow, short
from profitable.replay.treatment import added

LEAST_ROUNDS = 3
LARGEST_TABLE = 20_000_000  # rounds times categories: some arrays of that size are kept
REFUSED = "refused by the past"
NO_TIME, NO_AMOUNT, NO_COST, NO_OUTCOME = "no time", "no amount", "no cost", "no outcome yet"
PAST_REFUSED = (
    "the past refused clients whose outcomes nobody knows: categories that it mostly refused cannot be judged, and "
    "others are judged by the clients it chose; give propensity if it chose at random"
)
LATEST = np.iinfo(np.int32).max


def read(data: Any, layout: Layout, *, progress: Told = None) -> Past:
    """Read past clients from files or a table; `progress` is called with the share that is done."""
    source = open_source(data)
    reader = Reader(source, layout)
    for piece in source.pieces(reader.columns, reader.words, progress):
        reader.add(piece)
    return reader.finish()


class Reader(Rows):
    """Takes pieces of a source, and makes a past of them."""

    def __init__(self, source: Source, layout: Layout) -> None:
        super().__init__(source, layout)
        self.parts = [Part(cut) for cut in self.cuts]
        self.base: int | None = None  # the period of the first client that is read
        self.rows = 0
        self.kept, self.kept_outcomes = Tally(), Tally()
        self.left: dict[str, Tally] = defaultdict(Tally)
        self.arrays: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        self.uncut: dict[str, list[tuple[FloatArray, FloatArray]]] = defaultdict(list)

    # -------------------------------------------------------------------------------------------- pieces

    def add(self, piece: Piece) -> None:
        """Read a piece."""
        self.rows += piece.batch.num_rows
        row = self.row(piece)
        times = self.time.read(piece) if self.layout.times else None
        keep = self._keep(row, times)
        chosen = slice(None) if keep is None else keep
        self.check_promised(piece, row, keep)
        if times is not None:
            self._add_times(piece, times, row.never, chosen)
        for part in self.parts:
            numeric = part.read(piece, keep)
            if numeric is not None and self.kept.rows < SAMPLE:
                self.uncut[part.cut.column].append((numeric, row.reward[chosen].copy()))
        logged = row.more.get("logged", True)  # of the others, no outcome is known
        self.kept.add(np.where(logged, row.reward, np.nan)[chosen])
        if row.reward is not row.outcome:
            self.kept_outcomes.add(np.where(logged, row.outcome, np.nan)[chosen])
        for name, values in ({"outcome": row.outcome} | row.more).items():
            self.arrays[name].append(values[chosen])

    def _keep(self, row: Row, times: IntArray | None) -> BoolArray | None:
        """The rows to keep, None for all; the others are counted with the first reason that applies."""
        kept = np.ones(row.outcome.size, bool)
        logged, needed = row.more.get("logged"), np.ones(1, bool)
        if logged is not None and self.layout.propensity is not None:
            needed = logged  # the past refused the others, so nothing is known of them
        reasons: list[tuple[str, npt.NDArray[Any] | None]] = [
            (REFUSED, None if logged is None or self.layout.propensity is not None else ~logged),
            (NO_TIME, None if times is None else times == MISSING),
            (NO_AMOUNT, np.isnan(row.more["amount"]) if "amount" in row.more else None),
            (NO_COST, np.isnan(row.more["cost"]) if "cost" in row.more else None),
            (NO_OUTCOME, np.isnan(row.outcome) & needed),
        ]
        for reason, applies in reasons:
            if applies is not None and applies.any():
                left = kept & applies
                if left.any():
                    self.left[reason].add((row.outcome if reason in (NO_AMOUNT, NO_COST) else row.reward)[left])
                    kept &= ~left
        if needed.size > 1:
            np.copyto(row.outcome, 0.0, where=~needed)  # whatever the file says of them
        return None if kept.all() else kept

    # -------------------------------------------------------------------------------------------- times

    @property
    def round(self) -> str | int:
        """What a round is."""
        return self.layout.round or ("number" if self.time.kind == dates.NUMBER else "month")

    def _add_times(self, piece: Piece, asked: IntArray, never: BoolArray | None, chosen: Any) -> None:
        """Add the times of a piece: as periods since the first one, or as they are if a round is a number of rows."""
        known = None
        if self.layout.known is not None:
            known = self.known.read(piece)
            early = dates.before(known, asked, self.time.kind, self.known.kind)[chosen]
            if early.any():
                self._refuse_early(piece, np.arange(asked.size)[chosen][early.argmax()])
            if never is not None and never.any():
                known = np.where(never, MISSING, known)
        self._check_kinds(piece, asked)
        if isinstance(self.round, int):
            self.arrays["asked"].append(asked[chosen])
            if known is not None:
                self.arrays["known"].append(known[chosen])
            return
        asked = dates.periods(asked, self.round)[chosen]
        if not asked.size:
            return
        if self.base is None:
            self.base = int(asked[0])
        self.arrays["asked"].append(self._since_base(asked))
        if known is not None:
            self.arrays["known"].append(self._since_base(dates.periods(known, self.round)[chosen]))

    def _since_base(self, periods: IntArray) -> SmallInts:
        """Periods since the base, as small numbers; the largest one for those that are missing."""
        since = np.where(periods == MISSING, LATEST, np.clip(periods - (self.base or 0), -LATEST, LATEST - 1))
        return since.astype(np.int32)

    def _check_kinds(self, piece: Piece, asked: IntArray) -> None:
        """InputError if the times do not fit together, or do not fit the rounds."""
        for each in (self.time, self.known):
            kind, place = each.kind, f"{piece.place}, column {each.name}"
            if kind is None:
                continue
            if (kind == dates.NUMBER) != (self.time.kind == dates.NUMBER):
                problem = f"is a {kind}, but {self.time.name} holds the kind {self.time.kind}"
                raise InputError(place, each.example, problem, "give both as dates, or both as whole numbers")
            if kind == dates.NUMBER and self.round in CALENDAR:
                remedy = 'give round = "number", or say how dates are written: date_format = "%Y%m%d"'
                raise InputError(place, each.example, f"is a whole number, and a round is a {self.round}", remedy)
            if kind != dates.NUMBER and self.round == "number":
                raise InputError(
                    place, each.example, f"is a {kind}, no whole number", 'give round = "month", for example'
                )
            if kind == dates.MONTH and self.round in dates.WITHIN_MONTHS:
                raise InputError(
                    place, each.example, f"has no days, and a round is a {self.round}", 'give round = "month"'
                )
        if self.time.kind == dates.NUMBER and self.layout.round is None:
            written = dates.written_as(asked)
            if written:
                remedy = f'give date_format = "{written}", or round = "number" if they are none'
                raise InputError(
                    f"{piece.place}, column {self.time.name}", self.time.example, "looks like a date", remedy
                )

    def _refuse_early(self, piece: Piece, index: int) -> None:
        asked, known = (
            " ".join(str(piece.column(name)[int(index)].as_py()) for name in each.columns)
            for each in (self.time, self.known)
        )
        problem = f"is before {self.time.name} = {asked}, when the client asked"
        raise piece.error(self.known.name, int(index), known, problem, "correct the dates, or leave the row out")

    # -------------------------------------------------------------------------------------------- all rows

    def finish(self) -> Past:
        """The past, when all pieces are read."""
        if not self.rows:
            raise InputError("data", short(self.source.name), "has no rows", "give a file with a client in each row")
        if not self.kept.rows:
            reason = max(self.left, key=lambda each: self.left[each].rows)
            problem = f"has no client to replay: {self.left[reason].rows} of {self.rows} rows are left out ({reason})"
            raise InputError("data", short(self.source.name), problem, "check the columns, or give other ones")
        if self.value is not None and not self.has_value:
            raise self.no_such_value(self.value)
        pyarrow().default_memory_pool().release_unused()
        category, names, notes = cross(self.parts)
        round, known, labels = self._rounds(len(names))
        left_out = self._left_out()
        warnings: list[str] = []
        if REFUSED in self.left:
            warnings.append(PAST_REFUSED)
        columns = {name: self._take(name) for name in ("amount", "promised", "score", "logged") if name in self.arrays}
        if "treated" not in self.arrays and "propensity" in self.arrays:
            columns["propensity"] = self._take("propensity")
        given: dict[str, Any] = {"names": names, "labels": labels, "round": round, "category": category, "known": known}
        del round, known, category
        costs = self._costs(given["category"], len(names))
        clients = self._clients(given, columns, notes)
        notes += note(clients)
        return Past(
            clients,
            self.layout,
            self.source.name,
            self.rows,
            self.round,
            left_out,
            notes,
            warnings,
            {name: _joined(pairs) for name, pairs in self.uncut.items()},
            costs,
            self.source,
            self.rewards_again,
        )

    def _take(self, name: str) -> npt.NDArray[Any]:
        """A column of all pieces as one array; the pieces are given up."""
        pieces = self.arrays.pop(name)
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]

    def _rounds(self, categories: int) -> tuple[SmallInts, SmallInts, list[str]]:
        """The rounds in which clients asked [n] and outcomes were known [n], and the names of the rounds."""
        round = self.round
        if isinstance(round, int):
            times, known_times = (self._take(name) if name in self.arrays else None for name in ("asked", "known"))
            asked, known = dates.rounds_of_rows(times, known_times, self.kept.rows, round)
            names = partial(_rows_label, round, self.kept.rows)
            total = -(-self.kept.rows // round)
        else:
            asked = self._take("asked")
            first, total = int(asked.min()), int(asked.max()) - int(asked.min()) + 1
            asked -= np.int32(first - 1)
            known = self._take("known") if "known" in self.arrays else asked
            if known is not asked:
                np.subtract(known, np.int32(first - 1), out=known, where=known != LATEST)
            start = (self.base or 0) + first
            names = partial(_period_label, start, round)
        check_rounds(self.source.name, total, categories, names)
        if self.layout.known is None and self.layout.matures is not None:
            known = asked + np.int32(self.layout.matures)
        return asked, known, [names(place) for place in range(total)]

    def _left_out(self) -> list[LeftOut]:
        raw = (NO_AMOUNT, NO_COST)
        return [
            LeftOut.of(reason, self.left[reason], self.kept_outcomes if reason in raw else self.kept)
            for reason in sorted(self.left)
        ]

    # -------------------------------------------------------------------------------------------- money

    def _clients(self, given: dict[str, Any], columns: dict[str, Any], notes: list[str]) -> Clients:
        """Clients with their rewards and profits."""
        layout, outcome = self.layout, self._take("outcome")
        if layout.treated is not None:
            outcome = self._effect(given, outcome, notes)
        if "amount" in columns:
            amount = columns["amount"]
            reward = outcome / amount
            outcome -= (1.0 + (layout.required or 0.0)) * amount
            return Clients.of(**given, reward=reward, profit=outcome, **columns, in_place=True)
        cost: Any = self._take("cost") if isinstance(layout.cost, str) else layout.cost
        profit = layout.revenue * outcome
        profit -= cost
        reward = profit if isinstance(layout.cost, str) else outcome
        return Clients.of(**given, reward=reward, profit=profit, **columns, in_place=True)

    def _costs(self, category: SmallInts, categories: int) -> FloatArray | None:
        """The mean cost of a client by category, if costs are a column."""
        if "cost" not in self.arrays:
            return None
        cost = self.arrays["cost"] = [self._take("cost")]
        return np.bincount(category, cost[0], minlength=categories) / np.bincount(category, minlength=categories)

    def _effect(self, given: dict[str, Any], outcome: FloatArray, notes: list[str]) -> FloatArray:
        """What the treatment adds."""
        treated = self._take("treated")
        if "propensity" in self.arrays:
            share: Any = self._take("propensity")
        else:
            share = float(treated.mean())
            if not 0.0 < share < 1.0:
                value = "treated" if share else "control"
                remedy = "give a column with 1 for treated clients and 0 for the control group"
                raise InputError(
                    f"{self.source.name}: treated", self.layout.treated, f"has {value} clients only", remedy
                )
            notes.append(
                f"{share:.4g} of the clients were treated; this is taken as the probability of treatment of everybody"
            )
        sizes = len(given["labels"]), len(given["names"])
        return added(outcome, treated, share, (given["round"], given["known"], given["category"]), sizes)


def note(clients: Crowd) -> list[str]:
    """What a reader must know about the clients."""
    notes: list[str] = []
    people = clients.sum_of("number")
    never = round(float(people[clients.known == NEVER_KNOWN].sum()))
    if never:
        notes.append(
            f"{number(never)} outcomes have no known date: they count in profits, and no policy learns from them"
        )
    empty = clients.rounds - np.unique(clients.round).size
    if empty:
        notes.append(f"{number(empty)} of {number(clients.rounds)} rounds have no client")
    for code, name in enumerate(clients.names):
        if MISSING_NAME in name.split(", "):
            there = round(float(people[clients.category == code].sum()))
            notes.append(f"{number(there)} clients are in the category {name}")
    return notes


def check_rounds(source: str, total: int, categories: int, names: Callable[[int], str]) -> None:
    """InputError if there are too few rounds, or too many."""
    field, span = f"{source}: rounds", f"{names(0)} to {names(total - 1)}"
    if total < LEAST_ROUNDS:
        remedy = "give shorter rounds, such as day, or fewer rows in each"
        raise InputError(field, span, f"are {total}, too few to learn from", remedy)
    if total * categories > LARGEST_TABLE:
        remedy = "give longer rounds, check the first and the last date, or choose fewer categories"
        raise InputError(field, span, f"are {total}, too many for {categories} categories", remedy)


def _joined(pairs: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    first, second = zip(*pairs, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _period_label(start: int, round: str, place: int) -> str:
    """The name of a round of the calendar, or of a number."""
    return dates.label(start + place, round)


def _rows_label(size: int, rows: int, place: int) -> str:
    """The name of a round of rows."""
    return f"rows {place * size + 1}-{min((place + 1) * size, rows)}"
