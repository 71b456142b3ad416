"""`profitable backtest`: what policies would have earned on past clients."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profitable.cli.shared import JSON_HELP, POLICY_HELP, SEED_HELP, policy_names

if TYPE_CHECKING:
    pass

EXAMPLE = (
    "profitable backtest loans.csv --category purpose --time issued --reward paid_back --amount lent --required 0.05 "
    "--known settled --out results/loans"
)
NUMBERS_OR_COLUMNS = ("cost", "promised", "open_value")


def backtest(
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files of CSV or Parquet, folders, or patterns such as 'loans-*.csv'; or cells."),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option("--from", help="A TOML file with these options; those on the command line win.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="A column; age:25,40 cuts it, age:q4 into quarters. Repeat it to cross.")
    ] = None,
    reward: Annotated[
        str | None, typer.Option(help="The column with the outcome, or column=value for 1 where it has that value.")
    ] = None,
    time: Annotated[
        list[str] | None, typer.Option(help="The column with the date. Repeat it to join columns by spaces.")
    ] = None,
    round: Annotated[
        str | None, typer.Option(help="day, week, month, quarter, number (of the time column), or a number of rows.")
    ] = None,
    date_format: Annotated[str | None, typer.Option(help="How dates are written, such as '%d.%m.%Y'.")] = None,
    revenue: Annotated[float | None, typer.Option(help="What a reward of 1 is worth in money; 1 unless given.")] = None,
    cost: Annotated[str | None, typer.Option(help="What a client costs in money: a number or a column.")] = None,
    amount: Annotated[
        str | None, typer.Option(help="The column with what was lent; the reward is then the money that came back.")
    ] = None,
    required: Annotated[
        float | None, typer.Option(help="What money back per unit lent must earn, such as 0.05. With --amount.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Whether the mean of money or of each client decides.")] = None,
    known: Annotated[str | None, typer.Option(help="The column with the date at which the outcome was known.")] = None,
    matures: Annotated[
        int | None, typer.Option(help="Rounds after which all outcomes of a round's clients are known.")
    ] = None,
    emerges: Annotated[
        str | None, typer.Option(help="How open clients count: 'at maturity', evenly, or shares by age: 0.1,0.4,1.")
    ] = None,
    promised: Annotated[
        str | None,
        typer.Option(help="The reward of a client who is not lost: a column, or a number (per unit, with --amount)."),
    ] = None,
    open_value: Annotated[
        str | None,
        typer.Option(help="What an open client counts as: a column, or a number (per unit lent, with --amount)."),
    ] = None,
    accepted: Annotated[
        str | None, typer.Option(help="The column that says whom the past accepted, as 0 and 1.")
    ] = None,
    propensity: Annotated[
        str | None, typer.Option(help="The column with the probability of being accepted, or treated.")
    ] = None,
    treated: Annotated[
        str | None, typer.Option(help="The column with 1 for treated clients and 0 for the control group.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="The column by which a rival ranks clients without learning; larger is better.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help=f"{POLICY_HELP} Can be repeated.", autocompletion=policy_names)
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="The family of rewards, such as bernoulli; suggested from the data unless given.")
    ] = None,
    bound: Annotated[float | None, typer.Option(help="The bound of rewards, for policies that need one.")] = None,
    seed: Annotated[int | None, typer.Option(help=SEED_HELP)] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How often a policy that draws at random is replayed; 20 unless given.")
    ] = None,
    replays: Annotated[
        int | None, typer.Option(help="Portfolios drawn again for the intervals; 200 unless given, 0 for none.")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Money that each round has.")] = None,
    places: Annotated[int | None, typer.Option(help="Clients that each round has room for.")] = None,
    explore: Annotated[
        float | None, typer.Option(help="The share of the budget or the places that is for learning.")
    ] = None,
    commit: Annotated[
        float | None,
        typer.Option(help="The share of the rounds after which the rival commits itself; 0.2 unless given."),
    ] = None,
    shuffles: Annotated[
        int | None, typer.Option(help="Replays with time shuffled; 10 unless given, 0 for none.")
    ] = None,
    describe: Annotated[
        bool, typer.Option("--describe", help="Only say what was understood: rounds, categories, what leaks.")
    ] = False,
    cells: Annotated[
        Path | None,
        typer.Option(help="Only add the clients up, with DuckDB, into this Parquet file; a backtest takes it as data."),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="With --cells: a column of whole numbers that names the client, for intervals.")
    ] = None,
    fold: Annotated[str | None, typer.Option(help="With --cells: a column with 0 to 19 instead of an id.")] = None,
    bins: Annotated[
        int | None, typer.Option(help="With --cells: bins in which rewards are counted, for kl-emp-ucb.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Run on 1 000 German loans that come with the package.")] = False,
    show: Annotated[
        str | None, typer.Option(help="A category: also print its evidence against the patience of each policy.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report, its pictures and its numbers.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Replay policies over past clients: what each would have earned if it had decided.

    A policy sees outcomes only of clients whom it accepts, and only when they were really known.
    """
    from profitable.errors import ParameterError

    given: dict[str, Any] = {
        "category": category or None,
        "reward": reward,
        "time": time or None,
        "round": round,
        "date_format": date_format,
        "revenue": revenue,
        "cost": cost,
        "amount": amount,
        "required": required,
        "weight": weight,
        "known": known,
        "matures": matures,
        "emerges": emerges,
        "promised": promised,
        "open_value": open_value,
        "accepted": accepted,
        "propensity": propensity,
        "treated": treated,
        "score": score,
        "policies": policy or None,
        "family": family,
        "bound": bound,
        "seed": seed,
        "seeds": seeds,
        "replays": replays,
        "budget": budget,
        "places": places,
        "explore": explore,
        "commit": commit,
        "shuffles": shuffles,
    }
    where, options = _collect(
        data or None, settings, demo, {key: value for key, value in given.items() if value is not None}
    )
    making = {"id": id, "fold": fold, "bins": bins}
    if cells is not None:
        for field, value in (("out", out), ("show", show), ("describe", describe or None)):
            if value is not None:
                problem = "is given with cells, which replays nothing"
                raise ParameterError(field, str(value), problem, "leave one of them out")
        _add_up(where, options, making, cells, as_json)
        return
    for field, value in making.items():
        if value is not None:
            raise ParameterError(field, value, "is given without cells", "give --cells with the name of a file")
    if describe:
        if out is not None or show is not None:
            field, value = ("out", str(out)) if out is not None else ("show", show)
            raise ParameterError(field, value, "is given with describe, which replays nothing", "leave one of them out")
        _describe(where, options, as_json)
        return
    _replay(where, options, show, out, as_json)


