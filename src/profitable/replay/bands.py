"""Bands: the categories of clients, from one column, from several that are crossed, or from a number that is cut.

>>> Cut.parse("age:25,40").names([25.0, 40.0])
('age < 25', 'age 25-40', 'age >= 40')
>>> Cut.parse("age:q4").quantiles
4
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from profitable.common import check
from profitable.common.spreadsheet import unguarded
from profitable.common.text_tables import number
from profitable.common.types import FloatArray
from profitable.errors import InputError, ParameterError
from profitable.replay.columns import is_text, numbers
from profitable.replay.crowd import SmallInts
from profitable.replay.source import Piece, pyarrow

MOST_CATEGORIES = 5_000
MOST_QUANTILES = 100
MISSING_NAME = "(missing)"
CUT_REMEDY = 'cut it into bands, such as "{0}:25,40,60", or into quantiles, such as "{0}:q4"'


class Cut(NamedTuple):
    """A column of categories, and how it is cut: at given edges, at quantiles, or not at all."""

    column: str
    edges: tuple[float, ...] = ()
    quantiles: int = 0

    @classmethod
    def parse(cls, text: str, columns: Sequence[str] = ()) -> Self:
        """What a user writes: "age", "age:25,40,60" or "age:q4".  A column of that very name is taken as it is."""
        column, colon, cut = text.rpartition(":")
        if not colon or text in columns or not column:
            return cls(text)
        remedy = 'give edges, such as "age:25,40,60", or a number of quantiles, such as "age:q4"'
        if re.fullmatch(r"q\d{1,9}", cut):
            if not 2 <= int(cut[1:]) <= MOST_QUANTILES:
                raise ParameterError("category", text, f"has not 2 to {MOST_QUANTILES} quantiles", remedy)
            return cls(column, (), int(cut[1:]))
        try:
            edges = tuple(check.finite("category", float(part)) for part in cut.split(","))
        except ValueError:
            if column not in columns and columns:
                return cls(text)  # then the column is missing, and the error says so
            raise ParameterError("category", text, "is cut at no numbers", remedy) from None
        if any(low >= high for low, high in pairwise(edges)):
            raise ParameterError("category", text, "has edges that do not grow", remedy)
        return cls(column, edges)

    @property
    def is_cut(self) -> bool:
        """Whether its numbers are cut at all."""
        return bool(self.edges or self.quantiles)

    def names(self, edges: Sequence[float]) -> tuple[str, ...]:
        """The names of the bands between edges."""
        if not len(edges):
            return (self.column,)
        texts = [number(edge, 6).replace(" ", "") for edge in edges]
        between = [f"{self.column} {low}-{high}" for low, high in pairwise(texts)]
        return f"{self.column} < {texts[0]}", *between, f"{self.column} >= {texts[-1]}"


@dataclass
class Part:
    """One column of the categories, read piece by piece: codes [n] of its values, or numbers to cut."""

    cut: Cut
    values: dict[str, int] = field(default_factory=lambda: {})
    codes: list[npt.NDArray[Any]] = field(default_factory=lambda: [])

    def read(self, piece: Piece, keep: npt.NDArray[np.bool_] | None) -> FloatArray | None:
        """Add the rows of a piece, those to keep only; returns the numbers that are cut, if there are."""
        if not self.cut.is_cut:
            codes = self._texts(piece)
            self.codes.append(codes if keep is None else codes[keep])
            return None
        values = numbers(piece, self.cut.column, "cut columns of numbers only")
        values = values if keep is None else values[keep]
        # Quantiles are cut when all numbers are known.
        self.codes.append(values if self.cut.quantiles else _banded(values, np.array(self.cut.edges)))
        return values

    def _texts(self, piece: Piece) -> SmallInts:
        pa = pyarrow()
        values = piece.column(self.cut.column)
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            index = 0
            problem = f"is of the type {values.type}, not a category"
            raise piece.error(
                self.cut.column, index, values[index].as_py(), problem, "give a column of texts or numbers"
            )
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        words = encoded.dictionary if is_text(encoded.dictionary.type) else encoded.dictionary.cast(pa.string())
        if len(words) > MOST_CATEGORIES:  # Arrow may keep words that no row has
            words = words.take(encoded.indices.unique().drop_null())
            if len(words) > MOST_CATEGORIES:
                self._refuse_many(piece, words[MOST_CATEGORIES].as_py())
            encoded = encoded.dictionary_decode().dictionary_encode()
            words = encoded.dictionary if is_text(encoded.dictionary.type) else encoded.dictionary.cast(pa.string())
        places = np.empty(len(words) + 1, np.int32)
        places[-1] = self._code(None) if encoded.indices.null_count else 0
        for place, word in enumerate(words.to_pylist()):
            places[place] = self._code(word)
        if len(self.values) > MOST_CATEGORIES:
            self._refuse_many(piece, list(self.values)[MOST_CATEGORIES])
        return places[np.asarray(encoded.indices.cast(pa.int64()).fill_null(len(words)))]

    def _code(self, word: str | None) -> int:
        name = unguarded(word) if word and word.strip() else MISSING_NAME
        return self.values.setdefault(name, len(self.values))

    def _refuse_many(self, piece: Piece, value: str) -> None:
        problem = f"has more than {MOST_CATEGORIES:,} different values by row {piece.first + piece.batch.num_rows - 1}"
        remedy = CUT_REMEDY.format(self.cut.column) + ", or choose another column"
        place = f"{piece.place}, column {self.cut.column}"
        raise InputError(place, value, problem.replace(",", " "), remedy)

    def finish(self) -> tuple[SmallInts, tuple[str, ...]]:
        """The codes of all rows, and their names in order."""
        codes: npt.NDArray[Any] = np.concatenate(self.codes)
        self.codes.clear()
        if not self.cut.is_cut:
            names = tuple(sorted(self.values, key=_natural))
            places = np.empty(max(len(names), 1), np.int32)
            for place, name in enumerate(names):
                places[self.values[name]] = place
            return places[codes], names
        edges = np.array(self.cut.edges)
        if self.cut.quantiles:
            edges = _quantile_edges(codes, self.cut.quantiles)
            codes = _banded(codes, edges)
        return codes, (*self.cut.names(edges.tolist()), MISSING_NAME)


def _banded(values: FloatArray, edges: FloatArray) -> SmallInts:
    """The band of each number; missing ones have the last."""
    found = np.searchsorted(edges, values, side="right").astype(np.int32)
    found[np.isnan(values)] = edges.size + 1
    return found


def _quantile_edges(values: FloatArray, quantiles: int) -> FloatArray:
    given = values[~np.isnan(values)]
    if not given.size:
        return np.empty(0)
    shares = np.arange(1, quantiles) / quantiles
    edges = np.unique(np.quantile(given, shares, method="higher"))
    return edges[edges > given.min()]


def cross(parts: list[Part]) -> tuple[SmallInts, tuple[str, ...], list[str]]:
    """The categories of all rows: codes [n], names [K], and notes.  Only categories with clients are there."""
    codes: list[npt.NDArray[Any]] = []
    lists: list[tuple[str, ...]] = []
    for part in parts:
        code, texts = part.finish()
        codes.append(code)
        lists.append(texts)
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
        problem = f"crosses to {present.size} categories, more than {MOST_CATEGORIES}"
        raise InputError("category", name, problem, "cross fewer columns, or cut one into bands")
    names: list[str] = []
    codes_present: list[int] = present.tolist()
    for code in codes_present:
        words: list[str] = []
        for size, texts in zip(reversed(sizes), reversed(lists), strict=True):
            words.append(texts[code % size])
            code //= size  # noqa: PLW2901
        names.append(", ".join(reversed(words)))
    notes = [_note(part.cut) for part in parts if part.cut.quantiles]
    return place, tuple(names), notes


def _present(codes: npt.NDArray[Any], total: int) -> tuple[npt.NDArray[Any], SmallInts]:
    """The codes that occur, and the place of each row's code among them."""
    if total > 10_000_000:  # a table of all codes would be larger than the rows
        present, place = np.unique(codes, return_inverse=True)
        return present, place.astype(np.int32)
    present = np.flatnonzero(np.bincount(codes, minlength=total))
    if present.size == total:
        return present, codes.astype(np.int32, copy=False)
    places = np.zeros(total, np.int32)
    places[present] = np.arange(present.size, dtype=np.int32)
    return present, places[codes]


def _note(cut: Cut) -> str:
    return (
        f"{cut.column} is cut into {cut.quantiles} quantiles of all clients of the past: the edges look at their "
        f"{cut.column} in later rounds, too, but never at outcomes"
    )


def _natural(text: str) -> tuple[bool, list[tuple[int, float, str]]]:
    """A key that sorts A2 before A10, and what is missing last."""
    parts = [part for part in re.split(r"(\d+)", text) if part]
    keys = [(0, float(part[:15]), part) if part.isdecimal() else (1, 0.0, part) for part in parts]
    return text == MISSING_NAME, keys
