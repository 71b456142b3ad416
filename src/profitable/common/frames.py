"""Columns as a dataframe of whichever library the user has."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from profitable.errors import MissingLibraryError, ParameterError

BACKENDS = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str | None = None) -> Any:
    """Return a dataframe of `backend`.

    By default of a library that is imported already, or else of one that is
    installed.
    """
    if backend is not None and backend not in BACKENDS:
        raise ParameterError("backend", backend, "is unknown", f"choose from {', '.join(BACKENDS)}")
    wanted = [backend] if backend else sorted(BACKENDS, key=lambda name: name not in sys.modules)
    installed = [name for name in wanted if find_spec(name)]
    if not installed:
        missing = backend or "pandas"  # any of them would do
        raise MissingLibraryError(
            "library",
            missing,
            "is not installed, and a dataframe is made with it",
            f"run: pip install {missing}",
        )
    import narwhals

    return narwhals.from_dict(dict(columns), backend=installed[0]).to_native()  # type: ignore[arg-type]
