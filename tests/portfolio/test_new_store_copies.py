"""Copies between files and PostgreSQL, and the versions of the tables."""

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import profitable as pb
from profitable.errors import (
    BrokenPortfolioError,
    InputError,
    NewerPortfolioError,
    OlderPortfolioError,
    PortfolioError,
)
from profitable.portfolio import store
from profitable.portfolio.journal import metadata
from profitable.portfolio.new_store import copy_portfolio, upgrade
from profitable.portfolio.store import VERSION_TABLE
from tests.portfolio.places import Place
from tests.portfolio.small import small

CATEGORIES = [
    pb.Category.loan("students", amount=2_000, rate=0.12),
    pb.Category("shops", pb.Exponential(), threshold=3),
]


def lived(place: Place) -> pb.Portfolio:
    """A portfolio with a line of each kind."""
    book = place.create(CATEGORIES, policy="ts:forget=0.9", seed=3, name="loans", actor="ann")
    book.decide(key="one")
    book.open([pb.Client("a", "students", matures=3, emerges="evenly"), pb.Client("b", "shops")])
    book.observe(
        [
            pb.Outcome("a", "students", reward=0),
            pb.Outcome("c", "shops", reward=2.5, known="2026-01-31"),
        ]
    )
    book.correct("c", reward=2.25, reason="a typo")
    book.set_threshold("shops", 2.75)
    book.decide(key="two")
    return book


def everything(place: Place) -> list[list[tuple[Any, ...]]]:
    journal, parts = place.dump()
    return [
        journal,
        [
            tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)
            for row in parts
        ],
    ]


def test_a_copy_has_the_same_lines_in_every_database_and_goes_on_alike(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    from tests.portfolio.conftest import new_place

    first, server, back = (
        new_place(request, kind, tmp_path) for kind in ("sqlite", "postgres", "sqlite")
    )
    book = lived(first)
    seen: list[int] = []
    end = copy_portfolio(first.where, server.where, progress=seen.append)
    assert copy_portfolio(server.where, back.where) == end == book.head
    assert seen == [end.line]
    assert everything(first) == everything(server) == everything(back)
    decisions = [each.open().decide(key="three") for each in (first, server, back)]
    assert (
        len({decision.patience.tobytes() + decision.evidence.tobytes() for decision in decisions})
        == 1
    )
    assert all(each.open().verify(head=end.hash).is_clean for each in (first, server, back))
    for each in (first, server, back):
        each.close()


def test_a_copy_does_not_go_where_something_is(two_places: tuple[Place, Place]) -> None:
    first, second = two_places
    lived(first)
    second.create(CATEGORIES, policy="kl-ucb")
    before = everything(second)
    with pytest.raises(InputError, match="exists already"):
        copy_portfolio(first.where, second.where)
    assert everything(second) == before
    if not first.is_file:
        with pytest.raises(PortfolioError, match="has no such schema; make it first"):
            copy_portfolio(first.where, second.where.replace("book_", "nowhere_"))


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "a.db"))
    lived(place).close()
    place.change("UPDATE profitable_journal SET actor = 'eve' WHERE line = 3")
    with pytest.raises(BrokenPortfolioError, match="line = 3 was altered"):
        copy_portfolio(place.where, tmp_path / "b.db")
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("a.db")] == []


# ----------------------------------------------------------------------------- versions


def test_the_steps_make_the_tables(place: Place) -> None:
    lived(place)
    with place._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


STEP = '''"""A column that a later version needs."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    op.add_column("profitable_journal", sa.Column("channel", sa.Text))
'''


def test_an_upgrade_is_asked_for_and_does_all_or_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = lived(place)
    before, end = book.status().to_dict(), book.head
    book.close()
    later = tmp_path / "migrations"
    shutil.copytree(store.MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / "0002_channel.py").write_text(STEP, encoding="utf-8")
    monkeypatch.setattr(store, "SCHEMA", "2")
    with pytest.raises(OlderPortfolioError, match="run: profitable portfolio upgrade"):
        place.open()
    monkeypatch.setattr(store, "MIGRATIONS", later)
    lines = place.lines()
    place.change("UPDATE profitable_journal SET body = '{}' WHERE kind = 'change'")
    # The state cannot be computed from it.
    with pytest.raises(BrokenPortfolioError, match="was altered"):
        upgrade(place.where)
    assert "channel" not in columns(place)
    assert place.rows(f"SELECT version_num FROM {VERSION_TABLE}") == [("1",)]
    place.change(
        "UPDATE profitable_journal SET body = :body WHERE kind = 'change'",
        body='{"setting":"threshold","from":3.0,"to":2.75}',
    )
    place.change("UPDATE profitable_journal SET actor = 'eve' WHERE line = 4")
    # Or its state would look right afterwards.
    with pytest.raises(BrokenPortfolioError, match="line = 4 was altered"):
        upgrade(place.where)
    place.change("UPDATE profitable_journal SET actor = :actor WHERE line = 4", actor=book.actor)
    # An upgrade does not need it.
    place.change("DELETE FROM profitable_state WHERE part = 'extras'")
    assert "from schema version 1 to 2" in upgrade(place.where)
    assert "channel" in columns(place)
    assert place.lines() == lines + 1  # which says so
    monkeypatch.undo()
    with pytest.raises(NewerPortfolioError, match="schema version 2"):
        place.open()
    place.change(f"UPDATE {VERSION_TABLE} SET version_num = '1'")
    place.change("ALTER TABLE profitable_journal DROP COLUMN channel")
    again = place.open()
    assert {**again.status().to_dict(), "head": before["head"]} == before
    assert again.verify(head=end.hash).is_clean


def test_a_schema_that_nobody_made(place: Place) -> None:
    lived(place).close()
    place.change(f"UPDATE {VERSION_TABLE} SET version_num = '0'")
    with pytest.raises(
        BrokenPortfolioError, match="a schema version that no version of profitable has made"
    ):
        upgrade(place.where)
    place.change(f"UPDATE {VERSION_TABLE} SET version_num = '1'")
    assert place.open().verify().is_clean


def test_two_make_a_portfolio_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one looks before the first is there, and comes too late."""
    lived(place).close()
    monkeypatch.setattr(store.Store, "schema", lambda _: None)
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    before = place.dump()
    with pytest.raises(InputError, match="exists already"):
        place.create(CATEGORIES, policy="kl-ucb")
    assert place.dump() == before


def columns(place: Place) -> set[str]:
    return {
        column["name"] for column in sa.inspect(place._engine).get_columns("profitable_journal")
    }


def test_what_is_no_portfolio_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "nothing to see here, and quite a lot of it " * 40, encoding="utf-8"
    )
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    for name in ("notes.txt", "other.db"):
        with pytest.raises(BrokenPortfolioError, match="is not a portfolio"):
            pb.Portfolio(tmp_path / name)
        with pytest.raises(BrokenPortfolioError, match="is not a portfolio"):
            upgrade(tmp_path / name)


@pytest.mark.parametrize("part", ["clock", "extras", "settings", "table"])
def test_a_state_without_one_of_its_parts_is_not_copied(
    two_places: tuple[Place, Place], part: str
) -> None:
    source, target = two_places
    small(source).close()
    source.change("DELETE FROM profitable_state WHERE part = :part", part=part)
    with pytest.raises(BrokenPortfolioError):
        copy_portfolio(source.where, target.where)
    with pytest.raises(PortfolioError):
        target.open()
