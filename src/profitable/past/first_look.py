"""First look: what the columns of a file hold, and a command to start from.

>>> table = {"issued": ["2026-01", "2026-02", "2026-03"] * 32}
>>> table["job"] = [*["a"] * 8, *["b"] * 8] * 6
>>> table["paid"] = ["yes", "no", "yes", "yes"] * 24
>>> look = first_look(table)
>>> look.columns[0].type, look.options["time"], look.options["category"]
('month', 'issued', 'job')
>>> print(look.command)
pb.backtest(data, category='job', time='issued', reward='paid=yes', cost=0.75)
"""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from profitable.common.extras import frame_of
from profitable.common.text_tables import html_table, number_text, percent_text, text_table
from profitable.errors import InputError
from profitable.past.candidates import Candidate, Finder
from profitable.past.column_profile import ColumnProfile, profile
from profitable.past.column_sample import sampled
from profitable.past.control_group import is_control_group, refused_text
from profitable.past.layout import is_list
from profitable.past.leaks import ADVICE, Leak
from profitable.past.row_order import doubt_rows
from profitable.past.source import OnShare, Source, open_source, pa
from profitable.past.start_command import python_call, shell_command
from profitable.past.start_plan import StartPlan, plan_start

SHOWN_OF_A_ROLE = 5
LOOK_WIDTH = 100
FLAG = re.compile(r"--([a-z][a-z-]+)")
LOOK_HEADERS = ("column", "type", "missing", "differ", "may be", "values")
ROLES_SHOWN = 2
OTHERS = 2  # other categories that are offered
ALWAYS_NEEDED = (("category", "scorecard"), ("reward", "defaulted"), ("cost", "amount"))
NEEDED_OF_LOANS = (("term",), ("rate", "instalment"), ("closed",), ("amount",))


