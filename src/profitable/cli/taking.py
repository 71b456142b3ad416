"""How `open` and `observe` take the rows of a file: in batches, each row by itself, with a preview first."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from profitable.cli.shared import (
    SOME_REFUSED,
    WRONG_INPUT,
    Stopped,
    interruptible,
    is_file,
    is_same_file,
    not_the_portfolio,
)
from profitable.cli.tally import ROWS_LISTED, ROWS_TRIED, Tally, print_rows, spooled

if TYPE_CHECKING:
    from profitable.portfolio.outcome import Answer
    from profitable.portfolio.portfolio import Portfolio
    from profitable.portfolio.rows_in import Form, Kind, Row, Sheet

STANDARD_INPUT = "-"
PREVIEWED = 100  # rows that a preview lists
MOST_PIPED_ROWS = 500_000  # that are kept in memory, of a pipe or a device: nobody knows whether it ends


@dataclass(kw_only=True)
class Job:
    """What the command line says: which rows go where, and how."""

    kind: "Kind"
    where: str
    file: str
    form: "Form"
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
    def source(self) -> str:
        """How messages call it."""
        return "standard input" if self.path is None else self.file


def take(job: Job) -> None:
    """Do what the command line says, print what became of the rows, and leave with the exit code that says it."""
    from profitable.errors import ParameterError
    from profitable.portfolio.portfolio import Portfolio

    if job.refused is not None and job.path is not None and is_same_file(job.refused, job.path):
        raise ParameterError("refused", str(job.refused), "is the file with the rows", "give another name")
    not_the_portfolio("refused", job.refused, job.where)
    again = "run the same command again: what was stored counts once."
    with interruptible(again), Portfolio(job.where, actor=job.actor, wait=job.wait) as book:
        if _asks(job):
            _ask(job, book)
        if job.dry_run:
            _try(job, book)
        elif job.all_or_nothing:
            _take_all(job, book)
        else:
            _take_each(job, book)


# ---------------------------------------------------------------------------------------------- the ways


def _take_each(job: Job, book: "Portfolio") -> None:
    """Store what is right, batch by batch; refused rows go to a file beside the input."""
    from profitable.errors import NotSavedError, ProfitableError
    from profitable.portfolio.portfolio import BATCH
    from profitable.portfolio.refused_file import RefusedFile

    with spooled(job) as spool, _sheet(job) as sheet, RefusedFile(sheet, job.path, job.refused) as refused:
        tally, place, failed, stopped = Tally(ROWS_LISTED, True, spool=spool), None, None, None
        try:
            for row, answer in _answers(job, book, sheet, BATCH):
                tally.add(row, answer)
                if answer.status == "refused":
                    refused.add(row, answer.why)
        except (KeyboardInterrupt, ProfitableError) as error:
            stopped = error
        try:
            # A file is sent again after a stop, which finds them all; what came from standard input may be gone.
            place = refused.finish() if stopped is None or job.path is None else None
        except NotSavedError as error:
            failed = error
        if stopped is not None:
            raise _stopped(stopped, tally, place) from None
        print_rows(job, sheet, tally, place)
    if failed is not None:
        raise failed
    if tally.numbers["refused"]:
        raise typer.Exit(SOME_REFUSED)


def _stopped(error: BaseException, tally: Tally, refused: Path | None) -> BaseException:
    """An error, or an interruption, that also says what was stored before."""
    from profitable.errors import ProfitableError

    beside = f", refused rows in {refused}" if refused is not None else ""
    done = f"of {tally.summary(is_trial=False)}{beside}"
    if isinstance(error, ProfitableError):
        if not tally.numbers:
            return error
        return type(error)(error.field, error.value, f"{error.problem} (before that, {done})", error.remedy)
    kept = f"{done}, and that is stored" if tally.numbers else "no batch was complete"
    return Stopped(f"interrupted; {kept}. Run the same command again: what is stored counts once.")


def _take_all(job: Job, book: "Portfolio") -> None:
    """Store all rows in one transaction, or none if one of them is wrong."""
    with spooled(job) as spool, _sheet(job) as sheet:
        tally = Tally(ROWS_LISTED, True, spool=spool)
        with interruptible("all rows are stored, or none. Run the same command again."):
            for row, answer in _answers(job, book, sheet, sys.maxsize):
                tally.add(row, answer)
        print_rows(job, sheet, tally, None)
    if tally.numbers["refused"]:
        raise typer.Exit(WRONG_INPUT)


def _try(job: Job, book: "Portfolio") -> None:
    """Say what would happen."""
    with spooled(job) as spool:
        tally = Tally(PREVIEWED, False, spool=spool)
        sheet = _tried(job, book, tally)
        print_rows(job, sheet, tally, None)
    if tally.numbers["refused"]:
        raise typer.Exit(WRONG_INPUT if job.all_or_nothing else SOME_REFUSED)


def _tried(job: Job, book: "Portfolio", tally: Tally) -> "Sheet":
    with interruptible("nothing was stored."), _sheet(job) as sheet:
        for row, answer in _answers(job, book, sheet, sys.maxsize if job.all_or_nothing else ROWS_TRIED, trial=True):
            tally.add(row, answer)
    return sheet


def _answers(
    job: Job, book: "Portfolio", sheet: "Sheet", size: int, *, trial: bool = False
) -> "Iterator[tuple[Row, Answer]]":
    """Every row with its answer; rows are sent `size` at a time, with a progress bar if the file's size is known."""
    from profitable.common.progress import Progress

    known = job.path is not None and is_file(job.path)
    total = Path(job.file).stat().st_size if known else 1
    rows = bounded(sheet, job.path, "leave out --all-or-nothing") if size == sys.maxsize else iter(sheet)
    with Progress(total=max(total, 1), title="reading", shown=None if known else False) as bar:
        while batch := list(islice(rows, size)):
            yield from _send(job, book, batch, trial=trial)
            if known:
                bar.update(sheet.position)


