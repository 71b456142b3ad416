"""The command `profitable paper`: experiments, report, summary for a terminal.

Run the experiments, write the report, and summarise it for a terminal.
"""

import shlex
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from importlib import import_module
from pathlib import Path
from typing import Any

from profitable.common import check
from profitable.common.extras import extra
from profitable.common.files import saving
from profitable.common.locks import occupied
from profitable.common.progress import Progress
from profitable.common.text_tables import number_text, text_table
from profitable.errors import InputError
from profitable.model.category import is_text
from profitable.paper import credit
from profitable.paper.experiment import PAPER, choose
from profitable.paper.finding import final, plus_minus
from profitable.paper.paper_summary import summarise
from profitable.paper.reproduction import Reproduction, conduct
from profitable.policy.policies import ThompsonSampling
from profitable.simulation.result import MARK_NOTES

CREDIT_ROUNDS, CREDIT_PLAYS, CREDIT_PLAYS_QUICK = 500, 30, 10


def reproduce(
    folder: Path,
    *,
    experiments: Sequence[str] = (),
    quick: bool = False,
    variant: str | None = None,
    runs: int | None = None,
    seed: int = 1,
    executor: Executor | None = None,
    workers: int | None = None,
    fresh: bool = False,
) -> str:
    """Run experiments, write the report into `folder`, and return a summary.

    All experiments are run unless some are named. The summary is for a terminal.
    """
    report = _report_module()
    if not is_text(str(folder)):
        raise InputError("out", str(folder), "is not UTF-8 text", "choose another folder")
    check.whole("seed", seed, least=0, most=2**63 - 1)
    if runs is not None:
        check.whole("runs", runs)
    if variant is None:
        variant = "paper" if quick else "both"
    chosen = choose(experiments, variant=variant, runs=runs, quick=quick)
    command = _command(folder, experiments, quick=quick, variant=variant, runs=runs, seed=seed)
    with occupied(folder):
        start = time.perf_counter()
        reproduction = conduct(
            chosen, folder=folder, seed=seed, executor=executor, workers=workers, fresh=fresh
        )
        simulated = time.perf_counter() - start
        tables, files = _write(report, reproduction, folder, command=command, quick=quick)
    reported = time.perf_counter() - start - simulated
    took = f"Took {simulated:.0f} s for the simulations and {reported:.0f} s for the report."
    return (
        f"{tables}\n\n{took}\n\nReport: {files[0]}   Numbers: {files[2]}   The pictures are in "
        "the same folder."
    )


def _write(
    report: Any, reproduction: Reproduction, folder: Path, *, command: str, quick: bool
) -> tuple[str, list[Path]]:
    """Play the credit example and write the report.

    Returns the tables for a terminal, and the files.
    """
    plays = CREDIT_PLAYS_QUICK if quick else CREDIT_PLAYS
    with Progress(total=plays + 1.3 * len(reproduction.trials), title="report") as bar:
        steps = iter(range(1, 10**6))

        def advance() -> None:
            bar.update(next(steps), title="report")

        seed = reproduction.seed
        example = credit.run(
            ThompsonSampling(), rounds=CREDIT_ROUNDS, plays=plays, seed=seed, advance=advance
        )
        summary = summarise(reproduction, example)
        tables = "\n\n".join(
            [*_regret_tables(reproduction), _claims_table(summary), *_optimal_tables(summary)]
        )
        scale = 1.0 if quick else 1.25
        remedy = "make room there, and run the same command again: the simulations are kept"
        with saving(folder, remedy=remedy, result=tables):
            return tables, report.write_report(
                reproduction,
                example,
                summary,
                folder,
                command=command,
                scale=scale,
                advance=advance,
            )


def _report_module() -> Any:
    """Return the module of the report.

    InputError, before the work starts, if a library that it needs is missing.
    """
    with extra("paper", "the report needs it"):
        import_module("pyarrow")  # simulations are kept with it
        from profitable.paper import paper_report
    return paper_report


def _command(
    folder: Path,
    experiments: Sequence[str],
    *,
    quick: bool,
    variant: str,
    runs: int | None,
    seed: int,
) -> str:
    """Return the command that makes this report again."""
    words = ["profitable", "paper", *(["--quick"] if quick else [])]
    for name in experiments:
        words += ["--experiment", name]
    words += [
        "--variant",
        variant,
        *(["--runs", str(runs)] if runs is not None else []),
        "--seed",
        str(seed),
    ]
    return shlex.join([*words, "--out", folder.as_posix()])


def _claims_table(summary: dict[str, Any]) -> str:
    """Return the verdicts on the paper's claims."""
    claims = summary["claims"]
    rows = [
        [each["statement"], *(_verdict(each[variant]) for variant in ("paper", "authors"))]
        for each in claims
    ]
    headers = ("claim", "as in the paper", "as the authors ran it")
    return f"The paper's claims:\n{text_table(headers, rows, words=(0, 1, 2))}"


def _optimal_tables(summary: dict[str, Any]) -> list[str]:
    """Gain and price of the optimal policy, and what must hold."""
    optimal = summary["optimal"]
    if not optimal["contests"]:
        return []
    numbers = optimal["numbers"]
    checks = [[each["statement"].replace("`", ""), _verdict(each)] for each in optimal["checks"]]
    return [
        "The optimal policy:\n" + text_table(numbers["headers"], numbers["rows"], words=(0, 1)),
        text_table(("what is checked", "verdict"), checks, words=(0, 1)),
    ]


def _verdict(finding: dict[str, str]) -> str:
    """Return a verdict with its horizon."""
    return f"{finding['verdict']} {finding['at']}".strip()


def _regret_tables(reproduction: Reproduction) -> list[str]:
    """Return the final regrets of the paper's experiments side by side."""
    parts: list[str] = []
    for by_authors in (False, True):
        trials = reproduction.find(*PAPER, by_authors=by_authors)
        if not trials:
            continue
        names = list(dict.fromkeys(policy for trial in trials for policy in trial.result.policies))
        rows = [
            [
                name,
                *(
                    final(trial.result[name]) if name in trial.result.policies else ""
                    for trial in trials
                ),
            ]
            for name in names
        ]
        rows.append(
            [
                "(lower bound)",
                *(plus_minus(float(trial.result.lower_bound[-1]), 0.0) for trial in trials),
            ]
        )
        headers = ["policy", *(trial.experiment.name for trial in trials)]
        runs = ", ".join(dict.fromkeys(number_text(trial.result.finished) for trial in trials))
        horizon = number_text(trials[0].result.horizon)
        title = (
            f"Regret at T = {horizon}, mean of {runs} runs ± standard error, seed "
            f"{reproduction.seed}"
        )
        parts.append(
            title
            + (", as the authors ran it" if by_authors else "")
            + f":\n{text_table(headers, rows)}"
        )
    return parts + [
        note for mark, note in MARK_NOTES.items() if any(mark in part for part in parts)
    ]
