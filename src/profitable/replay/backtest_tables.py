"""Every table of a backtest as columns, from the dict of `Backtest.to_dict()`.

Dataframes, CSV files and spreadsheets are made from these, so they cannot disagree.
A table without rows is not there.

>>> left_out = [{"reason": "no amount", "rows": 2, "mean_reward": 1, "kept_mean": 0.5}]
>>> tables_of({"left_out": left_out})["left_out"]
{'reason': ['no amount'], 'rows': [2], 'mean_reward': [1], 'kept_mean': [0.5]}
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from profitable.errors import ParameterError
from profitable.replay.optional_keys import part_of, rows_of

Row = dict[str, Any]
Columns = dict[str, list[Any]]
Backtest = dict[str, Any]

ENTRY = (
    *("name", "words", "kind", "profit", "difference", "low", "high", "standing", "clients"),
    *("seeds", "seed_error"),
)
STOP = (
    *("grouping", "category", "clients", "open", "amount", "mean", "threshold", "profit"),
    *("low", "high", "pays", "stop"),
    *("recent_clients", "recent_profit", "recent_pays", "recent_since", "p"),
)
SPLIT = (*("date", "known", "open", "stopped", "first", "last", "accept_all", "gain", "possible"),)
SPLIT_TOTAL = ("grouping", "gain", "low", "high", "accept_all", "possible", "sentence")
SWAP = (
    *("category", "clients_in", "clients_out", "clients_unchanged"),
    *("money_in", "money_out", "money_unchanged"),
)
GROUPING = (
    *("name", "categories", "hindsight", "cross_fitted", "cross_fitted_error", "policy"),
    *("difference", "low", "high", "standing", "stopped"),
)
MEASURES = ("clients", "money", "losses", "gains")
ESTIMATE = (
    *("inverse_propensity", "inverse_propensity_error", "self_normalised", "doubly_robust"),
    *("doubly_robust_error", "clients", "effective_size", "refusal"),
)
SENTENCES = ("advice", "verdict", "luck", "cross_fitting", "first_line", "when_known")
LISTS = {"warnings": "warning", "assumptions": "assumption", "notes": "note"}


def tables_of(backtest: Backtest) -> dict[str, Columns]:
    """Return all tables that have rows, by name."""
    made = {name: list(rows(backtest)) for name, rows in TABLES.items()}
    return {name: _columns(rows) for name, rows in made.items() if rows}


def table_of(backtest: Backtest, name: str) -> Columns:
    """Return one table; ParameterError if there is none of this name."""
    tables, wanted = tables_of(backtest), str(name).replace("-", "_").replace(" ", "_")
    if wanted not in tables:
        problem = "is empty in this backtest" if wanted in TABLES else "is unknown"
        raise ParameterError("table", name, problem, f"choose from {', '.join(tables)}")
    return tables[wanted]


def _columns(rows: list[Row]) -> Columns:
    """Return rows as columns; whole numbers among fractions become fractions."""
    columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    return {
        name: [float(value) if type(value) is int else value for value in column]
        if any(isinstance(value, float) for value in column)
        else column
        for name, column in columns.items()
    }


def _part(row: Row, fields: Iterable[str]) -> Row:
    """Return some fields; a list in one cell is a text."""
    return {field: _cell(row.get(field)) for field in fields}


def _cell(value: Any) -> Any:
    return "; ".join(map(str, cast(list[Any], value))) if isinstance(value, list) else value


def _sentences(backtest: Backtest) -> Iterator[Row]:
    for kind in SENTENCES:
        if backtest.get(kind):
            yield {"kind": kind.replace("_", " "), "sentence": backtest[kind]}
    stop = part_of(backtest, "stop_list")
    parts = [
        ("stop list", [stop], "sentence"),
        ("time split", rows_of(backtest, "time_splits"), "sentence"),
    ]
    parts += [
        ("swap set", rows_of(backtest, "swap_sets"), "sentence"),
        ("emergence", [part_of(backtest, "emergence")], "sentence"),
        ("time split", rows_of(backtest, "time_splits"), "doubt"),
        ("entry", rows_of(backtest, "entries"), "sentence"),
    ]
    for kind, found, field in parts:
        for each in found:
            if each.get(field):
                yield {"kind": kind, "sentence": each[field]}
    for text in rows_of(stop, "notes"):
        yield {"kind": "stop list", "sentence": text}
    for field, kind in LISTS.items():
        for text in rows_of(backtest, field):
            yield {"kind": kind, "sentence": text}


def _entries(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "entries"):
        mixed = part_of(each, "shuffled")
        yield _part(each, ENTRY) | {
            "shuffled_difference": mixed.get("difference"),
            "shuffled_error": mixed.get("error"),
        }


def _time_split(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "time_splits"):
        for split in each["splits"]:
            yield {"grouping": each["grouping"]} | _part(split, SPLIT)


def _swap_set(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "swap_sets"):
        for row in each["rows"]:
            yield {"name": each["name"]} | _part(row, SWAP)


def _groupings(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "groupings"):
        later = part_of(each, "time_split")
        yield _part(each, GROUPING) | {
            f"time_split_{field}": later.get(field) for field in ("gain", "low", "high")
        }


def _curves(found: Row) -> Iterator[Row]:
    for place, age in enumerate(rows_of(found, "ages")):
        shares = {name: rows_of(found, name) for name in MEASURES}
        yield {"age": age} | {k: each[place] if each else None for k, each in shares.items()}


def _emergence(backtest: Backtest) -> Iterator[Row]:
    yield from _curves(part_of(backtest, "emergence"))


def _emergence_by_vintage(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(part_of(backtest, "emergence"), "vintages"):
        for row in _curves(each):
            yield {"vintage": each["vintage"]} | row


def _cutoff_over_time(backtest: Backtest) -> Iterator[Row]:
    found = part_of(backtest, "cutoff")
    names = [*(each["name"] for each in rows_of(found, "bands")), None]
    for each in rows_of(found, "over_time"):
        for label, place in zip(backtest["rounds"], each["cutoff"], strict=True):
            whole = float(place).is_integer() and 0 <= place < len(names)
            band = names[int(place)] if whole else None
            yield {"name": each["policy"], "round": label, "place": place, "lowest_band": band}


def _off_policy(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "entries"):
        if each.get("off_policy"):
            yield {"name": each["name"]} | _part(each["off_policy"], ESTIMATE)


def _over_time(backtest: Backtest) -> Iterator[Row]:
    for each in rows_of(backtest, "entries"):
        if each["difference"] is None:
            continue
        curves = each["over_time"]
        for place, label in enumerate(backtest["rounds"]):
            found = {field: curves[field][place] for field in ("difference", "low", "high")}
            yield {"name": each["name"], "round": label} | found


def _of_entries(field: str) -> Callable[[Backtest], Iterator[Row]]:
    """Return the rows that every entry has under a key, with its name."""

    def rows(backtest: Backtest) -> Iterator[Row]:
        for each in rows_of(backtest, "entries"):
            for row in rows_of(each, field):
                yield {"name": each["name"]} | row

    return rows


def _known(backtest: Backtest) -> Iterator[Row]:
    found = part_of(backtest, "known")
    for place, share in enumerate(rows_of(found, "share_known")):
        yield {
            "round": backtest["rounds"][place],
            "share_known": share,
            "known_mean": found["known_mean"][place],
            "final_mean": found["final_mean"][place],
        }


def _fit(backtest: Backtest) -> Iterator[Row]:
    fields = ("category", "observed_variance", "family_variance")
    return (_part(each, fields) for each in rows_of(part_of(backtest, "family"), "fit"))


def _settings(backtest: Backtest) -> Iterator[Row]:
    for name, value in part_of(backtest, "settings").items():
        if value is not None:
            yield {"setting": name, "value": str(_cell(value))}


TABLES: dict[str, Callable[[Backtest], Iterable[Row]]] = {
    "sentences": _sentences,
    "entries": _entries,
    "stop_list": lambda backtest: (
        _part(each, STOP) for each in rows_of(part_of(backtest, "stop_list"), "rows")
    ),
    "time_split": _time_split,
    "time_split_total": lambda backtest: (
        _part(each, SPLIT_TOTAL) for each in rows_of(backtest, "time_splits")
    ),
    "groupings": _groupings,
    "swap_set": _swap_set,
    "emergence": _emergence,
    "emergence_by_vintage": _emergence_by_vintage,
    "categories": lambda backtest: rows_of(backtest, "categories"),
    "cutoff": lambda backtest: rows_of(part_of(backtest, "cutoff"), "bands"),
    "cutoff_over_time": _cutoff_over_time,
    "off_policy": _off_policy,
    "by_category": _of_entries("by_category"),
    "by_vintage": _of_entries("by_vintage"),
    "over_time": _over_time,
    "known": _known,
    "family_fit": _fit,
    "left_out": lambda backtest: rows_of(backtest, "left_out"),
    "settings": _settings,
}  # the most important ones first; sheets and files have these names
