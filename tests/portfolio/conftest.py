"""Every storage test runs unchanged on SQLite and on a real PostgreSQL, which starts
when the first needs it.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from psycopg import sql

from tests.portfolio.places import BACKENDS, Place
from tests.portfolio.server import Server
from tests.portfolio.writers import Writers

numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server for the tests of this process."""
    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def writers() -> Iterator[Writers]:
    """Processes that write."""
    with Writers() as running:
        yield running


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A new place, in a file or in a schema of the server."""
    found = new_place(request, request.param, tmp_path)
    yield found
    found.close()


@pytest.fixture(params=BACKENDS)
def two_places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    """Two new places, both in files or both on the server."""
    found = new_place(request, request.param, tmp_path), new_place(request, request.param, tmp_path)
    yield found
    for each in found:
        each.close()


@pytest.fixture
def server_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A new place on the server, for what a file does not have."""
    found = new_place(request, "postgres", tmp_path)
    yield found
    found.close()


def new_place(request: pytest.FixtureRequest, backend: str, folder: Path) -> Place:
    """A place that nobody has used."""
    if backend == "sqlite":
        return Place(str(folder / f"book {next(numbers)}.db"))
    running: Server = request.getfixturevalue("server")
    schema = f"book_{next(numbers)}"
    with running.connect() as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    return Place(running.url(schema))
