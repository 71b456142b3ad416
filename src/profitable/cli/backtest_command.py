"""`profitable backtest`: what policies would have earned on past clients."""

import inspect
import json
import re
import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from profitable.cli.shared import AsJson, interruptible, policy_names, print_found
from profitable.common.declared_options import OptionField, options_of
from profitable.errors import ParameterError
from profitable.past.cell_options import CellOptions
from profitable.past.layout import FIELDS, Layout, number_or_text
from profitable.replay.backtest_options import RUN_OPTIONS, RunOptions

EXAMPLE = (
    "profitable backtest loans.csv --category purpose --time issued --reward paid_back "
    "--amount lent --required 0.05 --known settled --out results/loans"
)
OPTIONS = options_of(Layout) | options_of(RunOptions) | options_of(CellOptions)
CELL_OPTIONS = options_of(CellOptions).keys()
COMPLETIONS = {"policies": policy_names}
UNSET: tuple[Any, ...] = (None, [])
LEAVE_OUT = "leave one of them out"


def backtest(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of CSV or Parquet, folders, or patterns such as 'loans-*.csv'; or cells."
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A TOML file with these options; those on the command line win."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Run on 1 000 German loans that come with the package.")
    ] = False,
    cells: Annotated[
        Path | None,
        typer.Option(
            help="Only aggregate the clients, with DuckDB, into this Parquet file; a backtest "
            "takes it as data."
        ),
    ] = None,
    describe: Annotated[
        bool,
        typer.Option(
            "--describe",
            help="Replay nothing: print what was read (rounds, categories, possible leaks) or, "
            "of a file alone, what its columns may be, and a command to start from.",
        ),
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            help="A category: also print its evidence against the patience of each policy."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the report, its pictures, its tables and its numbers."),
    ] = None,
    excel: Annotated[
        Path | None, typer.Option(help="An .xlsx file for all tables, a sheet each.")
    ] = None,
    as_json: AsJson = False,
    **declared: Any,
) -> None:
    """Replay policies over past clients: what each would have earned if it had decided.

    A policy sees outcomes only of clients whom it accepts, and only when they were
    really known.
    """
    given = {name: _read(name, value) for name, value in declared.items() if value not in UNSET}
    where, options = _collect(data or None, settings, demo, given)
    if cells is None:
        for name in CELL_OPTIONS & options.keys():
            raise ParameterError(
                name,
                options[name],
                "is given without cells",
                "give --cells with the name of a file",
            )
    only = "cells" if cells is not None else "describe" if describe else None
    for name, value in {
        "out": out,
        "excel": excel,
        "show": show,
        "describe": describe or None,
    }.items():
        if value is not None and only not in (None, name):
            _refuse(name, str(value), f"is given with {only}, which replays nothing")
    if cells is not None:
        _aggregate(where, options, cells, as_json)
    elif describe:
        _describe(where, options, as_json)
    else:
        _replay(where, options, show, (out, excel), as_json)


def parameters(options: Iterable[OptionField]) -> list[inspect.Parameter]:
    """Options of the command, made from their declaration; none is set by default."""
    found: list[inspect.Parameter] = []
    for each in options:
        values = _type_on_command_line(each.type)
        repeated = " Can be repeated." if values is list[str] else ""
        info = typer.Option(
            each.flag or f"--{each.name.replace('_', '-')}",
            help=re.sub(r"`(\w+)`", _as_flag, each.help) + repeated,
            show_default=each.shown_default or False,
            rich_help_panel=each.group or None,
            autocompletion=COMPLETIONS.get(each.name),
        )
        annotation, keyword = Annotated[values | None, info], inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(each.name, keyword, default=None, annotation=annotation))
    return found


def _as_flag(match: re.Match[str]) -> str:
    name = match[1]
    return f"--{name.replace('_', '-')}" if name in OPTIONS else name


def _type_on_command_line(written: str) -> Any:
    """Return the type of an argument: text where a text is possible, or a list."""
    if "Sequence[str" in written:
        return list[str]
    if written == "bool":
        return bool
    return str if "str" in written else float if "float" in written else int


