"""`profitable correct`: replace an outcome that was reported wrongly, or take it back."""

from typing import Annotated

import typer

from profitable.cli.shared import WAIT_SECONDS, Actor, AsJson, OwnKey, Wait, Where, interruptible, print_json

EXAMPLE = "profitable correct lending.db loan-4711 --reward 0 --reason 'the bank took the payment back'"


def correct(
    where: Where,
    id: Annotated[str, typer.Argument(help="The id of the outcome.")],
    reward: Annotated[float | None, typer.Option(help="The right reward.")] = None,
    amount: Annotated[float | None, typer.Option(help="The right amount.")] = None,
    cost: Annotated[float | None, typer.Option(help="The right cost.")] = None,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="There is no such outcome: it does not count any more.")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why, for those who read the journal.")] = None,
    key: OwnKey = None,
    as_json: AsJson = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
) -> None:
    """Replace an outcome that was reported wrongly, or take it back.  What was said before stays in the journal."""
    from profitable.portfolio.portfolio import Portfolio

    kept = "run the same command again: the same correction is not made twice."
    with interruptible(kept), Portfolio(where, actor=actor, wait=wait) as book:
        right = {"reward": reward, "amount": amount, "cost": cost}
        answer = book.correct(id, **right, take_back=take_back, reason=reason, key=key)
        if as_json:
            print_json({"id": answer.id, "status": answer.status, "why": answer.why, "line": answer.line})
        elif answer.status == "known":
            typer.echo(f"{answer.id}: {answer.why}; nothing was stored.")
        else:
            typer.echo(f"{answer.id}: {'taken back' if take_back else 'corrected'} in line {answer.line}.")
