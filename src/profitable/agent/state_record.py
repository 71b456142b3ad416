"""The agent's file as pydantic models: what is read is checked strictly, and so is what is written.

The file has columns: one list for each quantity, in the order of the categories.  Categories that are alike share a
kind.  A column that is left out has its default for everybody.  Format 2 did not count the rounds that accepted a
category (`rounds`), nor the clients from before the first of them (`earlier`).  Up to format 3 nothing was forgotten:
all clients count, and there were no cohorts.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from profitable.kernels.agent_table import Row
from profitable.kernels.patience import LAST_ROUND
from profitable.model.prior import Kind

AGENT_FORMAT = "profitable-agent"
AGENT_FORMAT_VERSION = 4

Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Round = Annotated[int, Field(ge=0, le=LAST_ROUND)]

COUNT_ROWS = {"clients": Row.KNOWN, "waiting": Row.WAITING}
ROUND_ROWS = {"rounds": Row.ROUNDS, "earlier": Row.EARLIER}  # not in the formats 1 and 2
SUM_ROWS = {
    "total": Row.TOTAL,
    "carry": Row.CARRY,
    "squares": Row.SQUARES,
    "squares_carry": Row.SQUARES_CARRY,
    "revenue": Row.REVENUE,
    "cost": Row.COST,
}
MONEY_ROWS = {  # of amounts; not before format 4
    "lent": Row.LENT,
    "lent_carry": Row.LENT_CARRY,
    "lent_squares": Row.LENT_SQUARES,
    "lent_squares_carry": Row.LENT_SQUARES_CARRY,
    "back": Row.BACK,
    "back_carry": Row.BACK_CARRY,
}


class Record(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Header(BaseModel):
    """The two fields that every version of the format has."""

    model_config = ConfigDict(strict=True, extra="ignore")
    format: Literal["profitable-agent"]
    format_version: int


class PriorRecord(Record):
    """A prior."""

    kind: Kind
    first: Finite
    second: Finite


class SampleRecord(Record):
    """The distinct rewards that KL-Emp-UCB-4P remembers of a category."""

    values: list[Finite]
    counts: list[Annotated[float, Field(gt=0.0, allow_inf_nan=False)]]


class RandomRecord(Record):
    """Where the sequence of Thompson's exponential draws stands."""

    generator: Literal["PCG64"]
    state: Annotated[str, Field(pattern=r"^[0-9]{1,39}$")]
    increment: Annotated[str, Field(pattern=r"^[0-9]{1,39}$")]
    buffered: Annotated[int, Field(ge=0, le=1 << 20)]
    used: Count


class KindRecord(Record):
    """What categories that are alike have in common."""

    family: str
    parameters: dict[str, Finite] = Field(default_factory=dict)
    bound: Finite | None = None
    prior: PriorRecord | None = None
    weight: Literal["money", "client"] | None = None


class Columns(Record):
    """One entry for each category in every list that is there."""

    name: Annotated[list[str], Field(min_length=1)]
    kind: list[Count]
    threshold: list[Finite]
    worth: list[Finite] | None = None
    amount: list[Finite | None] | None = None
    recovery: list[Finite] | None = None
    paused: list[bool] | None = None
    clients: list[Count] | None = None
    counted: list[NotNegative] | None = None  # as how many these clients count; all of them unless given
    waiting: list[Count] | None = None
    rounds: list[Round] | None = None
    taken: list[NotNegative] | None = None  # as how many these rounds count; all of them unless given
    earlier: list[Annotated[int, Field(ge=0, le=2 * 10**15)]] | None = None
    total: list[Finite] | None = None
    carry: list[Finite] | None = None
    squares: list[Finite] | None = None
    squares_carry: list[Finite] | None = None
    revenue: list[Finite] | None = None
    cost: list[Finite] | None = None
    lent: list[NotNegative] | None = None
    lent_carry: list[Finite] | None = None
    lent_squares: list[NotNegative] | None = None
    lent_squares_carry: list[Finite] | None = None
    back: list[Finite] | None = None
    back_carry: list[Finite] | None = None
    debt: list[Finite | None] | None = None  # what the total lacks, where clients of cohorts have counted by their age
    sample: list[SampleRecord] | None = None

    def column(self, name: str, default: Any) -> list[Any]:
        """A column, or as many defaults."""
        found = getattr(self, name)
        return [default] * len(self.name) if found is None else found


class TakenRecord(Record):
    """How many accepted rounds a category counts since a round, for a policy with a window that needs them."""

    round: list[Round]
    place: list[Count]
    rounds: list[NotNegative]


class WindowRecord(Record):
    """What was counted in each remembered round, for a policy with a window: one entry for each round and category."""

    round: list[Round]
    place: list[Count]  # the category's place in the columns
    clients: list[NotNegative]
    total: list[Finite]
    total_lost: list[Finite]
    squares: list[Finite]
    squares_lost: list[Finite]
    lent: list[Finite] | None = None
    lent_lost: list[Finite] | None = None
    lent_squares: list[Finite] | None = None
    lent_squares_lost: list[Finite] | None = None
    sample: list[SampleRecord] | None = None
    taken: TakenRecord | None = None


class CohortsRecord(Record):
    """The cohorts whose outcomes are not all known, or that have not matured: one entry for each."""

    place: list[Count]  # the category's place in the columns
    accepted_in: list[Round]
    clients: list[Annotated[int, Field(ge=1, le=10**15)]]
    matures: list[Count]
    emerges: list[Literal["at maturity", "evenly"] | list[Share]]
    promised: list[Finite | None]
    known: list[Count]  # outcomes reported so far, and their sums
    total: list[Finite]
    total_lost: list[Finite]
    squares: list[Finite]
    squares_lost: list[Finite]
    lent: list[Finite]
    lent_lost: list[Finite]
    lent_squares: list[Finite]
    lent_squares_lost: list[Finite]
    sample: list[SampleRecord] | None = None


class StateRecord(Record):
    """The whole file but for its checksum."""

    format: Literal["profitable-agent"]
    format_version: Literal[2, 3, 4]
    package_version: str
    policy: str
    policy_prior: PriorRecord | None = None
    round: Round
    random: RandomRecord
    kinds: list[KindRecord]
    columns: Columns
    window: WindowRecord | None = None
    cohorts: CohortsRecord | None = None
