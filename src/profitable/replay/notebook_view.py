"""A backtest as a notebook shows it: advice, verdict, stop list, and the policies."""

from html import escape
from typing import Any

from profitable.common.text_tables import html_table
from profitable.replay.advice_tables import stop_tables
from profitable.replay.page_amounts import Money
from profitable.replay.page_tables import entries_table


def html_of(backtest: dict[str, Any]) -> str:
    """Return HTML from the dict of `Backtest.to_dict()`; all text is escaped."""
    money = Money.of_page(backtest)
    parts = [
        f"<p><strong>{escape(backtest[key])}</strong></p>"
        for key in ("advice", "verdict")
        if backtest.get(key)
    ]
    parts.append(f"<p>{escape(backtest['first_line'])}</p>")
    stop_list = backtest.get("stop_list")
    if stop_list:
        parts.append(f"<p>{escape(stop_list['sentence'])}</p>")
    parts += [
        html_table(
            f"Stop list: {each['name']}", each["headers"], [r["cells"] for r in each["rows"]]
        )
        for each in stop_tables(stop_list, money)
    ]
    entries = entries_table(backtest, money)
    rows = [
        [f"{row['mark']} {row['words'] or row['name']}".strip(), *row["cells"]]
        for row in entries["rows"]
    ]
    parts.append(html_table("Against accepting everybody", entries["headers"], rows))
    count = len(backtest["warnings"])
    if count:
        parts.append(f"<p>Warnings: {count}. print(...) shows them.</p>")
    return "\n".join(parts)