def _collect(
    data: list[str] | None, settings: Path | None, demo: bool, given: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Where the rows are, and all options; those on the command line win."""
    from profitable.errors import ParameterError
    from profitable.replay.layout import load_toml, number_or_text

    for name in NUMBERS_OR_COLUMNS:
        if name in given:
            given[name] = number_or_text(given[name])
    where: Any = data
    if settings is not None:
        if demo:
            raise ParameterError("from", str(settings), "is given with demo", "leave one of them out")
        found, layout, options = load_toml(settings)
        where, given = data or found, layout | options | given
    if demo:
        from profitable.replay.demo import demo as demo_of

        if data:
            raise ParameterError("data", data, "is given with demo, which has its own", "leave one of them out")
        path, shown = demo_of()
        where, given = str(path), shown.to_dict() | given
    if where is None:
        raise ParameterError("data", None, "is missing", "give a file, --from a TOML file, or --demo")
    return where, given


def _describe(where: Any, options: dict[str, Any], as_json: bool) -> None:
    from profitable.common.progress import Progress
    from profitable.replay.describe import describe
    from profitable.replay.layout import RUN_OPTIONS, Layout

    layout = Layout.from_fields({key: value for key, value in options.items() if key not in RUN_OPTIONS}, "backtest")
    with Progress(total=1, title="reading") as reading:
        given = {"family": options.get("family"), "bound": options.get("bound")}
        found = describe(where, layout, **given, progress=reading.update)
    typer.echo(json.dumps(found.to_dict(), ensure_ascii=False) if as_json else str(found))


def _add_up(where: Any, options: dict[str, Any], making: dict[str, Any], path: Path, as_json: bool) -> None:
    from profitable.errors import ParameterError
    from profitable.replay.gather import cells
    from profitable.replay.layout import RUN_OPTIONS
    from profitable.replay.relation import relation

    for key in RUN_OPTIONS:
        if key in options and key != "family":
            problem = "is given with cells, which replays nothing"
            raise ParameterError(key, options[key], problem, "give it when you replay the cells")
    found = cells(relation(where), **making, **options)
    found.save(path)
    said = {"cells": len(found), "rows": found.past.rows, "clients": len(found.clients), "path": str(path)}
    typer.echo(json.dumps(said) if as_json else f"{found}\nCells: {path}")


def _replay(where: Any, options: dict[str, Any], show: str | None, out: Path | None, as_json: bool) -> None:
    from profitable.replay.backtest import prepare, run
    from profitable.replay.result import report_writer
    from profitable.replay.trace import position, trace

    if out is not None:
        report_writer()  # before anything else: what is missing is said at once
    past, chosen = prepare(where, options)
    if show is not None:
        position(past.clients.names, show)
    found = run(past, chosen, command=shlex.join(["profitable", *sys.argv[1:]]))
    typer.echo(found.to_json() if as_json else str(found))
    if show is not None and not as_json:
        typer.echo(f"\n{trace(found, show)}")
    if out is not None:
        page = found.save(out)
        if not as_json:
            typer.echo(f"\nReport: {page}")
