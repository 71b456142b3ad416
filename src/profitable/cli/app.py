"""The command line.  Thin: it reads arguments, calls the library and prints.  Heavy imports wait until needed."""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.version import VERSION

if TYPE_CHECKING:
    from profitable.errors import Interrupted

DONE, WRONG_INPUT, INTERRUPTED = 0, 2, 130

POLICY_HELP = (
    "kl-ucb, bayes-ucb, ts, kl-ucb+, kl-bernoulli-ucb, kl-bernoulli-ucb+, kl-gaussian-ucb, kl-emp-ucb or ucb-v; "
    "parameters as kl-ucb:c=3."
)
NOTHING_KEPT = "profitable: interrupted; nothing was written. Run the same command to start again."
FOUR_POLICIES = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"]

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


@app.command(epilog="Example: profitable paper --quick --experiment poisson --out results/poisson")
def paper(
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in about ten seconds: the paper's four experiments with few runs.")
    ] = False,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="May be given several times; all unless given: bernoulli, poisson, sharp-poisson, exponential; "
            "long-bernoulli, long-poisson, long-exponential, arrivals, unlucky, bounds."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="paper, authors (C - 1 ~ Poisson(rate - 1) and log(10 t/N) in the + policies) or both, the authors' "
            "with fewer runs (default: both; paper with --quick)"
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of every experiment, instead of its own number.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core unless given.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, pictures and results (default: results/paper, with -quick and -NAME)"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything anew, also what the folder holds already.")
    ] = False,
) -> None:
    """Run the paper's experiments and write the report: curves, tables, the paper's claims put to the test.

    What the folder holds already is taken over; after an interruption the same command goes on.
    """
    from profitable.paper.command import reproduce

    # A part of the experiments has a folder of its own, so that it does not replace the whole report.
    folder = out or Path("results") / "-".join(["paper", *(["quick"] if quick else []), *(experiment or [])])
    size: dict[str, Any] = {"quick": quick, "variant": variant, "runs": runs, "seed": seed}
    try:
        typer.echo(reproduce(folder, experiments=experiment or [], **size, workers=workers, fresh=fresh))
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {folder}, the report is not renewed"
        kept = kept if folder.exists() else "nothing was written"
        raise Stopped(f"interrupted; {kept}. Run the same command to go on.") from None


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

    from profitable.paper import credit as example
    from profitable.policy.policies import Policy

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


@app.command(
    epilog="Example: profitable simulate segments.toml --policy kl-ucb --policy ts --horizon 1000000 --out results/seg"
)
def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML); docs/simulation.md shows one.")],
    policy: Annotated[list[str], typer.Option(help=f"May be given several times: {POLICY_HELP}")] = FOUR_POLICIES,
    horizon: Annotated[int, typer.Option(help="Rounds in a run, up to 10^15.")] = 10_000,
    runs: Annotated[int, typer.Option(help="Independent runs of each policy.")] = 1_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    checkpoints: Annotated[
        str | None, typer.Option(help="Rounds to report, as 10,100,1000; spaced evenly in log t unless given.")
    ] = None,
    kernel: Annotated[
        str, typer.Option(help="events skips time; rounds goes through every round. They have the same law.")
    ] = "events",
    workers: Annotated[int | None, typer.Option(help="Threads; one per core unless given.")] = None,
    common_random_numbers: Annotated[
        bool, typer.Option("--common-random-numbers", help="Policies share their clients; goes round by round.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the result: numbers, manifest, picture.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object instead.")] = False,
) -> None:
    """Simulate policies in a scenario: regret with its error, accepted rounds, profit; exact in law, to any horizon."""
    from profitable.errors import InputError, Interrupted, MissingBoundError
    from profitable.simulation.result_folder import MANIFEST, fingerprint, forget
    from profitable.simulation.runner import simulate as run
    from profitable.simulation.scenario import Scenario
    from profitable.simulation.settings import prepare

    world = Scenario.load(scenario)
    options: dict[str, Any] = {
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "checkpoints": None if checkpoints is None else _whole_numbers("checkpoints", checkpoints),
        "kernel": kernel,
        "common_random_numbers": common_random_numbers,
    }
    # Without --out nothing is written, unless it is interrupted: then this folder keeps what is finished.
    try:
        spare = Path(f"profitable-{fingerprint(prepare(world, policy, **options).empty())}")
    except InputError as error:
        if " of '" not in error.field:
            raise
        remedy = "give bound = ... in the file" if isinstance(error, MissingBoundError) else error.remedy
        raise type(error)(f"{scenario}: {error.field}", error.value, error.problem, remedy) from None
    goes_on = resume and out is None and spare.exists()
    folder = spare if goes_on else out
    if resume and not (folder and (folder / MANIFEST).exists()):
        typer.echo(f"profitable: note: nothing to resume in {folder or spare}; this starts afresh", err=True)
    try:
        result = run(world, policy, **options, workers=workers, out=folder, resume=resume)
    except Interrupted as interrupted:
        raise Stopped(_how_to_resume(interrupted, folder, spare)) from None
    if goes_on:
        forget(spare)
    for note in result.notes():
        typer.echo(f"profitable: note: {note}", err=True)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        typer.echo(result.table())
    if out is not None:
        try:
            result.plot(out / "regret.png")
        except KeyboardInterrupt:
            raise Stopped(f"interrupted while drawing; the numbers are all in {out}.") from None
        if not as_json:
            typer.echo(
                f"\nPicture: {out / 'regret.png'}   Numbers: {out / 'statistics.parquet'}, {out / 'result.json'}"
            )


