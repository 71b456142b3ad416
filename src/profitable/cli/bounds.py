"""`profitable bounds`: print the paper's bounds for a scenario."""

import json
from pathlib import Path
from typing import Annotated

import typer

from profitable.cli.shared import JSON_HELP, whole_number

EXAMPLE = "profitable bounds segments.toml --horizon 1e9"


def bounds(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    horizon: Annotated[
        int,
        typer.Option(
            parser=whole_number, metavar="<int>", help="The horizon T in the finite-time bounds, such as 1e9."
        ),
    ] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Print the paper's bounds for a scenario: the lower bound, and the proved upper bounds of the policies."""
    from profitable.simulation.bounds_report import BoundsReport
    from profitable.simulation.scenario import Scenario

    report = BoundsReport(Scenario.load(scenario), horizon=horizon)
    typer.echo(json.dumps(report.to_dict()) if as_json else report.table())
