"""Keys of a backtest's dict that may be missing or null, as in older results.

>>> rows_of({"warnings": None}, "warnings"), part_of({}, "stop_list")
([], {})
"""

from collections.abc import Mapping
from typing import Any


def rows_of(found: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under a key, or an empty one."""
    rows: list[Any] | None = found.get(key)
    return rows or []


def part_of(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the dict under a key, or an empty one."""
    part: dict[str, Any] | None = found.get(key)
    return part or {}
