"""Addresses of databases: their passwords are never shown, and those with which nobody
can connect are told apart.
"""

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg import sql

import profitable as pb
from profitable.errors import NotStoredError, PortfolioError
from profitable.portfolio import location
from profitable.portfolio.location import masked, name_of, place_of
from tests.cli.test_app import call
from tests.portfolio.places import Place
from tests.portfolio.server import Server
from tests.portfolio.small import categories, small

# What is between the two ends may be anything.  No other part of the addresses has the
# ends.
SECRET = st.text(max_size=12).map("zQ{}Qz".format)
FORMS: dict[str, Callable[[str], str]] = {
    "raw": lambda secret: f"postgresql+psycopg://ann:{secret}@db.example:5432/lending",
    "quoted": lambda secret: (
        f"postgresql://ann:{quote(secret, safe='')}@db.example/lending?sslmode=require"
    ),
    "without a user": lambda secret: f"postgresql://:{secret}@/lending",
    "without a host": lambda secret: f"postgresql://ann:{secret.replace('@', '')}",
    "a slash in the user": lambda secret: f"postgresql://an/n:{secret}@db.example/lending",
    "in the user": lambda secret: f"postgresql://ann%3A{quote(secret, safe='')}@db.example/lending",
    "an option": lambda secret: (
        f"postgresql://ann@db.example/lending?sslmode=require&password={secret}"
    ),
    "an option, quoted": lambda secret: (
        f"postgresql://db.example/lending?password={quote(secret)}&sslmode=require"
    ),
    "a quoted option": lambda secret: f"postgresql://db.example/lending?pass%77ord={quote(secret)}",
    "capitals": lambda secret: f"postgresql://ann@db.example/lending?PASSWORD={secret}",
    "of a key": lambda secret: f"postgresql://ann@db.example/lending?sslpassword={secret}",
    "of a client": lambda secret: (
        f"postgresql://ann@db.example/lending?oauth_client_secret={secret}"
    ),
    "another database": lambda secret: f"mysql://ann:{secret}@db.example/lending",
    "a database of keywords": lambda secret: f"postgresql:///host=db.example password={secret}",
    "keywords": lambda secret: f"host=db.example user=ann password={secret}",
    "keywords, quoted": lambda secret: f"PASSWORD = '{secret}' host=db.example",
    "no slashes": lambda secret: f"postgresql:ann:{secret}@db.example/lending",
    "one slash": lambda secret: f"postgresql+psycopg:/ann:{secret}@db.example/lending",
}


@pytest.mark.parametrize("form", FORMS)
@given(secret=SECRET)
@example(secret="zQ/Qz")
@example(secret="zQ@Qz")
@example(secret="zQ@Qz?x")
@example(secret="zQ?x@Qz")
@example(secret="zQ@a/b@Qz")
@example(secret="zQ&b=Qz")
@example(secret="zQ#%:[Qz")
@example(secret="zQ\n\0 '\\Qz")
def test_a_password_is_never_a_part_of_a_name(form: str, secret: str) -> None:
    address = FORMS[form](secret)
    shown = [masked(address)] if "://" in address else []
    try:
        place = place_of(address)
    except pb.ProfitableError as error:
        shown += [repr(error), str(error.value), "".join(traceback.format_exception(error))]
    else:
        assert isinstance(place, sa.URL)
        shown.append(name_of(place))
    for each in shown:
        assert "zQ" not in each, each
        assert "Qz" not in each, each


@given(st.text())
def test_any_text_can_be_masked(address: str) -> None:
    assert isinstance(masked(address), str)


PLAIN = [
    "postgresql+psycopg://ann@db.example:5432/lending",
    "postgresql+psycopg:///lending?host=%2Frun%2Fpostgresql&options=-csearch_path%3Dcars",
    "postgresql+psycopg://db.example",
    "postgresql+psycopg://a%40b@[::1]:5432/lending?host=a&host=b",
]


@pytest.mark.parametrize("address", PLAIN)
def test_an_address_without_a_secret_is_shown_as_it_is(address: str) -> None:
    assert masked(address) == address
    assert sa.make_url(masked(address)) == sa.make_url(address)


@pytest.mark.parametrize("name", ["a.db", "host=eu/a.db", "password.db", "a@b:c.db"])
def test_a_file_is_a_file(name: str) -> None:
    assert place_of(name) == Path(name)


# ------------------------------------------------------------------------ wrong or down


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """A server that asks for passwords, and turns some away."""
    with Server() as server:
        with server.connect() as connection:
            for statement in (
                "CREATE ROLE ann LOGIN PASSWORD 'zQsekretQz'",
                "CREATE ROLE idle",
                "CREATE ROLE full_up LOGIN CONNECTION LIMIT 0 PASSWORD 'zQsekretQz'",
                "CREATE DATABASE closed",
                "REVOKE CONNECT ON DATABASE closed FROM public",
            ):
                connection.execute(sql.SQL(statement))
        rules = [
            ("turned_away", "reject"),
            ("postgres,idle,ghost", "trust"),
            ("ann,full_up,nobody", "scram-sha-256"),
        ]
        lines = "".join(f"local all {who} {how}\n" for who, how in rules)
        (server.folder / "data" / "pg_hba.conf").write_text(lines)
        server.restart()
        yield server


