"""`profitable portfolio`: make a portfolio, change its settings, bring it in and out, upgrade it."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import (
    POLICY_HELP,
    SEED_HELP,
    WAIT_SECONDS,
    Actor,
    OwnKey,
    Wait,
    Where,
    at_most_one,
    interruptible,
    not_the_portfolio,
    note,
    policy_names,
)

if TYPE_CHECKING:
    from profitable.portfolio.outcome import Answer
    from profitable.portfolio.portfolio import Portfolio
    from profitable.portfolio.settings_file import PortfolioSettings

EXAMPLE = "profitable portfolio create lending.db --from lending.toml"
HELP = "Make a portfolio of categories, change its settings, bring it in and out, upgrade it."
MADE = "a portfolio is made whole or not at all. If it is there, it is complete."
CHANGED = "run the same command again: what is changed already is not changed twice."

Name = Annotated[str | None, typer.Option(help="A name for people to read.")]
Shadow = Annotated[
    bool, typer.Option("--shadow", help="Mark it as a shadow: it decides and stores, but nobody acts on it.")
]

group = typer.Typer(name="portfolio", help=HELP, epilog=f"Example: {EXAMPLE}")


@group.callback(invoke_without_command=True)
def portfolio(context: typer.Context) -> None:
    """Make a portfolio of categories, change its settings, bring it in and out, upgrade it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def create(
    where: Where,
    settings: Annotated[
        Path, typer.Option("--from", help="A TOML file with the categories; docs/portfolio.md shows one.")
    ],
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP, autocompletion=policy_names)] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"{SEED_HELP} By default, that of the file, or a random one.")
    ] = None,
    name: Name = None,
    shadow: Shadow = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Make a new portfolio from a file of categories.  What is given here wins over what the file says."""
    from profitable.errors import ParameterError
    from profitable.portfolio.portfolio import Portfolio

    said = _load(settings)
    chosen = policy or said.policy
    if chosen is None:
        remedy = f'give --policy, or write policy = "ts" into {settings}'
        raise ParameterError("policy", None, "is missing", remedy)
    options: dict[str, Any] = {"name": name or said.name, "shadow": shadow, "actor": actor, "wait": wait}
    seed = said.seed if seed is None else seed
    with interruptible(MADE), Portfolio.create(where, said.categories, policy=chosen, seed=seed, **options) as book:
        typer.echo(_made(book))


def import_(
    where: Where,
    file: Annotated[Path, typer.Argument(help="The JSON file of an agent, as Agent.save writes it.")],
    name: Name = None,
    shadow: Shadow = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Make a new portfolio from the JSON file of an agent, with all that it knows."""
    from profitable.agent.agent import Agent
    from profitable.portfolio.portfolio import Portfolio

    agent = Agent.load(file)
    options: dict[str, Any] = {"name": name, "shadow": shadow, "actor": actor, "wait": wait}
    with interruptible(MADE), Portfolio.create(where, agent=agent, **options) as book:
        typer.echo(_made(book))
        if agent.round:
            typer.echo("The file has no ids: outcomes that it knows would count again if they were sent again.")


