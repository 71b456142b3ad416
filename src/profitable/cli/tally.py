"""What became of the rows of a file: counted, shown in a table, or printed as JSON."""

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from profitable.cli.shared import note

if TYPE_CHECKING:
    from profitable.cli.taking import Job
    from profitable.portfolio.outcome import Answer
    from profitable.portfolio.rows_in import Row, Sheet

ROWS_TRIED = 50_000  # that a preview tries at a time, so that it does not keep others waiting
ROWS_LISTED = 20  # refused rows that are listed in any case
IN_MEMORY = 1_000_000  # letters of JSON that are kept there before a file takes them


@dataclass
class Tally:
    """What became of rows: how many, some of them to show and, for JSON, all of them in a file."""

    most: int  # rows to show
    refused_only: bool
    numbers: Counter[Any] = field(default_factory=Counter[Any])
    shown: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])
    hidden: int = 0
    spool: IO[str] | None = None

    def add(self, row: "Row", answer: "Answer") -> None:
        """Note what became of a row."""
        if self.spool is not None:
            said = {"row": row.number, "id": answer.id, "status": answer.status, "why": answer.why, "line": answer.line}
            self._spool((", " if self.numbers else "") + json.dumps(said, ensure_ascii=True))
        self.numbers[answer.status] += 1
        if self.refused_only and answer.status != "refused":
            return
        if len(self.shown) < self.most or (answer.status == "refused" and self._is_listed()):
            self.shown.append((str(row.number), _printable(answer.id), answer.status, _printable(answer.why)))
        else:
            self.hidden += 1

    def _is_listed(self) -> bool:
        """Whether one more refused row is listed, behind so many others."""
        return self.numbers["refused"] <= ROWS_LISTED

    def _spool(self, text: str) -> None:
        assert self.spool is not None
        try:
            self.spool.write(text)
        except OSError as error:
            from profitable.errors import NotSavedError

            problem = f"needs a temporary file that cannot be written ({error.strerror or error})"
            raise NotSavedError("json", True, problem, "make room, or leave it out") from None

    def table(self) -> str:
        """The rows to show, as a table; empty if there are none."""
        from profitable.common.text_tables import number, text_table

        if not self.shown:
            return ""
        rest = f"\n... and {number(self.hidden)} more" if self.hidden else ""
        return text_table(("row", "id", "status", "why"), self.shown, words=(0, 1, 2, 3)) + rest

    def summary(self, *, is_trial: bool) -> str:
        """How many rows there were, and what became of them."""
        from profitable.portfolio.outcome import summary_of

        return summary_of(self.numbers, is_trial=is_trial)


@contextmanager
def spooled(job: "Job") -> Generator[IO[str] | None]:
    """A file for what JSON says of each row, so that many of them need no memory."""
    if not job.as_json:
        yield None
        return
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8") as spool:
        yield spool


def print_rows(job: "Job", sheet: "Sheet", tally: Tally, refused: Path | None) -> None:
    """Print what became of the rows of a job; `refused` is the file with the refused ones."""
    stored = not job.dry_run and not (job.all_or_nothing and tally.numbers["refused"])
    if job.as_json:
        _print_json(sheet, tally, stored, refused)
        return
    if job.dry_run:
        typer.echo(_understood(sheet))
    if shown := tally.table():
        typer.echo(shown)
    typer.echo(tally.summary(is_trial=not stored))
    if job.dry_run and not job.all_or_nothing and tally.numbers.total() > ROWS_TRIED:
        note(
            f"rows were tried {ROWS_TRIED} at a time; whether an id comes twice in the file was seen only within these"
        )
    if refused is not None:
        typer.echo(f"Refused rows: {refused}; mend them there, and send that file.")
    elif job.all_or_nothing and not stored and not job.dry_run:
        typer.echo("Mend them, and send all rows again.")


def _print_json(sheet: "Sheet", tally: Tally, stored: bool, refused: Path | None) -> None:
    """One object; the rows come from the file that has them."""
    assert tally.spool is not None
    words = {"counted": "counted", "known": "known", "refused": "refused", "left_out": "left out"}
    about = {
        "file": sheet.source,
        "stored": stored,
        **{key: tally.numbers[status] for key, status in words.items()},
        "refused_file": None if refused is None else str(refused),
        "delimiter": sheet.delimiter,
        "columns": {name: sheet.names[place] for name, place in sheet.places.items()},
        "left_out_columns": sheet.others,
    }
    typer.echo(json.dumps(about, ensure_ascii=True)[:-1] + ', "rows": [', nl=False)
    tally.spool.seek(0)
    shutil.copyfileobj(tally.spool, sys.stdout)
    typer.echo("]}")


def _understood(sheet: "Sheet") -> str:
    """How the header was understood."""
    from profitable.common.text_tables import text_table
    from profitable.portfolio.rows_in import DELIMITER_NAMES

    between = DELIMITER_NAMES.get(sheet.delimiter, sheet.delimiter)
    sign = "comma" if sheet.form.decimal == "," else "point"
    rows = [(_printable(name), meaning) for name, meaning in sheet.understood()]
    table = text_table(("column", "means"), rows, words=(0, 1))
    return f"{sheet.source}: {sheet.encoding}, {between} between cells, decimal {sign}\n{table}\n"


def _printable(text: str) -> str:
    """A text of a file without letters that would do something to a terminal."""
    return text if text.isprintable() else repr(text)[1:-1]
