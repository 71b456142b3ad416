"""Start command: options as a command to copy, or as a call in Python.

>>> print(shell_command(["loans.csv"], {"category": "purpose", "reward": "y=a b"}))
profitable backtest loans.csv --category purpose --reward 'y=a b'
>>> print(python_call({"category": "purpose", "round": 20}))
pb.backtest(data, category='purpose', round=20)
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from profitable.past.layout import is_list

COMMAND_WIDTH = 96
INDENT = "    "
SPECIAL = set('"$`!\\\n')  # letters that a shell reads within double quotes
# In the order in which a reader expects them.
OPTION_ORDER = (
    *("category", "order", "scorecard", "time", "issued", "round", "date_format"),
    *("reward", "treated", "accepted", "amount", "required", "cost", "revenue"),
)


def shell_command(files: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a command of the shell, in lines if it is long."""
    parts = [f"profitable backtest {shlex.join(files)}"]
    for name, value in sorted_options(options):
        for each in value if is_list(value) else [value]:
            flag = f"--{name.replace('_', '-')}"
            parts.append(flag if each is True else f"{flag} {_argument(each)}")
    return _in_lines(parts, " ", " \\")


def _argument(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if "'" in text and not set(text.replace("!=", "")) & SPECIAL:
        return f'"{text}"'  # easier to read than single quotes within single quotes
    return shlex.quote(text)


def python_call(options: Mapping[str, Any]) -> str:
    """Return a call of `profitable.backtest`, in lines if it is long."""
    parts = [
        f"{name}={list(value) if is_list(value) else value!r}"
        for name, value in sorted_options(options)
    ]
    call = f"pb.backtest(data, {', '.join(parts)})"
    if len(call) <= COMMAND_WIDTH:
        return call
    return "\n".join(
        ["pb.backtest(", f"{INDENT}data,", *(f"{INDENT}{part}," for part in parts), ")"]
    )


def sorted_options(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield options in the order in which a reader expects them."""
    places = {name: place for place, name in enumerate(OPTION_ORDER)}
    yield from sorted(options.items(), key=lambda pair: places.get(pair[0], len(places)))


def _in_lines(parts: Sequence[str], gap: str, end: str) -> str:
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(gap) + len(part) + len(end) <= COMMAND_WIDTH:
            lines[-1] += gap + part
        else:
            lines.append(INDENT + part)
    return f"{end}\n".join(lines)
