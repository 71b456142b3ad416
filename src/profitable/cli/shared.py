"""What commands share: exit codes, help texts, whole numbers, names to complete, the exception for an interruption."""

from decimal import Decimal, InvalidOperation

import typer

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
POLICY_HELP = "The name of a policy, such as ts, kl-ucb:c=3 or optimal:horizon=10000. `profitable policies` lists them."
SEED_HELP = "The same seed gives the same numbers."
WORKERS_HELP = "Number of threads. By default, one for each core."
JSON_HELP = "Print the numbers as one JSON object instead."
MOST_DIGITS = 100


class Stopped(Exception):
    """A command was interrupted; the message is what to tell the user."""


def whole_number(text: str | int) -> int:
    """A whole number as people write it: 1000000, 1_000_000 or 1e6.

    >>> whole_number("1e6"), whole_number("2.5e3")
    (1000000, 2500)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number.adjusted() > MOST_DIGITS or number != number.to_integral_value():
        raise typer.BadParameter("it is not a whole number; give one, such as 1000000 or 1e6")
    return int(number)


def policy_names(incomplete: str) -> list[str]:
    """The policies whose names start with `incomplete`, for completion in the shell."""
    from profitable.policy.policies import POLICIES

    return [name for name in POLICIES if name.startswith(incomplete)]
