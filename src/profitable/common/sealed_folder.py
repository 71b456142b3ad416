"""Folders of results and of studies: a manifest and a table, each with a checksum.

An altered file is not read, and the table of another manifest neither.
"""

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from profitable.common.extras import extra
from profitable.common.files import checksum_of, replace_file
from profitable.errors import (
    BrokenResultError,
    NewerResultError,
    OtherResultError,
    ResultFolderError,
)


def arrow() -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet; InputError if they are not installed."""
    with extra("results", "results are kept as Parquet"):
        import pyarrow
        from pyarrow import parquet
    return pyarrow, parquet


def write_table(path: Path, table: Any, marks: Mapping[str, str] | None = None) -> Path:
    """Write a table; with `marks`, which name what it belongs to, also its checksum."""
    _, parquet = arrow()
    if marks is not None:
        table = table.replace_schema_metadata({**marks, "checksum": _checksum(table)})
    return replace_file(path, lambda temporary: parquet.write_table(table, temporary))


def read_table(
    path: Path, manifest: str, noun: str, fingerprint: str
) -> tuple[dict[str, list[Any]], dict[bytes, bytes]]:
    """Return the columns and the marks of a table.

    ValueError if it was altered, or if its mark `noun` is not the `fingerprint` of the
    manifest.
    """
    table = arrow()[1].read_table(path)
    marks = table.schema.metadata
    if marks[noun.encode()] != fingerprint.encode():
        raise ValueError(f"{path.name} belongs to another {noun} than {manifest}")
    if marks[b"checksum"] != _checksum(table).encode():
        raise ValueError(f"{path.name} was altered: its checksum is wrong")
    return table.to_pydict(), marks


def _checksum(table: Any) -> str:
    """Return the checksum of a table's values and column names."""
    return checksum_of(json.dumps(table.to_pydict()))


@contextmanager
def reading(folder: Path, noun: str) -> Generator[None]:
    """Turn any error into a BrokenResultError; InputError if pyarrow is missing."""
    arrow()
    try:
        yield
    except Exception as error:  # anything can be wrong with a file, and pyarrow has its own errors
        raise BrokenResultError(
            "out",
            str(folder),
            f"holds a {noun} that cannot be read ({' '.join(str(error).split())[:80]})",
            "make it again, or choose another folder",
        ) from None


def not_ours(path: Path) -> ResultFolderError:
    """Return the error for a folder with a manifest of something else."""
    return ResultFolderError(
        "out",
        str(path.parent),
        f"holds a {path.name} that is not ours",
        f"choose another folder, or delete {path}",
    )


def newer(folder: Path, manifest: Mapping[str, Any], readable: str) -> NewerResultError:
    """Return the error for a manifest of a later version than those `readable`."""
    return NewerResultError(
        "out",
        str(folder),
        f"was made by a newer version ({manifest.get('version')}, format {manifest['format']})",
        f"install that version; this one reads {readable}",
    )


def refuse_other(
    folder: Path,
    noun: str,
    found: Mapping[str, Any],
    wanted: Mapping[str, Any],
    keys: Iterable[str],
) -> None:
    """Raise OtherResultError if one of these keys differs in two manifests."""
    for key in keys:
        if found.get(key) != wanted[key]:
            raise OtherResultError(
                "out",
                str(folder),
                f"holds another {noun}: its {key} is {found.get(key)!r}, not {wanted[key]!r}",
                "choose another folder, or replace it with --fresh (fresh=True in Python)",
            )
