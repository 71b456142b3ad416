"""The group `profitable portfolio`, and `profitable copy`."""

import warnings
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    SEED_HELP,
    WAIT_SECONDS,
    Actor,
    OwnKey,
    PolicyName,
    Wait,
    Where,
    at_most_one,
    interruptible,
    not_the_portfolio,
    note,
    open_portfolio,
)
from profitable.errors import ParameterError

if TYPE_CHECKING:
    from profitable.portfolio.outcome import PortfolioAnswer
    from profitable.portfolio.portfolio import Portfolio
    from profitable.portfolio.portfolio_settings import PortfolioSettings

CREATE_EXAMPLE = "profitable portfolio create lending.db --from lending.toml"
GROUP_HELP = "Create a portfolio, change its settings, import, export or upgrade it."
MADE = "a portfolio is created completely or not at all."
CHANGED = "run the same command again: what is changed already is not changed twice."

Name = Annotated[str | None, typer.Option(help="A name for people to read.")]
Shadow = Annotated[
    bool,
    typer.Option(
        "--shadow", help="Mark it as a shadow: it decides and stores, but nobody acts on it."
    ),
]

group = typer.Typer(name="portfolio", help=GROUP_HELP, epilog=f"Example: {CREATE_EXAMPLE}")


@group.callback(invoke_without_command=True)
def portfolio(context: typer.Context) -> None:
    """Print the help of the group if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def create(
    where: Where,
    settings: Annotated[
        Path,
        typer.Option(
            "--from", help="A TOML file with the categories; docs/portfolio.md shows one."
        ),
    ],
    policy: PolicyName = None,
    seed: Annotated[
        int | None, typer.Option(help=f"{SEED_HELP} By default, that of the file, or a random one.")
    ] = None,
    name: Name = None,
    shadow: Shadow = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Create a portfolio from a file of categories.

    Options override the file.
    """
    from profitable.portfolio.portfolio import Portfolio

    said = _load(settings)
    chosen = policy or said.policy
    if chosen is None:
        raise ParameterError(
            "policy", None, "is missing", f'give --policy, or write policy = "ts" into {settings}'
        )
    with (
        interruptible(MADE),
        Portfolio.create(
            where,
            said.categories,
            policy=chosen,
            seed=said.seed if seed is None else seed,
            name=name or said.name,
            shadow=shadow,
            lending=said.lending,
            actor=actor,
            wait=wait,
        ) as book,
    ):
        _print_created(book)


