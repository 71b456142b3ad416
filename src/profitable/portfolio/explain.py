"""Why a category was accepted or refused in a round, as it was decided then."""

import sqlalchemy as sa

from profitable.common.text_tables import number, text_table
from profitable.portfolio.journal import CHANGE, CORRECT, OUTCOME, Line
from profitable.portfolio.log import told
from profitable.portfolio.recorded import RecordedDecision
from profitable.portfolio.tables import journal

SHOWN = 10  # outcomes and settings that are listed
REINSTATED_NOTE = "It was put back from its file: outcomes that it knew may be missing below, or come later."


def explanation(connection: sa.Connection, decision: RecordedDecision, category: str) -> str:
    """A text: what was decided, the numbers behind it, and the last outcomes that were known."""
    verdict = decision[category]
    when, line = f"{decision.time[:19].replace('T', ' ')} UTC", number(decision.line)
    shadow = " This portfolio is a shadow: nobody acted on it." if decision.is_shadow else ""
    chance = "unknown" if verdict.propensity is None else f"{100.0 * verdict.propensity:.4g} %"
    counted = "" if verdict.counted == verdict.clients else f", which counted as {number(verdict.counted)}"
    mean = "" if verdict.mean is None else f", with mean {number(verdict.mean)}"
    waiting = f"; {number(verdict.waiting)} accepted clients had no outcome yet" if verdict.waiting else ""
    said = "accepted" if verdict.accepted else "not accepted"
    lines = [
        f"{category} was {said} in round {number(decision.round)} (key {decision.key}).",
        f"Decided {when} by {decision.actor} with profitable {decision.version}, in line {line}.{shadow}",
        *([REINSTATED_NOTE] if decision.reinstated else []),
        f"Policy {decision.policy}: {verdict.reason}.",
        f"Evidence {number(verdict.evidence)}, patience {number(verdict.patience)} nats; its chance was {chance}.",
        f"Threshold {number(verdict.threshold)}. Known: {number(verdict.clients)} outcomes{counted}{mean}{waiting}.",
    ]
    return "\n".join([*lines, *_behind(connection, decision, category), *_settings(connection, decision, category)])


def _behind(connection: sa.Connection, decision: RecordedDecision, category: str) -> list[str]:
    """The outcomes that were known, the last of them one by one."""
    chosen = (journal.c.category == category, journal.c.line < decision.line, journal.c.kind.in_((OUTCOME, CORRECT)))
    found = _last(connection, *chosen)
    if not found:
        return ["No outcome of it was reported before."]
    rows = [(number(each.line), each.time[:19].replace("T", " "), each.actor, told(each)) for each in found]
    head = "The outcomes behind it:" if len(found) < SHOWN else f"The last {SHOWN} outcomes behind it:"
    return [head, text_table(("line", "time", "actor", "what"), rows, words=(1, 2, 3))]


def _settings(connection: sa.Connection, decision: RecordedDecision, category: str) -> list[str]:
    mine = sa.or_(journal.c.category == category, journal.c.category.is_(None))
    found = _last(connection, journal.c.kind == CHANGE, journal.c.line < decision.line, mine)
    return [f"Setting, line {number(each.line)}, {each.time[:10]} by {each.actor}: {told(each)}." for each in found]


def _last(connection: sa.Connection, *chosen: sa.ColumnElement[bool]) -> list[Line]:
    query = sa.select(journal).where(*chosen).order_by(journal.c.line.desc()).limit(SHOWN)
    return [Line(*row).sound() for row in connection.execute(query)][::-1]