WRONG = {
    "password": "ann:zQwrongQz@/postgres",
    "no password": "ann@/postgres",
    "an option with a password": "ann@/postgres?password=zQwrongQz",
    "another role": "nobody:zQwrongQz@/postgres",
    "no role": "ghost@/postgres",
    "no login": "idle@/postgres",
    "turned away": "turned_away@/postgres",
    "no rule": "somebody@/postgres",
    "no database": "postgres@/nothing",
    "no right": "ann:zQsekretQz@/closed",
    "capitals": "ann@/postgres?PASSWORD=zQsekretQz",
    "no number": "ann@/postgres?connect_timeout=zQsekretQz",
    "no port": "ann@/postgres?port=zQ",
    "no mode": "ann:zQsekretQz@/postgres?sslmode=perhaps",
    "no option": "postgres@/postgres?options=-cnonsense%3D1",
}


def at(server: Server, address: str) -> str:
    mark = "&" if "?" in address else "?"
    return f"postgresql+psycopg://{address}{mark}host={quote(str(server.folder), safe='')}"


@pytest.mark.parametrize("case", WRONG)
def test_an_address_with_which_nobody_can_connect(guarded: Server, case: str) -> None:
    """It is a mistake: to try again would be of no use."""
    with pytest.raises(pb.ProfitableError) as caught:
        pb.Portfolio(at(guarded, WRONG[case]))
    assert not isinstance(caught.value, NotStoredError), caught.value
    told = "".join(traceback.format_exception(caught.value))
    assert "Qz" not in told


@pytest.mark.parametrize("case", ["password", "no password", "another role"])
def test_a_wrong_password_is_one_in_every_language(
    guarded: Server, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers translate what they say.

    Whether a password was asked for is known without words.
    """
    monkeypatch.setattr(location, "WRONG_ADDRESS", ())
    with pytest.raises(PortfolioError) as caught:
        pb.Portfolio(at(guarded, WRONG[case]))
    assert not isinstance(caught.value, NotStoredError)


def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "as the system says")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    code = socket.EAI_NONAME
    with pytest.raises(PortfolioError, match="correct the address") as caught:
        pb.Portfolio("postgresql+psycopg://ann@nowhere.example/lending")
    assert not isinstance(caught.value, NotStoredError)
    code = socket.EAI_AGAIN  # those who know it cannot be asked at present
    with pytest.raises(NotStoredError, match="try again"):
        pb.Portfolio("postgresql+psycopg://ann@nowhere.example/lending")


def test_a_server_that_is_down_or_full(guarded: Server) -> None:
    for address in (
        at(guarded, "full_up:zQsekretQz@/postgres"),
        "postgresql+psycopg://ann:zQsekretQz@127.0.0.1:1/x",
    ):
        with pytest.raises(NotStoredError, match="try again") as caught:
            pb.Portfolio(address)
        assert "Qz" not in str(caught.value)


def test_exit_codes_and_what_is_printed(guarded: Server, tmp_path: Path) -> None:
    wrong = call("status", at(guarded, WRONG["password"]), cwd=tmp_path)
    down = call("status", "postgresql+psycopg://ann:zQsekretQz@127.0.0.1:1/x", cwd=tmp_path)
    assert (wrong.returncode, down.returncode) == (2, 1), (wrong.stderr, down.stderr)
    keywords = call("status", f"host={guarded.folder} user=ann password=zQsekretQz", cwd=tmp_path)
    assert keywords.returncode == 2
    for done in (wrong, down, keywords):
        assert "Qz" not in done.stderr + done.stdout


def test_a_password_that_is_right_is_not_shown_either(guarded: Server) -> None:
    with guarded.connect() as connection:
        connection.execute("CREATE SCHEMA anns AUTHORIZATION ann")
    for address in ("ann:zQsekretQz@/postgres?", "ann@/postgres?password=zQsekretQz&"):
        place = Place(at(guarded, f"{address}options=-csearch_path%3Danns"))
        book = place.open() if place_exists(guarded) else small(place)
        shown = (
            book.where,
            repr(book),
            repr(book._store),
            book.status().to_dict(),
            book.verify().to_dict(),
            str(book.verify()),
        )
        assert "Qz" not in str(shown)
        with pytest.raises(pb.errors.InputError, match="exists already") as caught:
            place.create(categories(), policy="ts")
        assert "Qz" not in str(caught.value)
        place.close()


def place_exists(server: Server) -> bool:
    with psycopg.connect(server.url("anns").replace("+psycopg", "")) as connection:
        row = connection.execute("SELECT to_regclass('profitable_journal')").fetchone()
    return row is not None and row[0] is not None
