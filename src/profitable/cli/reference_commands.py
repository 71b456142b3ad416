"""Reference commands: `policies`, `families` and `warm-up`."""

import time
from typing import Annotated

import typer

from profitable.cli.shared import print_json

AsJsonList = Annotated[bool, typer.Option("--json", help="Print a JSON list instead.")]


def policies(as_json: AsJsonList = False) -> None:
    """List the policies: names on the command line and in Python, and parameters."""
    from profitable.policy.policies import POLICIES

    _print(POLICIES, as_json)


def families(as_json: AsJsonList = False) -> None:
    """List the families of rewards: names in files and in Python, and parameters."""
    from profitable.model.families import FAMILIES

    _print(FAMILIES, as_json)


def _print(registry: dict[str, type], as_json: bool) -> None:
    from profitable.common.registry import HEADERS, rows
    from profitable.common.text_tables import text_table

    found = rows(registry)
    if as_json:
        print_json([dict(zip(HEADERS, row, strict=True)) for row in found])
    else:
        typer.echo(text_table(HEADERS, found, words=(0, 1, 2)))


def warm_up() -> None:
    """Compile everything now, so that later commands start fast.

    Useful for a container image or a server.
    """
    from profitable.common.progress import Progress
    from profitable.kernels.compile import cache_folder, compiled_so_far
    from profitable.simulation.warm_up import steps

    start, work = time.process_time(), list(steps())
    with Progress(total=len(work), title="warming up") as bar:
        for done, (name, step) in enumerate(work):
            bar.update(done, title=f"{done + 1} of {len(work)}: {name}")
            step()
    folder, seconds, number = cache_folder(), time.process_time() - start, compiled_so_far()
    if folder is None:
        typer.echo(
            f"Compiled {number} functions, but found no folder for them; set NUMBA_CACHE_DIR."
        )
    elif number == 0:
        typer.echo(f"Everything is already compiled, in {folder}.")
    else:
        typer.echo(
            f"Compiled {number} functions in {seconds:.0f} seconds of CPU time, kept in {folder}."
        )