@dataclass(frozen=True)
class FirstLook:
    """Columns of a file, candidates for their roles, and a command to start from."""

    source: str
    files: tuple[str, ...]  # as the user gave them; none for a table
    rows: int
    sampled: int  # rows that were looked at
    columns: tuple[ColumnProfile, ...]
    candidates: tuple[Candidate, ...]
    plan: StartPlan
    warnings: tuple[str, ...]

    @property
    def options(self) -> dict[str, Any]:
        """The options to start from, as `profitable.backtest` takes them."""
        return dict(self.plan.options)

    @property
    def command(self) -> str:
        """The command to start from; of a table, the call in Python."""
        if self.files:
            return shell_command(self.files, self.plan.options)
        return python_call(self.plan.options)

    @property
    def leaks(self) -> list[Leak]:
        """Columns that seem to know the outcome of the plan."""
        return self.plan.leaks

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "data": self.source,
            "rows": self.rows,
            "sampled": self.sampled,
            "columns": [
                each.to_dict() | {"may_be": self._roles(each.name)} for each in self.columns
            ],
            "candidates": [each.to_dict() for each in self.candidates],
            "leaks": [{"column": each.column, "reason": each.reason} for each in self.leaks],
            "warnings": list(self.warnings),
            "options": {
                name: list(value) if is_list(value) else value
                for name, value in self.plan.options.items()
            },
            "command": self.command,
            "runs": self.plan.is_complete,
            "placeholders": dict(self.plan.placeholders),
            "problem": self.plan.problem or None,
            "assumed": list(self.plan.assumed),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each column of the data, as a dataframe.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the dataframe; by default one that is imported or installed.

        Returns
        -------
        dataframe
            Name, type, format of dates, shares, values and possible roles.
        """
        return frame_of(
            {
                "column": [each.name for each in self.columns],
                "type": [each.kind for each in self.columns],
                "date_format": [each.date_format or "" for each in self.columns],
                "missing": [each.missing for each in self.columns],
                "different": [each.different for each in self.columns],
                "may_be": [", ".join(self._roles(each.name)) for each in self.columns],
                "values": [each.values for each in self.columns],
            },
            backend,
        )

    def __str__(self) -> str:
        width = None if _is_terminal() else LOOK_WIDTH
        table = text_table(LOOK_HEADERS, self._rows(), words=(0, 1, 4), width=width)
        parts = [
            self._caption(),
            table,
            self._candidates(),
            self._leaks(),
            "\n".join(_filled(f"warning: {self._said(each)}") for each in self.warnings),
            self._start(),
        ]
        return "\n\n".join(filter(None, parts))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>warning: {escape(self._said(each))}</p>" for each in self.warnings)
        start = f"<pre>{escape(self._start())}</pre>"
        return html_table(self._caption(), LOOK_HEADERS, self._rows()) + said + start

    # ---------------------------------------------------------------------------- parts

    def _caption(self) -> str:
        looked = "" if self.sampled == self.rows else f", of which {number_text(self.sampled)} "
        looked += "spread over the whole file are looked at" if looked else ""
        return (
            f"{self.source}: {number_text(self.rows)} rows{looked}, "
            f"{number_text(len(self.columns))} columns."
        )

    def _said(self, text: str) -> str:
        """Write options as in Python, if the data are no files."""
        if self.files:
            return text
        return FLAG.sub(lambda found: found[1].replace("-", "_"), text)

    def _roles(self, column: str) -> list[str]:
        taken = [name for name, value in self.plan.options.items() if _names(value, column)]
        if taken:
            return [{"issued": "time"}.get(name, name) for name in taken]
        named = [
            each.role
            for each in self.candidates
            if column in (each.column, *each.column.split(","))
        ]
        if column in {each.column for each in self.leaks}:
            named = [*(role for role in named if role != "category"), "leak"]
        return list(dict.fromkeys(named))

    def _rows(self) -> list[list[str]]:
        return [
            [
                each.name,
                each.type,
                _share(each.missing),
                number_text(each.different),
                ", ".join(self._roles(each.name)[:ROLES_SHOWN]),
                each.values,
            ]
            for each in self.columns
        ]

    def _candidates(self) -> str:
        by_role: dict[str, list[Candidate]] = {}
        bad = {each.column for each in self.leaks}
        for each in self.candidates:
            if each.role != "category" or each.column not in bad:
                by_role.setdefault(each.role, []).append(each)
        lines: list[list[str]] = []
        for role, found in by_role.items():
            shown = [f"{each.option} ({each.reason})" for each in found[:SHOWN_OF_A_ROLE]]
            more = len(found) - SHOWN_OF_A_ROLE
            text = "; ".join(shown) + (f"; and {more} more" if more > 0 else "")
            lines.append([role, text])
        if not lines:
            return ""
        return "Candidates\n" + text_table(
            ["role", "columns, the likeliest first"],
            lines,
            width=None if _is_terminal() else LOOK_WIDTH,
        )

    def _leaks(self) -> str:
        if not self.leaks:
            return ""
        listed = "\n".join(f"- {each}" for each in self.leaks)
        none = "" if any(each.is_category for each in self.leaks) else "; none is taken as category"
        return f"Columns that look like leaks{none}:\n{listed}\n{ADVICE}"

    def _start(self) -> str:
        lead = "Start with:" if self.plan.is_complete else "Complete this command:"
        if self.plan.problem:
            lead = "This would be the command, but the file cannot be read so:"
        lines = [lead, "", *(f"  {line}" for line in self.command.splitlines()), ""]
        if self.plan.problem:
            lines.append(f"- {self.plan.problem}.")
        said = [f"- {name}: {what}." for name, what in self.plan.placeholders.items()]
        said += [f"- {text}." for text in self.plan.assumed]
        bad = {each.column for each in self.leaks}
        others = [
            shlex.join(["--or", each.option])
            for each in self.candidates
            if each.role == "category" and each.column not in bad
            if each.option != self.plan.options.get("category")
        ]
        if self.files and self.plan.is_complete and others:
            said.append(f"- Add {' '.join(others[:OTHERS])} to compare other ways of grouping.")
        if self.files and self.plan.is_complete:
            said.append(
                "- Add --describe to see how the rows are read with it, or --out results/first for "
                "a page."
            )
        lines += [_filled(self._said(text)) for text in said]
        return "\n".join(lines).rstrip()


def is_complete(given: Mapping[str, Any]) -> bool:
    """Whether options say enough for a backtest, so that nothing need be suggested.

    >>> is_complete({"category": "job", "reward": "y", "cost": 1, "round": 20})
    True
    """
    has_time = (
        "time" in given or "issued" in given or str(given.get("round", "")).strip().isdecimal()
    )
    needed = (*ALWAYS_NEEDED, *(NEEDED_OF_LOANS if "defaulted" in given else ()))
    return has_time and all(any(name in given for name in names) for names in needed)


def first_look(
    data: Any,
    *,
    progress: OnShare = None,
    extra: Mapping[str, Any] | None = None,
    **given: Any,
) -> FirstLook:
    """Look at a file, and say what its columns may be.

    What is given, such as the category, is taken; the rest is suggested.  `extra` are
    other options that the command keeps.
    """
    source = open_source(data)
    _check_names(source, given)
    sample = sampled(source, source.columns, progress=progress)
    if not sample.piece.batch.num_rows:
        raise InputError(
            "data", source.name, "has no rows", "give a file with a client in each row"
        )
    columns = [profile(sample.piece, name) for name in source.columns]
    finder = Finder(columns)
    part = open_source(pa.Table.from_batches([sample.piece.batch]))
    plan = plan_start(part, finder, given, sample.rows)
    plan.options |= extra or {}
    warnings = [*_doubts(finder, plan), *_bad_rows(columns, plan)]
    return FirstLook(
        source.name,
        _files(data),
        sample.rows,
        sample.piece.batch.num_rows,
        tuple(columns),
        tuple(_free(finder.found(), plan)),
        plan,
        tuple(warnings),
    )


def _free(candidates: Sequence[Candidate], plan: StartPlan) -> list[Candidate]:
    """Return candidates without categories that have another role in the plan."""
    used = {name: value for name, value in plan.options.items() if name != "category"}
    return [
        each
        for each in candidates
        if each.role != "category" or not any(_names(value, each.column) for value in used.values())
    ]


def _doubts(finder: Finder, plan: StartPlan) -> list[str]:
    options = plan.options
    found: list[str] = []
    if "time" not in options and "issued" not in options:
        names = [str(options.get(name, "")).partition("=")[0] for name in ("reward", "category")]
        found += doubt_rows(finder.columns, names)
    return found + _control_groups(finder, options)


def _control_groups(finder: Finder, options: Mapping[str, Any]) -> list[str]:
    """Warn of flags that may name a control group, if the command does not use it."""
    reward, _, value = str(options.get("reward", "")).partition("=")
    outcome = finder.by_name.get(reward)
    if outcome is None or "treated" in options:
        return []
    word = (0, *(float(each == value) for each in outcome.words))
    known = np.where(outcome.codes > 0, np.array(word)[outcome.codes], np.nan)
    rewards = outcome.numbers if not value and outcome.numbers is not None else known
    found: list[str] = []
    for role in ("treated", "accepted"):
        for each in finder.of(role):
            is_one = finder.is_treated(each)
            if each.column != reward and is_control_group(rewards[~is_one]):
                found.append(refused_text(each.column, rewards[is_one], rewards[~is_one]))
    return found


def _bad_rows(columns: Sequence[ColumnProfile], plan: StartPlan) -> list[str]:
    used = {str(value) for value in plan.options.values()}
    return [
        f"{each.name}: {number_text(each.unread)} sampled rows are not of the type {each.kind}, "
        f"such as {each.example!r}"
        for each in columns
        if each.unread and each.name in used
    ]


def _check_names(source: Source, given: Mapping[str, Any]) -> None:
    """InputError if a given column does not exist."""
    plain = {name: given[name] for name in ("time", "issued", "known", "amount") if name in given}
    needed = {
        str(each): name
        for name, value in plain.items()
        for each in (value if is_list(value) else [value])
    }
    source.need(needed)


def _files(data: Any) -> tuple[str, ...]:
    given: Sequence[Any] = data if is_list(data) else [data]
    names = [os.fspath(each) for each in given if isinstance(each, str | Path)]
    return tuple(names) if len(names) == len(given) else ()


def _filled(text: str) -> str:
    return fill(text, LOOK_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _names(value: object, column: str) -> bool:
    """Whether an option names a column, perhaps with a value, a cut or a format."""
    if is_list(value):
        return any(_names(each, column) for each in value)
    return str(value) in (column, f"{column}:q5") or str(value).startswith(f"{column}=")


def _share(share: float) -> str:
    """Write a share; one that is not 0 is never written as 0.

    >>> _share(0.0), _share(0.0001), _share(0.012), _share(0.5)
    ('0 %', '<0.1 %', '1.2 %', '50 %')
    """
    if 0.0 < share < 0.001:
        return "<0.1 %"
    return percent_text(share, 1 if 0.0 < share < 0.1 else 0)


def _is_terminal() -> bool:
    is_terminal = getattr(sys.stdout, "isatty", None)
    return is_terminal is not None and is_terminal()
