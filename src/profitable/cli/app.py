"""The command line: its commands and its exit codes.  Heavy imports wait until a command needs them."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from profitable.cli import bounds, credit, lists, paper, simulate, warm_up
from profitable.cli.shared import DONE, INTERRUPTED, WRONG_INPUT, Stopped
from profitable.version import VERSION

NOTHING_KEPT = "profitable: interrupted; nothing was written. Run the same command to start again."

app = typer.Typer(
    name="profitable",
    help="Profitable bandits: decide whom to accept when saying yes is the only way to learn.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"profitable {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Profitable bandits: decide whom to accept when saying yes is the only way to learn."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


COMMANDS: list[tuple[Callable[..., Any], str]] = [
    (paper.paper, paper.EXAMPLE),
    (credit.credit, credit.EXAMPLE),
    (simulate.simulate, simulate.EXAMPLE),
    (bounds.bounds, bounds.EXAMPLE),
    (lists.policies, lists.POLICIES_EXAMPLE),
    (lists.families, lists.FAMILIES_EXAMPLE),
    (warm_up.warm_up, warm_up.EXAMPLE),
]
for command, example in COMMANDS:
    app.command(epilog=f"Example: {example}")(command)


def _usage_message(error: typer.TyperException) -> str:
    """One line that names the option and what was given for it."""
    parameter = getattr(error, "param", None)
    message = str(getattr(error, "message", "") or error).replace("\n", " ").rstrip(".")
    for option in getattr(parameter, "opts", []):
        for argument, following in reversed([*zip(sys.argv, [*sys.argv[1:], ""], strict=True)]):  # the last one counts
            name, _, value = argument.partition("=")
            if name == option:
                return f"{option} = {value or following!r}: {message[0].lower()}{message[1:]}"
    return message


def _leave_interrupted() -> None:
    """Exit with the documented code.

    Python itself would end by the signal if Ctrl-C had met code that is run from a string, as some imports do.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line: exit 0 done, 2 wrong input, 130 interrupted, 1 anything else."""
    noticed: list[int] = []

    def notice(number: int, frame: object) -> None:
        noticed.append(number)
        sys.unraisablehook = lambda _: None  # else the compiler's callbacks print their own traceback
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, notice)
    try:
        code = app(standalone_mode=False, prog_name="profitable")
        if code == INTERRUPTED:
            typer.echo(NOTHING_KEPT, err=True)
            _leave_interrupted()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done, so ignore a late Ctrl-C
        sys.exit(code if isinstance(code, int) else DONE)
    except Stopped as stopped:
        typer.echo(f"profitable: {stopped}", err=True)
        _leave_interrupted()
    except typer.TyperException as error:
        typer.echo(f"profitable: {_usage_message(error)}; try: profitable --help", err=True)
        sys.exit(WRONG_INPUT)
    except Exception as error:
        from profitable.errors import ProfitableError

        if noticed:  # Ctrl-C during a compilation comes out of the compiler as another error
            typer.echo(NOTHING_KEPT, err=True)
            _leave_interrupted()
        if not isinstance(error, ProfitableError):
            raise
        typer.echo(f"profitable: {error}", err=True)
        sys.exit(WRONG_INPUT)
