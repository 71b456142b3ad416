"""CSV intake of `open` and `observe`: rows are sent in batches and answered.

The commands import it when they run, because it needs the whole portfolio.
"""

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

import typer

from profitable.cli.shared import (
    SOME_REFUSED,
    WRONG_INPUT,
    Stopped,
    interruptible,
    is_file,
    is_same_file,
    not_the_portfolio,
    note,
)
from profitable.common.files import as_path, reading_file
from profitable.common.progress import Progress
from profitable.common.text_tables import number_text, text_table
from profitable.errors import InputError, NotSavedError, ParameterError, ProfitableError
from profitable.portfolio import portfolio
from profitable.portfolio.outcome import STATUSES, Client, PortfolioAnswer, summary_of
from profitable.portfolio.rows_in import (
    DELIMITER_NAMES,
    CsvRow,
    Form,
    RefusedFile,
    RowKind,
    Sheet,
)

STANDARD_INPUT = "-"
PREVIEWED = 100  # rows that a preview lists
ROWS_LISTED = 20  # refused rows that are listed in any case
ROWS_TRIED = 50_000  # that a preview tries at a time, so that it does not keep others waiting
MOST_PIPED_ROWS = 500_000  # kept in memory of a pipe, which may never end
NOTHING_STORED = "nothing was stored."
ALL_OR_NONE = "all rows are stored, or none. Run the same command again."
IN_MEMORY = 1_000_000  # letters of JSON that are kept there before a file takes them


@dataclass(kw_only=True)
class IntakeJob:
    """The rows to report, and how, as the command line has it."""

    kind: RowKind
    where: str
    file: str
    form: Form
    dry_run: bool
    all_or_nothing: bool
    yes: bool
    refused: Path | None
    as_json: bool
    actor: str | None
    wait: float

    @property
    def path(self) -> Path | None:
        """The file; None for standard input."""
        return None if self.file == STANDARD_INPUT else Path(self.file)

    @property
    def is_regular(self) -> bool:
        """Whether it is a file that can be read twice."""
        return self.path is not None and is_file(self.path)

    def sheet(self) -> AbstractContextManager[Sheet]:
        """Open the rows."""
        return opened_sheet(self.path, self.kind, self.form, self.file)


@dataclass
class RowTally:
    """Rows by status; some of them to show and, for JSON, all of them in a file."""

    most: int  # rows to show
    refused_only: bool
    spool: IO[str] | None = None
    numbers: Counter[Any] = field(default_factory=Counter[Any])
    shown: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])
    hidden: int = 0

    @property
    def refused(self) -> int:
        """Number of refused rows."""
        return self.numbers["refused"]

    def add(self, row: CsvRow, answer: PortfolioAnswer) -> None:
        """Count a row."""
        if self.spool is not None:
            said = json.dumps({"row": row.number, **answer.to_dict()}, ensure_ascii=True)
            _write(self.spool, (", " if self.numbers else "") + said)
        self.numbers[answer.status] += 1
        is_refused = answer.status == "refused"
        if self.refused_only and not is_refused:
            return
        if len(self.shown) < self.most or (is_refused and self.refused <= ROWS_LISTED):
            texts = (_printable(answer.id), answer.status, _printable(answer.why))
            self.shown.append((str(row.number), *texts))
        else:
            self.hidden += 1

    def table(self) -> str:
        """Return the rows to show, as a table; empty without any."""
        if not self.shown:
            return ""
        rest = f"\n... and {number_text(self.hidden)} more" if self.hidden else ""
        return text_table(("row", "id", "status", "why"), self.shown, words=(0, 1, 2, 3)) + rest


def take(job: IntakeJob) -> None:
    """Report the rows of a file, print what became of them, and exit with its code."""
    if job.refused is not None and job.path is not None and is_same_file(job.refused, job.path):
        raise ParameterError(
            "refused", str(job.refused), "is the file with the rows", "give another name"
        )
    not_the_portfolio("refused", job.refused, job.where)
    again = "run the same command again: what was stored counts once."
    with (
        interruptible(again),
        portfolio.Portfolio(job.where, actor=job.actor, wait=job.wait) as book,
    ):
        if not (job.dry_run or job.yes) and job.is_regular and at_terminal():
            _ask(job, book)
        # The JSON of each row goes to a file, so that many of them need no memory.
        with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8") as spool:
            most = PREVIEWED if job.dry_run else ROWS_LISTED
            tally = RowTally(most, not job.dry_run, spool if job.as_json else None)
            if job.dry_run or job.all_or_nothing:
                sheet = _report_together(job, book, tally, trial=job.dry_run)
                _print(job, sheet, tally, None)
            else:
                _store_each(job, book, tally)
    if tally.refused:
        raise typer.Exit(WRONG_INPUT if job.all_or_nothing else SOME_REFUSED)


