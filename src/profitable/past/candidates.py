"""Candidates: which columns may be the category, the time, the reward, and so on.

Each has a reason.  What a column holds decides; its name helps to choose.

>>> from profitable.past.column_profile import profile
>>> from profitable.past.column_sample import sampled
>>> from profitable.past.source import open_source
>>> table = {"issued": ["2026-01", "2026-02", "2026-03"] * 32, "job": ["a", "b"] * 48}
>>> piece = sampled(open_source(table), list(table)).piece
>>> found = Finder([profile(piece, name) for name in table]).found()
>>> for each in found:
...     print(each)
time: issued (month, 2026-01 to 2026-03)
category: job (2 values)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from keyword import iskeyword
from typing import Any

import numpy as np

from profitable.common.text_tables import number_text, percent_text
from profitable.common.types import BoolArray, FloatArray
from profitable.past import calendar_rounds as rounds
from profitable.past.calendar_rounds import MISSING
from profitable.past.column_names import FRAGMENTS, hinted, words
from profitable.past.column_names import place as name_place
from profitable.past.column_profile import NUMERIC_KINDS, ColumnProfile, Kind
from profitable.past.row_order import in_order, is_running_number, order_of

MOST_MONTHS = 480  # of a term
MOST_GROUPS = 6  # of a treatment
FEW_ROWS = 0.02  # of the rows
MOST_WORDS = 15  # of a status
MOST_CATEGORIES_SHOWN = 60  # values of a category that is suggested
LARGEST_CATEGORY = 0.97  # its share of the rows
MOST_MISSING = 0.5  # of a category
LONGEST_SPAN = 60.0  # years between dates of one portfolio
MICROSECONDS_A_YEAR = 365.25 * rounds.MICROSECONDS
MOST_PERIODS = 5_000
FEWEST_AMOUNTS = 6  # fewer different numbers may be codes, unless their name says more
ROUND_AMOUNT = 25.0  # amounts that people ask for are multiples of it
GOOD_WORDS = (
    *("good", "fully paid", "paid", "paid off", "paid in full", "p i f", "pif", "repaid", "yes"),
    *("completed", "closed", "non default", "no default", "non defaulted", "not default", "won"),
    *("success", "bought", "subscribed", "current and paid", "finalpaymentincomplete paid"),
    *("converted", "satisfactory", "performing", "settled in full"),
)
BAD_WORDS = (
    *("bad", "charged off", "chgoff", "charge off", "chargeoff", "chargedoff", "default"),
    *("defaulted", "no", "lost", "loss", "written off", "not paid", "unpaid", "failure"),
    *("non performing", "delinquent", "rejected"),
)
OPEN_WORDS = (
    *("current", "open", "active", "in grace", "late", "issued", "pending", "ongoing"),
    *("past due", "final payment in progress", "exempt", "commit", "running"),
)
NO_OFFER = (
    "control",
    "no e mail",
    "no email",
    "none",
    "no offer",
    "untreated",
    "placebo",
    "holdout",
)
OFFER = ("treatment", "treated", "test", "mailed", "offer", "exposed", "active")


@dataclass(frozen=True)
class Candidate:
    """A column that may have a role, what to give, and why."""

    role: str
    column: str
    option: str  # what to give on the command line
    reason: str
    weight: float  # the larger, the likelier
    is_back: bool = False  # whether it is money that came back of an amount

    def __str__(self) -> str:
        return f"{self.role}: {self.option} ({self.reason})"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "role": self.role,
            "column": self.column,
            "option": self.option,
            "reason": self.reason,
        }


class Finder:
    """Finds candidates for each role among profiles of columns."""

    def __init__(self, columns: Sequence[ColumnProfile]) -> None:
        self.columns = list(columns)
        self.by_name = {each.name: each for each in columns}
        self.rows = columns[0].codes.size if columns else 0

    def found(self) -> list[Candidate]:
        """Return the candidates of all roles, the likeliest of a role first."""
        return [each for role in ROLE_FINDERS for each in self.of(role)]

    def of(self, role: str) -> list[Candidate]:
        """Return the candidates of a role, the likeliest first."""
        listed = [
            each for each in ROLE_FINDERS[role](self) if each.role == role and each.weight > 0
        ]
        return sorted(listed, key=lambda each: -each.weight)

    def first(self, role: str) -> Candidate | None:
        """Return the likeliest candidate of a role."""
        return next(iter(self.of(role)), None)

    # ---------------------------------------------------------------------------- times

    @cached_property
    def _times(self) -> list[Candidate]:
        found: list[Candidate] = []
        dates = [
            each for each in self.columns if each.kind == Kind.DATE and each.missing <= FEW_ROWS
        ]
        for each in dates:
            assert each.times is not None
            given = each.times[each.times != MISSING].astype(np.float64)
            early, late = np.quantile(given, [FEW_ROWS, 1.0 - FEW_ROWS])
            span = float(late - early) / MICROSECONDS_A_YEAR
            weight = 3.0
            weight += 2.0 * hinted(each.name, "asked")
            weight -= 4.0 * hinted(each.name, "not asked")
            weight += 2.0 * (order_of(in_order(each)) == "sorted")
            weight -= 3.0 * (span > LONGEST_SPAN)
            weight -= each.missing
            # A client asks before anything else is known.
            others = [other for other in dates if other is not each]
            weight += 0.5 * all(self._before(each, other) for other in others)
            # Of two dates that ask, the decision is the earlier one.
            weight -= 0.1 * self.columns.index(each) / len(self.columns)
            if each.different >= 3:
                reason = f"{each.type}, {each.values}"
                found.append(Candidate("time", each.name, each.name, reason, weight))
        if found:
            return found
        joined = list(self._joined_times())
        parts = {part for each in joined for part in each.column.split(",")}
        return joined + [each for each in self._numbered_times() if each.column not in parts]

    def _before(self, first: ColumnProfile, second: ColumnProfile) -> bool:
        assert first.times is not None
        assert second.times is not None
        early = rounds.before(second.times, first.times, first.time_kind, second.time_kind)
        return float(early.mean()) <= FEW_ROWS

    def _numbered_times(self) -> Iterator[Candidate]:
        for each in self.columns:
            if each.kind != Kind.WHOLE or each.numbers is None or each.missing > FEW_ROWS:
                continue
            low, high = each.ends
            is_period = hinted(each.name, "period") and not hinted(each.name, "not asked")
            is_sorted = order_of(in_order(each)) == "sorted"
            # Numbers of a month repeat every year, and those of its days every month.
            repeats = high <= 31 and low >= 0 and not is_sorted
            if hinted(each.name, "not amount") or not is_period or each.different < 3:
                continue
            if high - low < MOST_PERIODS and (not repeats or high not in (12, 31)):
                weight = 2.0 + is_sorted
                yield Candidate(
                    "time", each.name, each.name, f"whole numbers, {each.values}", weight
                )

    def _joined_times(self) -> Iterator[Candidate]:
        """Yield a year, a month and a day in columns of their own."""
        year = self._part("year", lambda low, high: low >= 1900 and high <= 2100)
        month = self._part("month", lambda low, high: low >= 1 and high <= 12)
        day = self._part("day", lambda low, high: low >= 1 and high <= 31)
        names = next((each for each in self.columns if is_month_name(each)), None)
        if year is None or (month is None and names is None):
            return
        parts = [year.name, (names or month).name]  # type: ignore[union-attr]
        formats = ["%Y", "%m" if names is None else "%b" if is_short(names) else "%B"]
        if day is not None:
            parts.append(day.name)
            formats.append("%d")
        reason = f"together they are a date, {' '.join(formats)}"
        yield Candidate("time", ",".join(parts), " ".join(parts), reason, 4.0)

    def _part(self, name: str, fits: Callable[[float, float], bool]) -> ColumnProfile | None:
        for each in self.columns:
            is_named = name in words(each.name).split()
            if (
                each.kind == Kind.WHOLE
                and each.missing <= FEW_ROWS
                and is_named
                and fits(*each.ends)
            ):
                return each
        return None

    @cached_property
    def asked(self) -> ColumnProfile | None:
        """The column of the likeliest time, if it is one of dates."""
        best = next(iter(self.of("time")), None)
        found = self.by_name.get(best.column) if best is not None else None
        return found if found is not None and found.times is not None else None

    def _later(self) -> Iterator[tuple[ColumnProfile, float, float]]:
        """Yield dates that lie after the client asked, and shares: early and later."""
        asked = self.asked
        if asked is None or asked.times is None:
            return
        for each in self.columns:
            if each.kind != Kind.DATE or each is asked or each.times is None:
                continue
            if not (each.times != MISSING).any():
                continue
            kinds = each.time_kind, asked.time_kind
            given = (each.times != MISSING) & (asked.times != MISSING)
            early = rounds.before(each.times, asked.times, asked.time_kind, each.time_kind)
            later = rounds.before(asked.times, each.times, *kinds)
            share = given.sum() or 1
            if early.sum() / share <= FEW_ROWS and later.sum() / share >= 0.2:
                yield each, float(early.sum() / share), float(later.sum() / share)

    def ends(self) -> Iterator[Candidate]:
        """Yield dates at which outcomes were known, loans defaulted, or closed."""
        for each, early, later in self._later():
            reason = (
                f"dates after the client asked in {percent_text(later)} of the rows that have one"
            )
            if each.missing:
                reason += f", missing in {percent_text(each.missing)}"
            weight = 1.0 - 5.0 * early + (early == 0.0)
            is_default = hinted(each.name, "defaulted")
            if is_default and each.missing >= 0.3:
                yield Candidate("defaulted", each.name, each.name, reason, 3.0 + weight)
                continue
            is_closing = hinted(each.name, "closed")
            if is_closing:
                yield Candidate("closed", each.name, each.name, reason, 3.0 + weight)
            is_known = hinted(each.name, "known") or is_closing
            never = hinted(each.name, "never known by")
            starts = hinted(each.name, "asked") and not is_known
            if not never and not starts:
                yield Candidate(
                    "known",
                    each.name,
                    each.name,
                    reason,
                    weight + 3.0 * is_known - 2.0 * each.missing,
                )

    # ---------------------------------------------------------------------------- money

    def _positive(self, least: int = FEWEST_AMOUNTS) -> Iterator[tuple[ColumnProfile, FloatArray]]:
        """Yield columns of so many different numbers at least."""
        for each in self.columns:
            if each.kind in NUMERIC_KINDS and each.numbers is not None and each.different >= least:
                yield each, each.numbers

    def amounts(self) -> Iterator[Candidate]:
        """Yield amounts lent."""
        for each, values in self._positive(least=2):  # some lend in a few sizes only
            given = values[~np.isnan(values)]
            wrong = float((given <= 0.0).mean())
            if not given.size or wrong > FEW_ROWS or each.missing > 0.2 or given.max() < 50.0:
                continue
            named = hinted(each.name, "amount")
            if hinted(each.name, "not amount") or is_running_number(each) or not named:
                continue
            rounded = float((given % ROUND_AMOUNT == 0.0).mean())
            weight = 3.0 + 2.0 * rounded - 20.0 * wrong + (each.kind == Kind.MONEY)
            weight -= 0.05 * name_place(each.name, "amount")
            reason = f"{each.values}, {percent_text(rounded)} multiples of 25"
            yield Candidate("amount", each.name, each.name, reason, weight)

    @cached_property
    def lent(self) -> ColumnProfile | None:
        """The column of the likeliest amount."""
        best = self.first("amount")
        return None if best is None else self.by_name[best.column]

    @cached_property
    def ended(self) -> BoolArray:
        """Whether no status says that a client is still open, [n]."""
        found = np.full(self.rows, True)
        for each in self.columns:
            if is_status(each):
                unknown = open_words(each)
                still = [place for place, word in enumerate(each.words, 1) if word in unknown]
                found &= ~np.isin(each.codes, [0, *still])
        return found if found.any() else np.full(self.rows, True)

    def _ratios(self) -> Iterator[tuple[ColumnProfile, FloatArray]]:
        """Yield columns of money, per unit of the amount lent."""
        if self.lent is None or self.lent.numbers is None:
            return
        amount = self.lent.numbers
        for each, values in self._positive(least=2):
            if each is self.lent:
                continue
            both = ~np.isnan(values) & (amount > 0.0) & self.ended
            if both.any():
                yield each, values[both] / amount[both]

    def backs(self) -> Iterator[Candidate]:
        """Yield what came back of an amount: about as much, and less in some rows."""
        for each, ratio in self._ratios():
            middle = float(np.median(ratio))
            lost = float((ratio < 0.8).mean())
            if not 0.7 <= middle <= 2.0 or not 0.002 <= lost <= 0.6 or ratio.min() < -0.5:
                continue
            named = hinted(each.name, "back")
            is_code = each.different < FEWEST_AMOUNTS and not named
            if is_code or np.isnan(ratio).any() or hinted(each.name, "funded"):
                continue
            is_part = hinted(each.name, "part of back")
            weight = 2.0 + 3.0 * named - 2.0 * is_part
            reason = (
                f"about as much as {self.lent.name if self.lent else ''} (median "
                f"{number_text(middle, 3)} of it), and less than 0.8 in {percent_text(lost)} of "
                "the rows"
            )
            yield Candidate("reward", each.name, each.name, reason, weight + 3.0, is_back=True)

    def losses(self) -> Iterator[Candidate]:
        """Yield what was lost of an amount: nothing in most rows."""
        for each, ratio in self._ratios():
            zero = float((ratio == 0.0).mean())
            is_part = float(((ratio >= 0.0) & (ratio <= 1.0)).mean()) >= 0.95
            if hinted(each.name, "loss") and 0.4 <= zero < 1.0 and is_part:
                reason = f"0 in {percent_text(zero)} of the rows, else a part of the amount"
                yield Candidate("loss", each.name, each.name, reason, 3.0)

    # ------------------------------------------------------------------------- outcomes

    @cached_property
    def is_credit(self) -> bool:
        """Whether the names of the file are those of loans."""
        return sum(hinted(each.name, "credit") for each in self.columns) >= 2

    def flags(self) -> Iterator[Candidate]:
        """Yield outcomes with two values, or a few words of which one is good."""
        for place, each in enumerate(self.columns):
            if (
                each.different < 2
                or each.different > 12
                or each.kind not in (Kind.YES_NO, Kind.TEXT, Kind.WHOLE)
            ):
                continue
            named = hinted(each.name, "status")
            good = good_word(each)
            is_two = each.different == 2
            if not (named or good) or (not good and not is_two):
                continue
            exactly = words(each.name) in ("y", "target", "label", "outcome", "class")
            weight = 2.0 * named + 2.0 * (good is not None) + exactly
            weight += 0.5 * (place == len(self.columns) - 1) - each.missing
            if each.kind == Kind.YES_NO and not named:
                continue
            option, reason = self._flag_option(each, good)
            yield Candidate("reward", each.name, option, reason, weight)

    def _last(self) -> Iterator[Candidate]:
        """Yield the last column, where tables have outcomes, if it has two values."""
        last = self.columns[-1]
        if last.kind == Kind.YES_NO and last.different == 2:
            option, reason = self._flag_option(last, None)
            yield Candidate("reward", last.name, option, f"{reason}; the last column", 1.0)

    def _flag_option(self, column: ColumnProfile, good: str | None) -> tuple[str, str]:
        if good is not None and column.kind == Kind.TEXT:
            share = column.shares[column.words.index(good)]
            return f"{column.name}={good}", f"text, {percent_text(share)} are {good}"
        most = column.words[0]
        is_bad = hinted(column.name, "bad")
        if is_bad or (self.is_credit and not hinted(column.name, "good")):
            share = column.shares[0]
            if is_bad and column.kind == Kind.YES_NO:
                zero = next(word for word in column.words if is_no(word))
                share = column.shares[column.words.index(zero)]
                return f"{column.name}={zero}", f"a sign of losses: {zero} in {percent_text(share)}"
            return (
                f"{column.name}={most}",
                f"two values, and most clients have {most} ({percent_text(share)})",
            )
        if column.kind == Kind.YES_NO:
            one = next(word for word in column.words if not is_no(word))
            share = column.shares[column.words.index(one)]
            option = column.name if one == "1" else f"{column.name}={one}"
            return option, f"two values, {one} in {percent_text(share)}"
        rare = column.words[1]
        return f"{column.name}={rare}", f"two values, {rare} in {percent_text(column.shares[1])}"

    def claims(self) -> Iterator[Candidate]:
        """Yield what clients of an insurance cost: nothing in most rows."""
        for each, values in self._positive():
            zero = float((values == 0.0).mean())
            if hinted(each.name, "claimed") and 0.4 <= zero < 1.0 and each.ends[0] >= 0.0:
                reason = f"{each.values}, 0 in {percent_text(zero)}"
                yield Candidate("claim", each.name, each.name, reason, 3.0)

    def premiums(self) -> Iterator[Candidate]:
        """Yield what clients of an insurance pay."""
        for each, values in self._positive(least=2):
            if hinted(each.name, "premium") and float((values > 0.0).mean()) >= 1.0 - FEW_ROWS:
                yield Candidate("premium", each.name, each.name, each.values, 3.0)

    def gains(self) -> Iterator[Candidate]:
        """Yield numbers that a client brings."""
        for each, values in self._positive():
            if not hinted(each.name, "gain") or hinted(each.name, "rate"):
                continue
            given = values[~np.isnan(values)]
            has_both = bool((given < 0.0).any() and (given > 0.0).any())
            zeros = float((given == 0.0).mean())
            reason = f"{each.values}" + (f", 0 in {percent_text(zeros)}" if zeros > 0.1 else "")
            yield Candidate("reward", each.name, each.name, reason, 3.5 + has_both)

    def rewards(self) -> Iterator[Candidate]:
        """Yield outcomes of all kinds."""
        yield from self.backs()
        named = [*self.flags(), *self.gains()]
        yield from named or self._last()

    # ---------------------------------------------------------------------------- loans

    def terms(self) -> Iterator[Candidate]:
        """Yield terms of loans in months."""
        for each in self.columns:
            if each.kind != Kind.WHOLE or each.missing > FEW_ROWS or not hinted(each.name, "term"):
                continue
            assert each.numbers is not None
            if np.mean(each.numbers < 1.0) <= FEW_ROWS and each.ends[1] <= MOST_MONTHS:
                yield Candidate("term", each.name, each.name, f"{each.values} months", 3.0)

    def rates(self) -> Iterator[Candidate]:
        """Yield rates of interest a year."""
        for each in self.columns:
            if each.kind not in NUMERIC_KINDS or each.numbers is None or each.missing > FEW_ROWS:
                continue
            low, high = each.ends
            if low >= 0.0 and high <= 100.0 and hinted(each.name, "rate"):
                is_share = high <= 1.0 or each.kind == Kind.PERCENT
                reason = f"{each.values}" + ("" if is_share else ", per cent")
                yield Candidate("rate", each.name, each.name, reason, 2.0 + is_share)

    # ------------------------------------------------------------------ past decisions

    def _two(self) -> Iterator[ColumnProfile]:
        for each in self.columns:
            if (
                each.different == 2
                and each.kind in (Kind.YES_NO, Kind.TEXT)
                and each.missing <= FEW_ROWS
            ):
                yield each

    def accepted(self) -> Iterator[Candidate]:
        """Yield whom the past accepted."""
        for each in self._two():
            if each.kind == Kind.YES_NO and hinted(each.name, "accepted"):
                yes = sum(
                    share
                    for word, share in zip(each.words, each.shares, strict=True)
                    if not is_no(word)
                )
                yield Candidate(
                    "accepted", each.name, each.name, f"{percent_text(yes)} were accepted", 3.0
                )

    def treated(self) -> Iterator[Candidate]:
        """Yield who got an offer, beside a control group."""
        for each in self._two():
            if each.kind == Kind.YES_NO and hinted(each.name, "treated"):
                one = next(word for word in each.words if not is_no(word))
                share = each.shares[each.words.index(one)]
                yield Candidate(
                    "treated", each.name, each.name, f"{one} in {percent_text(share)}", 3.0
                )
            elif each.kind == Kind.YES_NO and hinted(each.name, "control"):
                zero = next(word for word in each.words if is_no(word))
                share = each.shares[each.words.index(zero)]
                option = f"{each.name}={zero}"
                yield Candidate(
                    "treated", each.name, option, f"control is 0 in {percent_text(share)}", 3.0
                )
        for each in self.columns:
            if each.kind != Kind.TEXT or each.missing or not 2 <= each.different <= MOST_GROUPS:
                continue
            control = next((word for word in each.words if is_no_offer(word, each)), None)
            is_named = any(hinted(each.name, what) for what in ("group", "treated", "control"))
            if control is not None and is_named:
                share = 1.0 - each.shares[each.words.index(control)]
                option = f"{quoted(each.name)} != {control!r}"
                if each.different == 2:
                    option = f"{each.name}={next(word for word in each.words if word != control)}"
                reason = f"others than {control} in {percent_text(share)}"
                yield Candidate("treated", each.name, option, reason, 3.0)

    def is_treated(self, candidate: Candidate) -> BoolArray:
        """Whether each client is treated or accepted, [n]."""
        column = self.by_name[candidate.column]
        option = candidate.option
        if option == candidate.column:
            chosen = [word for word in column.words if not is_no(word)]
        elif option.startswith(f"{candidate.column}="):
            chosen = [option.partition("=")[2]]
        else:
            chosen = [word for word in column.words if not is_no_offer(word, column)]
        codes = [column.words.index(word) + 1 for word in chosen]
        return np.isin(column.codes, codes)

    # ----------------------------------------------------------------------- categories

    def categories(self) -> Iterator[Candidate]:
        """Yield columns with a few values, or numbers that are cut into bands.

        What may be an outcome is none of them.
        """
        outcomes = {each.column for role in ("reward", "loss", "claim") for each in self.of(role)}
        for each in self.columns:
            is_late = each.name in outcomes or hinted(each.name, "afterwards")
            if is_late or is_running_number(each):
                continue
            if each.missing > MOST_MISSING or each.kind == Kind.DATE or each.different < 2:
                continue
            if hinted(each.name, "id") or hinted(each.name, "period"):
                continue
            place = name_place(each.name, "category")
            named = place < len(FRAGMENTS["category"])
            weight = 1.0 + 3.0 * named - 0.02 * place - each.missing
            if each.kind in (Kind.TEXT, Kind.YES_NO) or (
                each.kind == Kind.WHOLE and each.different <= 12
            ):
                if each.different > MOST_CATEGORIES_SHOWN or each.shares[0] > LARGEST_CATEGORY:
                    continue
                weight += (4 <= each.different <= 30) + 0.5 * (each.kind == Kind.TEXT)
                reason = f"{each.different} values"
                yield Candidate("category", each.name, each.name, reason, weight)
            elif each.kind in NUMERIC_KINDS and each.different > 20:
                option = f"{each.name}:q5"
                reason = f"{each.values}, cut into fifths"
                yield Candidate("category", each.name, option, reason, max(weight - 2.0, 0.1))


def quoted(name: str) -> str:
    """Return a name as expressions have it."""
    return name if name.isidentifier() and not iskeyword(name) else f"`{name}`"


def is_no(word: str) -> bool:
    """Whether a word is a no."""
    return word.strip().lower() in ("0", "false", "no", "f", "n", "0.0")


def is_no_offer(word: str, column: ColumnProfile) -> bool:
    """Whether a word names clients without an offer: "no mail" beside "mail"."""
    plain, others = words(word), [words(each) for each in column.words if each != word]
    return plain in NO_OFFER or any(plain in (f"no {each}", f"not {each}") for each in others)


def good_word(column: ColumnProfile) -> str | None:
    """Return the word of a good outcome, if another one is bad."""
    if column.kind != Kind.TEXT or column.different > 12:
        return None
    plain = {word: words(word) for word in column.words}
    bad = [word for word, text in plain.items() if text in BAD_WORDS]
    for good in GOOD_WORDS:
        for word, text in plain.items():
            if text == good and bad:
                return word
    return None


def open_words(column: ColumnProfile) -> list[str]:
    """Return the words of a status whose outcome is not known yet."""
    if column.kind != Kind.TEXT or column.different > MOST_WORDS or not is_status(column):
        return []
    return [word for word in column.words if words(word).startswith(OPEN_WORDS)]


def is_status(column: ColumnProfile) -> bool:
    """Whether a column says how clients ended."""
    plain = {words(word) for word in column.words}
    return hinted(column.name, "status") and bool(plain & {*GOOD_WORDS, *BAD_WORDS})


def is_month_name(column: ColumnProfile) -> bool:
    """Whether a column holds names of months."""
    if column.kind != Kind.TEXT or not 2 <= column.different <= 12:
        return False
    return all(word[:3].lower() in MONTH_NAMES for word in column.words)


def is_short(column: ColumnProfile) -> bool:
    """Whether names of months have three letters."""
    return max(map(len, column.words)) == 3


MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ROLE_FINDERS: dict[str, Callable[[Finder], Any]] = {
    "time": lambda finder: finder._times,
    "category": Finder.categories,
    "reward": Finder.rewards,
    "amount": Finder.amounts,
    "loss": Finder.losses,
    "claim": Finder.claims,
    "premium": Finder.premiums,
    "known": Finder.ends,
    "defaulted": Finder.ends,
    "closed": Finder.ends,
    "term": Finder.terms,
    "rate": Finder.rates,
    "accepted": Finder.accepted,
    "treated": Finder.treated,
}
