"""Research commands: `simulate`, `study` and `bounds`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    POLICY_HELP,
    SEED_HELP,
    AsJson,
    Cluster,
    Seed,
    Stopped,
    Workers,
    chosen_executor,
    note,
    policy_names,
    print_json,
    whole_number,
    whole_option,
)

if TYPE_CHECKING:
    from profitable.errors import ExecutorError, Interrupted
    from profitable.simulation.result import Result
    from profitable.simulation.settings import Settings

FOUR_POLICIES = ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"]
FOUR_THAT_SHARE = ["kl-ucb", "optimal:horizon", "bayes-ucb", "ts"]


def simulate(
    scenario: Annotated[
        Path, typer.Argument(help="A scenario file (TOML); docs/simulation.md shows one.")
    ],
    policy: Annotated[
        list[str], typer.Option(help=f"{POLICY_HELP} Can be repeated.", autocompletion=policy_names)
    ] = FOUR_POLICIES,
    horizon: Annotated[
        int,
        whole_option("Rounds in a run, such as 1000000 or 1e6; at most 1e15."),
    ] = 10_000,
    runs: Annotated[
        int,
        whole_option("Number of independent runs of each policy."),
    ] = 1_000,
    seed: Seed = 1,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            help="Rounds to report, such as 10,100,1e6. By default, spaced evenly in log t."
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="events skips time; rounds plays every round, as scenarios of loans always do. "
            "By default events. Both have the same law."
        ),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    common_random_numbers: Annotated[
        bool,
        typer.Option(
            "--common-random-numbers", help="All policies meet the same clients. Plays every round."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the numbers, the settings and a picture.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue what the folder holds. Stop if it is broken; print a note if there is "
            "nothing to continue.",
        ),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Start from the beginning, and replace the result in the folder."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate policies in a scenario, exactly and to any horizon.

    Prints the regret with its standard error, the accepted rounds and the profit. Runs
    that are already in the folder are used. To continue after an interruption, run the
    same command again.
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
    # Without --out nothing is written, except after an interruption: then this folder
    # keeps the finished runs.
    spare = Path(f"profitable-{fingerprint(manifest(new_result(settings)))}")
    folder = spare if out is None and spare.exists() else out
    if resume and not fresh and not (folder and (folder / MANIFEST).exists()):
        note(f"there is nothing to resume in {folder or spare}; starting from the beginning")
    failed = None
    try:
        with chosen_executor(cluster) as executor:
            result = run(
                settings,
                executor=executor,
                workers=workers,
                out=folder,
                resume=resume,
                fresh=fresh,
                say=note,
            )
    except Interrupted as interrupted:
        kept = _kept(interrupted, folder, spare)
        if kept is None:
            raise Stopped(
                "interrupted before any run was finished; run the same command to start again."
            ) from None
        raise Stopped(f"interrupted; {kept}; run the same command to resume.") from None
    except ExecutorError as error:
        if (kept := _kept(error, folder, spare)) is None:
            raise
        raise ExecutorError(
            error.field,
            error.value,
            error.problem,
            f"{kept}; run the same command with --resume to continue",
        ) from None
    except NotSavedError as error:
        if not isinstance(error.result, Result):
            raise
        result, failed = error.result, error
    for each in result.notes():
        note(each)
    typer.echo(json.dumps(result.to_dict()) if as_json else result.table())
    if failed:
        raise failed
    if folder == spare:
        forget(spare)
    if out is not None:
        _draw(result, out, quiet=as_json)


def _prepare(scenario: Path, policies: list[str], **options: Any) -> "Settings":
    """Return the settings; an error about a category also names the file."""
    from profitable.errors import InputError, MissingBoundError
    from profitable.policy.shared_orders import orders_of
    from profitable.simulation.scenario import Scenario
    from profitable.simulation.settings import prepare

    world = Scenario.load(scenario)
    if policies == FOUR_POLICIES and orders_of(world.categories):
        note(
            "bands of an order cannot share the evidence of kl-ucb+; taking optimal:horizon instead"
        )
        policies = FOUR_THAT_SHARE
    try:
        return prepare(world, policies, **options)
    except InputError as error:
        if error.category is None:
            raise
        is_bound = isinstance(error, MissingBoundError)
        remedy = "give bound = ... in the file" if is_bound else error.remedy
        raise type(error)(
            f"{scenario}: {error.where}", error.value, error.problem, remedy
        ) from None


def _draw(result: "Result", out: Path, *, quiet: bool) -> None:
    from profitable.errors import MissingLibraryError

    try:
        result.plot(out / "regret.png")
        picture = f"Picture: {out / 'regret.png'}   "
    except KeyboardInterrupt:
        raise Stopped(f"interrupted while drawing; all numbers are in {out}.") from None
    except MissingLibraryError as error:
        note(f"no picture: {error}")
        picture = ""
    if not quiet:
        typer.echo(f"\n{picture}Numbers: {out / 'statistics.parquet'}, {out / 'result.json'}")


def _whole_numbers(option: str, text: str) -> list[int]:
    from profitable.errors import ParameterError

    try:
        return [whole_number(part) for part in text.split(",")]
    except typer.BadParameter:
        raise ParameterError(
            option, text, "is not a list of rounds", "give whole numbers, such as 10,100,1000"
        ) from None


def _kept(error: "Interrupted | ExecutorError", folder: Path | None, spare: Path) -> str | None:
    """Save finished runs that have no folder yet; return a message, or None."""
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


def study(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A study file (TOML; docs/study.md shows one), or a built-in one: "
            "bands, forget, map.",
        ),
    ],
    runs: Annotated[
        int | None,
        whole_option("Runs of the best settings, instead of what the file says."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"{SEED_HELP} By default, the file's, or 1.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the table and the page. By default, results/ and the file's name."
        ),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Start from the beginning, and replace the study in the folder."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare policies and their parameters in a grid of worlds.

    Settings that do badly get few runs. Runs that are already in the folder are used.
    To continue after an interruption, run the same command again.
    """
    from profitable.errors import ExecutorError, Interrupted, NotSavedError
    from profitable.studies.conduct import STUDY_PAGE, STUDY_TABLE
    from profitable.studies.conduct import study as conduct
    from profitable.studies.study import Study
    from profitable.studies.study_result import StudyResult

    changes: dict[str, Any] = {"runs": runs, "seed": seed}
    plan = Study.load(file, **{key: value for key, value in changes.items() if value is not None})
    folder = out or Path("results") / Path(file).stem
    failed = None
    try:
        with chosen_executor(cluster) as executor:
            result = conduct(
                plan, out=folder, executor=executor, workers=workers, fresh=fresh, say=note
            )
    except Interrupted as error:
        kept = f"{error.value} of {plan.planned_runs} runs are finished and saved in {folder}"
        raise Stopped(f"interrupted; {kept}; run the same command to resume.") from None
    except ExecutorError as error:
        raise ExecutorError(
            error.field,
            error.value,
            error.problem,
            f"the finished runs are in {folder}; run the same command to continue",
        ) from None
    except KeyboardInterrupt:
        raise Stopped(
            f"interrupted; finished runs are in {folder}; run the same command to resume."
        ) from None
    except NotSavedError as error:
        if not isinstance(error.result, StudyResult):
            raise
        result, failed = error.result, error
    if as_json:
        print_json(result.to_dict())
    else:
        typer.echo(result.table())
    if failed:
        raise failed
    if not as_json:
        typer.echo(f"\nPage: {folder / STUDY_PAGE}   Numbers: {folder / STUDY_TABLE}")


def bounds(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    horizon: Annotated[
        int,
        whole_option("The horizon T in the finite-time bounds, such as 1e9."),
    ] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Print the paper's lower bound for a scenario, and the policies' upper bounds."""
    from profitable.simulation.bounds_report import BoundsReport
    from profitable.simulation.scenario import Scenario

    report = BoundsReport(Scenario.load(scenario), horizon=horizon)
    typer.echo(json.dumps(report.to_dict()) if as_json else report.table())
