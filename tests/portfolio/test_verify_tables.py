"""`verify` finds what was done to the tables themselves, and servers that do not store
what they acknowledge.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import profitable as pb
from profitable.errors import BrokenPortfolioError
from tests.portfolio.places import Place
from tests.portfolio.server import Server
from tests.portfolio.small import assert_clean, outcomes, small

JOURNAL, STATE = "profitable_journal", "profitable_state"
FUNCTION = "CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
CHANGES: dict[str, tuple[list[str], str]] = {
    "a rule": (
        [
            (
                f"CREATE RULE silence AS ON INSERT TO {JOURNAL} WHERE NEW.kind = "
                f"'outcome' DO INSTEAD NOTHING"
            )
        ],
        "the database has a rule, 'silence'",
    ),
    "a rule of the state": (
        [f"CREATE RULE frozen AS ON UPDATE TO {STATE} DO INSTEAD NOTHING"],
        "the database has a rule, 'frozen'",
    ),
    "a trigger": (
        [
            FUNCTION,
            (
                f"CREATE TRIGGER lose BEFORE INSERT ON {JOURNAL} FOR EACH ROW EXECUTE "
                f"FUNCTION drop_it()"
            ),
        ],
        "the database has a trigger, 'lose'",
    ),
    "a constraint": (
        [f"ALTER TABLE {JOURNAL} ADD CONSTRAINT rich CHECK (reward IS NULL OR reward < 1e9)"],
        "the database has a constraint, 'rich'",
    ),
    "a reference": (
        [
            "CREATE TABLE people (name text PRIMARY KEY)",
            f"INSERT INTO people SELECT DISTINCT actor FROM {JOURNAL}",
            (
                f"ALTER TABLE {JOURNAL} ADD CONSTRAINT who FOREIGN KEY (actor) "
                f"REFERENCES people ON DELETE CASCADE"
            ),
        ],
        "the database has a constraint, 'who'",
    ),
    "a child": (
        [f"CREATE TABLE more () INHERITS ({JOURNAL})"],
        "the database has a child table, 'more'",
    ),
    "unlogged": ([f"ALTER TABLE {JOURNAL} SET UNLOGGED"], f"the table {JOURNAL} is not logged"),
    "unlogged state": ([f"ALTER TABLE {STATE} SET UNLOGGED"], f"the table {STATE} is not logged"),
    "row-level security": (
        [f"ALTER TABLE {JOURNAL} ENABLE ROW LEVEL SECURITY"],
        f"the table {JOURNAL} has row-level security",
    ),
    "no primary key": (
        [f"ALTER TABLE {JOURNAL} DROP CONSTRAINT {JOURNAL}_pkey"],
        f"the primary key of the table {JOURNAL} is missing",
    ),
    "no primary key of the state": (
        [f"ALTER TABLE {STATE} DROP CONSTRAINT {STATE}_pkey"],
        f"the primary key of the table {STATE} is missing",
    ),
    "no index": (
        [f"DROP INDEX {JOURNAL}_refers"],
        f"the index {JOURNAL}_refers of the table {JOURNAL} is missing",
    ),
    "an index that is not unique": (
        [f"DROP INDEX {JOURNAL}_id", f"CREATE INDEX {JOURNAL}_id ON {JOURNAL} (id, kind)"],
        f"the index {JOURNAL}_id of the table {JOURNAL} is missing",
    ),
    "an index of other columns": (
        [f"DROP INDEX {JOURNAL}_id", f"CREATE UNIQUE INDEX {JOURNAL}_id ON {JOURNAL} (line, kind)"],
        f"the index {JOURNAL}_id of the table {JOURNAL} is missing",
    ),
    "a view": (
        [
            f"ALTER TABLE {JOURNAL} RENAME TO hidden",
            f"CREATE VIEW {JOURNAL} AS SELECT * FROM hidden",
        ],
        f"the table {JOURNAL} is not a plain table",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_done_to_the_tables_is_found(server_place: Place, what: str) -> None:
    book = small(server_place)
    book.observe(outcomes("students", 1, 0))
    statements, expected = CHANGES[what]
    for statement in statements:
        server_place.change(statement)
    findings = server_place.open().verify().findings
    assert any(expected in each for each in findings), findings
    assert not any("cannot be read" in each for each in findings), findings


def test_lines_that_a_rule_drops_are_missed_at_once(server_place: Place) -> None:
    """The state then belongs to a line that the journal does not have."""
    book = small(server_place)
    server_place.change(CHANGES["a rule"][0][0])
    book.observe(outcomes("students", 1, 0))
    for each in (book, server_place.open()):
        with pytest.raises(
            BrokenPortfolioError, match="lines were cut off, or the state was altered"
        ):
            each.observe(outcomes("students", 1, 0))


def test_a_file_without_its_primary_key(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "a.db"))
    small(place).close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute(f"CREATE TABLE other AS SELECT * FROM {STATE}")
        connection.execute(f"DROP TABLE {STATE}")
        connection.execute(f"ALTER TABLE other RENAME TO {STATE}")
    connection.close()
    findings = place.open().verify().findings
    assert f"the primary key of the table {STATE} is missing" in findings


@pytest.fixture(scope="module")
def careless() -> Iterator[Server]:
    """A server that acknowledges what it has not stored."""
    with Server() as server:
        server.restart(fsync="off", full_page_writes="off", synchronous_commit="off")
        yield server


def test_a_server_that_does_not_store_what_it_acknowledges(careless: Server) -> None:
    place = Place(careless.url())
    found = small(place).verify()
    assert len(found.findings) == 2, found
    for name in ("fsync", "full_page_writes"):
        assert any(f"the server has {name} = off" in each for each in found.findings)
    assert found.notes == (
        "the server has synchronous_commit = off; only our connections turn it on",
    )
    place.close()


def test_a_role_that_turns_off_waiting_is_noted(server_place: Place, server: Server) -> None:
    book = small(server_place)
    assert_clean(book)
    with server.connect() as connection:
        connection.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        with pb.Portfolio(server_place.where) as again:
            found = again.verify()
    finally:
        with server.connect() as connection:
            connection.execute("ALTER ROLE postgres RESET synchronous_commit")
    assert found.is_clean
    assert len(found.notes) == 1
