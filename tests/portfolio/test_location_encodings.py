"""A database whose encoding does not have all letters: what cannot be stored is
refused, and nothing else.
"""

from collections.abc import Iterator

import pytest
from psycopg import sql

import profitable as pb
from profitable.errors import NotStoredError, ParameterError
from tests.portfolio.places import Place
from tests.portfolio.server import Server
from tests.portfolio.small import assert_clean, categories, outcomes, small, statuses

OTHER = "🂡"  # which none of them has
# A letter that each can store.  The last is an encoding that Python does not know, so
# only ASCII is sent.
ENCODINGS = {"LATIN1": "é", "WIN1252": "€", "EUC_TW": "e"}


@pytest.fixture(params=ENCODINGS)
def narrow(request: pytest.FixtureRequest, server: Server) -> Iterator[tuple[Place, str]]:
    """A database of another encoding, and a letter that it has."""
    name = request.param.lower()
    with server.connect() as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} ENCODING {} LOCALE 'C' TEMPLATE template0").format(
                sql.Identifier(name), sql.Literal(request.param)
            )
        )
    place = Place(server.url().replace("/postgres?", f"/{name}?"))
    yield place, ENCODINGS[request.param]
    place.close()
    place._engine.dispose()
    with server.connect() as connection:
        connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def test_one_row_is_refused_and_not_the_batch(narrow: tuple[Place, str]) -> None:
    place, letter = narrow
    book = small(place)
    rows = [
        pb.Outcome(f"client {letter}", "students", reward=1),
        pb.Outcome(f"client {OTHER}", "students", reward=1),
        pb.Outcome("by key", "students", reward=0, key="day 1"),
        pb.Outcome("by another key", "students", reward=0, key=f"day {OTHER}"),
        pb.Outcome("elsewhere", OTHER, reward=0),
    ]
    expected = ["counted", "refused", "counted", "refused", "refused"]
    assert statuses(book.observe(rows, dry_run=True)) == expected
    left_out = ["left out" if status == "counted" else status for status in expected]
    assert statuses(book.observe(rows, all_or_nothing=True)) == left_out
    receipt = book.observe(rows)
    assert statuses(receipt) == expected
    assert (
        f"id = 'client {OTHER}' has the letter '{OTHER}', which a database of encoding"
        in receipt[1].why
    )
    assert [answer.id for answer in receipt] == [row.id for row in rows]
    assert statuses(book.observe(rows[1:2])) == ["refused"]  # which is looked up at once
    assert statuses(book.open([pb.Client(OTHER, "cars"), pb.Client("a", "cars")])) == [
        "refused",
        "counted",
    ]
    assert book.agent["students"].clients == 2
    assert place.open().log(id=f"client {letter}")[0].id == f"client {letter}"
    assert_clean(book)


def test_what_is_refused_as_a_whole_is_a_mistake(narrow: tuple[Place, str]) -> None:
    """It would be of no use to send it again."""
    place, _ = narrow
    with pytest.raises(ParameterError, match="use a database whose encoding is UTF8"):
        place.create(categories(), policy="ts", name=OTHER)
    book = small(place)
    book.observe(outcomes("students", 1))
    before = place.dump()
    for use in (
        lambda: book.decide(key=OTHER),
        lambda: book.correct("client 1", reward=0, reason=OTHER),
        lambda: book.add_category(pb.Category(OTHER, pb.Bernoulli(), threshold=0.5)),
        lambda: book.log(id=OTHER),
    ):
        with pytest.raises(ParameterError, match="cannot store a letter") as caught:
            use()
        assert not isinstance(caught.value, NotStoredError)
    assert place.dump() == before
    assert book.decide(key="day 2").round == 2
    assert_clean(book)
