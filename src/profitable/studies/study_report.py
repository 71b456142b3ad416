"""The page of a study: it opens offline, with the best settings first.

Its charts are pictures, too.

Everything is made from the table of the result, so the page, the pictures and the
numbers cannot disagree.  Every file is written whole, and the page last.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from profitable.common.charts import Figure
from profitable.common.files import replace_text, saving
from profitable.common.pages import chart_script, chart_specs, environment, save_pictures
from profitable.common.text_tables import number
from profitable.simulation.result import short
from profitable.studies.comparison import SIGNIFICANCE
from profitable.studies.study_charts import Panels, figures
from profitable.studies.study_folder import STUDY_PAGE
from profitable.studies.study_result import StudyResult
from profitable.studies.template import shown
from profitable.version import VERSION

STUDY_TEMPLATES = Path(__file__).parent / "templates"
STUDY_PICTURES = ("overview", "best", "maps", "worlds")
PICTURE_SCALE = 2.0
MOST_SETTING_ROWS = 600  # of the table on the page; all are in study.parquet


def write_report(result: StudyResult, folder: Path) -> list[Path]:
    """Write the page and its pictures; returns their paths."""
    rows = result.rows()
    drawn = figures(rows, result.study.axes)
    with saving(folder, result=result):
        written = [
            path for figure in drawn for path in save_pictures(figure, folder, PICTURE_SCALE)
        ]
        for name in set(STUDY_PICTURES) - {figure.name for figure in drawn}:  # of an earlier study
            for kind in ("svg", "png"):
                (folder / f"{name}.{kind}").unlink(missing_ok=True)
        return [replace_text(folder / STUDY_PAGE, page_of(result, rows, drawn)), *written]


def page_of(result: StudyResult, rows: Sequence[dict[str, Any]], drawn: Sequence[Figure]) -> str:
    """Return the page as text."""
    made = environment(STUDY_TEMPLATES, html=True)
    single = [
        panel
        for figure in drawn
        for panel in (figure.on_page() if isinstance(figure, Panels) else [figure])
    ]
    study = result.study
    stages = sorted({tuple(study.stages(world)) for world in study.worlds}, reverse=True)
    return made.get_template("study.html.j2").render(
        result=result,
        study=study,
        best=result.best_rows(),
        has_dagger=any(best.carried_by_few for best in result.best),
        drawn=[(figure, isinstance(figure, Panels)) for figure in drawn],
        settings=_settings_table(rows),
        more=len(rows) - MOST_SETTING_ROWS,
        stages=stages,
        full=study.size * study.runs,
        mistake=SIGNIFICANCE,
        unsure=result.unsure(),
        asked=[(key, _plain(value)) for key, value in study.to_dict().items() if key != "scenario"],
        scenarios=[world.scenario.to_toml() for world in study.worlds[:1]],
        first_world=study.worlds[0].label,
        version=VERSION,
        script=chart_script(),
        specs=chart_specs(single),
    )


def _settings_table(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """All settings: world by world, from the lowest regret to the highest."""
    headers = [
        "world",
        "policy",
        "regret",
        "± error",
        "from",
        "to",
        "runs",
        "median",
        "99 %",
        "lost",
        "more than best",
        "is",
    ]
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    order = sorted(rows, key=lambda row: (worlds.index(row["world"]), row["regret"]))
    table: list[list[str]] = []
    for row in order[:MOST_SETTING_ROWS]:
        fate = ["best"] if row["best"] else []
        if row["dropped_at_stage"]:
            fate.append(f"dropped after stage {row['dropped_at_stage']}")
        if not row["significant"] and not row["best"]:
            fate.append("indistinguishable")
        more = f"{short(row['more_than_best'])} ± {short(row['more_stderr'])}"
        numbers = [short(row[key]) for key in ("regret", "stderr", "low", "high")]
        numbers[1] += " †" if row["carried_by_few"] else ""
        table.append(
            [
                row["world"],
                row["policy"],
                *numbers,
                number(row["runs"]),
                *(short(row[key]) for key in ("quantile_0.5", "quantile_0.99")),
                "-" if row["lost_share"] is None else f"{row['lost_share']:.2%}",
                "" if row["best"] else more,
                ", ".join(fate),
            ]
        )
    return headers, table


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} = {_plain(each)}" for name, each in value.items())  # pyright: ignore
    if isinstance(value, list):
        return ", ".join(_plain(each) for each in value)  # pyright: ignore
    return str(value) if isinstance(value, bool) else shown(value)
