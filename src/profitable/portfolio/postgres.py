"""PostgreSQL: connections and the meaning of errors."""

import codecs
import socket
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError

from profitable.common.extras import extra
from profitable.errors import NotStoredError, ParameterError, PortfolioError, ProfitableError
from profitable.portfolio.journal import journal
from profitable.portfolio.location import (
    SEND_AGAIN,
    already_exists,
    busy,
    name_of,
    not_a_portfolio,
    without_secrets,
)

ADDRESS = "correct the address or ask"
# What a server, the library of PostgreSQL or that of Python says of an address with
# which nobody will ever connect. Whoever is turned away before a connection is there
# gets no code, only a sentence.
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
# For a role or a database, which is said after the password was right.
TOO_MANY = "too many connections"


def engine(url: sa.URL, wait: float) -> sa.Engine:
    """Return an engine that connects to a server."""
    with extra("postgres", "PostgreSQL is reached with it"):
        import psycopg  # noqa: F401  # type: ignore[unused-ignore]
    try:
        made = sa.create_engine(
            url, isolation_level="AUTOCOMMIT", connect_args={"client_encoding": "UTF8"}
        )
    except ArgumentError as error:
        raise meaning(error, url, name_of(url), wait) from None

    def prepare(connection: Any, record: Any) -> None:
        record.info["codec"] = codec_of(connection)
        for setting in (
            "synchronous_commit = on",
            "extra_float_digits = 3",  # all digits of doubles
            f"lock_timeout = {max(1, int(1000 * wait))}",  # ms; 0 would be for ever
        ):
            connection.cursor().execute(f"SET {setting}")
        connection.commit()

    event.listen(made, "connect", prepare)
    return made


def meaning(error: Any, url: sa.URL, name: str, wait: float) -> ProfitableError:
    """Return an error of the driver as one of ours."""
    reason = without_secrets(" ".join(str(error).split()).rstrip(".") or type(error).__name__, url)
    unusable = PortfolioError("portfolio", name, f"cannot be used ({reason})", ADDRESS)
    match getattr(error, "sqlstate", None):
        case "55P03":
            return busy(name, wait)
        case "42P01":
            return not_a_portfolio(name)
        # Ids are looked up before they are stored.
        case "23505" if error.diag.table_name == journal.name:
            return NotStoredError(
                "portfolio", name, "was written to by somebody without the lock", SEND_AGAIN
            )
        case "42P07" | "23505":  # two made it at once
            return already_exists(name)
        case "3F000":
            return PortfolioError(
                "portfolio", name, "has no such schema", "make it first: CREATE SCHEMA ..."
            )
        case "22P05":
            return ParameterError(
                "portfolio",
                name,
                f"cannot store a letter of what was given ({reason})",
                "leave it out, or use a database whose encoding is UTF8",
            )
        case "42501":
            return unusable
        case None if is_wrong_address(error):
            return unusable
        case _:
            return NotStoredError("portfolio", name, f"cannot be reached ({reason})", SEND_AGAIN)


def is_wrong_address(error: Any) -> bool:
    """Whether an address itself is wrong, rather than the server down."""
    said, connection = str(error), getattr(error, "pgconn", None)
    # In whatever language the server speaks: it has asked for a password, and there was
    # none, or it was wrong.
    if connection is not None and (connection.needs_password or connection.used_password):
        return TOO_MANY not in said
    return any(each in said for each in WRONG_ADDRESS)


def codec_of(connection: Any) -> str | None:
    """Return the encoding of a database; None if it stores every text."""
    name = connection.info.parameter_status("server_encoding") or "UTF8"
    if name in ("UTF8", "SQL_ASCII"):  # which stores what it is given
        return None
    for each in (name, name.replace("WIN", "cp"), name.replace("KOI8", "koi8_")):
        try:
            return codecs.lookup(each).name
        except LookupError:
            continue
    return "ascii"
