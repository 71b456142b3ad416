"""PostgreSQL: how it is connected to, and what its errors mean."""

import codecs
import socket
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError

from profitable.common.extras import extra
from profitable.errors import NotStoredError, ParameterError, PortfolioError, ProfitableError
from profitable.portfolio.place import name_of, without_secrets
from profitable.portfolio.store_errors import SEND_AGAIN, busy, is_there, no_portfolio
from profitable.portfolio.tables import journal

ADDRESS = "correct the address or ask"
# What a server, the library of PostgreSQL or that of Python says of an address with which nobody will ever connect.
# Whoever is turned away before a connection is there gets no code, only a sentence.
WRONG_ADDRESS = (
    "authentication failed",
    "does not exist",
    "pg_hba.conf",
    "permission denied",
    "not permitted to log in",
    "invalid connection option",
    "bad value for",
    "non-integer port",
    "connection is bad: invalid",
    "unrecognized configuration parameter",
    "requires a value",
    f"[Errno {socket.EAI_NONAME}]",  # no such host
)
TOO_MANY = "too many connections"  # for a role or a database, which is said after the password was right


def engine(url: sa.URL, wait: float) -> sa.Engine:
    """What connects to a server."""
    with extra("postgres", "PostgreSQL is reached with it"):
        import psycopg  # noqa: F401  # type: ignore[unused-ignore]
    try:
        made = sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"client_encoding": "UTF8"})
    except ArgumentError as error:
        raise meaning(error, url, name_of(url), wait) from None

    def prepare(connection: Any, record: Any) -> None:
        record.info["codec"] = codec_of(connection)
        # All digits of doubles are wanted, and at least 1 ms to wait, because 0 would be for ever.
        lock = f"lock_timeout = {max(1, int(1000 * wait))}"
        for setting in ("synchronous_commit = on", "extra_float_digits = 3", lock):
            connection.cursor().execute(f"SET {setting}")
        connection.commit()

    event.listen(made, "connect", prepare)
    return made


def meaning(error: Any, url: sa.URL, name: str, wait: float) -> ProfitableError:
    """What an error of the driver means."""
    reason = without_secrets(" ".join(str(error).split()).rstrip(".") or type(error).__name__, url)
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate == "55P03":
        return busy(name, wait)
    if sqlstate == "42P01":
        return no_portfolio(name)
    if sqlstate == "23505" and error.diag.table_name == journal.name:  # ids are looked up before they are stored
        return NotStoredError("portfolio", name, "was written to by somebody without the lock", SEND_AGAIN)
    if sqlstate in ("42P07", "23505"):  # two made it at once
        return is_there(name)
    if sqlstate == "3F000":
        return PortfolioError("portfolio", name, "has no such schema", "make it first: CREATE SCHEMA ...")
    if sqlstate == "22P05":
        problem = f"cannot store a letter of what was given ({reason})"
        return ParameterError("portfolio", name, problem, "leave it out, or use a database whose encoding is UTF8")
    if sqlstate == "42501" or (sqlstate is None and is_wrong_address(error)):
        return PortfolioError("portfolio", name, f"cannot be used ({reason})", ADDRESS)
    return NotStoredError("portfolio", name, f"cannot be reached ({reason})", SEND_AGAIN)


def is_wrong_address(error: Any) -> bool:
    """Whether nobody will ever connect with an address: a wrong password, say, and not a server that is down."""
    said, connection = str(error), getattr(error, "pgconn", None)
    # In whatever language the server speaks: it has asked for a password, and there was none, or it was wrong.
    if connection is not None and (connection.needs_password or connection.used_password):
        return TOO_MANY not in said
    return any(each in said for each in WRONG_ADDRESS)


def codec_of(connection: Any) -> str | None:
    """The encoding of a database as Python names it; None if every text can be stored there."""
    name = connection.info.parameter_status("server_encoding") or "UTF8"
    if name in ("UTF8", "SQL_ASCII"):  # which stores what it is given
        return None
    for each in (name, name.replace("WIN", "cp"), name.replace("KOI8", "koi8_")):
        try:
            return codecs.lookup(each).name
        except LookupError:
            continue
    return "ascii"
