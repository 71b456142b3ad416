"""Cells: past clients added up where the data are, and replayed without a single row of them.

`profitable.backtest.cells` makes them (`gather.py`).  They can be saved to a Parquet file, and a backtest takes them
in place of rows.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from profitable.common.files import as_path
from profitable.common.text_tables import number
from profitable.errors import InputError, NotSavedError
from profitable.model.family import Family
from profitable.replay.grouped import Grouped, Histogram
from profitable.replay.layout import Layout
from profitable.replay.past import LeftOut, Past
from profitable.replay.source import pyarrow

FORMAT = 1
KEY = b"profitable cells"
KEYS = ("round", "known", "category", "fold")


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts and sums of past clients by round, round known, category and fold: what a replay needs of them.

    `save` writes them to a Parquet file, `Cells.load` reads it, and `profitable.backtest(cells)` replays them.
    """

    past: Past
    clients: Grouped
    family: Family | None = None  # whose statistic was added up; None if it was the reward itself

    def __len__(self) -> int:
        """How many cells there are."""
        return self.clients.size

    def __str__(self) -> str:
        clients = self.clients
        folds = "no folds, so no intervals" if clients.folds == 1 else f"{clients.folds} folds"
        left = [f"{number(each.rows)} rows left out: {each.reason}" for each in self.past.left_out]
        size = f"{number(self.past.rows)} rows became {number(len(self))} cells"
        what = f"{len(clients.names)} categories, {clients.rounds} rounds ({clients.labels[0]} to {clients.labels[-1]})"
        return "\n".join([f"{size}: {what}, {folds}", *left, *(f"note: {text}" for text in self.past.notes)])

    # ------------------------------------------------------------------------------------------ keeping

    def to_arrow(self) -> Any:
        """The cells as an Arrow table, whose metadata say what they are."""
        pa, clients = pyarrow(), self.clients
        columns: dict[str, Any] = {name: getattr(clients, name) for name in KEYS} | dict(clients.sums)
        if clients.histogram is not None:
            ends = pa.array(np.concatenate([[0], clients.histogram.ends]).astype(np.int32))
            for name in ("values", "counts"):
                flat = pa.array(getattr(clients.histogram, name))
                columns[f"histogram_{name}"] = pa.ListArray.from_arrays(ends, flat)
        past = self.past
        said: dict[str, Any] = {
            "format": FORMAT,
            "names": clients.names,
            "labels": clients.labels,
            "folds": clients.folds,
            "layout": past.layout.to_dict(),
            "source": past.source,
            "rows": past.rows,
            "round": past.round,
            "left_out": [each.to_dict() for each in past.left_out],
            "notes": past.notes,
            "warnings": past.warnings,
            "costs": None if past.costs is None else past.costs.tolist(),
            "family": None if self.family is None else _written(self.family),
        }
        return pa.table(columns).replace_schema_metadata({KEY: json.dumps(said)})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write them to a Parquet file; NotSavedError if it cannot be written."""
        where = as_path("path", path)
        try:
            pyarrow("parquet").write_table(self.to_arrow(), where)
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            failed = NotSavedError("path", str(where), problem, "choose another file, or make room")
            failed.result = self
            raise failed from None
        return where

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Cells":
        """Read what `save` wrote; InputError if the file holds no cells."""
        where = as_path("path", path)
        if not holds_cells(where):
            raise InputError("path", str(where), "is no file of cells", "give a file that Cells.save has written")
        table = pyarrow("parquet").read_table(where)
        try:
            return _from_arrow(table)
        except (KeyError, ValueError, TypeError) as error:
            problem = f"cannot be read as cells ({' '.join(str(error).split())[:80]})"
            raise InputError("path", str(where), problem, "make the cells again") from None


def holds_cells(path: Path) -> bool:
    """Whether a file was written by `Cells.save`."""
    parquet = pyarrow("parquet")
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
        return KEY in (parquet.read_schema(path).metadata or {})
    except (OSError, pyarrow().ArrowException):
        return False


def _from_arrow(table: Any) -> Cells:
    said = json.loads(table.schema.metadata[KEY])
    if said["format"] != FORMAT:
        raise InputError("format", said["format"], "is that of another version", "make the cells again")
    columns = {name: table.column(name) for name in table.column_names if not name.startswith("histogram_")}
    arrays = {name: column.to_numpy() for name, column in columns.items()}
    family = None if said["family"] is None else Family.of(said["family"])
    histogram = None
    if "histogram_values" in table.column_names:
        values, counts = (table.column(f"histogram_{name}").combine_chunks() for name in ("values", "counts"))
        ends = np.cumsum(np.asarray(values.value_lengths()))
        histogram = Histogram(ends, values.flatten().to_numpy(), counts.flatten().to_numpy())
    keys = {name: arrays.pop(name) for name in KEYS}
    clients = Grouped.of(
        names=said["names"],
        labels=said["labels"],
        folds=said["folds"],
        sums=arrays,
        statistic=None if family is None else family.view().statistic,
        **keys,
    )  # they were sorted when they were written, so that the histogram fits
    clients = replace(clients, histogram=histogram)
    left = [LeftOut(**each) for each in said["left_out"]]
    costs = None if said["costs"] is None else np.array(said["costs"])
    layout, source = Layout.from_fields(said["layout"]), said["source"]
    past = Past(clients, layout, source, said["rows"], said["round"], left, said["notes"], said["warnings"], {}, costs)
    return Cells(past, clients, family)


def _written(family: Family) -> str:
    values = ",".join(f"{key}={value!r}" for key, value in family.parameters.items())
    return f"{family.name}:{values}" if values else family.name
