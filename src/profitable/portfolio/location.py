"""Location of a portfolio: a file or a PostgreSQL database, and errors that name it.

Also connections to PostgreSQL, and the meaning of its errors.
"""

import codecs
import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError

from profitable.common.extras import extra
from profitable.common.files import as_path
from profitable.errors import (
    BrokenPortfolioError,
    BusyPortfolioError,
    InputError,
    NotStoredError,
    ParameterError,
    PortfolioError,
    ProfitableError,
)
from profitable.portfolio.journal import journal

POSTGRES = "postgresql+psycopg"
GIVE = f"give a file, or {POSTGRES}://user@host/database"
MASK = "***"
# The options of an address that messages show.  What is not here may be a secret, as
# `sslpassword`.
SHOWN_OPTIONS = (
    "host",
    "hostaddr",
    "port",
    "options",
    "sslmode",
    "target_session_attrs",
    "application_name",
)
# A password in a connection string of PostgreSQL, or in an address without slashes: no
# file has such a name.
KEYWORD = re.compile(r"password\s*(=|%3d)", re.I)
NO_SLASHES = re.compile(r"postgres\w*(\+\w+)?:", re.I)


def place_of(where: object) -> Path | sa.URL:
    """Return a path or a URL; ParameterError for anything else."""
    text = str(where)
    if isinstance(where, sa.URL) or (isinstance(where, str) and "://" in text):
        return _url(where)
    if KEYWORD.search(text) or NO_SLASHES.match(text):
        raise ParameterError("portfolio", MASK, "is not the address of a database", GIVE)
    return as_path("portfolio", where)


def _url(where: str | sa.URL) -> Path | sa.URL:
    try:
        url = _read(where)
    except ValueError:
        name = MASK if isinstance(where, sa.URL) else masked(where)
        raise ParameterError(
            "portfolio",
            name,
            "is not the address of a database",
            f"{GIVE}, where a password has %40 for @, %2F for / and %3F for ?",
        ) from None
    if url.drivername.split("+")[0] == "sqlite" and url.database:
        return Path(url.database)
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=POSTGRES)
    if url.drivername != POSTGRES:
        raise ParameterError("portfolio", name_of(url), "is not in a supported database", GIVE)
    return url


def _read(address: str | sa.URL) -> sa.URL:
    """Return a parsed address; ValueError if its password may be misplaced."""
    try:
        url = sa.make_url(address)
    except ArgumentError:
        raise ValueError("no address") from None
    is_torn = isinstance(address, str) and "@" in address.partition("?")[2]
    if is_torn or any(
        "@" in part or KEYWORD.search(part) for part in (url.host or "", url.database or "")
    ):
        raise ValueError("torn")
    return url


def name_of(place: Path | sa.URL) -> str:
    """Return a place without a password, for messages.

    >>> secret = "ann:secret@host:5432/lending?sslpassword=secret&sslmode=require"
    >>> name_of(sa.make_url(f"postgresql+psycopg://{secret}"))
    'postgresql+psycopg://ann:***@host:5432/lending?sslmode=require&***'
    """
    if isinstance(place, Path):
        return str(place)
    user, colon, _ = (place.username or "").partition(":")
    has_password = colon or place.password is not None
    who = (
        f"{quote(user)}{f':{MASK}' if has_password else ''}@"
        if place.username or has_password
        else ""
    )
    host = f"[{place.host}]" if ":" in (place.host or "") else place.host or ""
    port = "" if place.port is None else f":{place.port}"
    database = "" if place.database is None else f"/{place.database}"
    shown = [
        f"{key}={quote_plus(value)}"
        for key, values in place.normalized_query.items()
        for value in (values if key in SHOWN_OPTIONS else ())
    ]
    hidden = [MASK] if set(place.query) - set(SHOWN_OPTIONS) else []
    query = f"?{'&'.join([*shown, *hidden])}" if place.query else ""
    return f"{place.drivername}://{who}{host}{port}{database}{query}"


def masked(address: str) -> str:
    """Return an address without its password; only its scheme if it cannot be read.

    >>> masked("postgresql://ann:se/cret@host/lending?PASSWORD=secret")
    'postgresql://ann:***@host/lending?***'
    >>> masked("postgresql://ann:secret")
    'postgresql://***'
    """
    try:
        return name_of(_read(address))
    except ValueError:
        kind = address.partition("://")[0]
        return f"{kind}://{MASK}" if re.fullmatch(r"[a-z0-9+]+", kind) else MASK


def without_secrets(text: str, url: sa.URL) -> str:
    """Return a message of the driver without the secrets of an address."""
    hidden = [
        value
        for key, values in url.normalized_query.items()
        if key not in SHOWN_OPTIONS
        for value in values
    ]
    for secret in (str(url.password or ""), (url.username or "").partition(":")[2], *hidden):
        if secret:
            text = text.replace(secret, MASK)
    return text


SEND_AGAIN = "try again: what was stored is counted once, however often it is sent"
CREATE_ONE = "give a portfolio that Portfolio.create or `profitable portfolio create` made"


class NotAPortfolioError(BrokenPortfolioError):
    """A database, or a file, without the tables of a portfolio."""


def not_a_portfolio(name: str, why: str = "") -> NotAPortfolioError:
    """Return the error for a database without our tables."""
    return NotAPortfolioError("portfolio", name, f"is not a portfolio{why}", CREATE_ONE)


def already_exists(name: str) -> InputError:
    """Return the error for a new portfolio where there is one already."""
    return InputError("portfolio", name, "exists already", "give another file or address")


def busy(name: str, wait: float) -> BusyPortfolioError:
    """Return the error for a write lock that others held for too long."""
    return BusyPortfolioError(
        "portfolio", name, f"was locked by another process for {wait:g} seconds", SEND_AGAIN
    )


def damaged(name: str, reason: str) -> BrokenPortfolioError:
    """Return the error for a database that cannot be read."""
    return BrokenPortfolioError(
        "portfolio", name, f"is damaged ({reason})", "restore it from a backup"
    )


# --------------------------------------------------------------------------- PostgreSQL


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


def postgres_engine(url: sa.URL, wait: float) -> sa.Engine:
    """Return an engine that connects to a server."""
    with extra("postgres", "PostgreSQL is reached with it"):
        import psycopg  # noqa: F401  # type: ignore[unused-ignore]
    try:
        made = sa.create_engine(
            url, isolation_level="AUTOCOMMIT", connect_args={"client_encoding": "UTF8"}
        )
    except ArgumentError as error:
        raise postgres_meaning(error, url, name_of(url), wait) from None

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


def postgres_meaning(error: Any, url: sa.URL, name: str, wait: float) -> ProfitableError:
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
