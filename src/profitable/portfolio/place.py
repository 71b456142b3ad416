"""Place: where a portfolio is kept, a file or a database of PostgreSQL, and how messages name it."""

import re
from pathlib import Path
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from profitable.common.files import as_path
from profitable.errors import ParameterError

POSTGRES = "postgresql+psycopg"
GIVE = f"give a file, or {POSTGRES}://user@host/database"
MASK = "***"
# The options of an address that messages show.  What is not here may be a secret, as `sslpassword`.
SHOWN_OPTIONS = ("host", "hostaddr", "port", "options", "sslmode", "target_session_attrs", "application_name")
# A password in an address as PostgreSQL's own programs take it, or in one that lacks a slash: no file has such a name.
KEYWORD = re.compile(r"password\s*(=|%3d)", re.I)
NO_SLASHES = re.compile(r"postgres\w*(\+\w+)?:", re.I)


def place_of(where: object) -> Path | sa.URL:
    """A path or a URL; ParameterError for anything else."""
    text = str(where)
    if isinstance(where, sa.URL) or (isinstance(where, str) and "://" in text):
        return _url(where)
    if KEYWORD.search(text) or NO_SLASHES.match(text):
        raise ParameterError("portfolio", MASK, "is no address of a database", GIVE)
    return as_path("portfolio", where)


def _url(where: str | sa.URL) -> Path | sa.URL:
    try:
        url = _read(where)
    except ValueError:
        name = MASK if isinstance(where, sa.URL) else masked(where)
        remedy = f"{GIVE}, where a password has %40 for @, %2F for / and %3F for ?"
        raise ParameterError("portfolio", name, "is no address of a database", remedy) from None
    if url.drivername.split("+")[0] == "sqlite" and url.database:
        return Path(url.database)
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=POSTGRES)
    if url.drivername != POSTGRES:
        raise ParameterError("portfolio", name_of(url), "is in no database that is supported", GIVE)
    return url


def _read(address: str | sa.URL) -> sa.URL:
    """An address, read; ValueError if it cannot be, or if a part of the password seems to be somewhere else."""
    try:
        url = sa.make_url(address)
    except ArgumentError:
        raise ValueError("no address") from None
    is_torn = isinstance(address, str) and "@" in address.partition("?")[2]
    if is_torn or any("@" in part or KEYWORD.search(part) for part in (url.host or "", url.database or "")):
        raise ValueError("torn")
    return url


def name_of(place: Path | sa.URL) -> str:
    """A place without a password, for messages.

    >>> name_of(sa.make_url("postgresql+psycopg://ann:secret@host:5432/lending?sslpassword=secret&sslmode=require"))
    'postgresql+psycopg://ann:***@host:5432/lending?sslmode=require&***'
    """
    if isinstance(place, Path):
        return str(place)
    user, colon, _ = (place.username or "").partition(":")
    has_password = colon or place.password is not None
    who = f"{quote(user)}{f':{MASK}' if has_password else ''}@" if place.username or has_password else ""
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
    """An address without its password; of one that cannot be read, only what kind of address it is.

    >>> masked("postgresql://ann:se/cret@host/lending?PASSWORD=secret"), masked("postgresql://ann:secret")
    ('postgresql://ann:***@host/lending?***', 'postgresql://***')
    """
    try:
        return name_of(_read(address))
    except ValueError:
        kind = address.partition("://")[0]
        return f"{kind}://{MASK}" if re.fullmatch(r"[a-z0-9+]+", kind) else MASK


def without_secrets(text: str, url: sa.URL) -> str:
    """What somebody else says of an address, without what messages do not show of it."""
    hidden = [value for key, values in url.normalized_query.items() if key not in SHOWN_OPTIONS for value in values]
    for secret in (str(url.password or ""), (url.username or "").partition(":")[2], *hidden):
        if secret:
            text = text.replace(secret, MASK)
    return text
