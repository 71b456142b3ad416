"""Layout: which column of the past means what, as the caller says it.  The same words in Python, in a TOML file and as options."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What the columns of a file of past clients mean.

    - `category`: one column, several that are crossed, or a numeric one that is cut: "age:25,40,60" into bands,
      "age:q4" into quarters.
    - `time`: a column with a date, a timestamp or a whole number; several columns are joined by spaces and read with
      `date_format`.  Without it, the order of the rows is the time.
    - `round`: "day", "week", "month" (the default for dates), "quarter", "number" (each whole number is a round, the
      default for whole numbers), or a number of rows.
    - `reward`: a column of numbers, or "column=value", which is 1 where the column has that value and 0 elsewhere.
    - `revenue`: what a reward of 1 is worth in money; `cost`: what a client costs, a number or a column.
    - `amount`: a column with what was lent.  Then `reward` is the money that came back, the mean that decides is that
      of money back per unit lent, and it must be above 1 + `required`.  With `weight` = "client", every client counts
      the same.
    - `known`: a column with the time at which the outcome was known.
    - `matures`, `emerges`, `promised`: how late outcomes count until they are known (`Agent.expect`).  `open_value`: a
      column, or a number: what an open client counts as.
    - `accepted`, `propensity`: whether the past accepted the client, and with what probability.
    - `treated`: 1 for treated clients and 0 for the control group.  Then rewards are what the treatment adds.
    - `score`: a column by which clients can be ranked without learning; larger is better.
    """

    category: str | tuple[str, ...]
    reward: str
    time: str | tuple[str, ...] | None = None
    round: str | int | None = None
    date_format: str | None = None
    revenue: float = 1.0
    cost: float | str | None = None
    amount: str | None = None
    required: float | None = None
    weight: str = "money"
    known: str | None = None
    matures: int | None = None
    emerges: str | tuple[float, ...] | None = None
    promised: float | str | None = None
    open_value: float | str | None = None
    accepted: str | None = None
    propensity: str | None = None
    treated: str | None = None
    score: str | None = None
