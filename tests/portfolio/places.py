"""Where a portfolio of a test is kept: a file of SQLite, or a schema of PostgreSQL.

Tests do not ask which.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

import profitable as pb
from profitable.portfolio.location import place_of

BACKENDS = ("sqlite", "postgres")


class Place:
    """An address at which a test can make a portfolio; whatever it opens there is
    closed in the end.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._books: list[pb.Portfolio] = []
        found = place_of(where)
        url = sa.URL.create("sqlite", database=str(found)) if isinstance(found, Path) else found
        encoding = {} if isinstance(found, Path) else {"client_encoding": "UTF8"}
        self._engine = sa.create_engine(url, poolclass=NullPool, connect_args=encoding)

    @property
    def is_file(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def create(
        self, categories: Iterable[pb.Category] | None = None, **options: Any
    ) -> pb.Portfolio:
        book = pb.Portfolio.create(self.where, categories, **options)
        self._books.append(book)
        return book

    def open(self, **options: Any) -> pb.Portfolio:
        book = pb.Portfolio(self.where, **options)
        self._books.append(book)
        return book

    def rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        """Rows that SQL returns, without the package."""
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(statement), values)]

    def change(self, statement: str, **values: object) -> int:
        """Change rows by SQL, past the package; returns how many."""
        with self._engine.begin() as connection:
            return connection.execute(sa.text(statement), values).rowcount

    def dump(self) -> list[list[tuple[Any, ...]]]:
        """All rows of both tables."""
        journal = self.rows("SELECT * FROM profitable_journal ORDER BY line")
        return [journal, self.rows("SELECT * FROM profitable_state ORDER BY part, place")]

    def lines(self) -> int:
        """How many lines the journal has."""
        return self.rows("SELECT count(*) FROM profitable_journal")[0][0]

    def close(self) -> None:
        for book in self._books:
            book.close()
