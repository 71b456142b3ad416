"""The report of a backtest: one offline page, its pictures, tables, numbers as JSON.

Everything is made from the dict of `Backtest.to_dict()`, so the page, the pictures and
the numbers cannot disagree. Every file is written whole, and the page last.  After an
interruption, each file belongs to the old report or to the new one, and none is half
written.
"""

import json
from pathlib import Path
from typing import Any

from profitable.common.charts import Figure
from profitable.common.files import replace_text
from profitable.common.pages import chart_script, chart_specs, environment, save_pictures
from profitable.replay import advice_tables, page_tables
from profitable.replay.backtest_export import TABLES_FOLDER, save_tables
from profitable.replay.backtest_figures import PICTURES, figures_of
from profitable.replay.backtest_summary import IMMEDIATE
from profitable.replay.backtest_tables import tables_of
from profitable.replay.page_amounts import Money
from profitable.replay.verdict import AT_ONCE

TEMPLATES = Path(__file__).parent / "templates"
BACKTEST_PAGE, BACKTEST_NUMBERS = "report.html", "backtest.json"


def write_report(backtest: dict[str, Any], folder: Path) -> list[Path]:
    """Write everything; returns the paths: the page first, then the other files.

    `backtest` is the dict of `Backtest.to_dict()`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn, exported = figures_of(backtest), tables_of(backtest)
    pictures = [path for figure in drawn.values() for path in save_pictures(figure, folder)]
    for name in set(PICTURES) - set(drawn):  # of an earlier report
        (folder / f"{name}.svg").unlink(missing_ok=True)
    tables = save_tables(exported, folder / TABLES_FOLDER)
    compact = json.dumps(backtest, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    numbers = replace_text(folder / BACKTEST_NUMBERS, compact + "\n")
    page = replace_text(folder / BACKTEST_PAGE, page_of(backtest, drawn, list(exported)))
    return [page, numbers, *pictures, *tables]


def page_of(backtest: dict[str, Any], drawn: dict[str, Figure], exported: list[str]) -> str:
    """Return the page as text; `exported` are the names of the tables beside it."""
    money, entries = Money.of_page(backtest), backtest["entries"]
    tables = {
        "entries": page_tables.entries_table(backtest, money),
        "categories": page_tables.categories_table(backtest["categories"], money),
        "left_out": page_tables.left_out_table(backtest["left_out"]),
        "fit": page_tables.fit_table(backtest["family"]["fit"]),
        "cutoff": page_tables.cutoff_table(backtest["cutoff"], money),
        "learning": page_tables.learning_table(entries, money),
        "off_policy": page_tables.off_policy_table(entries, money),
        "sentences": page_tables.entry_sentences(entries, money),
        "settings": page_tables.settings_table(backtest["settings"]),
        "stop": advice_tables.stop_tables(backtest.get("stop_list"), money),
        "splits": advice_tables.split_tables(backtest.get("time_splits"), money),
        "swaps": advice_tables.swap_tables(backtest.get("swap_sets"), money),
        "groupings": advice_tables.groupings_table(backtest.get("groupings"), money),
        "emergence": advice_tables.emergence_table(backtest.get("emergence")),
    }
    when_known = backtest.get("when_known") or backtest["first_line"]
    said = f"{backtest.get('advice') or ''} {backtest['verdict']}"
    immediate = when_known.startswith(IMMEDIATE)
    return (
        environment(TEMPLATES, html=True)
        .get_template("backtest.html.j2")
        .render(
            backtest=backtest,
            advice=backtest.get("advice"),
            stop_list=backtest.get("stop_list"),
            key_figures=advice_tables.key_figures(backtest, money),
            figures=drawn,
            tables=tables,
            when_known=when_known,
            immediate=immediate,
            caveat=immediate and "immediate" not in said and AT_ONCE not in said,
            source=Path(str(backtest["settings"].get("data") or "")).name,
            exported=exported,
            script=chart_script(),
            specs=chart_specs(drawn.values()),
        )
    )
