"""Place: where a portfolio is kept, a file or a database of PostgreSQL, and how messages name it."""

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from profitable.common.files import as_path
from profitable.errors import ParameterError

POSTGRES = "postgresql+psycopg"


def place_of(where: object) -> Path | sa.URL:
    """A path or a URL; ParameterError for anything else."""
    if isinstance(where, sa.URL) or (isinstance(where, str) and "://" in where):
        return _url(where)
    return as_path("portfolio", where)


def _url(where: str | sa.URL) -> Path | sa.URL:
    try:
        url = sa.make_url(where)
    except (ArgumentError, ValueError):
        remedy = f"give a file, or {POSTGRES}://user@host/database"
        raise ParameterError("portfolio", masked(str(where)), "is no address of a database", remedy) from None
    if "@" in (url.host or ""):
        raise ParameterError("portfolio", name_of(url), "has an @ in its password", "write it as %40")
    if url.drivername.split("+")[0] == "sqlite" and url.database:
        return Path(url.database)
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=POSTGRES)
    if url.drivername != POSTGRES:
        remedy = f"give a file, or {POSTGRES}://user@host/database"
        raise ParameterError("portfolio", name_of(url), "is in no database that is supported", remedy)
    return url


def name_of(place: Path | sa.URL) -> str:
    """A place without a password, for messages."""
    return str(place) if isinstance(place, Path) else masked(place.render_as_string(hide_password=True))


def masked(address: str) -> str:
    """An address without its password, wherever that stands, also if the address cannot be read.

    >>> masked("postgresql://ann:se@cret@host:abc/lending?password=secret&sslmode=require")
    'postgresql://ann:***@host:abc/lending?password=***&sslmode=require'
    """
    hidden = re.sub(r"(://[^:/@?]*:)[^/]*@", r"\1***@", address)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", hidden)
