"""Log: lines of the journal, chosen and put into words."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, overload

import sqlalchemy as sa

from profitable.common import check
from profitable.common.text_tables import number, text_table
from profitable.errors import ParameterError
from profitable.portfolio.journal import (
    CORRECT,
    CREATE,
    DECIDE,
    LINE_KINDS,
    OPEN,
    OUTCOME,
    RESTORE,
    UPGRADE,
    Line,
    altered,
    forms_in,
    one,
)
from profitable.portfolio.recorded import REINSTATED, decided_at
from profitable.portfolio.tables import journal

LOG_HEADERS = ("line", "time", "actor", "kind", "what")


class Log(Sequence[Line]):
    """Some lines of a journal, the oldest first; `print` puts them into words."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = list(lines)

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, place: int) -> Line: ...
    @overload
    def __getitem__(self, place: slice) -> list[Line]: ...
    def __getitem__(self, place: int | slice) -> Line | list[Line]:
        return self._lines[place]

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One object for each line, with its body read."""
        return [{**line._asdict(), "body": line.content if line.body else None} for line in self._lines]

    def __str__(self) -> str:
        rows = [
            (number(line.line), line.time[:19].replace("T", " "), line.actor, line.kind, told(line)) for line in self
        ]
        return text_table(LOG_HEADERS, rows, words=(1, 2, 3, 4)) if rows else "no lines"


def told(line: Line) -> str:
    """A line in words; BrokenPortfolioError if it does not have what it should."""
    try:
        return _told(line)
    except (KeyError, TypeError, ValueError):
        raise altered(line.line) from None


def _told(line: Line) -> str:
    content, key = line.content, "" if line.id is None else f", key {line.id}"
    if line.kind == CREATE:
        name = f"{content['name']}, " if content["name"] else ""
        return f"{name}begun{' as a shadow' if content['shadow'] else ''}"
    if line.kind == DECIDE:
        columns = content["columns"]
        accepted = sum(map(bool, columns.get("granted", columns["accepted"])))
        again = f" ({REINSTATED}, decided {decided_at(line)[:19].replace('T', ' ')})" if REINSTATED in content else ""
        chosen = f"{number(accepted)} of {number(len(columns['name']))} accepted"
        return f"round {number(line.round)}, key {line.id}: {chosen}{again}"
    if line.kind == OPEN:
        later = "" if line.matures is None else f", matures {number(line.matures)} rounds later"
        return f"{line.id} of {line.category}, accepted in round {line.decision}{later}"
    if line.kind == OUTCOME:
        accepted = "" if line.decision is None else f", accepted in round {line.decision}"
        return f"{line.id} of {line.category}: {_money(line)}{accepted}"
    if line.kind == CORRECT:
        after = "taken back" if line.reward is None else _money(line)
        reason = f" ({content['reason']})" if content.get("reason") else ""
        before = f"reward {content['was']['reward']:.12g} was wrong"
        return f"line {line.refers}: {f'{before}, ' if content['was'] != content['now'] else ''}{after}{reason}{key}"
    if line.kind == UPGRADE:
        return f"schema version {content['from']} becomes {content['to']}; the state was computed anew"
    if line.kind == RESTORE:
        return f"restored from {content['from']}, which ends with line {number(line.line - 1)}"
    whose = "" if line.category is None else f" of {line.category}"
    if content["setting"] == "category":
        return f"new category {line.category}"
    before, after = _shown(content["from"]), _shown(content["to"])
    return f"{content['setting']}{whose}: {f'{before} becomes ' if before != after else ''}{after}{key}"


def _money(line: Line) -> str:
    others = ((name, getattr(line, name)) for name in ("amount", "cost"))
    more = "".join(f", {name} {value:.12g}" for name, value in others if value is not None)
    return f"reward {line.reward:.12g}{more}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value['policy']} with {value['prior']}" if isinstance(value, dict) else str(value)


def conditions(
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    category: str | None = None,
    kind: str | None = None,
) -> list[sa.ColumnElement[bool]]:
    """What lines have to meet; ParameterError for what makes no sense."""
    chosen: list[sa.ColumnElement[bool]] = []
    if since is not None:
        chosen.append(journal.c.time >= moment("since", since))
    if until is not None:
        chosen.append(journal.c.time < moment("until", until, after=True))
    if category is not None:
        chosen.append(journal.c.category == category)
    if kind is not None:
        if kind not in LINE_KINDS:
            raise ParameterError("kind", kind, "is unknown", f"choose from {', '.join(LINE_KINDS)}")
        chosen.append(journal.c.kind == kind)
    return chosen


def moment(field: str, value: object, *, after: bool = False) -> str:
    """A time as the journal writes it; of a day the beginning or, with `after`, its end.

    >>> moment("since", "2026-01-01"), moment("until", "2026-01-31", after=True)
    ('2026-01-01T00:00:00.000000Z', '2026-02-01T00:00:00.000000Z')
    """
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if isinstance(read, date) and not isinstance(read, datetime):
        read = datetime(read.year, read.month, read.day)
    if not isinstance(read, datetime):
        raise ParameterError(field, value, "is no date", "give one as 2026-01-31 or 2026-01-31T08:00")
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    is_day = is_day or (isinstance(value, str) and len(value.strip()) <= len("2026-01-31"))
    try:
        if read.tzinfo is not None:
            read = read.astimezone(UTC).replace(tzinfo=None)
        if after and is_day:
            read += timedelta(days=1)
    except OverflowError:  # the first or the last day of the calendar, by which people mean all there is
        read = datetime.min if read.year == datetime.min.year else datetime.max
    return read.isoformat(timespec="microseconds") + "Z"


def newest(connection: sa.Connection, chosen: Sequence[sa.ColumnElement[bool]], limit: int | None) -> list[Line]:
    """The newest lines that meet the conditions, the oldest of them first."""
    query = sa.select(journal).where(*chosen).order_by(journal.c.line.desc())
    if limit is not None:
        query = query.limit(check.whole("limit", limit))
    return [Line(*row).sound() for row in connection.execute(query)][::-1]


def story(connection: sa.Connection, id: str) -> list[Line]:
    """All lines about one client, or about one key: opened, outcome, corrections."""
    query = sa.select(journal).where(journal.c.id.in_(forms_in(connection, id)))
    found = [Line(*row).sound() for row in connection.execute(query)]
    lines = {line.line: line for line in found}
    for line in found:
        last = line
        while (later := one(connection, journal.c.refers == last.line)) is not None:
            lines[later.line] = last = later
    return [lines[place] for place in sorted(lines)]