def _send(job: Job, book: "Portfolio", rows: "list[Row]", *, trial: bool = False) -> "Iterator[tuple[Row, Answer]]":
    """Report rows to the portfolio; each of them with its answer, those that could not be read included."""
    from profitable.portfolio.outcome import Answer, Outcome

    readable = [row.made for row in rows if row.made is not None]
    torn = job.all_or_nothing and len(readable) < len(rows)
    report: Any = book.observe if job.kind.make is Outcome else book.open
    receipt = report(readable, all_or_nothing=job.all_or_nothing, dry_run=trial or torn)
    answers = iter(receipt)
    for row in rows:
        answer = Answer(row.id, "refused", row.why) if row.made is None else next(answers)
        if torn and answer.status == "counted":
            answer = Answer(row.id, "left out", "another row was refused")
        yield row, answer


# ---------------------------------------------------------------------------------------------- asking


def _asks(job: Job) -> bool:
    """Whether a person sits there who can be asked, and a file that can be read twice."""
    path = job.path
    return not (job.dry_run or job.yes or path is None) and is_file(path) and at_terminal()


def at_terminal() -> bool:
    """Whether a person can read what we say, and answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(job: Job, book: "Portfolio") -> None:
    """Show what would happen, and go on only if that is wanted."""
    tally = Tally(ROWS_LISTED, True)
    _tried(job, book, tally)
    if shown := tally.table():
        typer.echo(shown, err=True)
    typer.echo(tally.summary(is_trial=True), err=True)
    typer.echo(f"Store them in {book.where}? [y/N] ", nl=False, err=True)
    with interruptible("nothing was stored."):
        answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        raise Stopped("nothing was stored.")


# ---------------------------------------------------------------------------------------------- reading


@contextmanager
def _sheet(job: Job) -> "Generator[Sheet]":
    """The file, with its header understood."""
    from profitable.portfolio.rows_in import Sheet

    with opened(job.path) as file:
        sheet = Sheet(file, job.kind, job.form, job.source)
        try:
            yield sheet
        finally:
            sheet.detach()


def bounded(sheet: "Sheet", path: Path | None, remedy: str) -> "Iterator[Row]":
    """The rows of a file that have to be kept all at once; InputError for a pipe with too many of them."""
    from profitable.errors import InputError

    most = sys.maxsize if path is not None and is_file(path) else MOST_PIPED_ROWS
    for place, row in enumerate(sheet):
        if place >= most:
            problem = f"has more than {most} rows, which are kept in memory"
            raise InputError("file", sheet.source, problem, f"{remedy}, or save it as a file first")
        yield row


@contextmanager
def opened(path: Path | None) -> Generator[BinaryIO]:
    """A file to read, or standard input; InputError if it cannot be read."""
    from profitable.common.files import as_path
    from profitable.errors import InputError

    if path is None:
        yield sys.stdin.buffer
        return
    try:
        file = as_path("file", path).open("rb")
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise InputError("file", str(path), problem, "give a CSV file, or - for standard input") from None
    with file:
        yield file


def form_of(
    columns: Iterable[str],
    delimiter: str | None,
    decimal: str | None,
    date_format: str | None,
    encoding: str,
    ignore_others: bool,
) -> "Form":
    """How a file is written, as the options say."""
    from profitable.errors import ParameterError
    from profitable.portfolio.rows_in import Form

    named: dict[str, str] = {}
    for text in columns:
        name, sign, header = text.partition("=")
        if not sign or not name or not header:
            remedy = "give FIELD=NAME, such as reward=paid_back"
            raise ParameterError("column", text, "is not a field and the name of a column", remedy)
        if name in named:
            raise ParameterError("column", text, f"is a second column for {name}", "leave one of them out")
        named[name] = header
    return Form(
        columns=named,
        delimiter=delimiter,
        decimal=decimal,
        date_format=date_format,
        encoding=encoding,
        ignore_others=ignore_others,
    )
