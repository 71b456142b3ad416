"""The roles of docs/portfolio.md: their rights are enough for the work of each, and for
nothing else.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import profitable as pb
from profitable.errors import NotStoredError, PortfolioError
from profitable.portfolio.new_store import copy_portfolio, upgrade
from tests.cli.test_app import call
from tests.portfolio.server import Server
from tests.portfolio.small import assert_clean, categories, outcomes, statuses

PAGE = Path(__file__).parents[2] / "docs" / "portfolio.md"
OWNER, DAILY, AUDITOR = "lending_owner", "lending_daily", "lending_auditor"
Address = Callable[[str], str]


@pytest.fixture(scope="module")
def address(server: Server) -> Iterator[Address]:
    """Three roles as the page makes them, a portfolio, and the address with which each
    comes to it.
    """

    def of(role: str) -> str:
        return server.url().replace("://postgres@", f"://{role}@")

    def run(role: str, statements: str) -> None:
        with psycopg.connect(of(role).replace("+psycopg", ""), autocommit=True) as connection:
            for statement in statements.strip().split(";\n"):
                connection.execute(sql.SQL(statement))  # type: ignore[arg-type]

    roles, rights = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    run("postgres", roles)
    with pb.Portfolio.create(of(OWNER), categories(), policy="ts", seed=1) as book:
        book.decide(key="day 1")
    run(OWNER, rights)
    yield of
    run(
        "postgres",
        "DROP SCHEMA lending CASCADE;\n"
        + ";\n".join(f"DROP ROLE {each}" for each in (OWNER, DAILY, AUDITOR)),
    )


def test_the_daily_role_does_its_work(address: Address, tmp_path: Path) -> None:
    with pb.Portfolio(address(DAILY), actor="nightly") as book:
        assert statuses(book.open([pb.Client("late", "cars", matures=2)])) == ["counted"]
        assert statuses(book.observe(outcomes("students", 1, 0))) == ["counted", "counted"]
        assert statuses(book.observe(outcomes("students", 1, prefix="one"))) == ["counted"]
        assert book.decide(key="day 2").round == 2
        assert book.correct("client 1", reward=0).status == "counted"
        book.pause("shops")
        book.add_category(pb.Category("more", pb.Poisson(), threshold=1.0))
        assert book.decide(key="day 3").round == 3
        assert book.status().round == 3
        assert "accepted" in book.explain("cars", round=2)
        assert_clean(book)
        assert copy_portfolio(address(DAILY), tmp_path / "backup.db") == book.head
    assert call("verify", address(DAILY), cwd=tmp_path).returncode == 0


FORBIDDEN = [
    "UPDATE profitable_journal SET reward = 1",
    "DELETE FROM profitable_journal",
    "TRUNCATE profitable_journal",
    "DELETE FROM profitable_state",
    "TRUNCATE profitable_state",
    "UPDATE profitable_schema SET version_num = '7'",
    "DELETE FROM profitable_schema",
    "CREATE RULE silence AS ON INSERT TO profitable_journal DO INSTEAD NOTHING",
    (
        "CREATE TRIGGER lose BEFORE INSERT ON profitable_journal EXECUTE FUNCTION "
        "suppress_redundant_updates_trigger()"
    ),
    "ALTER TABLE profitable_journal SET UNLOGGED",
    "ALTER TABLE profitable_journal DISABLE TRIGGER USER",
    "DROP INDEX profitable_journal_id",
    "DROP TABLE profitable_journal",
    "CREATE TABLE profitable_other (a int)",
]


@pytest.mark.parametrize("role", [DAILY, AUDITOR])
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_what_neither_may(address: Address, role: str, statement: str) -> None:
    with psycopg.connect(address(role).replace("+psycopg", "")) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql.SQL(statement))  # type: ignore[arg-type]
        connection.rollback()


def test_the_auditor_reads(address: Address, tmp_path: Path) -> None:
    with pb.Portfolio(address(AUDITOR)) as book:
        assert book.round >= 1
        assert len(book.log()) >= 2
        assert_clean(book)
        for write in (lambda: book.observe(outcomes("cars", 1)), lambda: book.decide(key="mine")):
            with pytest.raises(PortfolioError, match="permission denied") as caught:
                write()
            assert not isinstance(caught.value, NotStoredError)  # to send it again is of no use
        assert copy_portfolio(address(AUDITOR), tmp_path / "mine.db") == book.head


def test_an_upgrade_is_for_the_owner(address: Address) -> None:
    for role in (DAILY, AUDITOR):
        with pytest.raises(PortfolioError, match="permission denied"):
            upgrade(address(role))
    upgrade(address(OWNER), actor="ann")
    with pb.Portfolio(address(DAILY)) as book:
        assert book.log(kind="upgrade")[0].actor == "ann"
        assert statuses(book.observe(outcomes("students", 1, prefix="after"))) == ["counted"]
        assert_clean(book)
