"""`profitable policies` and `profitable families`: list what there is to choose from."""

import json
from typing import Annotated

import typer

POLICIES_EXAMPLE = "profitable policies --json"
FAMILIES_EXAMPLE = "profitable families"
LIST_HELP = "Print a JSON list instead."


def policies(as_json: Annotated[bool, typer.Option("--json", help=LIST_HELP)] = False) -> None:
    """List the policies: their names on the command line and in Python, their parameters and a description."""
    from profitable.policy.policies import POLICIES

    _print(POLICIES, as_json)


def families(as_json: Annotated[bool, typer.Option("--json", help=LIST_HELP)] = False) -> None:
    """List the families of rewards: their names in files and in Python, their parameters and a description."""
    from profitable.model.families import FAMILIES

    _print(FAMILIES, as_json)


def _print(registry: dict[str, type], as_json: bool) -> None:
    from profitable.common.registry import HEADERS, rows
    from profitable.common.text_tables import text_table

    found = rows(registry)
    if as_json:
        typer.echo(json.dumps([dict(zip(HEADERS, row, strict=True)) for row in found], ensure_ascii=False))
    else:
        typer.echo(text_table(HEADERS, found, words=(0, 1, 2)))
