"""A setting that somebody wants to change, and whether that was done before.

Example: Ann pauses the shops, and the answer is lost.  Bob resumes them.  Ann's job sends its command again, and must
not undo what Bob did.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic_core import from_json

from profitable.errors import ConflictError
from profitable.portfolio.journal import CHANGE, Line, intact, one
from profitable.portfolio.log import told
from profitable.portfolio.outcome import Answer
from profitable.portfolio.recorded import as_text
from profitable.portfolio.tables import journal


class Setting(NamedTuple):
    """A setting: what it is now, and what it shall be."""

    name: str
    before: Any
    after: Any
    category: str | None = None

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.name if self.category is None else f"{self.name} of {self.category}"

    @property
    def body(self) -> str:
        """The body of the line that changes it."""
        return as_text({"setting": self.name, "from": self.before, "to": self.after})

    def answer(self, connection: sa.Connection, *, key: str | None, actor: str, round: int) -> Answer | None:
        """The answer if there is nothing to do, None if there is; ConflictError if it cannot be told.

        What has a key is done once.  Without one, a change that the same actor made in the same round, and that was
        changed since, is refused: it may be the old one, sent again.
        """
        if key is not None:
            found = one(connection, journal.c.kind == CHANGE, journal.c.id == key)
            return None if found is None else self._again(intact(connection, found))
        if self.before == self.after:
            return Answer(self.title, "known", "it is so already")
        if line := self._line(connection, journal.c.actor == actor, journal.c.round == round):
            problem = f"was set so by {actor} in line {line.line} of this round, and otherwise since"
            remedy = "give a key of its own, if it is to be set so once more"
            raise ConflictError(self.title, self.after, problem, remedy)
        return None

    def was_added(self, connection: sa.Connection) -> bool:
        """Whether a category was added with the very same terms before, which nobody can undo."""
        return self._line(connection) is not None

    def _line(self, connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Line | None:
        """The last line that sets it so."""
        mine = (journal.c.kind == CHANGE, journal.c.category == self.category)  # which is IS NULL for None
        chosen = sa.select(journal).where(*mine, *conditions).order_by(journal.c.line.desc())
        lines = (Line(*row).sound() for row in connection.execute(chosen))
        return next((line for line in lines if self._is_in(line)), None)

    def _is_in(self, line: Line) -> bool:
        content = line.content
        return (content["setting"], content["to"]) == (self.name, from_json(as_text(self.after)))

    def _again(self, line: Line) -> Answer:
        """The answer to a key that has a line already; ConflictError if that says something else."""
        if line.category != self.category or not self._is_in(line):
            problem = f"belongs to line {line.line} ({told(line)})"
            raise ConflictError("key", line.id, problem, "ask for the same, or give another key")
        return Answer(self.title, "known", f"set so in line {line.line}", line.line)
