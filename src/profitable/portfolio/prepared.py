"""Statements that run for every single outcome: put into SQL once, and given to the driver as they are.

SQLAlchemy's own way takes a tenth of a millisecond for each, which is as long as a disk needs to store an outcome.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

DIALECTS: dict[str, sa.Dialect] = {
    "sqlite": sqlite.dialect(),  # type: ignore[no-untyped-call]
    "postgresql": postgresql.psycopg.dialect(paramstyle="format"),  # type: ignore[no-untyped-call]
}


class Prepared:
    r"""A statement of SQLAlchemy, or one for each dialect, whose parameters are given in the order of `names`.

    >>> table = sa.table("t", sa.column("a"), sa.column("b"))
    >>> Prepared(sa.select(table).where(table.c.a == sa.bindparam("x"))).text("sqlite")
    'SELECT t.a, t.b \nFROM t \nWHERE t.a = ?'
    """

    def __init__(self, statement: sa.Executable | dict[str, Any], names: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._names = names
        self._texts: dict[str, str] = {}

    def text(self, dialect: str) -> str:
        """The SQL for a dialect."""
        if dialect not in self._texts:
            statement: Any = self._statement[dialect] if isinstance(self._statement, dict) else self._statement
            compiled = statement.compile(dialect=DIALECTS[dialect])
            assert self._names is None or [*self._names] == [*(compiled.positiontup or ())]
            self._texts[dialect] = str(compiled)
        return self._texts[dialect]

    def start(self, connection: sa.Connection, parameters: Sequence[object] = ()) -> Any:
        """Run it, and return the cursor that has the rows."""
        driver: Any = connection.connection.dbapi_connection
        return driver.execute(self.text(connection.dialect.name), parameters)

    def rows(self, connection: sa.Connection, parameters: Sequence[object] = ()) -> list[Any]:
        """Run it, and return all rows."""
        return list(self.start(connection, parameters).fetchall())

    def each(self, connection: sa.Connection, parameters: Sequence[Sequence[object]]) -> None:
        """Run it once for each of some parameters."""
        if len(parameters) == 1:
            self.start(connection, parameters[0])
        else:
            connection.connection.cursor().executemany(self.text(connection.dialect.name), parameters)
