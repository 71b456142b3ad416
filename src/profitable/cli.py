"""The command line.  Thin: it reads arguments, calls the library and prints.  Heavy imports wait until needed."""

import json
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from profitable.version import VERSION

DONE, WRONG_INPUT, INTERRUPTED = 0, 2, 130

POLICY_HELP = (
    "kl-ucb, bayes-ucb, ts, kl-ucb+, kl-bernoulli-ucb, kl-bernoulli-ucb+, kl-gaussian-ucb, kl-emp-ucb or ucb-v; "
    "parameters as kl-ucb:c=3."
)

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


@app.command(epilog="Example: profitable credit --policy kl-ucb --plays 20 --out results/credit")
def credit(
    policy: Annotated[str, typer.Option(help=POLICY_HELP)] = "ts",
    rounds: Annotated[int, typer.Option(help="Rounds of lending in one play.")] = 500,
    plays: Annotated[int, typer.Option(help="Independent plays; the table shows the first one and the mean.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for credit.png and credit.json.")] = Path("results/credit"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object instead.")] = False,
) -> None:
    """Play the paper's credit example: five borrower segments, and a lender who learns by lending."""
    from rich.console import Console
    from rich.progress import track

    from profitable import credit as example
    from profitable.policies import Policy

    chosen = Policy.parse(policy)
    console = Console(stderr=True)
    with _output_folder(out):
        steps = iter(track(range(plays), "playing", console=console, transient=True, disable=not console.is_terminal))
        result = example.run(chosen, rounds=rounds, plays=plays, seed=seed, advance=lambda: next(steps, None))
        next(steps, None)
        files = result.save(out)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    typer.echo(f"The credit example of the paper: {rounds} rounds, policy {chosen}, seed {seed}.\n")
    typer.echo("What the lender who learns found out (first play):")
    typer.echo(result.learned_table())
    typer.echo("\nWhat was earned, in money:")
    typer.echo(result.earned_table())
    typer.echo(f"\nPicture: {files[0]}   Numbers: {files[1]}")


@contextmanager
def _output_folder(folder: Path) -> Generator[None]:
    """Make a folder before the work that fills it; take it away again if the work does not get done."""
    from profitable.errors import InputError

    made: list[Path] = []
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        yield
    except BaseException as error:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            problem = f"cannot be written ({error.strerror or error})"
            raise InputError("out", str(folder), problem, "choose another folder") from None
        raise


def _usage_message(error: typer.TyperException) -> str:
    """One line that names the option and what was given for it."""
    message = str(getattr(error, "message", error)).replace("\n", " ").rstrip(".")
    for option in getattr(getattr(error, "param", None), "opts", []):
        for argument, following in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
            name, _, value = argument.partition("=")
            if name == option:
                return f"{option} = {value or following!r}: {message[0].lower()}{message[1:]}"
    return message


def main() -> None:
    """Run the command line: exit 0 done, 2 wrong input, 130 interrupted, 1 anything else."""
    try:
        code = app(standalone_mode=False, prog_name="profitable")
        if code == INTERRUPTED:
            typer.echo("profitable: interrupted; nothing was written. Run the same command to start again.", err=True)
        sys.exit(code if isinstance(code, int) else DONE)
    except typer.TyperException as error:
        typer.echo(f"profitable: {_usage_message(error)}; try: profitable --help", err=True)
        sys.exit(WRONG_INPUT)
    except Exception as error:
        from profitable.errors import ProfitableError

        if not isinstance(error, ProfitableError):
            raise
        typer.echo(f"profitable: {error}", err=True)
        sys.exit(WRONG_INPUT)


if __name__ == "__main__":
    main()
