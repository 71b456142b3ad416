"""Portfolios that an earlier version wrote: they open, verify, and their decisions read
as they did on the day.
"""

import json
import sqlite3
from pathlib import Path

import pytest

import profitable as pb

FOLDER = Path(__file__).parent / "version_0_2_0"
NAMES = ["floor_and_limit", "single_rewards", "close_rewards"]
ASK = {"students": 6, "shops": 4, "cafés": 5, "=sum": 5}


@pytest.fixture(params=NAMES)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict]:
    """The file of a portfolio of version 0.2.0, and what that version said about its
    decisions.
    """
    path = tmp_path / "book.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript((FOLDER / f"{request.param}.sql").read_text(encoding="utf-8"))
    database.close()
    return path, json.loads((FOLDER / f"{request.param}.json").read_text(encoding="utf-8"))


def test_it_verifies_and_goes_on(earlier: tuple[Path, dict]) -> None:
    book = pb.Portfolio(earlier[0])
    assert book.verify().is_clean
    assert book.decide(key="day 9").round == 9
    decision = book.decide(key="day 10", places=12, demand={name: ASK[name] for name in book.names})
    assert decision.round == 10
    for name in decision.accepted:
        book.observe([pb.Outcome(f"new {name}", name, reward=1)])
    assert book.decision(key="day 10").to_dict() == decision.to_dict()
    assert book.verify().is_clean


def test_decisions_read_as_they_did(earlier: tuple[Path, dict]) -> None:
    path, said = earlier
    book = pb.Portfolio(path)
    assert book.explain("cafés", key="day 6") == said.pop("explained")
    for key, decision in said.items():
        now = book.decision(key=key).to_columns()
        del now["record"]  # which that version did not give
        assert now == decision
