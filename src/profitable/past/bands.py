"""Bands: categories of clients from a column, crossed columns, or a number that is cut.

>>> CategoryColumn.parse("age:25,40").names([25.0, 40.0])
('age < 25', 'age 25-40', 'age >= 40')
>>> CategoryColumn.parse("age:q4").quantiles
4
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt

from profitable.common import check
from profitable.common.text_tables import number_text, unguarded
from profitable.common.types import FloatArray
from profitable.errors import InputError, ParameterError
from profitable.past.past import SmallInts
from profitable.past.past_notes import MISSING_NAME
from profitable.past.row_meaning import RowMeaning
from profitable.past.source import Piece, pa
from profitable.past.typed_columns import is_text, numbers

MOST_CATEGORIES = 5_000
MOST_QUANTILES = 100


class CategoryColumn(NamedTuple):
    """A column of categories: cut at given edges, at quantiles, or not at all."""

    column: str
    edges: tuple[float, ...] = ()
    quantiles: int = 0

    @classmethod
    def parse(cls, text: str, columns: Sequence[str] = ()) -> Self:
        """Read "age", "age:25,40,60" or "age:q4", or a column of that very name."""
        column, colon, cut = text.rpartition(":")
        if not colon or text in columns or not column:
            return cls(text)
        remedy = 'give edges, such as "age:25,40,60", or a number of quantiles, such as "age:q4"'
        if re.fullmatch(r"q\d{1,9}", cut):
            if not 2 <= int(cut[1:]) <= MOST_QUANTILES:
                raise ParameterError(
                    "category", text, f"must have 2 to {MOST_QUANTILES} quantiles", remedy
                )
            return cls(column, (), int(cut[1:]))
        try:
            edges = tuple(check.finite("category", float(part)) for part in cut.split(","))
        except ValueError:
            if column not in columns and columns:
                return cls(text)  # then the column is missing, and the error says so
            raise ParameterError("category", text, "must be cut at numbers", remedy) from None
        if any(low >= high for low, high in pairwise(edges)):
            raise ParameterError("category", text, "must have increasing edges", remedy)
        return cls(column, edges)

    @property
    def is_cut(self) -> bool:
        """Whether its numbers are cut."""
        return bool(self.edges or self.quantiles)

    def names(self, edges: Sequence[float]) -> tuple[str, ...]:
        """Return the names of the bands between edges."""
        if not len(edges):
            return (self.column,)
        texts = [number_text(edge, 6).replace(" ", "") for edge in edges]
        between = [f"{self.column} {low}-{high}" for low, high in pairwise(texts)]
        return f"{self.column} < {texts[0]}", *between, f"{self.column} >= {texts[-1]}"

    def key(self, meaning: RowMeaning) -> Any:
        """Return the category as an expression: a value, or the number of a band."""
        if not self.is_cut:
            return nw.col(self.column)
        value, one, zero = meaning.number(self.column), nw.lit(1), nw.lit(0)
        band = sum((nw.when(value >= edge).then(one).otherwise(zero) for edge in self.edges), zero)
        missing = meaning.missing(self.column)
        return nw.when(missing).then(nw.lit(len(self.edges) + 1)).otherwise(band)


@dataclass
class CategoryCodes:
    """The codes of one column of categories, read piece by piece, or numbers to cut."""

    cut: CategoryColumn
    values: dict[str, int] = field(default_factory=lambda: {})
    codes: list[npt.NDArray[Any]] = field(default_factory=lambda: [])
    edges: FloatArray | None = None  # at which numbers were cut in the end

    def numbers(self, piece: Piece) -> FloatArray | None:
        """Return the numbers of a piece that are cut, if any."""
        if not self.cut.is_cut:
            return None
        return numbers(piece, self.cut.column, "cut columns of numbers only")

    def read(
        self, piece: Piece, chosen: Any = slice(None), values: FloatArray | None = None
    ) -> FloatArray | None:
        """Add the chosen rows of a piece; return the numbers that are cut, if any.

        `values` are the numbers of the piece, if they were read before.
        """
        if not self.cut.is_cut:
            self.codes.append(self._texts(piece)[chosen])
            return None
        values = self.numbers(piece) if values is None else values
        assert values is not None
        values = values[chosen]
        # Quantiles are cut when all numbers are known.
        self.codes.append(
            values if self.cut.quantiles else _banded(values, np.array(self.cut.edges))
        )
        return values

    def _texts(self, piece: Piece) -> SmallInts:
        values = piece.column(self.cut.column)
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            raise piece.error(
                self.cut.column,
                0,
                values[0].as_py(),
                f"is of the type {values.type}, not a category",
                "give a column of texts or numbers",
            )
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        if len(encoded.dictionary) > MOST_CATEGORIES:  # Arrow may keep words that no row has
            encoded = encoded.dictionary_decode().dictionary_encode()
        words = encoded.dictionary
        words = words if is_text(words.type) else words.cast(pa.string())
        if len(words) > MOST_CATEGORIES:
            self._refuse_many(piece, words[MOST_CATEGORIES].as_py())
        listed = words.to_pylist() + [None] * (encoded.indices.null_count > 0)
        names = (unguarded(word) if word and word.strip() else MISSING_NAME for word in listed)
        codes = [self.values.setdefault(name, len(self.values)) for name in names]
        places = np.array(codes, np.int32)
        if len(self.values) > MOST_CATEGORIES:
            self._refuse_many(piece, list(self.values)[MOST_CATEGORIES])
        return places[np.asarray(encoded.indices.cast(pa.int64()).fill_null(len(words)))]

    def _refuse_many(self, piece: Piece, value: str) -> None:
        column, last = self.cut.column, piece.first + piece.batch.num_rows - 1
        raise InputError(
            f"{piece.place}, column {column}",
            value,
            f"has more than {number_text(MOST_CATEGORIES)} different values by row {last}",
            f'cut it into bands, such as "{column}:25,40,60", or into quantiles, '
            f'such as "{column}:q4", or choose another column',
        )

    def finish(self, quantiles: FloatArray | None = None) -> tuple[SmallInts, tuple[str, ...]]:
        """Return the codes of all rows, and their names in order.

        `quantiles` are those of other rows, at which these are cut.
        """
        codes: npt.NDArray[Any] = np.concatenate(self.codes)
        self.codes.clear()
        if not self.cut.is_cut:
            names = tuple(sorted(self.values, key=_natural))
            # Each code's place among the sorted names.
            places = np.argsort([self.values[name] for name in names]).astype(np.int32)
            return places[codes], names
        edges = np.array(self.cut.edges)
        if self.cut.quantiles:
            edges = _quantile_edges(codes, self.cut.quantiles) if quantiles is None else quantiles
            codes = _banded(codes, edges)
        self.edges = edges
        return codes, (*self.cut.names(edges.tolist()), MISSING_NAME)


def _banded(values: FloatArray, edges: FloatArray) -> SmallInts:
    """Return the band of each number; missing ones have the last."""
    found = np.searchsorted(edges, values, side="right").astype(np.int32)
    found[np.isnan(values)] = edges.size + 1
    return found


def _quantile_edges(values: FloatArray, quantiles: int) -> FloatArray:
    given = values[~np.isnan(values)]
    if not given.size:
        return np.empty(0)
    edges = np.unique(np.quantile(given, np.arange(1, quantiles) / quantiles, method="higher"))
    return edges[edges > given.min()]


def reversed_bands(codes: SmallInts, names: tuple[str, ...]) -> tuple[SmallInts, tuple[str, ...]]:
    """Return the codes and the names of bands in reverse; what is missing stays last.

    >>> reversed_bands(np.array([0, 2, 1], np.int32), ("low", "high", MISSING_NAME))
    (array([1, 2, 0], dtype=int32), ('high', 'low', '(missing)'))
    """
    bands = len(names) - (MISSING_NAME in names)
    places = np.arange(len(names), dtype=np.int32)
    places[:bands] = places[:bands][::-1]
    return places[codes], tuple(names[place] for place in places.tolist())


def cross(parts: list[CategoryCodes]) -> tuple[SmallInts, tuple[str, ...], list[str]]:
    """Return the codes of all rows [n], the names of categories [K], and notes."""
    finished = [part.finish() for part in parts]
    codes = [each[0] for each in finished]
    lists = [each[1] for each in finished]
    sizes = [len(names) for names in lists]
    total = int(np.prod(sizes, dtype=np.int64))
    joint = codes[0]
    if len(parts) > 1:
        joint = codes.pop(0).astype(np.int64 if total > np.iinfo(np.int32).max else np.int32)
        for code, size in zip(codes, sizes[1:], strict=True):
            joint *= size
            joint += code
    present, place = _present(joint, total)
    if present.size > MOST_CATEGORIES:
        name = " × ".join(part.cut.column for part in parts)
        raise InputError(
            "category",
            name,
            f"crosses to {present.size} categories, more than {MOST_CATEGORIES}",
            "cross fewer columns, or cut one into bands",
        )
    places: list[list[int]] = np.stack(np.unravel_index(present, sizes), axis=1).tolist()
    names = tuple(
        ", ".join(texts[code] for texts, code in zip(lists, each, strict=True)) for each in places
    )
    notes = [
        f"{cut.column} is cut into {cut.quantiles} quantiles of all clients of the past: the edges "
        f"look at their {cut.column} in later rounds, too, but never at outcomes"
        for cut in (part.cut for part in parts)
        if cut.quantiles
    ]
    return place, names, notes


def _present(codes: npt.NDArray[Any], total: int) -> tuple[npt.NDArray[Any], SmallInts]:
    """Return the codes that occur, and the place of each row's code among them."""
    if total > 10_000_000:  # a table of all codes would be larger than the rows
        present, place = np.unique(codes, return_inverse=True)
        return present, place.astype(np.int32)
    present = np.flatnonzero(np.bincount(codes, minlength=total))
    if present.size == total:
        return present, codes.astype(np.int32, copy=False)
    places = np.zeros(total, np.int32)
    places[present] = np.arange(present.size, dtype=np.int32)
    return present, places[codes]


def _natural(text: str) -> tuple[bool, list[tuple[int, float, str]]]:
    """Return a key that sorts A2 before A10, and what is missing last."""
    parts = [part for part in re.split(r"(\d+)", text) if part]
    keys = [(0, float(part[:15]), part) if part.isdecimal() else (1, 0.0, part) for part in parts]
    return text == MISSING_NAME, keys
