"""Shared parts of the commands: exit codes, options, interruption, printing."""

import csv
import io
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from profitable.portfolio.portfolio import Portfolio

# 3: done, but some rows were refused; 4: verify found a change.  docs/cli.md has the
# whole table.
DONE, FAILED, WRONG_INPUT, SOME_REFUSED, ALTERED, INTERRUPTED = 0, 1, 2, 3, 4, 130
POLICY_HELP = (
    "The name of a policy, such as ts, kl-ucb:c=3 or optimal:horizon=10000. "
    "`profitable policies` lists them."
)
SEED_HELP = "The same seed gives the same numbers."
MOST_DIGITS = 100
WAIT_SECONDS = 60.0


def whole_number(text: str | int) -> int:
    """Return a whole number as people write it: 1000000, 1_000_000 or 1e6.

    >>> whole_number("1e6"), whole_number("2.5e3")
    (1000000, 2500)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if (
        not number.is_finite()
        or number.adjusted() > MOST_DIGITS
        or number != number.to_integral_value()
    ):
        raise typer.BadParameter("it is not a whole number; give one, such as 1000000 or 1e6")
    return int(number)


def whole_option(help_text: str) -> Any:
    """Return an option that takes a whole number, as `whole_number` reads it."""
    return typer.Option(parser=whole_number, metavar="<int>", help=help_text)


def policy_names(incomplete: str) -> list[str]:
    """Return the policies whose names start with `incomplete`, for completion."""
    from profitable.policy.policies import POLICIES

    return [name for name in POLICIES if name.startswith(incomplete)]


AsJson = Annotated[
    bool, typer.Option("--json", help="Print the numbers as one JSON object instead.")
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV instead, one row for each category.")]
Seed = Annotated[int, typer.Option(help=SEED_HELP)]
PolicyName = Annotated[str | None, typer.Option(help=POLICY_HELP, autocompletion=policy_names)]
Workers = Annotated[
    int | None,
    typer.Option(help="Number of threads. By default, one for each core."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="The address of a Dask scheduler, such as tcp://scheduler:8786: run there. "
        "Needs the extra dask."
    ),
]
Where = Annotated[
    str, typer.Argument(help="The portfolio: a file, or postgresql+psycopg://user@host/database.")
]
Actor = Annotated[
    str | None,
    typer.Option(help="Who does this, for the journal. By default, the name of the user."),
]
Wait = Annotated[float, typer.Option(help="Seconds to wait for the write lock.")]
OwnKey = Annotated[
    str | None,
    typer.Option(
        "--key", help="Your name for this command. Sent again with the same key, it is done once."
    ),
]


class Stopped(Exception):
    """A command was interrupted; the message is for the user."""


@contextmanager
def interruptible(kept: str) -> Generator[None]:
    """Report what is kept if Ctrl-C or SIGTERM arrives inside."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"interrupted; {kept}") from None


def note(text: str) -> None:
    """Print a note on standard error."""
    typer.echo(f"profitable: note: {text}", err=True)


def print_json(value: object) -> None:
    """Print one JSON object on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_found(found: Any, as_json: bool) -> None:
    """Print a result as text, or its `to_dict` as JSON."""
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))


def print_csv(columns: Mapping[str, Sequence[Any]]) -> None:
    """Print columns of the same length as CSV on standard output."""
    from profitable.common.text_tables import guarded

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(map(guarded, row) for row in zip(*columns.values(), strict=True))
    typer.echo(text.getvalue(), nl=False)


def at_most_one(**given: object) -> None:
    """ParameterError if more than one of some options is given."""
    chosen = [name for name, value in given.items() if value not in (None, False)]
    if len(chosen) > 1:
        from profitable.errors import ParameterError

        first, second = (name.replace("_", "-") for name in chosen[:2])
        raise ParameterError(
            first, given[chosen[0]], f"cannot be combined with {second}", "leave one of them out"
        )


@contextmanager
def chosen_executor(cluster: str | None) -> Generator[Any]:
    """Yield the executor of --cluster; None, for threads, without it."""
    if cluster is None:
        yield None
        return
    from profitable.simulation.pool import connected

    with connected(cluster) as executor:
        yield executor


def open_portfolio(where: str, *, wait: float, actor: str | None = None) -> "Portfolio":
    """Open a portfolio; only commands that need one wait until it is imported."""
    from profitable.portfolio.portfolio import Portfolio

    return Portfolio(where, actor=actor, wait=wait)


def not_the_portfolio(field: str, path: Path | None, where: str) -> None:
    """ParameterError if a file to write is the portfolio itself."""
    from profitable.errors import ParameterError

    if path is not None and is_same_file(path, Path(where)):
        raise ParameterError(field, str(path), "is the portfolio itself", "give another file")


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two names are those of one file."""
    try:
        return first.samefile(second)
    except (OSError, ValueError):  # one of them is not there, or cannot be a name
        return False


def is_file(path: Path) -> bool:
    """Whether there is a regular file of that name; a text may not even be a name."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