# --------------------------------------------------------------------------- reporting


def _report_together(
    job: IntakeJob, book: portfolio.Portfolio, tally: RowTally, *, trial: bool
) -> Sheet:
    """Store all rows or none, or only find out what would happen."""
    size = sys.maxsize if job.all_or_nothing else ROWS_TRIED
    with interruptible(NOTHING_STORED if trial else ALL_OR_NONE), job.sheet() as sheet:
        for row, answer in _answers(job, book, sheet, size, trial=trial):
            tally.add(row, answer)
    return sheet


def _store_each(job: IntakeJob, book: portfolio.Portfolio, tally: RowTally) -> None:
    """Store right rows batch by batch, and write refused ones to a file."""
    with job.sheet() as sheet, closing(RefusedFile(sheet, job.path, job.refused)) as refused:
        place = failed = stopped = None
        try:
            for row, answer in _answers(job, book, sheet, portfolio.BATCH):
                tally.add(row, answer)
                if answer.status == "refused":
                    refused.add(row, answer.why)
        except (KeyboardInterrupt, ProfitableError) as error:
            stopped = error
        try:
            # After a stop, a file is sent again as a whole; standard input may be gone.
            place = refused.finish() if stopped is None or job.path is None else None
        except NotSavedError as error:
            failed = error
        if stopped is not None:
            raise _stopped(stopped, tally, place) from None
        _print(job, sheet, tally, place)
    if failed is not None:
        raise failed


def _stopped(error: BaseException, tally: RowTally, refused: Path | None) -> BaseException:
    """Return an error, or an interruption, that also says what was stored before."""
    where = f", refused rows in {refused}" if refused is not None else ""
    done = f"of {summary_of(tally.numbers, is_trial=False)}{where}"
    if isinstance(error, ProfitableError):
        if not tally.numbers:
            return error
        return type(error)(
            error.field, error.value, f"{error.problem} (before that, {done})", error.remedy
        )
    kept = f"{done}, and that is stored" if tally.numbers else "no batch was complete"
    return Stopped(f"interrupted; {kept}. Run the same command again: what is stored counts once.")


def _answers(
    job: IntakeJob, book: portfolio.Portfolio, sheet: Sheet, size: int, *, trial: bool = False
) -> Iterator[tuple[CsvRow, PortfolioAnswer]]:
    """Yield every row with its answer, sent `size` at a time."""
    known = job.is_regular
    total = Path(job.file).stat().st_size if known else 1
    rows = iter(sheet)
    if size == sys.maxsize:
        rows = bounded(sheet, job.path, "leave out --all-or-nothing")
    with Progress(total=max(total, 1), title="reading", shown=None if known else False) as bar:
        while batch := list(islice(rows, size)):
            yield from _send(job, book, batch, trial=trial)
            if known:
                bar.update(sheet.position)


def _send(
    job: IntakeJob, book: portfolio.Portfolio, rows: list[CsvRow], *, trial: bool
) -> Iterator[tuple[CsvRow, PortfolioAnswer]]:
    """Report rows; each with its answer, those that could not be read included."""
    readable = [row.made for row in rows if row.made is not None]
    torn = job.all_or_nothing and len(readable) < len(rows)
    report: Any = book.open if job.kind.make is Client else book.observe
    answers = iter(report(readable, all_or_nothing=job.all_or_nothing, dry_run=trial or torn))
    for row in rows:
        if row.made is None:
            yield row, PortfolioAnswer(row.id, "refused", row.why)
        else:
            answer: PortfolioAnswer = next(answers)
            yield row, answer.left_out() if torn else answer


# ------------------------------------------------------------------------------- asking


