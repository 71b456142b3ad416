"""CSV files that no spreadsheet runs, and that come back as they were."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profitable as pb
from profitable.common.text_tables import guarded, unguarded
from profitable.portfolio.export import write_clients, write_lines
from tests.cli.test_app import call

NAMES = ["=cmd|'/c calc'!A1", "+1+cmd", "@SUM(1)", "-2+3", "'=quoted", "\uff1dwide", "plain", "-17"]
RISKY = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    categories = [pb.Category(name, pb.Gaussian(sigma=1.0), threshold=-3.0) for name in NAMES]
    with pb.Portfolio.create(
        tmp_path / "book.db", categories, policy="ts", seed=1, actor="=ann"
    ) as book:
        for key in ("=1", "@2", "+3", "-key"):
            book.decide(key=key)
        rows = [(name, i) for i in range(2) for name in NAMES]
        book.observe(
            [
                pb.Outcome(f"{name} {i}", name, reward=-1.5 - i, decision=1 + 3 * i)
                for name, i in rows
            ]
        )
        book.correct("plain 1", reward=-0.5, reason="=HYPERLINK(1)")
    return tmp_path


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def assert_harmless(rows: list[dict[str, str]]) -> None:
    found = [cell for row in rows for cell in row.values()]
    assert any(cell.startswith("'=") for cell in found)
    for cell in found:
        if cell.startswith(RISKY):
            float(cell)  # a number, which stays one


@given(st.text(st.sampled_from(["'", "=", "+", "-", "@", "\uff1d", "a", "1", "."]), max_size=6))
def test_every_text_comes_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(RISKY) or float(text) is not None


def test_what_is_printed(folder: Path) -> None:
    decided = cells(call("decide", "book.db", "--key", "-key", "--csv", cwd=folder).stdout)
    assert_harmless(decided)
    assert [unguarded(row["name"]) for row in decided] == NAMES
    assert {row["threshold"] for row in decided} == {"-3.0"}
    status = cells(call("status", "book.db", "--csv", cwd=folder).stdout)
    assert_harmless(status)
    assert float(status[0]["mean"]) == -2.0


def test_lines(folder: Path) -> None:
    with pb.Portfolio(folder / "book.db") as book:
        write_lines(book, folder / "lines.csv", "csv")
        stored = [line.id or "" for line in book.log()]
    rows = cells((folder / "lines.csv").read_text(encoding="utf-8"))
    assert_harmless(rows)
    assert [unguarded(row["id"]) for row in rows] == stored
    assert {unguarded(row["actor"]) for row in rows} == {"=ann"}


def test_clients_come_back(folder: Path) -> None:
    """They are read by `observe` and by a backtest, with the ids and the categories
    that they had.
    """
    with pb.Portfolio(folder / "book.db") as book:
        written = write_clients(book, folder / "clients.csv", "csv")
        categories = [book.agent.category(name) for name in NAMES]
        ids = sorted(line.id for line in book.log(kind="outcome"))
    assert_harmless(cells((folder / "clients.csv").read_text(encoding="utf-8")))
    with pb.Portfolio.create(folder / "other.db", categories, policy="ts", seed=1) as other:
        for key in ("=1", "@2", "+3", "-key"):
            other.decide(key=key)
    done = call("observe", "other.db", "clients.csv", "--ignore-others", cwd=folder)
    assert done.returncode == 0, done.stderr
    with pb.Portfolio(folder / "other.db") as other:
        assert sorted(line.id for line in other.log(kind="outcome")) == ids
    assert written.settings is not None
    done = call("backtest", "--from", str(written.settings), "--describe", cwd=folder)
    assert all(name in done.stdout for name in NAMES), done.stdout + done.stderr
    assert "'-2+3" not in done.stdout


def test_refused_rows_come_back(folder: Path) -> None:
    (folder / "rows.csv").write_text(
        "id,category,reward\n'=1,'+1+cmd,soon\n=2,+1+cmd,soon\n", encoding="utf-8"
    )
    assert call("observe", "book.db", "rows.csv", cwd=folder).returncode == 3
    text = (folder / "rows.refused.csv").read_text(encoding="utf-8")
    (folder / "rows.refused.csv").write_text(text.replace("soon", "-1"), encoding="utf-8")
    assert call("observe", "book.db", "rows.refused.csv", cwd=folder).returncode == 0
    with pb.Portfolio(folder / "book.db") as book:
        assert [line.id for line in book.log(kind="outcome")][-2:] == ["=1", "=2"]
