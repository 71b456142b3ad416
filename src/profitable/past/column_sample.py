"""Column sample: some rows of a source, spread over all of it, in their order.

Whether a row is taken depends on its number alone, by a hash.  So the sample is the
same in every run, and no pattern of the rows, such as one treated client after one
that is not, can hide from it.

>>> from profitable.past.source import open_source
>>> found = sampled(open_source({"y": list(range(1_000))}), ["y"], most=100)
>>> found.rows, 50 < found.piece.batch.num_rows <= 100
(1000, True)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from profitable.common.types import BoolArray
from profitable.past.past import SAMPLE
from profitable.past.source import OnShare, Piece, Source, pa
from profitable.past.typed_columns import decoded
from profitable.past.units import Units

# Those of SplitMix64.
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
GOLDEN = 0x9E3779B97F4A7C15
SHIFTS = (30, 27, 31)


class ColumnSample(NamedTuple):
    """Sampled rows as one piece, and how many rows the source has."""

    piece: Piece
    rows: int

    @property
    def is_whole(self) -> bool:
        """Whether every row is in the sample."""
        return self.piece.batch.num_rows == self.rows


def sampled(
    source: Source,
    columns: Sequence[str],
    *,
    most: int = 2 * SAMPLE,
    progress: OnShare = None,
) -> ColumnSample:
    """Return more than half of `most` rows of a source, or all of a smaller one."""
    batches: list[Any] = []
    places: list[npt.NDArray[np.uint64]] = []
    rows, taken, halvings = 0, 0, 0
    schema: Any = None
    units = Units()
    for piece in source.pieces(list(columns), progress=progress):
        schema, units = schema or piece.batch.schema, piece.units
        here = np.arange(rows, rows + piece.batch.num_rows, dtype=np.uint64)
        rows += here.size
        chosen = _is_chosen(here, halvings)
        places.append(here[chosen])
        batches.append(_taken(piece.batch, chosen))
        taken += places[-1].size
        while taken > most:
            halvings += 1
            kept = [_is_chosen(each, halvings) for each in places]
            batches = [_taken(each, keep) for each, keep in zip(batches, kept, strict=True)]
            places = [each[keep] for each, keep in zip(places, kept, strict=True)]
            taken = sum(each.size for each in places)
    if schema is None:
        schema = pa.schema([(name, pa.string()) for name in columns])
    if not taken:
        empty = pa.RecordBatch.from_pylist([], schema=schema)
        return ColumnSample(Piece(empty, source.name, 1, units=units), rows)
    table = pa.Table.from_batches(batches, schema=batches[0].schema).combine_chunks()
    return ColumnSample(Piece(table.to_batches()[0], source.name, 1, units=units), rows)


def _is_chosen(places: npt.NDArray[np.uint64], halvings: int) -> BoolArray:
    """Whether the rows of some numbers are taken after so many halvings."""
    if not halvings:
        return np.ones(places.size, bool)
    with np.errstate(over="ignore"):
        mixed = (places + np.uint64(1)) * np.uint64(GOLDEN)
        for shift, multiplier in zip(SHIFTS, (*MULTIPLIERS, None), strict=True):
            mixed = mixed ^ (mixed >> np.uint64(shift))
            mixed = mixed if multiplier is None else mixed * np.uint64(multiplier)
    return (mixed & np.uint64((1 << halvings) - 1)) == 0


def _taken(batch: Any, chosen: BoolArray) -> Any:
    """Return some rows of a batch, of which no column is encoded by a dictionary."""
    if chosen.all() and not any(pa.types.is_dictionary(each.type) for each in batch.schema):
        return batch
    rows = batch if chosen.all() else batch.filter(pa.array(chosen))
    return pa.RecordBatch.from_arrays(list(map(decoded, rows.columns)), names=rows.schema.names)