class Stopped(Exception):
    """A command was interrupted, and this is what to say."""


def _whole_numbers(option: str, text: str) -> list[int]:
    from profitable.errors import ParameterError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(option, text, "is no list of rounds", "give whole numbers, as 10,100,1000") from None


def _how_to_resume(interrupted: "Interrupted", folder: Path | None, spare: Path) -> str:
    """One line: what is kept, and how to go on."""
    from profitable.errors import ProfitableError
    from profitable.simulation.result import Result

    result = interrupted.result
    if not isinstance(result, Result):
        return "interrupted before any run was finished; run the same command to start again."
    kept = f"{result.finished} of {result.runs} runs are finished"
    try:
        if folder is None:
            result.save(spare)
    except ProfitableError as error:
        return f"interrupted; {kept}, but could not be kept: {error}"
    return f"interrupted; {kept} and kept in {folder or spare}; run the same command with --resume to go on."


@app.command(epilog="Example: profitable bounds segments.toml --horizon 1000000000")
def bounds(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    horizon: Annotated[int, typer.Option(help="T in the finite-time bounds.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object instead.")] = False,
) -> None:
    """Print the theorems for a scenario: the lower bound, and what the policies are proved not to exceed."""
    from profitable.simulation.bounds_report import BoundsReport
    from profitable.simulation.scenario import Scenario

    report = BoundsReport(Scenario.load(scenario), horizon=horizon)
    typer.echo(json.dumps(report.to_dict()) if as_json else report.table())


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

    Python itself would end by the signal when the interruption met code run from a string, as imports do at places.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line: exit 0 done, 2 wrong input, 130 interrupted, 1 anything else."""
    noticed: list[int] = []

    def notice(number: int, frame: object) -> None:
        noticed.append(number)
        sys.unraisablehook = lambda _: None  # the compiler's callbacks would print a traceback of their own
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, notice)
    try:
        code = app(standalone_mode=False, prog_name="profitable")
        if code == INTERRUPTED:
            typer.echo(NOTHING_KEPT, err=True)
            _leave_interrupted()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done, and a late Ctrl-C changes nothing
        sys.exit(code if isinstance(code, int) else DONE)
    except Stopped as stopped:
        typer.echo(f"profitable: {stopped}", err=True)
        _leave_interrupted()
    except typer.TyperException as error:
        typer.echo(f"profitable: {_usage_message(error)}; try: profitable --help", err=True)
        sys.exit(WRONG_INPUT)
    except Exception as error:
        from profitable.errors import ProfitableError

        if noticed:  # Ctrl-C in the middle of a compilation comes out of the compiler as something else
            typer.echo(NOTHING_KEPT, err=True)
            _leave_interrupted()
        if not isinstance(error, ProfitableError):
            raise
        typer.echo(f"profitable: {error}", err=True)
        sys.exit(WRONG_INPUT)


if __name__ == "__main__":
    main()
