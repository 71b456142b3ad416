"""The command line: its commands and its exit codes.

Heavy imports wait until a command needs them.
"""

import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from profitable.cli import (
    backtest_command,
    daily_commands,
    paper_commands,
    portfolio_commands,
    reading_commands,
    reference_commands,
    research_commands,
)
from profitable.cli.output import prepare_streams
from profitable.cli.shared import DONE, FAILED, INTERRUPTED, WRONG_INPUT, Stopped
from profitable.version import VERSION

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)
NOTHING_KEPT = "interrupted; nothing was written. Run the same command to start again."

app = typer.Typer(
    name="profitable",
    help="Profitable bandits: decide whom to accept when saying yes is the only way to learn.",
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
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Print the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# Under each heading of `profitable --help`: its commands, and an example of each.
PANELS: dict[str, list[tuple[Callable[..., Any], str]]] = {
    "Daily use": [
        (daily_commands.decide, "profitable decide lending.db --key 2026-11-16"),
        (daily_commands.open, "profitable open lending.db clients.csv --column id=loan_number"),
        (daily_commands.observe, "profitable observe lending.db outcomes.csv --dry-run"),
        (
            daily_commands.correct,
            "profitable correct lending.db loan-4711 --reward 0 --reason 'payment recalled'",
        ),
        (reading_commands.status, "profitable status lending.db"),
        (reading_commands.explain, "profitable explain lending.db students --round 12"),
    ],
    "Records and upkeep": [
        (reading_commands.log, "profitable log lending.db --format parquet --out log.parquet"),
        (reading_commands.verify, "profitable verify lending.db --heads heads.txt"),
        (reading_commands.compare, "profitable compare lending.db shadow.db"),
        (
            portfolio_commands.copy,
            "profitable copy lending.db postgresql+psycopg://user@host/lending",
        ),
    ],
    "Your own past": [(backtest_command.backtest, backtest_command.EXAMPLE)],
    "Research": [
        (
            research_commands.simulate,
            "profitable simulate segments.toml --policy kl-ucb --policy ts --horizon 1e6",
        ),
        (research_commands.study, "profitable study forget --runs 200 --out results/forget"),
        (research_commands.bounds, "profitable bounds segments.toml --horizon 1e9"),
        (
            paper_commands.paper,
            "profitable paper --quick --experiment poisson --out results/poisson",
        ),
        (
            paper_commands.credit,
            "profitable credit --policy kl-ucb --plays 20 --out results/credit",
        ),
    ],
    "Reference": [
        (reference_commands.policies, "profitable policies --json"),
        (reference_commands.families, "profitable families"),
        (reference_commands.warm_up, "profitable warm-up"),
    ],
}
for panel, commands in PANELS.items():
    for command, example in commands:
        name = command.__name__.replace("_", "-")
        app.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(command)
app.add_typer(portfolio_commands.group, rich_help_panel="Records and upkeep")


def _usage_message(error: typer.TyperException) -> str:
    """One line that names the option and the value given for it."""
    parameter = getattr(error, "param", None)
    message = " ".join(str(getattr(error, "message", "") or error).split()).rstrip(".")
    if parameter is not None and type(error).__name__ == "MissingParameter":  # not exported
        return f"{_long(parameter.opts)} is missing"
    for option in getattr(parameter, "opts", []):
        # The last one counts.
        for argument, following in reversed([*zip(sys.argv, [*sys.argv[1:], ""], strict=True)]):
            name, _, value = argument.partition("=")
            if name == option:
                return f"{option} = {value or following!r}: {message[0].lower()}{message[1:]}"
    return message


def _long(options: Sequence[str]) -> str:
    """Return an option as the user writes it, or an argument as the help names it."""
    found = max(options, key=len)
    return found if found.startswith("-") else found.upper()


def _leave_interrupted(message: str) -> None:
    """Print the message and exit with the documented code, whatever Ctrl-C hit."""
    with suppress(OSError):  # Ctrl-C also ends a program that reads what we print
        sys.stdout.flush()
        typer.echo(f"profitable: {message}", err=True)
        sys.stderr.flush()
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line, and exit with a code that docs/cli.md lists."""
    noticed: list[int] = []

    def notice(number: int, frame: object) -> None:
        noticed.append(number)
        # Else the compiler's callbacks print their own traceback.
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, notice)
    prepare_streams()
    # Commands import and load much that stays: looking for garbage in it as often as
    # Python does takes a tenth of the time of a short command.
    gc.set_threshold(20_000)
    try:
        code = app(standalone_mode=False, prog_name="profitable")
        sys.stdout.flush()
    except Stopped as stopped:
        _leave_interrupted(str(stopped))
    except typer.TyperException as error:
        typer.echo(f"profitable: {_usage_message(error)}; try: profitable --help", err=True)
        sys.exit(WRONG_INPUT)
    except BaseException as error:
        from profitable.errors import ExecutorError, NotSavedError, NotStoredError, ProfitableError

        # Ctrl-C may come out as another error: of the compiler, or because a program
        # that reads our output has ended.
        if noticed or isinstance(error, KeyboardInterrupt):
            _leave_interrupted(NOTHING_KEPT)
        if isinstance(error, OSError) and error.errno in DISK_IS_FULL:  # where the output goes to
            typer.echo(f"profitable: the output cannot be written ({error.strerror})", err=True)
            sys.exit(FAILED)
        if not isinstance(error, ProfitableError):
            raise
        typer.echo(f"profitable: {error}", err=True)
        failed = isinstance(error, ExecutorError | NotSavedError | NotStoredError)
        sys.exit(FAILED if failed else WRONG_INPUT)
    else:
        if code == INTERRUPTED:
            _leave_interrupted(NOTHING_KEPT)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the work is done, so ignore a late one
        sys.exit(code if isinstance(code, int) else DONE)
