"""Categories that are cut, crossed and named."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profitable.errors import InputError
from profitable.past.bands import CategoryCodes, CategoryColumn, cross, reversed_bands
from profitable.past.past_notes import MISSING_NAME
from profitable.past.source import open_source


def categories(table: dict[str, list[object]], *texts: str) -> list[str]:
    source = open_source(table)
    parts = [CategoryCodes(CategoryColumn.parse(text, source.columns)) for text in texts]
    for piece in source.pieces(source.columns):
        for part in parts:
            part.read(piece)
    codes, names, _ = cross(parts)
    return [names[code] for code in codes]


def test_bands_start_at_their_edge() -> None:
    ages: list[object] = [24.9, 25, 39, 40, 60, None]
    expected = ["age < 25", "age 25-40", "age 25-40", "age 40-60", "age >= 60", MISSING_NAME]
    assert categories({"age": ages}, "age:25,40,60") == expected


@settings(max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(2, 6))
def test_quantiles_hold_about_the_same_number(values: list[float], quantiles: int) -> None:
    found = np.array(categories({"x": list(values)}, f"x:q{quantiles}"))
    names = set(found)
    assert len(names) <= quantiles
    plain = np.array(values)
    ordered = sorted(names, key=lambda name: plain[found == name].min())
    for low, high in pairwise(ordered):
        assert plain[found == low].max() < plain[found == high].min()
    if len(set(values)) == len(values) and len(values) % quantiles == 0:
        assert {int((found == name).sum()) for name in names} == {len(values) // quantiles}


def test_crossed_columns() -> None:
    table: dict[str, list[object]] = {
        "grade": ["B", "A", "B", None],
        "term": [36, 60, 36, 36],
        "age": [20, 30, 50, 70],
    }
    assert categories(table, "grade", "term") == ["B, 36", "A, 60", "B, 36", f"{MISSING_NAME}, 36"]
    assert categories(table, "grade", "age:40") == [
        "B, age < 40",
        "A, age < 40",
        "B, age >= 40",
        f"{MISSING_NAME}, age >= 40",
    ]


def test_names_are_in_natural_order() -> None:
    source = open_source({"x": ["A10", "A2", "", "b", "A1"]})
    part = CategoryCodes(CategoryColumn.parse("x"))
    part.read(next(source.pieces(["x"])))
    assert part.finish()[1] == ("A1", "A2", "A10", "b", MISSING_NAME)


def test_a_column_with_a_colon_is_a_column() -> None:
    assert CategoryColumn.parse("a:b", ["a:b"]) == CategoryColumn("a:b")
    assert CategoryColumn.parse("time:12:30", ["time:12"]) == CategoryColumn("time:12", (30.0,))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("age:q1", "must have 2 to 100"),
        ("age:x", "must be cut at numbers"),
        ("age:40,20", "must have increasing edges"),
        ("age:nan", "must be cut at"),
    ],
)
def test_cuts_that_make_no_sense(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        CategoryColumn.parse(text, ["age"])


def test_many_crossed_categories_are_refused() -> None:
    size = 6_000
    table: dict[str, list[object]] = {
        "a": [str(i % 100) for i in range(size)],
        "b": [str(i // 100) for i in range(size)],
    }
    with pytest.raises(InputError, match="a × b' crosses to 6000 categories"):
        categories(table, "a", "b")


@pytest.mark.parametrize("size", [127, 128, 129, 256])
def test_small_codes_of_pandas_and_polars(size: int) -> None:
    """Their codes of categories may have 8 bits, which are full."""
    import pandas as pd
    import polars as pl

    words: list[object] = [f"c{i:03d}" for i in range(size)]
    for frame in (
        pd.DataFrame({"x": pd.Categorical([*words, None])}),
        pl.DataFrame({"x": [*words, None]}, schema={"x": pl.Categorical}),
    ):
        source = open_source(frame)
        part = CategoryCodes(CategoryColumn.parse("x"))
        part.read(next(source.pieces(["x"])))
        assert part.finish()[1] == (*words, MISSING_NAME)


def test_words_that_no_row_has_are_no_categories() -> None:
    """Arrow may keep the dictionary of a larger table."""
    import pyarrow as pa

    whole = pa.array([str(i) for i in range(9_000)]).dictionary_encode()
    few = pa.table({"x": whole.slice(100, 3), "n": [1, 2, 3]})
    source = open_source(few)
    part = CategoryCodes(CategoryColumn.parse("x"))
    part.read(next(source.pieces(["x"])))
    assert part.finish()[1] == ("100", "101", "102")


def test_reversed_bands_keep_their_clients() -> None:
    names, codes = ("x < 1", "x 1-2", "x >= 2", MISSING_NAME), np.array([0, 1, 2, 3, 2], np.int32)
    there, back = reversed_bands(codes, names)
    assert back == ("x >= 2", "x 1-2", "x < 1", MISSING_NAME)
    assert [back[code] for code in there] == [names[code] for code in codes]
    there, back = reversed_bands(codes[:3], names[:3])
    assert back == ("x >= 2", "x 1-2", "x < 1")
    assert there.tolist() == [2, 1, 0]
