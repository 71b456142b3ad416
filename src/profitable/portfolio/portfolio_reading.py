"""What a portfolio says: its status, lines of the journal in words, and why it decided.

A status is read from the state, however long the journal.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa

from profitable.agent.agent import Agent
from profitable.agent.cutoff_table import CutoffTable
from profitable.agent.explanation import PROFIT_UNKNOWN, Verdict, columns_of
from profitable.common import check
from profitable.common.extras import frame_of
from profitable.common.text_tables import (
    ROWS_SHOWN,
    html_table,
    money_text,
    number_text,
    several,
    text_table,
)
from profitable.errors import ParameterError
from profitable.portfolio.journal import (
    LINE_KINDS,
    Head,
    Line,
    altered,
    chain_of,
    forms_in,
    journal,
    journal_lines,
    newest,
)
from profitable.portfolio.loans import ended_of, ended_text
from profitable.portfolio.stored_decision import REINSTATED, RecordedDecision, decided_at

LOG_HEADERS = ("line", "time", "actor", "kind", "what")


class JournalExtract(list[Line]):
    """Some lines of a journal, the oldest first; `print` puts them into words."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """One object for each line, with its body read."""
        return [{**line._asdict(), "body": line.content if line.body else None} for line in self]

    def __str__(self) -> str:
        rows = [
            (
                number_text(line.line),
                _to_seconds(line.time),
                line.actor,
                line.kind,
                line_text(line),
            )
            for line in self
        ]
        return text_table(LOG_HEADERS, rows, words=(1, 2, 3, 4)) if rows else "no lines"


def _to_seconds(time: str) -> str:
    return time[:19].replace("T", " ")


def line_text(line: Line) -> str:
    """Return a line in words; BrokenPortfolioError if a part of it is missing."""
    try:
        return _line_text(line)
    except (KeyError, TypeError, ValueError):
        raise altered(line.line) from None


def _line_text(line: Line) -> str:
    content, key = line.content, "" if line.id is None else f", key {line.id}"
    match line.kind:
        case "create":
            name = f"{content['name']}, " if content["name"] else ""
            return f"{name}begun{' as a shadow' if content['shadow'] else ''}"
        case "decide":
            columns, again = content["columns"], ""
            accepted = sum(map(bool, columns.get("granted", columns["accepted"])))
            if REINSTATED in content:
                again = f" ({REINSTATED}, decided {_to_seconds(decided_at(line))})"
            chosen = f"{number_text(accepted)} of {number_text(len(columns['name']))} accepted"
            return f"round {number_text(line.round)}{key}: {chosen}{again}"
        case "open" if "term" in content:
            rate = "" if "rate" not in content else f" at {100.0 * content['rate']:.4g} %"
            return (
                f"{line.id} of {line.category}, accepted in round {line.decision}, over"
                f" {number_text(content['term'])} rounds{rate}"
            )
        case "open":
            later = (
                ""
                if line.matures is None
                else f", matures {number_text(line.matures)} rounds later"
            )
            return f"{line.id} of {line.category}, accepted in round {line.decision}{later}"
        case "outcome":
            since = "" if line.decision is None else f", accepted in round {line.decision}"
            said = ended_text(ended_of(line)) if "term" in content else _money(line)
            return f"{line.id} of {line.category}: {said}{since}"
        case "correct" if "term" in content:
            before = f"{ended_text(content['was'])} was wrong, " if content["was"] else ""
            after = ended_text(ended_of(line))
            reason = f" ({content['reason']})" if content.get("reason") else ""
            if content["was"] == content["now"]:
                before = ""
            return f"line {line.refers}: {before}{after}{reason}{key}"
        case "correct":
            after = "taken back" if line.reward is None else _money(line)
            reason = f" ({content['reason']})" if content.get("reason") else ""
            before = f"reward {content['was']['reward']:.12g} was wrong, "
            if content["was"] == content["now"]:
                before = ""
            return f"line {line.refers}: {before}{after}{reason}{key}"
        case "upgrade":
            versions = f"schema version {content['from']} becomes {content['to']}"
            return f"{versions}; the state was recomputed"
        case "restore":
            return (
                f"restored from {content['from']}, "
                f"which ends with line {number_text(line.line - 1)}"
            )
        case "change" if content["setting"] == "category":
            return f"new category {line.category}"
        case "change":
            whose = "" if line.category is None else f" of {line.category}"
            before, after = _shown(content["from"]), _shown(content["to"])
            becomes = f"{before} becomes " if before != after else ""
            return f"{content['setting']}{whose}: {becomes}{after}{key}"


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


def chosen_lines(
    connection: sa.Connection,
    agent: Agent,
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    category: str | None = None,
    kind: str | None = None,
    id: str | None = None,
    limit: int | None = None,
) -> Iterable[Line]:
    """Return the lines that `Portfolio.log` describes; InputError for wrong filters."""
    if category is not None:
        agent.category(category)  # which must be there
    conditions = (
        None if since is None else journal.c.time >= moment("since", since),
        None if until is None else journal.c.time < moment("until", until, after=True),
        None if category is None else journal.c.category == category,
        None if kind is None else journal.c.kind == kind,
    )
    if kind is not None and kind not in LINE_KINDS:
        raise ParameterError("kind", kind, "is unknown", f"choose from {', '.join(LINE_KINDS)}")
    chosen = [condition for condition in conditions if condition is not None]
    if id is not None:
        if chosen:
            raise ParameterError(
                "id", id, "cannot be combined with other filters", "leave them out"
            )
        return _story(connection, id)
    if limit is not None:
        return [*newest(connection, *chosen, limit=check.whole("limit", limit))][::-1]
    return (line.sound() for line in journal_lines(connection, *chosen))


def moment(field: str, value: object, *, after: bool = False) -> str:
    """Return a time as the journal writes it; with `after`, the end of a day.

    >>> moment("since", "2026-01-01"), moment("until", "2026-01-31", after=True)
    ('2026-01-01T00:00:00.000000Z', '2026-02-01T00:00:00.000000Z')
    """
    given = value
    if isinstance(value, date) and not isinstance(value, datetime):
        given = value.isoformat()
    is_day = isinstance(given, str) and len(given.strip()) <= len("2026-01-31")
    try:
        read = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        read = None
    if not isinstance(read, datetime):
        raise ParameterError(
            field, value, "must be a date", "give one as 2026-01-31 or 2026-01-31T08:00"
        )
    try:
        if read.tzinfo is not None:
            read = read.astimezone(UTC).replace(tzinfo=None)
        if after and is_day:
            read += timedelta(days=1)
    except OverflowError:
        # The first or the last day of the calendar, by which people mean all there is.
        read = datetime.min if read.year == datetime.min.year else datetime.max
    return read.isoformat(timespec="microseconds") + "Z"


def _story(connection: sa.Connection, id: str) -> list[Line]:
    """All lines about one client, or about one key: opened, outcome, corrections."""
    found = newest(connection, journal.c.id.in_(forms_in(connection, id)))
    lines = {each.line: each for line in found for each in chain_of(connection, line)}
    return [lines[place] for place in sorted(lines)]


SHOWN = 10  # outcomes and settings that are listed
REINSTATED_NOTE = (
    "It was put back from its file: outcomes that it knew may be missing below, or come later."
)


def explanation(connection: sa.Connection, decision: RecordedDecision, category: str) -> str:
    """Explain a stored decision by its numbers and the last known outcomes."""
    verdict = decision[category]
    said = "accepted" if verdict.accepted else "not accepted"
    who = (
        f"{decision.actor} with profitable {decision.version}, in line {number_text(decision.line)}"
    )
    shadow = " This portfolio is a shadow: nobody acted on it." if decision.is_shadow else ""
    chance = "unknown" if verdict.propensity is None else f"{100.0 * verdict.propensity:.4g} %"
    evidence = (
        f"Evidence {number_text(verdict.evidence)}, patience {number_text(verdict.patience)} nats"
    )
    known = f"{number_text(verdict.clients)} outcomes"
    if verdict.loans is not None:
        known = f"{number_text(verdict.clients)} loans that ended"
    elif verdict.counted != verdict.clients:
        known += f", which counted as {number_text(verdict.counted)}"
    if verdict.loans is None and verdict.mean is not None:
        known += f", with mean {number_text(verdict.mean)}"
    if verdict.waiting:
        known += f"; {number_text(verdict.waiting)} accepted clients had no outcome yet"
    lines = [
        f"{category} was {said} in round {number_text(decision.round)} (key {decision.key}).",
        f"Decided {_to_seconds(decision.time)} UTC by {who}.{shadow}",
        *([REINSTATED_NOTE] if decision.reinstated else []),
        f"Policy {decision.policy}: {verdict.reason}.",
        f"{evidence}; its chance was {chance}.",
        f"Threshold {number_text(verdict.threshold)}. Known: {known}.",
        *_loans(verdict),
        *_behind(connection, decision, category),
        *_settings(connection, decision, category),
    ]
    return "\n".join(lines)


def _loans(verdict: Verdict) -> list[str]:
    """Return what the lending book said, unless the reason says it."""
    if verdict.loans is None or (said := verdict.loans.sentence()) in verdict.reason:
        return []
    return [f"Loans: {said}."]


def _behind(connection: sa.Connection, decision: RecordedDecision, category: str) -> list[str]:
    """Return the outcomes that were known, the last of them one by one."""
    chosen = (
        journal.c.category == category,
        journal.c.line < decision.line,
        journal.c.kind.in_(("outcome", "correct")),
    )
    found = [*newest(connection, *chosen, limit=SHOWN)][::-1]
    if not found:
        return ["No outcome of it was reported before."]
    rows = [
        (number_text(each.line), _to_seconds(each.time), each.actor, line_text(each))
        for each in found
    ]
    head = (
        "The outcomes behind it:" if len(found) < SHOWN else f"The last {SHOWN} outcomes behind it:"
    )
    return [head, text_table(("line", "time", "actor", "what"), rows, words=(1, 2, 3))]


def _settings(connection: sa.Connection, decision: RecordedDecision, category: str) -> list[str]:
    mine = sa.or_(journal.c.category == category, journal.c.category.is_(None))
    chosen = (journal.c.kind == "change", journal.c.line < decision.line, mine)
    return [
        f"Setting, line {number_text(each.line)}, {each.time[:10]} by {each.actor}: "
        f"{line_text(each)}."
        for each in [*newest(connection, *chosen, limit=SHOWN)][::-1]
    ]


# ------------------------------------------------------------------------------- status


STATUS_HEADERS = (
    "category",
    "accepted",
    "waiting",
    "held",
    "counted",
    "mean",
    "threshold",
    "profit",
    "evidence",
    "patience",
)
LOAN_HEADERS = (
    "category",
    "accepted",
    "waiting",
    "defaults",
    "affordable",
    "multiplier",
    "break_even",
    "pays",
    "evidence",
    "patience",
)


UNKNOWN = ("held", "counted", "mean", "profit")  # of a portfolio that lends


@dataclass(frozen=True)
class Status:
    """Where a portfolio stands.

    `columns` has a list for each quantity, in the order of the categories:

    - `accepted`: clients who were accepted; of them, `waiting` have no outcome yet.
    - `held`: outcomes that are known, and count when their cohort has matured.
    - `counted`: as how many observations the known outcomes count now; their `mean`.
    - `profit`: what they brought, less what they cost.
    - `evidence` against the category, and the `patience` of the next round; None where
      patience is drawn at random.
    - `chance`: the probability with which the next round accepts it.

    `cutoffs` are the cut-off tables of its orders.

    A portfolio that lends has the fields of `LoanStanding` in place of `held`,
    `counted`, `mean` and `profit`, which it cannot know; its JSON says why.
    """

    where: str
    name: str
    is_shadow: bool
    policy: str
    round: int
    head: Head
    columns: dict[str, list[Any]]
    cutoffs: tuple[CutoffTable, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["category"])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, one object per category; infinite ones are None."""
        rows = [
            {
                key: None if isinstance(value, float) and not math.isfinite(value) else value
                for key, value in zip(self.columns, row, strict=True)
            }
            for row in zip(*self.columns.values(), strict=True)
        ]
        return {
            "portfolio": self.where,
            "name": self.name,
            "shadow": self.is_shadow,
            "policy": self.policy,
            "round": self.round,
            "profit": self.profit,
            **({"profit_unknown": PROFIT_UNKNOWN} if self.profit is None else {}),
            "head": self.head._asdict(),
            "categories": rows,
            **({"orders": [each.to_dict() for each in self.cutoffs]} if self.cutoffs else {}),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the same as a dataframe; see `Agent.to_frame` for `backend`."""
        return frame_of(self.columns, backend)

    @property
    def profit(self) -> float | None:
        """The profit of all categories together; None if the portfolio lends."""
        profits = self.columns.get("profit")
        return None if profits is None else float(sum(profits))

    def _caption(self) -> str:
        shadow = ", a shadow that nobody acts on" if self.is_shadow else ""
        name = f"{self.name}, " if self.name else ""
        return (
            f"{name}{self.policy}, {number_text(len(self))} categories, "
            f"{several(self.round, 'round')}, profit {money_text(self.profit)}{shadow}"
        )

    @property
    def _headers(self) -> tuple[str, ...]:
        return STATUS_HEADERS if "profit" in self.columns else LOAN_HEADERS

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for i in range(min(len(self), ROWS_SHOWN)):
            each = {key: column[i] for key, column in self.columns.items()}
            numbers = [
                money_text(each[key]) if key == "profit" else number_text(each[key])
                for key in self._headers[1:]
            ]
            chance = "paused" if each["paused"] else f"{100.0 * each['chance']:.3g} %"
            rows.append([each["category"], *numbers, chance])
        return rows

    def __str__(self) -> str:
        hidden = len(self) - ROWS_SHOWN
        rest = f"\n... and {number_text(hidden)} more" if hidden > 0 else ""
        tables = "".join(f"\n\nOrder {each.order}:\n{each}" for each in self.cutoffs)
        rows = text_table((*self._headers, "next round"), self._rows())
        return f"{self._caption()}\n{rows}{rest}{tables}"

    def _repr_html_(self) -> str:
        return html_table(self._caption(), (*self._headers, "next round"), self._rows())


def status_columns(agent: Agent) -> dict[str, list[Any]]:
    """Return the columns of a status."""
    ledger, everyone = agent.ledger, np.arange(len(agent))
    known, preview = columns_of(ledger, everyone), agent.preview()
    held = [0] * len(agent)
    if ledger.cohorts:
        held = [ledger.cohorts.tally(k, ledger.round).kept for k in range(len(agent))]
    drawn = agent.policy.draws and agent.round > 0
    found: dict[str, list[Any]] = {
        "category": known["name"],
        "accepted": [a + b for a, b in zip(known["clients"], known["waiting"], strict=True)],
        "waiting": known["waiting"],
        "held": held,
        "known": known["clients"],
        "counted": known["counted"],
        "mean": known["mean"],
        "threshold": known["threshold"],
        "profit": known["profit"],
        "evidence": preview.evidence.tolist() if ledger.shares else known["evidence"],
        "patience": [None] * len(agent) if drawn else preview.patience.tolist(),
        "chance": preview.propensity.tolist(),
        "rounds": known["rounds"],
        "paused": known["paused"],
    }
    if "loans" not in known:
        return found
    loans = [asdict(each) for each in known["loans"]]
    said = {name: [each[name] for each in loans] for name in loans[0]}
    return {name: column for name, column in found.items() if name not in UNKNOWN} | said