def at_terminal() -> bool:
    """Whether a person can read messages, and answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(job: IntakeJob, book: portfolio.Portfolio) -> None:
    """Show what would happen, and continue only with consent."""
    tally = RowTally(ROWS_LISTED, True)
    _report_together(job, book, tally, trial=True)
    if shown := tally.table():
        typer.echo(shown, err=True)
    typer.echo(summary_of(tally.numbers, is_trial=True), err=True)
    typer.echo(f"Store them in {book.where}? [y/N] ", nl=False, err=True)
    with interruptible(NOTHING_STORED):
        answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        raise Stopped(NOTHING_STORED)


# ------------------------------------------------------------------------------ reading


@contextmanager
def opened_sheet(path: Path | None, kind: RowKind, form: Form, source: str) -> Generator[Sheet]:
    """Yield a file or standard input, with its header matched."""
    with ExitStack() as opened:
        file: BinaryIO = sys.stdin.buffer
        if path is not None:
            with reading_file("file", path, "give a CSV file, or - for standard input"):
                file = opened.enter_context(as_path("file", path).open("rb"))
        sheet = Sheet(file, kind, form, "standard input" if path is None else source)
        opened.callback(sheet.detach)
        yield sheet


def bounded(sheet: Sheet, path: Path | None, remedy: str) -> Iterator[CsvRow]:
    """Rows that are all kept in memory; InputError for a pipe with too many of them."""
    most = sys.maxsize if path is not None and is_file(path) else MOST_PIPED_ROWS
    for place, row in enumerate(sheet):
        if place >= most:
            raise InputError(
                "file",
                sheet.source,
                f"has more than {most} rows, which are kept in memory",
                f"{remedy}, or save it as a file first",
            )
        yield row


def columns_of(given: Iterable[str]) -> dict[str, str]:
    """Return the columns in FIELD=NAME; ParameterError for anything else."""
    named: dict[str, str] = {}
    for text in given:
        name, _, header = text.partition("=")
        if not name or not header:
            raise ParameterError(
                "column",
                text,
                "must be a field and a column",
                "give FIELD=NAME, as reward=paid_back",
            )
        if name in named:
            raise ParameterError(
                "column", text, f"is a second column for {name}", "leave one of them out"
            )
        named[name] = header
    return named


# ----------------------------------------------------------------------------- printing


def _write(spool: IO[str], text: str) -> None:
    try:
        spool.write(text)
    except OSError as error:
        raise NotSavedError(
            "json",
            True,
            f"needs a temporary file that cannot be written ({error.strerror or error})",
            "make room, or leave it out",
        ) from None


def _print(job: IntakeJob, sheet: Sheet, tally: RowTally, refused: Path | None) -> None:
    """Print what became of the rows; `refused` is the file with the refused ones."""
    stored = not job.dry_run and not (job.all_or_nothing and tally.refused)
    if job.as_json:
        _print_json(sheet, tally, stored, refused)
        return
    if job.dry_run:
        typer.echo(_header(sheet))
    if shown := tally.table():
        typer.echo(shown)
    typer.echo(summary_of(tally.numbers, is_trial=not stored))
    if job.dry_run and not job.all_or_nothing and tally.numbers.total() > ROWS_TRIED:
        note(f"rows were tried {ROWS_TRIED} at a time; repeated ids were found only within these")
    if refused is not None:
        typer.echo(f"Refused rows are in {refused}: fix them there and send that file.")
    elif job.all_or_nothing and not stored and not job.dry_run:
        typer.echo("Fix them, and send all rows again.")


def _print_json(sheet: Sheet, tally: RowTally, stored: bool, refused: Path | None) -> None:
    """Print one object; its rows are copied from the spool."""
    assert tally.spool is not None
    about = {
        "file": sheet.source,
        "stored": stored,
        **{status.replace(" ", "_"): tally.numbers[status] for status in STATUSES},
        "refused_file": None if refused is None else str(refused),
        "delimiter": sheet.delimiter,
        "columns": {name: sheet.names[place] for name, place in sheet.places.items()},
        "left_out_columns": sheet.others,
    }
    typer.echo(json.dumps(about, ensure_ascii=True)[:-1] + ', "rows": [', nl=False)
    tally.spool.seek(0)
    shutil.copyfileobj(tally.spool, sys.stdout)
    typer.echo("]}")


def _header(sheet: Sheet) -> str:
    """Return the format of a file, and the meaning of its columns."""
    between = DELIMITER_NAMES.get(sheet.delimiter, sheet.delimiter)
    sign = "comma" if sheet.form.decimal == "," else "point"
    meanings = [(_printable(name), meaning) for name, meaning in sheet.meanings()]
    table = text_table(("column", "means"), meanings, words=(0, 1))
    return f"{sheet.source}: {sheet.encoding}, {between} between fields, decimal {sign}\n{table}\n"


def _printable(text: str) -> str:
    """Return a text of a file without control characters of a terminal."""
    return text if text.isprintable() else repr(text)[1:-1]