def export(
    where: Where,
    file: Annotated[Path, typer.Argument(help="The JSON file to write; Agent.load reads it.")],
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Write the agent of a portfolio to a JSON file: what it knows now, without the journal."""
    from profitable.common.text_tables import several
    from profitable.portfolio.portfolio import Portfolio

    not_the_portfolio("file", file, where)
    with interruptible("the file is whole or not there."), Portfolio(where, wait=wait) as book:
        agent = book.agent
        agent.save(file)
        typer.echo(f"{file} has what is known after {several(agent.round, 'round')}.")


def upgrade(where: Where, actor: Actor = None, wait: Wait = WAIT_SECONDS) -> None:
    """Bring a portfolio of an earlier version of this package to this one, and compute its state anew.

    A line of the journal keeps who did it, when, and from which schema version to which.
    """
    from profitable.portfolio.upgrade import upgrade as upgrade_of

    with interruptible("the portfolio is the old one or the new one, and nothing between. Run the same command again."):
        typer.echo(upgrade_of(where, actor=actor, wait=wait))


def change(
    where: Where,
    threshold: Annotated[
        str | None, typer.Option(metavar="CATEGORY=VALUE", help="A new threshold, as students=0.9.")
    ] = None,
    pause: Annotated[str | None, typer.Option(metavar="CATEGORY", help="Do not accept it until it is resumed.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="CATEGORY", help="Let it be accepted again.")] = None,
    policy: Annotated[str | None, typer.Option(help=POLICY_HELP, autocompletion=policy_names)] = None,
    add: Annotated[Path | None, typer.Option(help="A TOML file with new categories.")] = None,
    shadow: Annotated[
        bool | None, typer.Option("--shadow/--acted-on", help="Whether nobody acts on its decisions.")
    ] = None,
    key: OwnKey = None,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Change one setting of a portfolio from the next round on.  The journal keeps who, when, from what and to what."""
    from profitable.errors import ParameterError
    from profitable.portfolio.portfolio import Portfolio

    given = {"threshold": threshold, "pause": pause, "resume": resume, "policy": policy, "add": add}
    at_most_one(**given, shadow=None if shadow is None else str(shadow))
    if all(value is None for value in (*given.values(), shadow)):
        options = "--threshold, --pause, --resume, --policy, --add, --shadow or --acted-on"
        raise ParameterError("change", None, "is missing", f"give one of {options}")
    if add is not None and key is not None:
        raise ParameterError("key", key, "is given beside --add", "leave it out: a category is added once")
    act = _act(threshold, pause, resume, policy, add, shadow, key)
    with interruptible(CHANGED), Portfolio(where, actor=actor, wait=wait) as book:
        typer.echo(act(book))


def _act(
    threshold: str | None,
    pause: str | None,
    resume: str | None,
    policy: str | None,
    add: Path | None,
    shadow: bool | None,
    key: str | None,
) -> Callable[["Portfolio"], str]:
    """What to do with a portfolio; it returns what to tell the user.  Mistakes are found before it is opened."""
    if threshold is not None:
        name, value = _threshold(threshold)
        told = f"The threshold of {name} is {value:g}."
        return lambda book: _done(book.set_threshold(name, value, key=key), told)
    if pause is not None:
        told = f"{pause} is paused: no round accepts it until it is resumed."
        return lambda book: _done(book.pause(pause, key=key), told)
    if resume is not None:
        return lambda book: _done(book.resume(resume, key=key), f"{resume} is not paused: rounds may accept it.")
    if policy is not None:
        return lambda book: _done(book.set_policy(policy, key=key), f"The policy is {policy}.")
    if add is not None:
        categories = _new_categories(add)
        names = ", ".join(category.name for category in categories)
        return lambda book: _done(book.add_category(*categories), f"Added: {names}.")
    told = "This is a shadow: nobody acts on its decisions." if shadow else "The decisions are acted on."
    return lambda book: _done(book.set_shadow(bool(shadow), key=key), told)


def _done(answer: "Answer | None", told: str) -> str:
    """What to tell the user; a change that was made before may have been changed since."""
    if answer is None or answer.line is None or answer.status == "counted":
        return told
    return f"This was done in line {answer.line} already; nothing was stored."


def _threshold(text: str) -> tuple[str, float]:
    """The category and the number of CATEGORY=VALUE; a name may have = in it."""
    from profitable.errors import ParameterError

    name, sign, value = text.rpartition("=")
    try:
        if not sign or not name:
            raise ValueError
        return name, float(value)
    except ValueError:
        remedy = "give CATEGORY=VALUE, such as students=0.9"
        raise ParameterError("threshold", text, "is not a category and its threshold", remedy) from None


def _new_categories(file: Path) -> tuple[Any, ...]:
    from profitable.errors import ParameterError

    said = _load(file)
    for field in ("policy", "seed"):
        if (value := getattr(said, field)) is not None:
            problem = "does not belong into a file of new categories"
            raise ParameterError(f"{file}: {field}", value, problem, "leave it out")
    return said.categories


def _load(file: Path) -> "PortfolioSettings":
    """The settings in a file; what is legal and probably not meant is said as a note."""
    from profitable.portfolio.settings_file import load

    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        settings = load(file)
    for doubt in doubts:
        note(str(doubt.message))
    return settings


def _made(book: "Portfolio") -> str:
    shadow = ", a shadow that nobody acts on" if book.is_shadow else ""
    name = f"{book.name}, " if book.name else ""
    size = "1 category" if len(book.names) == 1 else f"{len(book.names)} categories"
    return f"Made {book.where}: {name}{size}, {book.policy}{shadow}."


COMMANDS: list[tuple[str, Callable[..., Any], str]] = [
    ("create", create, EXAMPLE),
    ("change", change, "profitable portfolio change lending.db --threshold students=0.9"),
    ("import", import_, "profitable portfolio import lending.db agent.json"),
    ("export", export, "profitable portfolio export lending.db agent.json"),
    ("upgrade", upgrade, "profitable portfolio upgrade lending.db"),
]
for name, command, example in COMMANDS:
    group.command(name, epilog=f"Example: {example}")(command)
