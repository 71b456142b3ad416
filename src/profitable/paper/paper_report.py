"""The report: a page that opens offline, Markdown, pictures, numbers as JSON.

Every file is written whole, and the page last.  After an interruption, each file
belongs to the old report or to the new one, and none is half written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from profitable.common.charts import Figure
from profitable.common.files import replace_json, replace_text
from profitable.common.pages import chart_script, chart_specs, environment, save_pictures
from profitable.paper.asymptotics import unlucky_slope
from profitable.paper.contest import ANYTIME, CAREFUL, WITH_HORIZON, Contest, contests
from profitable.paper.credit import CreditResult
from profitable.paper.experiment import AUTHORS, NAMES, OPTIMAL_LONG, WITH_OPTIMAL
from profitable.paper.finding import FEWEST_BEYOND
from profitable.paper.paper_charts import (
    BEST,
    contest_figure,
    credit_figure,
    figures,
    gain_and_price_figure,
    tail_figure,
)
from profitable.paper.reproduction import Reproduction, Trial

TEMPLATES = Path(__file__).parent / "templates"
PAGE, TEXT, NUMBERS = "report.html", "report.md", "summary.json"
WITHOUT_PICTURE = ("arrivals", "bounds", OPTIMAL_LONG)  # their tables say it all


def write_report(
    reproduction: Reproduction,
    credit: CreditResult,
    summary: dict[str, Any],
    folder: Path,
    *,
    command: str,
    scale: float = 1.25,
    advance: Callable[[], object] = lambda: None,
) -> list[Path]:
    """Write the report and return its paths.

    The page, the text, the numbers and the pictures.

    Returns the paths of the page, the text, the numbers and the pictures.

    `scale` is that of the PNG pictures, which take the longest.  `advance` is called
    after each figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        name: _figures(trial)
        for name, trial in reproduction.trials.items()
        if name not in WITH_OPTIMAL
    }
    drawn |= {
        each.trial.experiment.name: [_contest_figure(each)] for each in contests(reproduction)
    }
    drawn["optimal"] = gain_and_price_figure(summary["optimal"]["contests"])
    drawn["credit"] = [credit_figure(credit)]
    pictures: list[Path] = []
    for figure in (figure for group in drawn.values() for figure in group):
        pictures += save_pictures(figure, folder, scale)
        advance()
    _remove_others(folder, {figure.name for group in drawn.values() for figure in group})
    values = {"summary": summary, "figures": drawn, "command": command}
    numbers = replace_json(folder / NUMBERS, summary)
    text = replace_text(
        folder / TEXT, _environment(html=False).get_template("report.md.j2").render(values)
    )
    specs = chart_specs(figure for group in drawn.values() for figure in group)
    page = (
        _environment(html=True)
        .get_template("report.html.j2")
        .render(values, script=chart_script(), specs=specs)
    )
    return [replace_text(folder / PAGE, page), text, numbers, *pictures]


def _figures(trial: Trial) -> list[Figure]:
    name, result = trial.experiment.name, trial.result
    if name in WITHOUT_PICTURE or (name.startswith("long-") and trial.experiment.by_authors):
        return []
    if name != "unlucky":
        return figures(name, result)
    loss = result.scenario.truths[0].loss
    limits = {policy: unlucky_slope(result.scenario, policy) / loss for policy in ("ts", "kl-ucb")}
    return tail_figure(name, result, limits, FEWEST_BEYOND)


def _contest_figure(contest: Contest) -> Figure:
    result = contest.trial.result
    best = [contest.paper.result[contest.four[0].policy]] if contest.paper else []
    curves = [*best, *(result[policy] for policy in (WITH_HORIZON, CAREFUL, ANYTIME))]
    return contest_figure(contest.trial.experiment.name, result, curves)


def _remove_others(folder: Path, drawn: set[str]) -> None:
    """Delete pictures of an earlier report that are not in this one."""
    for name in (*NAMES, "optimal"):
        for figure in {
            name + variant + view for variant in ("", AUTHORS) for view in ("", BEST)
        } - drawn:
            for ending in (".svg", ".png"):
                (folder / f"{figure}{ending}").unlink(missing_ok=True)


def _environment(*, html: bool) -> Environment:
    made = environment(TEMPLATES, html=html)
    helpers: dict[str, Any] = {"words": _words, "row": _markdown_row}
    made.globals.update(helpers)
    return made


def _words(key: str, numbers: dict[str, str]) -> list[str]:
    """Return the paragraphs of an answer, with its numbers filled in."""
    texts = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=False)
    return texts.get_template(f"{key}.txt").render(numbers).strip().split("\n\n")


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
