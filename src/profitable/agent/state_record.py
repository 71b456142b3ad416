"""The agent's file as pydantic models, which check strictly when reading and writing.

The file has columns: one list for each quantity, in the order of the categories.
Categories that are alike share a kind.  A column that is left out has its default for
everybody.  Files of format 4, which has no lending, are read; earlier formats were
never published.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from profitable.kernels.agent_table import AgentRow
from profitable.kernels.patience import LAST_ROUND
from profitable.model.prior import Kind

AGENT_FORMAT = "profitable-agent"
AGENT_FORMAT_VERSION = 5
FORMAT_WITHOUT_LENDING = 4  # which earlier versions read, too

Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Round = Annotated[int, Field(ge=0, le=LAST_ROUND)]


class Record(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Header(BaseModel):
    """The two fields that every version of the format has."""

    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)
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
    """Terms that categories of one kind share."""

    family: str
    parameters: dict[str, Finite] = Field(default_factory=dict)
    bound: Finite | None = None
    prior: PriorRecord | None = None
    weight: Literal["money", "client"] | None = None
    order: str | None = None


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
    # As how many these clients count; all of them unless given.
    counted: list[NotNegative] | None = None
    waiting: list[Count] | None = None
    rounds: list[Round] | None = None
    # As how many these rounds count; all of them unless given.
    taken: list[NotNegative] | None = None
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
    # What the total lacks, where clients of cohorts have counted by their age.
    debt: list[Finite | None] | None = None
    sample: list[SampleRecord] | None = None

    def column(self, name: str, default: object = 0) -> Any:
        """Return a column, or as many defaults."""
        found = getattr(self, name)
        return [default] * len(self.name) if found is None else found


class TakenRecord(Record):
    """Accepted rounds that a category counts since a round, in a window."""

    round: list[Round]
    place: list[Count]
    rounds: list[NotNegative]


class WindowRecord(Record):
    """Outcomes in a window: an entry for each remembered round and category."""

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
    """Cohorts with unknown outcomes, or that have not matured: one entry for each."""

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


class LendingRecord(Record):
    """The terms of an agent that lends (`model/lending.py`)."""

    required: Finite
    recovery: Share
    lag: Count
    level: NotNegative
    frailty: bool
    per_year: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class TodayRecord(Record):
    """What today's clients ask for: an entry for each category and term."""

    place: list[Count]
    term: list[Count]
    asked: list[NotNegative]
    offered: list[NotNegative]


class LoanRoundsRecord(Record):
    """Loans by the round that accepted them."""

    place: list[Count]
    term: list[Count]
    round: list[Round]
    issued: list[NotNegative]
    ended: list[NotNegative]


class LoanAgesRecord(Record):
    """Loans by age."""

    place: list[Count]
    term: list[Count]
    age: list[Count]
    open: list[NotNegative]
    at_risk: list[NotNegative]
    defaults: list[NotNegative]
    closings: list[NotNegative]


class VintagesRecord(Record):
    """Loans of all categories by the round that accepted them, and by age."""

    round: list[Round]
    term: list[Count]
    age: list[Count]
    at_risk: list[NotNegative]
    defaults: list[NotNegative]


class BookRecord(Record):
    """A lending book (`loan_state.py`)."""

    today: TodayRecord | None = None
    rounds: LoanRoundsRecord | None = None
    ages: LoanAgesRecord | None = None
    vintages: VintagesRecord | None = None


class StateRecord(Record):
    """The whole file but for its checksum."""

    format: Literal["profitable-agent"]
    format_version: Literal[4, 5]
    package_version: str
    policy: str
    policy_prior: PriorRecord | None = None
    round: Round
    random: RandomRecord
    kinds: list[KindRecord]
    columns: Columns
    window: WindowRecord | None = None
    cohorts: CohortsRecord | None = None
    lending: LendingRecord | None = None
    book: BookRecord | None = None


# Columns that are rows of the agent's table, without those where it has only zeros.
COUNT_ROWS = {
    "clients": AgentRow.KNOWN,
    "waiting": AgentRow.WAITING,
    "rounds": AgentRow.ROUNDS,
    "earlier": AgentRow.EARLIER,
}
SUM_ROWS = {
    "total": AgentRow.TOTAL,
    "carry": AgentRow.CARRY,
    "squares": AgentRow.SQUARES,
    "squares_carry": AgentRow.SQUARES_CARRY,
    "revenue": AgentRow.REVENUE,
    "cost": AgentRow.COST,
    "lent": AgentRow.LENT,
    "lent_carry": AgentRow.LENT_CARRY,
    "lent_squares": AgentRow.LENT_SQUARES,
    "lent_squares_carry": AgentRow.LENT_SQUARES_CARRY,
    "back": AgentRow.BACK,
    "back_carry": AgentRow.BACK_CARRY,
}
SUM_FIELDS = ("total", "total_lost", "squares", "squares_lost")