def import_(
    where: Where,
    file: Annotated[
        Path, typer.Argument(help="The JSON file of an agent, as Agent.save writes it.")
    ],
    name: Name = None,
    shadow: Shadow = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Create a portfolio from the JSON file of an agent, with all that it knows."""
    from profitable.agent.agent import Agent
    from profitable.portfolio.portfolio import Portfolio

    agent = Agent.load(file)
    with (
        interruptible(MADE),
        Portfolio.create(
            where, agent=agent, name=name, shadow=shadow, actor=actor, wait=wait
        ) as book,
    ):
        _print_created(book)
        if agent.round:
            typer.echo(
                "The file has no ids: its outcomes would count again if they were sent again."
            )


def export(
    where: Where,
    file: Annotated[Path, typer.Argument(help="The JSON file to write; Agent.load reads it.")],
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Write the agent of a portfolio to a JSON file, without the journal."""
    from profitable.common.text_tables import several

    not_the_portfolio("file", file, where)
    with (
        interruptible("the file is complete or does not exist."),
        open_portfolio(where, wait=wait) as book,
    ):
        agent = book.agent
        agent.save(file)
        typer.echo(f"{file} has what is known after {several(agent.round, 'round')}.")


def upgrade(where: Where, actor: Actor = None, wait: Wait = WAIT_SECONDS) -> None:
    """Upgrade a portfolio made by an earlier version, and recompute its state.

    The journal records who did it, when, and the schema versions.
    """
    from profitable.portfolio.new_store import upgrade as upgrade_of

    with interruptible("the portfolio is the old one or the new one. Run the same command again."):
        typer.echo(upgrade_of(where, actor=actor, wait=wait))


def change(
    where: Where,
    threshold: Annotated[
        str | None, typer.Option(metavar="CATEGORY=VALUE", help="A new threshold, as students=0.9.")
    ] = None,
    pause: Annotated[
        str | None, typer.Option(metavar="CATEGORY", help="Do not accept it until it is resumed.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="CATEGORY", help="Let it be accepted again.")
    ] = None,
    policy: PolicyName = None,
    add: Annotated[Path | None, typer.Option(help="A TOML file with new categories.")] = None,
    shadow: Annotated[
        bool | None,
        typer.Option("--shadow/--acted-on", help="Whether nobody acts on its decisions."),
    ] = None,
    key: OwnKey = None,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Change one setting of a portfolio from the next round on.

    The journal records who did it, when, the old value and the new one.
    """
    given: dict[str, Any] = {
        "threshold": threshold,
        "pause": pause,
        "resume": resume,
        "policy": policy,
        "add": add,
        "shadow": shadow,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        options = "--threshold, --pause, --resume, --policy, --add, --shadow or --acted-on"
        raise ParameterError("change", None, "is missing", f"give one of {options}")
    at_most_one(**{name: str(value) for name, value in chosen.items()})
    if add is not None and key is not None:
        raise ParameterError(
            "key", key, "cannot be combined with --add", "leave it out: a category is added once"
        )
    make, message = _change(*chosen.popitem(), key)
    with interruptible(CHANGED), open_portfolio(where, actor=actor, wait=wait) as book:
        with said_as_notes():
            done = make(book)
        if done is not None and done.line is not None and done.status != "counted":
            message = f"This was done in line {done.line} already; nothing was stored."
        typer.echo(message)


def _change(
    setting: str, value: Any, key: str | None
) -> tuple[Callable[["Portfolio"], "PortfolioAnswer | None"], str]:
    """Return the change to make, checked before it is opened, and its message."""
    match setting:
        case "threshold":
            name, number = _threshold(value)
            message = f"The threshold of {name} is {number:g}."
            return lambda book: book.set_threshold(name, number, key=key), message
        case "pause":
            message = f"{value} is paused: no round accepts it until it is resumed."
            return lambda book: book.pause(value, key=key), message
        case "resume":
            message = f"{value} is not paused: rounds may accept it."
            return lambda book: book.resume(value, key=key), message
        case "policy":
            return lambda book: book.set_policy(value, key=key), f"The policy is {value}."
        case "add":
            categories = _new_categories(value)
            names = ", ".join(category.name for category in categories)
            return lambda book: book.add_category(*categories), f"Added: {names}."
        case _:
            message = "The decisions are acted on."
            if value:
                message = "This is a shadow: nobody acts on its decisions."
            return lambda book: book.set_shadow(value, key=key), message


def _threshold(text: str) -> tuple[str, float]:
    """Return the category and the number of CATEGORY=VALUE; a name may have = in it."""
    name, sign, value = text.rpartition("=")
    try:
        if not sign or not name:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise ParameterError(
            "threshold",
            text,
            "is not a category and its threshold",
            "give CATEGORY=VALUE, such as students=0.9",
        ) from None


def _new_categories(file: Path) -> tuple[Any, ...]:
    said = _load(file)
    for field in ("policy", "seed", "lending"):
        if (value := getattr(said, field)) is not None:
            raise ParameterError(
                f"{file}: {field}",
                value,
                "does not belong in a file of new categories",
                "leave it out",
            )
    return said.categories


def _load(file: Path) -> "PortfolioSettings":
    """Return the settings in a file."""
    from profitable.portfolio.portfolio_settings import load

    with said_as_notes():
        return load(file)


@contextmanager
def said_as_notes() -> Generator[None]:
    """Print warnings as notes."""
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        yield
    for doubt in doubts:
        note(str(doubt.message))


def _print_created(book: "Portfolio") -> None:
    shadow = ", a shadow that nobody acts on" if book.is_shadow else ""
    name = f"{book.name}, " if book.name else ""
    size = "1 category" if len(book.names) == 1 else f"{len(book.names)} categories"
    typer.echo(f"Created {book.where}: {name}{size}, {book.policy}{shadow}.")


def copy(
    where: Where,
    target: Annotated[str, typer.Argument(help="The new file or the empty database for the copy.")],
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="The copy replaces a lost portfolio: add a line that records this.",
        ),
    ] = False,
    actor: Annotated[
        str | None,
        typer.Option(help="With --restore: who does this. By default, the name of the user."),
    ] = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Copy a portfolio to another file or database; it may be in use meanwhile.

    Every line is checked, and a file is read back before it gets its name. The copy is
    complete or does not exist.

    A copy has the lines of the original. With --restore it has one more, which records
    who restored it.
    """
    from profitable.common.progress import Progress
    from profitable.common.text_tables import number_text
    from profitable.portfolio.location import name_of, place_of
    from profitable.portfolio.new_store import copy_portfolio
    from profitable.portfolio.session import actor_of
    from profitable.portfolio.store import Store

    if actor is not None and not restore:
        raise ParameterError(
            "actor", actor, "is given without --restore", "leave it out: a copy adds no line"
        )
    restored_by = actor_of(actor) if restore else None
    with closing(Store(where, wait=wait)) as source:
        lines = source.length()
    with interruptible("the copy is complete or does not exist."):
        with Progress(total=max(1, lines), title="copying") as bar:
            end = copy_portfolio(
                where, target, restored_by=restored_by, wait=wait, progress=bar.update
            )
        copied, added = end.line, ""
        if restored_by is not None:
            copied = end.line - 1
            added = (
                f", and added line {number_text(end.line)}: "
                f"restored from {source.name} by {restored_by}"
            )
        typer.echo(f"Copied {number_text(copied)} lines to {name_of(place_of(target))}{added}.")
        typer.echo(f"head: {end.hash}")


COMMANDS: list[tuple[str, Callable[..., Any], str]] = [
    ("create", create, CREATE_EXAMPLE),
    ("change", change, "profitable portfolio change lending.db --threshold students=0.9"),
    ("import", import_, "profitable portfolio import lending.db agent.json"),
    ("export", export, "profitable portfolio export lending.db agent.json"),
    ("upgrade", upgrade, "profitable portfolio upgrade lending.db"),
]
for name, command, example in COMMANDS:
    group.command(name, epilog=f"Example: {example}")(command)
