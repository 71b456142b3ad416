"""The same files mean the same to a portfolio and to a backtest."""

import io
from pathlib import Path

import pytest

from profitable.errors import InputError
from profitable.past.source import open_source
from profitable.past.typed_columns import numbers
from profitable.portfolio.outcome import Outcome
from profitable.portfolio.rows_in import OUTCOME_ROWS, Form, Sheet

PLAIN = "id,category,reward\nl-1,Bäcker,1.5\nl-2,cook,0\n"


def by_portfolio(content: bytes) -> list[tuple[str, str, float]]:
    """Id, category and reward of each row; an InputError at the first refused row."""
    sheet = Sheet(io.BytesIO(content), OUTCOME_ROWS, Form(ignore_others=True), "past.csv")
    found: list[tuple[str, str, float]] = []
    for row in sheet:
        if not isinstance(row.made, Outcome):
            raise InputError("past.csv", row.number, row.why, "correct it")
        assert isinstance(row.made.reward, float)
        found.append((row.made.id, row.made.category, row.made.reward))
    return found


def by_backtest(content: bytes, folder: Path) -> list[tuple[str, str, float]]:
    path = folder / "past.csv"
    path.write_bytes(content)
    found: list[tuple[str, str, float]] = []
    for piece in open_source(path).pieces(["id", "category", "reward"]):
        ids, categories = (piece.column(name).to_pylist() for name in ("id", "category"))
        found += zip(ids, categories, numbers(piece, "reward").tolist(), strict=True)
    return found


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        PLAIN.encode("utf-8-sig"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.replace(",", ";").encode(),
        PLAIN.replace(",", "\t").encode(),
        ("sep=;\n" + PLAIN.replace(",", ";")).encode(),
        ("sep=;\r\n" + PLAIN.replace(",", ";").replace("\n", "\r\n")).encode("utf-8-sig"),
        ('"sep=|"\n' + PLAIN.replace(",", "|")).encode(),
        ("SEP=,\n" + PLAIN).encode(),
        ("\n\n" + PLAIN).encode(),
        (PLAIN + "\n\n").encode(),
        PLAIN.removesuffix("\n").encode(),
        PLAIN.replace("Bäcker", '"Bäcker"').encode(),
    ],
    ids=repr,
)
def test_ways_to_write_a_file(content: bytes, tmp_path: Path) -> None:
    expected = [("l-1", "Bäcker", 1.5), ("l-2", "cook", 0.0)]
    assert by_portfolio(content) == by_backtest(content, tmp_path) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_newlines_and_quotes_in_quotes(newline: str, tmp_path: Path) -> None:
    lines = ["id,note,category,reward", f'l-1,"two{newline}""lines"", one",a,1', "l-2,,b,2", ""]
    content = newline.join(lines).encode()
    expected = [("l-1", "a", 1.0), ("l-2", "b", 2.0)]
    assert by_portfolio(content) == by_backtest(content, tmp_path) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1 234.5", 1234.5),
        ('"1,234.5"', 1234.5),
        ("1'234.5", 1234.5),
        (" 7 ", 7.0),
    ],
)
def test_numbers_with_thousands(text: str, value: float, tmp_path: Path) -> None:
    content = f"id,category,reward\nl-1,a,{text}\n".encode()
    assert by_portfolio(content) == by_backtest(content, tmp_path) == [("l-1", "a", value)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,category,reward\nl-1,Bäcker,1\n".encode("latin-1"), "has the byte 0xe4, which utf-8"),
        ("id,kätegory,reward\nl-1,a,1\n".encode("latin-1"), "has the byte 0xe4, which utf-8"),
        (PLAIN.encode("utf-16"), "is not text in utf-8"),
        (b"PK\x03\x04\x14", "is a spreadsheet or an archive, not text"),
        (b'id,category,"reward\nl-1,a,1\n', "has a header that cannot be read"),
        (b"id,category,reward\nl-1,a\n", "has 2 "),
        (b'id,category,reward\nl-1,a,"1,5"\n', "has a decimal comma"),
        (b"sep=;\r\nid;category;reward\r\nl-1;a;1,5\r\n", "has a decimal comma"),
        (b'id,category,reward\nl-1,a,"1,234"\n', "could be thousands or a decimal comma"),
        (b"id,category,reward\nl-1,a,many\n", "is not a number"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_both_refuse_the_same(content: bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as portfolio:
        by_portfolio(content)
    with pytest.raises(InputError) as backtest:
        by_backtest(content, tmp_path)
    assert problem in str(portfolio.value)
    assert problem in str(backtest.value)
