"""`profitable simulate`: simulate policies in a scenario."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    JSON_HELP,
    POLICY_HELP,
    SEED_HELP,
    WORKERS_HELP,
    Cluster,
    InProcesses,
    Stopped,
    chosen_executor,
    policy_names,
    whole_number,
)

if TYPE_CHECKING:
    from profitable.errors import ExecutorError, Interrupted
    from profitable.simulation.result import Result
    from profitable.simulation.settings import Settings

EXAMPLE = "profitable simulate segments.toml --policy kl-ucb --policy ts --horizon 1e6 --out results/seg"
FOUR_POLICIES = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"]


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML); docs/simulation.md shows one.")],
    policy: Annotated[
        list[str], typer.Option(help=f"{POLICY_HELP} Can be repeated.", autocompletion=policy_names)
    ] = FOUR_POLICIES,
    horizon: Annotated[
        int,
        typer.Option(
            parser=whole_number, metavar="<int>", help="Rounds in a run, such as 1000000 or 1e6; at most 1e15."
        ),
    ] = 10_000,
    runs: Annotated[
        int, typer.Option(parser=whole_number, metavar="<int>", help="Number of independent runs of each policy.")
    ] = 1_000,
    seed: Annotated[int, typer.Option(help=SEED_HELP)] = 1,
    checkpoints: Annotated[
        str | None, typer.Option(help="Rounds to report, such as 10,100,1e6. By default, spaced evenly in log t.")
    ] = None,
    kernel: Annotated[
        str, typer.Option(help="events skips time; rounds plays every round. Both have the same law.")
    ] = "events",
    workers: Annotated[int | None, typer.Option(help=WORKERS_HELP)] = None,
    processes: InProcesses = False,
    cluster: Cluster = None,
    common_random_numbers: Annotated[
        bool, typer.Option("--common-random-numbers", help="All policies meet the same clients. Plays every round.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the numbers, the settings and a picture.")] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue what the folder holds. Stop if it is broken; print a note if there is nothing to continue.",
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start from the beginning, and replace the result in the folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Simulate policies in a scenario, exactly and to any horizon: regret with its error, accepted rounds, profit.

    Runs that are already in the folder are used. To continue after an interruption, run the same command again.
    """
    from profitable.errors import ExecutorError, Interrupted, NotSavedError
    from profitable.simulation.result import Result
    from profitable.simulation.result_folder import MANIFEST, fingerprint, forget, manifest
    from profitable.simulation.runner import new_result, run

    settings = _prepare(
        scenario,
        policy,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=None if checkpoints is None else _whole_numbers("checkpoints", checkpoints),
        kernel=kernel,
        common_random_numbers=common_random_numbers,
    )
    # Without --out nothing is written, except after an interruption: then this folder keeps the finished runs.
    spare = Path(f"profitable-{fingerprint(manifest(new_result(settings)))}")
    folder = spare if out is None and spare.exists() else out
    if resume and not fresh and not (folder and (folder / MANIFEST).exists()):
        _note(f"there is nothing to resume in {folder or spare}; starting from the beginning")
    failed = None
    try:
        with chosen_executor(cluster, processes) as executor:
            result = run(
                settings, executor=executor, workers=workers, out=folder, resume=resume, fresh=fresh, say=_note
            )
    except Interrupted as interrupted:
        kept = _kept(interrupted, folder, spare)
        if kept is None:
            raise Stopped("interrupted before any run was finished; run the same command to start again.") from None
        raise Stopped(f"interrupted; {kept}; run the same command to resume.") from None
    except ExecutorError as error:
        if (kept := _kept(error, folder, spare)) is None:
            raise
        remedy = f"{kept}; run the same command with --resume to continue"
        raise ExecutorError(error.field, error.value, error.problem, remedy) from None
    except NotSavedError as error:
        if not isinstance(error.result, Result):
            raise
        result, failed = error.result, error
    for note in result.notes():
        _note(note)
    typer.echo(json.dumps(result.to_dict()) if as_json else result.table())
    if failed:
        raise failed
    if folder == spare:
        forget(spare)
    if out is not None:
        _draw(result, out, quiet=as_json)


def _note(text: str) -> None:
    typer.echo(f"profitable: note: {text}", err=True)


def _prepare(scenario: Path, policies: list[str], **options: Any) -> "Settings":
    """The settings; an error about a category also names the file."""
    from profitable.errors import InputError, MissingBoundError
    from profitable.simulation.scenario import Scenario
    from profitable.simulation.settings import prepare

    world = Scenario.load(scenario)
    try:
        return prepare(world, policies, **options)
    except InputError as error:
        if error.category is None:
            raise
        remedy = "give bound = ... in the file" if isinstance(error, MissingBoundError) else error.remedy
        raise type(error)(f"{scenario}: {error.where}", error.value, error.problem, remedy) from None


def _draw(result: "Result", out: Path, *, quiet: bool) -> None:
    try:
        result.plot(out / "regret.png")
    except KeyboardInterrupt:
        raise Stopped(f"interrupted while drawing; all numbers are in {out}.") from None
    if not quiet:
        typer.echo(f"\nPicture: {out / 'regret.png'}   Numbers: {out / 'statistics.parquet'}, {out / 'result.json'}")


def _whole_numbers(option: str, text: str) -> list[int]:
    from profitable.errors import ParameterError

    try:
        return [whole_number(part) for part in text.split(",")]
    except typer.BadParameter:
        raise ParameterError(
            option, text, "is not a list of rounds", "give whole numbers, such as 10,100,1000"
        ) from None


def _kept(error: "Interrupted | ExecutorError", folder: Path | None, spare: Path) -> str | None:
    """Save the finished runs if they have no folder yet; returns what to say of them, None if there are none."""
    from profitable.errors import ProfitableError
    from profitable.simulation.result import Result

    result = error.result
    if not isinstance(result, Result):
        return None
    kept = f"{result.finished} of {result.runs} runs are finished"
    try:
        if folder is None:
            result.save(spare)
    except ProfitableError as failure:
        return f"{kept}, but they could not be saved: {failure}"
    return f"{kept} and saved in {folder or spare}"