def _read(name: str, value: Any) -> Any:
    """Read a number where an option takes a number or a column."""
    return number_or_text(value) if OPTIONS[name].type.startswith("float | str") else value


# The command gets the options that are declared elsewhere.
OWN_OPTIONS = list(inspect.signature(backtest).parameters.values())[:-1]
backtest.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*OWN_OPTIONS, *parameters(OPTIONS.values())]
)


def _refuse(name: str, value: object, problem: str) -> None:
    raise ParameterError(name, value, problem, LEAVE_OUT)


def _collect(
    data: list[str] | None, settings: Path | None, demo: bool, given: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Collect the data and all options; those on the command line win."""
    where: Any = data
    if settings is not None:
        from profitable.replay.backtest_options import load_toml

        if demo:
            _refuse("from", str(settings), "is given with demo")
        found, options = load_toml(settings)
        where, given = data or found, options | given
    if demo:
        from profitable.replay.backtest_options import demo as demo_of

        if data:
            _refuse("data", data, "is given with demo, which has its own")
        path, shown = demo_of()
        if "scorecard" in given:  # in place of the category
            shown = replace(shown, category="", scorecard=given["scorecard"])
        where, given = str(path), shown.to_dict() | given
    if where is None:
        raise ParameterError(
            "data", None, "is missing", "give a file, --from a TOML file, or --demo"
        )
    return where, given


def _describe(where: Any, options: dict[str, Any], as_json: bool) -> None:
    from profitable.common.progress import Progress
    from profitable.replay.describe import describe

    given = {name: options[name] for name in (*FIELDS, "family", "bound") if name in options}
    with Progress(total=1, title="reading") as reading:
        found = describe(where, **given, progress=reading.update)
    print_found(found, as_json)


def _aggregate(where: Any, options: dict[str, Any], path: Path, as_json: bool) -> None:
    from profitable.past.aggregate import cells, relation

    for key in RUN_OPTIONS:
        if key in options and key != "family":
            raise ParameterError(
                key,
                options[key],
                "is given with cells, which replays nothing",
                "give it when you replay the cells",
            )
    found = cells(relation(where), **options)
    found.save(path)
    summary = {
        "cells": len(found),
        "rows": found.past.rows,
        "clients": len(found.clients),
        "path": str(path),
    }
    typer.echo(json.dumps(summary) if as_json else f"{found}\nCells: {path}")


def _replay(
    where: Any,
    options: dict[str, Any],
    show: str | None,
    files: tuple[Path | None, Path | None],
    as_json: bool,
) -> None:
    """Replay; `files` are the folder of the report and the workbook."""
    from profitable.replay.backtest import other_groupings, prepare, run
    from profitable.replay.backtest_export import TABLES_FOLDER, check_workbook
    from profitable.replay.backtest_result import report_writer
    from profitable.replay.backtest_summary import position, trace

    out, excel = files
    if out is not None:
        report_writer()  # a missing package is reported before the work
    if excel is not None:
        check_workbook(excel)
    past, chosen = prepare(where, options)
    if show is not None:
        position(past.clients.names, show)
    others = other_groupings(where, past, chosen, options)
    found = run(past, chosen, others=others, command=shlex.join(["profitable", *sys.argv[1:]]))
    typer.echo(found.to_json() if as_json else str(found))
    if show is not None and not as_json:
        typer.echo(f"\n{trace(past.clients, found.policies, show)}")
    written: list[str] = []
    if excel is not None:
        written.append(f"Workbook: {found.to_excel(excel)}")
    if out is not None:
        kept = f"{out} has a part of this report, and each of its files is whole"
        with interruptible(f"{kept}. Run the same command again"):
            page = found.save(out)
        written += [f"Tables: {page.parent / TABLES_FOLDER}", f"Report: {page}"]
    if written and not as_json:
        typer.echo("\n" + "\n".join(written))
