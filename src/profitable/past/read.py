"""Read the past: rows of a source become clients, by round and category.

>>> from profitable.past.layout import Layout
>>> months = ["2026-01", "2026-02", "2026-03"]
>>> table = {"month": months, "job": ["cook", "clerk", "cook"]}
>>> layout = Layout(category="job", time="month", reward="y", cost=0.1)
>>> past = read(table | {"y": [0, 1, 1]}, layout)
>>> past.clients.names, past.clients.labels, past.clients.profit.tolist()
(('clerk', 'cook'), ('2026-01', '2026-02', '2026-03'), [-0.1, 0.9, 0.9])
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.kernels.hazards import rates_of_instalments
from profitable.model.lending import LARGEST_RATE
from profitable.past import calendar_rounds as rounds
from profitable.past.bad_rows import BadRows
from profitable.past.bands import CategoryCodes, CategoryColumn, cross, reversed_bands
from profitable.past.calendar_rounds import MISSING
from profitable.past.end_dates import refuse_early, refuse_ended, without_open
from profitable.past.formulas import PreparedSource
from profitable.past.layout import FALLS, MONTHS, SCORECARD, Layout
from profitable.past.open_rows import KeptRounds, OpenRows, said_of_condition
from profitable.past.past import (
    MISSING_NAME,
    NEVER_KNOWN,
    SAMPLE,
    OutcomeTally,
    Past,
    SingleClients,
    SmallInts,
    check_kept,
)
from profitable.past.past_loans import lending_of, scheduled_values
from profitable.past.round_names import count_periods, names_of_rounds
from profitable.past.row_meaning import (
    HAS_NO_OUTCOME,
    IS_KEPT,
    NOT_WHERE,
    REASONS,
    WAS_REFUSED,
    WITHOUT_REWARD,
    RowMeaning,
    columns_by_role,
    profit_of,
    reward_column,
    reward_of,
)
from profitable.past.scorecard import ColumnValues, banded_by_score, fit_scores
from profitable.past.source import OnShare, Piece, Source, open_source, pa, short
from profitable.past.treatment import treatment_effect
from profitable.past.typed_columns import Dates, complete, decoded, flags, numbers, truths

LONGEST_MONTHS = 1_200
END_DATES = ("defaulted", "closed")  # columns
# Limits of columns of loans, and what is within them.
OF_LOANS = {
    "term": (1.0, LONGEST_MONTHS, "months"),
    "rate": (0.0, LARGEST_RATE, "a fraction a year: 0.12 for 12 %"),
}
TWO_DIGITS = "years of two digits are 1969 to 2068"
VALUES_SHOWN = 8  # of a column, in an error or a note
# The columns of `RowMeaning.applied` that are used.
FOUND = (
    *("pb_reason", "pb_outcome", "pb_reward", "pb_given", "pb_amount", "pb_cost"),
    *("pb_promised", "pb_bare", "pb_never", "pb_no_outcome", "pb_open"),
)


def read(data: Any, layout: Layout, *, progress: OnShare = None) -> Past:
    """Read past clients from files or a table; `progress` gets the share done."""
    source = open_source(data)
    reader = Reader(source, layout)
    for piece in reader.pieces(progress):
        reader.add(piece)
    return reader.finish()


class Reader:
    """Takes pieces of a source, and makes a past of them."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source = source = PreparedSource.of(source, layout)
        self.layout = layout
        self.scored = [ColumnValues(name) for name in layout.scorecard or ()]
        self.cuts = [
            CategoryColumn.parse(text, source.columns)
            for text in (layout.categories if not self.scored else ())
        ]
        self.value = reward_column(layout, source.columns)[1]
        self.time = self._dates(*layout.times)
        self.known = self._dates(*((layout.known,) if layout.known else ()))
        self.ends = {
            name: self._dates(getattr(layout, name))
            for name in (END_DATES if layout.by_hazards else ())
        }
        self.roles = dict(columns_by_role(layout, source.columns))
        needed = needed_columns(layout, self.cuts, self.roles)
        for each in self.scored:
            if each.column in (self.roles["reward"], layout.known):
                raise InputError(
                    SCORECARD,
                    each.column,
                    "is known only after the decision",
                    "name columns that are known when a client asks",
                )
        needed |= {each.column: "scorecard" for each in self.scored if each.column not in needed}
        source.need(needed)
        self.columns = list(needed)
        self.words = [cut.column for cut in self.cuts if not cut.is_cut]
        self.codes = [CategoryCodes(cut) for cut in self.cuts]
        self.has_value = False  # whether any row has the value of the reward
        self.base: int | None = None  # the period of the first client that is read
        self.tallies = [OutcomeTally() for _ in REASONS]
        self.bad = BadRows()
        self.opened = self.unsaid = 0  # clients open by the condition, and without a value
        self.open_rows = None if self.scored else OpenRows(self.cuts)
        self.kept_rounds = KeptRounds("")
        self.kept_outcomes = OutcomeTally()
        self.arrays: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        self.uncut: dict[str, list[tuple[FloatArray, FloatArray]]] = defaultdict(list)

    def _dates(self, *columns: str) -> Dates:
        return Dates(columns, self.layout.format_of(*columns))

    # --------------------------------------------------------------------------- pieces

    def meaning(self, piece: Piece, asked: IntArray | None) -> dict[str, npt.NDArray[Any]]:
        """Return the meaning of the rows: columns of `RowMeaning.applied` as arrays.

        `pb_reward` is NaN where it is not given.
        """
        layout = self.layout
        columns: dict[str, Any] = {}
        if layout.where is not None:
            columns["pb_not_where"] = self._not_where(piece, layout.where)
        says_open = None if layout.open is None else truths(piece, layout.open)
        if says_open is not None:  # a missing value means: not open
            columns["pb_open"] = ~np.isnan(says_open) & (says_open != 0.0)
        for role, name in self.roles.items():
            if role == "reward" and self.value is not None:
                columns[role] = decoded(piece.column(name))
            else:
                columns[role] = flags(piece, name) if role == "accepted" else numbers(piece, name)
        if layout.amount is not None:
            amount, too_small = columns["amount"], columns["amount"] <= 0.0
            if too_small.any():
                piece.refuse(layout.amount, too_small, "is not above 0", values=amount)
                columns["amount"] = np.where(too_small, np.nan, amount)
        lacks = {
            role: values.null_count if isinstance(values, pa.Array) else np.isnan(values).any()
            for role, values in columns.items()
        }
        no_time = np.zeros(piece.batch.num_rows, bool) if asked is None else asked == MISSING
        columns["pb_no_time"], lacks["pb_no_time"] = no_time, no_time.any()
        complete = frozenset(role for role, is_lacking in lacks.items() if not is_lacking)
        frame = nw.from_native(pa.table(columns), eager_only=True)
        own = {role: role for role in columns}  # columns have the names of their roles
        found = RowMeaning(layout, own, frame.schema, self.value, complete).applied(frame)
        arrays = {name: found[name].to_numpy() for name in FOUND if name in found.columns}
        if not arrays["pb_given"].all():
            arrays["pb_reward"] = np.where(arrays["pb_given"], arrays["pb_reward"], np.nan)
        if layout.accepted is not None:
            arrays["logged"] = columns["accepted"]
        if says_open is not None:
            arrays["unsaid"] = np.isnan(says_open)
        return arrays

    def _not_where(self, piece: Piece, where: str) -> BoolArray:
        """Mark rows that do not meet the condition; a bad field does not decide it."""
        values = numbers(piece, where)
        unmet = np.isnan(values) | (values == 0.0)
        bad = piece.marks and piece.marks.of(self.source.behind([where]))
        return unmet if bad is None else unmet & ~(np.isnan(values) & bad)

    def rewards(self, piece: Piece) -> FloatArray:
        """Return the rewards of all rows of a piece, NaN if they do not count."""
        piece = piece.marked() if self.layout.skip_bad_rows else piece
        found = self.meaning(piece, None)
        without = np.isin(found["pb_reason"], (WAS_REFUSED, NOT_WHERE, *WITHOUT_REWARD))
        if piece.marks and piece.marks.found:
            without |= BadRows().take(piece.marks, found["pb_reward"])
        return np.where(without, np.nan, found["pb_reward"])

    def rewards_again(self) -> Iterator[tuple[Piece, FloatArray]]:
        """Yield the rewards of all rows once more, with their pieces."""
        for piece in self.source.pieces(self.columns, self.words):
            yield piece, self.rewards(piece)

    def pieces(self, progress: OnShare = None) -> Iterator[Piece]:
        """Yield the rows of the source, whose bad ones are marked."""
        return self.source.pieces(self.columns, self.words, progress, self.bad)

    def add(self, piece: Piece) -> None:
        """Read a piece."""
        layout = self.layout
        asked = self.time.read(piece) if layout.times else None
        found = self.meaning(piece, asked)
        reward, outcome = found["pb_reward"], found["pb_outcome"]
        times = {} if asked is None else self._times(piece, asked, found)
        columns = dict(self._collected(piece, found))
        scored = [each.numbers(piece) for each in self.scored]
        numeric = [codes.numbers(piece) for codes in self.codes]
        if "pb_bare" in found:
            # Kept clients who were accepted must have a promised reward.
            bare = found["pb_bare"] & found.get("logged", True) & (found["pb_reason"] == IS_KEPT)
            column = str(layout.promised or layout.open_value)
            piece.refuse(column, bare, "is missing", "give a number for every client")
        reason = found["pb_reason"] if piece.marks is None else self._without_bad(piece, found)
        by_reason = np.bincount(reason, minlength=len(REASONS))
        chosen = slice(None) if by_reason[IS_KEPT] == reason.size else reason == IS_KEPT
        if self.open_rows is not None and by_reason[HAS_NO_OUTCOME]:
            kept = self.tallies[IS_KEPT].rows + np.cumsum(reason == IS_KEPT)
            self.open_rows.add(piece, reason == HAS_NO_OUTCOME, kept, asked, numeric)
        if layout.open is not None:
            self.opened += int(found["pb_open"].sum())
            self.unsaid += int(found["unsaid"][chosen].sum())
        if asked is not None:
            self._add_times(piece, times, chosen)
        for each, values in zip(self.scored, scored, strict=True):
            each.read(piece, chosen, values)
        for codes, values in zip(self.codes, numeric, strict=True):
            cut = codes.read(piece, chosen, values)
            if cut is not None and self.tallies[IS_KEPT].rows < SAMPLE:
                self.uncut[codes.cut.column].append((cut, reward[chosen].copy()))
        for code in np.flatnonzero(by_reason[: len(REASONS)]).tolist():
            self.tallies[code].add(reward[chosen if code == IS_KEPT else reason == code])
        if layout.amount is not None or isinstance(layout.cost, str):
            self.kept_outcomes.add(np.where(found["pb_given"], outcome, np.nan)[chosen])
        if self.value is not None and not self.has_value:
            closed = ~found["pb_never"] if "pb_never" in found else True
            self.has_value = bool(((outcome == 1.0) & closed).any())
        for name, values in columns.items():
            self.arrays[name].append(values[chosen])

    def _without_bad(self, piece: Piece, found: dict[str, npt.NDArray[Any]]) -> IntArray:
        """Return the reasons of all rows; those of bad ones are beyond `REASONS`."""
        reason = found["pb_reason"]
        assert piece.marks is not None
        if not piece.marks.found:
            return reason
        bad = self.bad.take(
            piece.marks,
            found["pb_reward"],
            ignored=reason == NOT_WHERE,
            is_outcome=np.isin(reason, WITHOUT_REWARD),
        )
        return np.where(bad, len(REASONS), reason)

    def _collected(
        self, piece: Piece, found: dict[str, npt.NDArray[Any]]
    ) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield the columns that are kept of each client."""
        layout = self.layout
        for name in ("outcome", "amount", "cost", "promised"):
            if f"pb_{name}" in found:
                yield name, found[f"pb_{name}"]
        if layout.accepted is not None:
            yield "logged", found["logged"]
        if layout.treated is not None:
            yield "treated", flags(piece, layout.treated)
        if layout.propensity is not None:
            yield "propensity", self._propensity(piece, layout.propensity)
        for name in ("term", "rate", "instalment"):
            given = getattr(layout, name)
            if isinstance(given, str):
                values = complete(piece, given, f"give the {name} of every loan")
                if name in OF_LOANS:
                    low, high, what = OF_LOANS[name]
                    wrong = (values < low) | (values > high)
                    piece.refuse(given, wrong, f"is not a {name}", f"give {what}", values)
                yield name, values
        if layout.by_hazards:
            yield "lacking", found["pb_no_outcome"] | layout.by_schedule
        if layout.score is not None:
            yield "score", complete(piece, layout.score, "give every client a score")

    def _propensity(self, piece: Piece, column: str) -> FloatArray:
        remedy = "give the probability with which the client was accepted or treated"
        values = complete(piece, column, remedy)
        wrong = (values <= 0.0) | (values > 1.0)
        if self.layout.treated is not None:
            wrong |= values == 1.0
            remedy = "give the probability of treatment, between 0 and 1"
        piece.refuse(column, wrong, "is not such a probability", remedy, values)
        return values

    # ---------------------------------------------------------------------------- times

    @property
    def round(self) -> str | int:
        """The length of a round."""
        return self.layout.round or rounds.usual_round(self.time.kind)

    def _times(
        self, piece: Piece, asked: IntArray, found: dict[str, npt.NDArray[Any]]
    ) -> dict[str, IntArray]:
        """Return the times of all rows; an end before its beginning is bad.

        That an open loan ended is a contradiction.  That its outcome was known is none,
        because exports have the date of the last payment there.
        """
        is_open, kept = found.get("pb_open"), found["pb_reason"] == IS_KEPT
        times, never = {"asked": asked}, found.get("pb_never")
        ends = self.ends | ({"known": self.known} if self.layout.known is not None else {})
        for name, dates in ends.items():
            times[name] = dates.read(piece)
            if is_open is not None and name in END_DATES:
                ended = is_open & (times[name] != MISSING) & kept
                refuse_ended(piece, ended, dates, self.layout.open)
            times[name] = without_open(times[name], is_open)
            early = rounds.before(times[name], asked, self.time.kind, dates.kind)
            if early.any():
                refuse_early(piece, early & kept, dates, self.time)
        if "known" in times and never is not None:
            times["known"] = np.where(never, MISSING, times["known"])
        self._check_kinds(piece, asked)
        return times

    def _add_times(self, piece: Piece, times: dict[str, IntArray], chosen: Any) -> None:
        """Add the times of a piece, as periods unless a round is a number of rows."""
        for name, values in times.items():
            found = values[chosen]
            if isinstance(self.round, str):
                found = rounds.periods(found, self.round)
                if self.base is None and found.size:
                    self.base = int(found[0])
                missing = found == MISSING
                found = np.clip(found - (self.base or 0), -NEVER_KNOWN, NEVER_KNOWN - 1)
                found = np.where(missing, NEVER_KNOWN, found).astype(np.int32)
            self.arrays[name].append(found)

    def _check_kinds(self, piece: Piece, asked: IntArray) -> None:
        """InputError if the times do not fit together, or do not fit the rounds."""
        for each in (self.time, self.known, *self.ends.values()):
            if each.kind is not None and self.time.kind is not None:
                rounds.check_kind(
                    f"{piece.place}, column {each.name}",
                    each.example,
                    each.kind,
                    self.round,
                    (self.time.name, self.time.kind),
                )
        if self.time.kind == rounds.NUMBER and self.layout.round is None:
            written = rounds.written_as(asked)
            if written:
                raise InputError(
                    f"{piece.place}, column {self.time.name}",
                    self.time.example,
                    "looks like a date",
                    f'give date_format = "{written}", or round = "number" if they are none',
                )

    # ------------------------------------------------------------------------- all rows

    def finish(self) -> Past:
        """Return the past, when all pieces are read."""
        rows = sum(each.rows for each in self.tallies) + self.bad.rows
        if self.bad.rows and not self.layout.skip_bad_rows:
            raise self.bad.error(rows)
        check_kept("data", short(self.source.name), "file", self.tallies, self.bad.rows)
        self.source.units.check()
        self._check_value()
        pa.default_memory_pool().release_unused()
        if self.scored:
            round, known, labels, category, names, notes = self._scorecard()
        else:
            category, names, notes = cross(self.codes)
            round, known, labels = self._rounds(len(names))
        if self.layout.order == FALLS:
            category, names = reversed_bands(category, names)
        if self.layout.order and self.words:
            bands = [name for name in names if name != MISSING_NAME]
            listed = ", ".join(bands[:VALUES_SHOWN]) + ", ..." * (len(bands) > VALUES_SHOWN)
            notes = [*notes, f"the bands of {self.words[0]}, from the lowest up: {listed}"]
        still_open, said = None, None
        if self.open_rows is not None:
            edges = [codes.edges for codes in self.codes]
            still_open, said = self.open_rows.count(self.kept_rounds, edges, names)
        notes = [*notes, *self.source.units.notes(), *([said] if said else [])]
        notes += said_of_condition(self.layout.open, self.opened, self.unsaid)
        if any(
            "%y" in str(each.date_format) for each in (self.time, self.known, *self.ends.values())
        ):
            notes.append(TWO_DIGITS)
        given: dict[str, Any] = {"names": names, "labels": labels}
        given |= {"round": round, "category": category, "known": known}
        del round, known, category
        clients, costs = self._clients(given, notes)
        return Past.of(
            clients,
            self.layout,
            source=self.source.name,
            round=self.round,
            tallies=self.tallies,
            outcomes=self.kept_outcomes,
            notes=notes,
            bad=self.bad.left_out(self.tallies[IS_KEPT], self.kept_outcomes),
            still_open=still_open,
            costs=costs,
            order=None
            if self.layout.order is None
            else SCORECARD
            if self.scored
            else self.cuts[0].column,
            uncut={
                name: (
                    np.concatenate([values for values, _ in pairs]),
                    np.concatenate([rewards for _, rewards in pairs]),
                )
                for name, pairs in self.uncut.items()
            },
            rewards_again=self.rewards_again if self.source.again else None,
        )

    def _check_value(self) -> None:
        """InputError if no row has the value of the reward."""
        if self.value is None or self.has_value:
            return
        column, remedy = self.roles["reward"], "give a value of the column"
        if self.source.again:
            values = next(self.source.pieces([column])).column(column).unique()
            shown = values.drop_null().to_pylist()[:VALUES_SHOWN]
            remedy = f"choose from {', '.join(map(str, shown))}"
        raise InputError(
            f"{self.source.name}: reward",
            self.value,
            f"is nowhere in the column {column}",
            remedy,
        )

    def _take(self, name: str) -> npt.NDArray[Any]:
        """Return a column of all pieces as one array; the pieces are released."""
        pieces = self.arrays.pop(name)
        return np.concatenate(pieces) if len(pieces) > 1 else np.array(pieces[0])

    def _rounds(self, categories: int) -> tuple[SmallInts, SmallInts, list[str]]:
        """Return the rounds of asking [n] and of knowing [n], and their names."""
        round, rows = self.round, self.tallies[IS_KEPT].rows
        asked, known = (
            self._take(name) if name in self.arrays else None for name in ("asked", "known")
        )
        source = self.source.name
        self.kept_rounds = KeptRounds(round, rows=rows)
        if self.layout.by_hazards:
            defaulted, closed = self._take("defaulted"), self._take("closed")
            self.arrays["defaulted"].append(defaulted != NEVER_KNOWN)
            known = np.where(defaulted != NEVER_KNOWN, defaulted, closed)
        if isinstance(round, int):
            if self.open_rows is not None and self.open_rows.before and asked is not None:
                self.kept_rounds.asked = np.sort(asked)
            asked, known = rounds.rounds_of_rows(asked, known, rows, round)
            labels = names_of_rounds(
                source,
                -(-rows // round),
                categories,
                lambda place: f"rows {place * round + 1}-{min((place + 1) * round, rows)}",
            )
        else:
            assert asked is not None
            self.kept_rounds.first = (self.base or 0) + int(asked.min())
            known, labels = count_periods(source, asked, known, round, categories, self.base or 0)
        self.kept_rounds.size = len(labels)
        if self.layout.known is None and self.layout.matures is not None:
            known = asked + np.int32(self.layout.matures)
        return asked, known, labels

    def _scorecard(self) -> tuple[Any, Any, list[str], Any, tuple[str, ...], list[str]]:
        """Fit a scorecard to the first clients, and leave them out.

        Return rounds, known rounds and names of the rounds, and bands with names and
        notes, of the others.
        """
        layout, bands = self.layout, self.layout.bands
        asked, known, labels = self._rounds(bands)
        last = max(1, round(layout.fitted * len(labels)))
        outcome, amount, cost, logged = (
            np.concatenate(self.arrays[name]) if name in self.arrays else None
            for name in ("outcome", "amount", "cost", "logged")
        )
        assert outcome is not None
        first = (asked <= last) & (known <= last)
        pays = profit_of(layout, outcome, amount, cost) >= 0.0
        scores = fit_scores(self.scored, pays, first if logged is None else first & logged)
        category, names = banded_by_score(scores, first, bands)
        kept = asked > last
        if not kept.any():
            raise InputError(
                "fitted", layout.fitted, "leaves no client to replay", "give a smaller share"
            )
        for name, pieces in self.arrays.items():
            self.arrays[name] = [np.concatenate(pieces)[kept]]
        known = np.where(known == NEVER_KNOWN, NEVER_KNOWN, known - last)
        others = number_text(int((~kept).sum()))
        note = (
            f"the scorecard is fitted to {number_text(int(first.sum()))} clients whose outcomes "
            f"were known by {labels[last - 1]}; the {others} clients who asked until then are "
            "not replayed"
        )
        return asked[kept] - last, known[kept], labels[last:], category[kept], names, [note]

    # ---------------------------------------------------------------------------- money

    def _clients(
        self, given: dict[str, Any], notes: list[str]
    ) -> tuple[SingleClients, FloatArray | None]:
        """Clients with rewards and profits; mean costs by category, if in a column."""
        layout, outcome = self.layout, self._take("outcome")
        if layout.treated is not None:
            outcome = self._effect(given, outcome, notes)
        more: dict[str, Any] = {name: self._take(name) for name in list(self.arrays)}
        cost, costs = more.pop("cost", None), None
        if cost is not None:
            category, size = given["category"], len(given["names"])
            costs = np.bincount(category, cost, size) / np.bincount(category, minlength=size)
        profit = profit_of(layout, outcome, more.get("amount"), cost)
        reward = profit
        if not isinstance(layout.cost, str):
            reward = reward_of(layout, outcome, more.get("amount"), cost)
        if layout.by_hazards:
            reward, profit = self._loans(given, more, reward, notes)
        clients = SingleClients.of(**given, reward=reward, profit=profit, **more, in_place=True)
        return clients, costs

    def _loans(
        self, given: dict[str, Any], more: dict[str, Any], reward: FloatArray, notes: list[str]
    ) -> tuple[FloatArray, FloatArray]:
        """Complete the columns of loans; return their rewards and profits."""
        layout, size = self.layout, given["round"].size
        lending = lending_of(layout, self.round)
        term = more["term"] if isinstance(layout.term, str) else np.full(size, layout.term)
        self._check_loans("term", term, *OF_LOANS["term"])
        more["term"] = np.maximum(np.rint(term * lending.per_year / MONTHS), 1.0).astype(np.int32)
        if layout.instalment is not None:
            instalments = more.pop("instalment") / more["amount"]
            rate = MONTHS * rates_of_instalments(instalments, np.rint(term).astype(np.int64))
            self._check_loans(
                "instalment", rate, 0.0, np.inf, "at least amount / term", instalments
            )
        else:
            rate = more["rate"] if isinstance(layout.rate, str) else np.full(size, layout.rate)
            self._check_loans("rate", rate, *OF_LOANS["rate"])
        more["rate"], lacking = rate, more.pop("lacking")
        values, still_open = scheduled_values(given, more, lending)
        reward = np.where(lacking, values, reward)
        number = int((still_open & lacking).sum())
        if number:
            notes.append(
                f"{number_text(number)} loans are open when the file ends: each is worth what the "
                "hazards of the file say of the ages to come"
            )
        return reward, more["amount"] * (reward - 1.0)

    def _check_loans(
        self,
        field: str,
        values: FloatArray,
        low: float,
        high: float,
        what: str,
        shown: FloatArray | None = None,
    ) -> None:
        """InputError for the first loan whose value cannot be one."""
        fits = (values >= low) & (values <= high)
        if not fits.all():
            bad = float((values if shown is None else shown)[int(np.argmin(fits))])
            name = getattr(self.layout, field)
            raise InputError(
                f"{self.source.name}, column {name}", bad, f"is not a {field}", f"give {what}"
            )

    def _effect(self, given: dict[str, Any], outcome: FloatArray, notes: list[str]) -> FloatArray:
        """Return the effect of the treatment on each client."""
        treated = self._take("treated")
        if "propensity" in self.arrays:
            share: Any = self._take("propensity")
        else:
            share = float(treated.mean())
            if not 0.0 < share < 1.0:
                raise InputError(
                    f"{self.source.name}: treated",
                    self.layout.treated,
                    f"has {'treated' if share else 'control'} clients only",
                    "give a column with 1 for treated clients and 0 for the control group",
                )
            notes.append(
                f"{share:.4g} of the clients were treated; "
                "this is taken as the probability of treatment of everybody"
            )
        return treatment_effect(
            outcome,
            treated,
            share,
            (given["round"], given["known"], given["category"]),
            (len(given["labels"]), len(given["names"])),
        )


def needed_columns(
    layout: Layout, cuts: list[CategoryColumn], roles: Mapping[str, str]
) -> dict[str, str]:
    """Return the columns that are read, and the fields of the layout that name them."""
    more = (
        *("known", "propensity", "treated", "score"),
        *("term", "rate", "instalment", "defaulted", "closed"),
    )
    return (
        {cut.column: "category" for cut in cuts}
        | dict.fromkeys(layout.times, "time")
        | {name: role for role, name in roles.items()}
        | {getattr(layout, role): role for role in more if isinstance(getattr(layout, role), str)}
        | ({} if layout.where is None else {layout.where: "where"})
        | ({} if layout.open is None else {layout.open: "open"})
    )
