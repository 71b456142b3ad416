"""The command line: its commands and its exit codes.  Heavy imports wait until a command needs them."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from profitable.cli import (
    backtest,
    bounds,
    compare,
    copy,
    correct,
    credit,
    decide,
    explain,
    lists,
    log,
    observe,
    paper,
    portfolio,
    simulate,
    status,
    study,
    verify,
    warm_up,
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
    (study.study, study.EXAMPLE),
    (backtest.backtest, backtest.EXAMPLE),
    (bounds.bounds, bounds.EXAMPLE),
    (lists.policies, lists.POLICIES_EXAMPLE),
    (lists.families, lists.FAMILIES_EXAMPLE),
    (warm_up.warm_up, warm_up.EXAMPLE),
    (decide.decide, decide.EXAMPLE),
    (observe.open, observe.OPEN_EXAMPLE),
    (observe.observe, observe.OBSERVE_EXAMPLE),
    (correct.correct, correct.EXAMPLE),
    (status.status, status.EXAMPLE),
    (explain.explain, explain.EXAMPLE),
    (log.log, log.EXAMPLE),
    (verify.verify, verify.EXAMPLE),
    (compare.compare, compare.EXAMPLE),
    (copy.copy, copy.EXAMPLE),
]
for command, example in COMMANDS:
    app.command(epilog=f"Example: {example}")(command)
app.add_typer(portfolio.group)


def _usage_message(error: typer.TyperException) -> str:
    """One line that names the option and what was given for it."""
    parameter = getattr(error, "param", None)
    message = " ".join(str(getattr(error, "message", "") or error).split()).rstrip(".")
    if parameter is not None and message.startswith("Missing parameter"):
        return f"{_long(parameter.opts)} is missing"
    for option in getattr(parameter, "opts", []):
        for argument, following in reversed([*zip(sys.argv, [*sys.argv[1:], ""], strict=True)]):  # the last one counts
            name, _, value = argument.partition("=")
            if name == option:
                return f"{option} = {value or following!r}: {message[0].lower()}{message[1:]}"
    return message


def _long(options: Sequence[str]) -> str:
    """How a user writes an option, or what help calls an argument."""
    found = max(options, key=len)
    return found if found.startswith("-") else found.upper()


def _leave_interrupted(message: str) -> None:
    """Say what is kept, and exit with the documented code.

    Python itself would end by the signal if Ctrl-C had met code that is run from a string, as some imports do.
    """
    with suppress(OSError):  # Ctrl-C also ends a program that reads what we print
        sys.stdout.flush()
        typer.echo(f"profitable: {message}", err=True)
        sys.stderr.flush()
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line and exit with a code of `shared.py`; docs/cli.md has the table of what they mean."""
    noticed: list[int] = []

    def notice(number: int, frame: object) -> None:
        noticed.append(number)
        sys.unraisablehook = lambda _: None  # else the compiler's callbacks print their own traceback
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, notice)
    prepare_streams()
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

        # Ctrl-C may come out as another error: of the compiler, or because a program that reads our output has ended.
        if noticed or isinstance(error, KeyboardInterrupt):
            _leave_interrupted(NOTHING_KEPT)
        if isinstance(error, OSError) and error.errno in DISK_IS_FULL:  # where the output goes to
            typer.echo(f"profitable: what to print cannot be written ({error.strerror})", err=True)
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
