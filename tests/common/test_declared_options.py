"""An option is one line of a dataclass; everything else is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import pytest
import typer
from typer.testing import CliRunner

import profitable as pb
from profitable.cli.backtest_command import OPTIONS, backtest, parameters
from profitable.common import check
from profitable.common.declared_options import option, options_of, parameters_section
from profitable.past.cell_options import CellArguments
from profitable.replay.backtest_options import (
    FILE_KEYS,
    BacktestArguments,
    RunOptions,
)


@dataclass(frozen=True, kw_only=True)
class WithPatience(RunOptions):
    """A run with one option more."""

    delay: float | None = option(
        None, "Rounds to wait. With `budget`.", check=check.positive, needs=("budget",)
    )


def test_one_line_adds_an_option_everywhere() -> None:
    declared = options_of(WithPatience)
    assert list(declared) == [*options_of(RunOptions), "delay"]
    # The argument, its type, its checks and its documentation.
    assert WithPatience(delay=2, budget=5).delay == 2.0
    with pytest.raises(pb.errors.ParameterError, match=r"delay = 0 .*above 0"):
        WithPatience(delay=0, budget=5)
    with pytest.raises(pb.errors.ParameterError, match=r"delay = 2.0 is given without budget"):
        WithPatience(delay=2)
    assert parameters_section(WithPatience).endswith(
        "delay : float | None\n    Rounds to wait. With `budget`."
    )
    # The option of the command, with its type and its help.
    app, seen = typer.Typer(), dict[str, Any]()

    def command(**given: Any) -> None:
        seen.update(given)

    command.__signature__ = _signature(parameters(declared.values()))  # type: ignore[attr-defined]
    app.command()(command)
    done = CliRunner().invoke(app, ["--delay", "2.5", "--policy", "ts", "--policy", "kl-ucb"])
    assert done.exit_code == 0, done.output
    assert (seen["delay"], seen["policies"], seen["seed"]) == (2.5, ["ts", "kl-ucb"], None)
    assert "With --budget" in CliRunner().invoke(app, ["--help"]).output


def _signature(found: list[Any]) -> Any:
    import inspect

    return inspect.Signature(found)


def test_a_backtest_has_one_declaration() -> None:
    import inspect

    arguments = inspect.signature(pb.backtest).parameters
    assert list(arguments) == ["data", *options_of(BacktestArguments)]
    run_only = {"progress", "command"}
    assert set(FILE_KEYS) == {*arguments} - run_only
    command = inspect.signature(backtest).parameters
    assert {*OPTIONS} == {*arguments, *options_of(CellArguments)} - {"data"} - run_only
    assert {*OPTIONS} <= {*command}
    for name, each in OPTIONS.items():
        assert each.help.endswith("."), name
        assert get_origin(command[name].annotation) is Annotated
        assert get_args(command[name].annotation)[1].help, name
        assert all(other in OPTIONS for other in (*each.needs, *each.excludes))


def test_help_shows_every_argument_with_its_type_and_default() -> None:
    page = pb.backtest.__doc__ or ""
    for name, each in options_of(BacktestArguments).items():
        assert f"    {name} : {each.type}" in page
    assert "    seeds : int, default 20\n" in page
