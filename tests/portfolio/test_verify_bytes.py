"""Whatever is changed behind the back of a portfolio is found.

Any byte of the file: the engine refuses it, an error of ours names it, `verify` finds
it, or the whole export is what it was (free space).  Any row by SQL: `verify` names the
line, or the part of the state.
"""

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import profitable as pb
from profitable.errors import PortfolioError
from profitable.portfolio.export import write_clients
from profitable.portfolio.new_store import copy_portfolio
from tests.portfolio.places import Place
from tests.portfolio.small import outcomes, small

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
TRIES = 1_000 if SOAK else 60


def lived(place: Place) -> pb.Portfolio:
    """A portfolio with lines of all kinds, and a state of which some columns are newer
    than the table.
    """
    book = small(place, "ts:forget=0.97")
    book.observe(outcomes("students", 1, 0, 0, 1, 0, decision=1))
    book.open([pb.Client("late", "cars", matures=3)])
    book.correct("client 2", reward=1)
    book.set_threshold("students", 0.45)
    book.decide(key="day 2")
    book.observe([*outcomes("shops", 3, 1, 4, prefix="shop"), pb.Outcome("late", "cars", reward=0)])
    return book


def export(path: Path) -> Any:
    """All that a portfolio says, past the package."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        journal = connection.execute(
            "SELECT * FROM profitable_journal NOT INDEXED ORDER BY line"
        ).fetchall()
        version = connection.execute("SELECT * FROM profitable_schema").fetchall()
        return (
            journal,
            version,
            connection.execute("SELECT * FROM profitable_state ORDER BY part, place").fetchall(),
        )
    finally:
        connection.close()


def verdict(path: Path) -> str:
    """Return the verdict on a file: an error, findings, or "clean"."""
    try:
        with pb.Portfolio(path) as book:
            found = book.verify()
    except PortfolioError as error:
        return f"{type(error).__name__}: {error}"
    return "clean" if found.is_clean else found.findings[0]


def test_any_byte(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    place = Place(str(whole))
    with lived(place) as book:
        book.observe(
            pb.Outcome(f"more {i}", "students", reward=i % 2, cost=0.25, known="2026-11-16")
            for i in range(400)
        )
    content = whole.read_bytes()
    assert not Path(f"{whole}-wal").exists()  # all of it is in the file
    before, changed = export(whole), tmp_path / "changed.db"
    rng, said = random.Random(None if SOAK else 20261117), {"found": 0, "free": 0}
    for _ in range(TRIES):
        place_of, flip = rng.randrange(len(content)), 1 << rng.randrange(8)
        altered = bytearray(content)
        altered[place_of] ^= flip
        changed.write_bytes(altered)
        for ending in ("-wal", "-shm"):
            Path(f"{changed}{ending}").unlink(missing_ok=True)
        found = verdict(changed)
        if found == "clean":
            assert export(changed) == before, f"byte {place_of} ^ {flip} was not found"
        said["free" if found == "clean" else "found"] += 1
    assert said["found"] > TRIES / 5  # most of the file is in use
    shutil.copy(whole, changed)
    assert verdict(changed) == "clean"


LINES = {
    "a reward": ("UPDATE profitable_journal SET reward = 1 - reward WHERE line = 4", "line 4 "),
    "an actor": ("UPDATE profitable_journal SET actor = 'eve' WHERE line = 5", "line 5 "),
    "a time": (
        "UPDATE profitable_journal SET time = '2020-01-01T00:00:00.000000Z' WHERE line = 2",
        "line 2 ",
    ),
    "a decision": (
        (
            "UPDATE profitable_journal"
            """ SET body = replace(body, '"accepted":[1', '"accepted":[0') WHERE line = 2"""
        ),
        "line 2 ",
    ),
    "the first line": (
        "UPDATE profitable_journal SET body = replace(body, '0.4', '0.3') WHERE line = 1",
        "line = 1 was altered",
    ),
    "a hash": (f"UPDATE profitable_journal SET hash = '{'0' * 64}' WHERE line = 6", "line 6 "),
    "a line is gone": ("DELETE FROM profitable_journal WHERE line = 4", "line 4 is missing"),
    "two lines are gone": (
        "DELETE FROM profitable_journal WHERE line IN (4, 5)",
        "lines 4 to 5 are missing",
    ),
    "the first line is gone": (
        "DELETE FROM profitable_journal WHERE line = 1",
        "has no first line",
    ),
    "a line was moved": (
        "UPDATE profitable_journal SET line = line + 100 WHERE line = 7",
        "line 7 is missing",
    ),
    "a line was put in at the end": (
        (
            "INSERT INTO profitable_journal (line, time, actor, version, kind, id, "
            "category, round, reward, hash) "
            f"SELECT max(line) + 1, max(time), 'eve', '0.1.0', 'outcome', 'new', "
            f"'students', 2, 1.0, '{'1' * 64}' "
            "FROM profitable_journal"
        ),
        "line 16 ",
    ),
    "a line was put in before the first": (
        (
            "INSERT INTO profitable_journal (line, time, actor, version, kind, id, "
            "category, round, reward, hash) "
            f"VALUES (-1, '2026', 'eve', '0.1.0', 'outcome', 'new', 'students', 2, "
            f"1.0, '{'1' * 64}')"
        ),
        "line -1 ",
    ),
    "a number of the state": (
        (
            "UPDATE profitable_state SET body = (SELECT body FROM profitable_state "
            "WHERE part = 'column' "
            "AND place = 2) WHERE part = 'column' AND place = 1"
        ),
        "column",
    ),
    "a part of the state is gone": ("DELETE FROM profitable_state WHERE part = 'extras'", "extras"),
    "a column is gone": (
        "DELETE FROM profitable_state WHERE part = 'column' AND place = 1",
        "of 'shops'",
    ),
    "a part too many": (
        (
            "INSERT INTO profitable_state SELECT 'gossip', 0, line, body, checksum "
            "FROM profitable_state "
            "WHERE part = 'table'"
        ),
        "gossip",
    ),
    "an index": ("DROP INDEX profitable_journal_id", "profitable_journal_id"),
}


@pytest.mark.parametrize("what", LINES)
def test_any_row(place: Place, what: str) -> None:
    lived(place).close()
    statement, named = LINES[what]
    place.change(statement)
    try:
        findings = place.open().verify().findings
    except PortfolioError as error:
        findings = (str(error),)
    assert any(named in finding for finding in findings), findings


def test_a_part_of_a_line_to_come(place: Place) -> None:
    """It would hide the outcomes that are counted until then."""
    from profitable.portfolio.state import checksum_of

    lived(place).close()
    body = next(bytes(row[3]) for row in place.dump()[1] if row[0] == "table")
    checksum = checksum_of("table", 0, 1_000, body)
    place.change(
        "UPDATE profitable_state SET line = 1000, checksum = :checksum WHERE part = 'table'",
        checksum=checksum,
    )
    assert any(
        "but the state is that of line 1000" in each for each in place.open().verify().findings
    )


ODD = {
    "a text that is none": "actor = x'00ff'",
    "no number": "reward = 'abc'",
    "too large": "reward = 9e999",
}
ODD |= {
    "an unknown kind": "kind = 'gossip'",
    "an unknown category": "category = 'gossip'",
    "nothing": "reward = NULL",
}


@pytest.mark.parametrize("what", ODD)
def test_cells_that_are_something_else(tmp_path: Path, what: str) -> None:
    """SQLite keeps anything in any column; whoever comes across it says which line it
    is.
    """
    path = tmp_path / "lending.db"
    lived(Place(str(path))).close()
    with closing(sqlite3.connect(path)) as database, database:
        ((line,),) = database.execute(
            "SELECT min(line) FROM profitable_journal WHERE kind = 'outcome'"
        )
        database.execute(f"UPDATE profitable_journal SET {ODD[what]} WHERE line = ?", (line,))
    with pb.Portfolio(path) as book:
        assert any(f"line {line} was changed" in each for each in book.verify().findings)
        if what != "an unknown kind":  # which is no outcome
            with pytest.raises(PortfolioError, match=f"line = {line} was altered"):
                write_clients(book, tmp_path / "clients.csv", "csv")
        if what != "an unknown category":  # which is a text like any other
            with pytest.raises(PortfolioError, match=f"line = {line} was altered"):
                str(book.log())
    with pytest.raises(PortfolioError, match=f"line {line} |line = {line} "):
        copy_portfolio(path, tmp_path / "copy.db")


def test_a_line_that_fits_the_chain_and_not_the_past(place: Place) -> None:
    """Whoever writes the chain anew from a line on is found by what does not follow
    from it, or by the head.
    """
    from profitable.portfolio.journal import Line, chained

    book = lived(place)
    head = book.head
    book.close()
    lines = [Line(*row) for row in place.dump()[0]]
    lines[3] = lines[3]._replace(reward=1.0 - (lines[3].reward or 0.0))
    for line in chained(lines, "0" * 64):
        values = line._asdict()
        assignments = ", ".join(f"{name} = :{name}" for name in values if name != "line")
        place.change(f"UPDATE profitable_journal SET {assignments} WHERE line = :line", **values)
    book = place.open()
    found = book.verify()
    assert any("does not follow from what was known" in each for each in found.findings), found
    assert any("no line has the hash" in each for each in book.verify(head=head.hash).findings)


def test_lines_that_were_cut_off_are_found_by_the_head(place: Place) -> None:
    book = small(place)
    book.observe(outcomes("students", 1, 0))
    before = place.dump()[1]
    book.observe([pb.Outcome("last", "students", reward=1)])
    head = book.head
    book.close()
    place.change("DELETE FROM profitable_journal WHERE line = 5")
    for part, position, line, body, checksum in before:  # and the state as it was
        values = {
            "part": part,
            "place": position,
            "line": line,
            "body": bytes(body),
            "checksum": checksum,
        }
        place.change(
            "UPDATE profitable_state SET line = :line, body = :body, checksum = :checksum "
            "WHERE part = :part AND place = :place",
            **values,
        )
    book = place.open()
    assert book.verify().is_clean  # by itself, it fits
    assert f"no line has the hash {head.hash}" in book.verify(head=head.hash).findings[0]


def test_the_clock_was_set_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from profitable.portfolio import session

    book = small(place)
    monkeypatch.setattr(session, "now", lambda: "2001-01-01T00:00:00.000000Z")
    assert book.observe(outcomes("students", 1, 0)).counted
    assert book.decide(key="day 2").round == 2
    found = book.verify()
    assert found.is_clean
    assert found.notes[0].startswith("the clock was set back: line 3 is of 2001-01-01")
