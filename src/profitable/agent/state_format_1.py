"""The agent's file in format 1, which had one record for each category and no checksum: read, never written."""

from typing import Annotated, Any, Literal

from pydantic import Field

from profitable.agent.state_record import (
    COUNT_ROWS,
    SUM_ROWS,
    Columns,
    Count,
    Finite,
    KindRecord,
    NotNegative,
    PriorRecord,
    RandomRecord,
    Record,
    Round,
    SampleRecord,
    StateRecord,
)


class CategoryRecord(Record):
    """A category and what was observed of it.  A field that the file leaves out has the default given here."""

    name: str
    family: str
    parameters: dict[str, Finite] = Field(default_factory=dict)
    threshold: Finite
    bound: Finite | None = None
    worth: Finite = 1.0
    amount: Finite | None = None
    prior: PriorRecord | None = None
    paused: bool = False
    clients: Count = 0
    total: Finite = 0.0
    carry: Finite = 0.0
    squares: NotNegative = 0.0
    squares_carry: Finite = 0.0
    waiting: Count = 0
    revenue: Finite = 0.0
    cost: Finite = 0.0
    sample: SampleRecord | None = None


class Format1(Record):
    """The whole file."""

    format: Literal["profitable-agent"]
    format_version: Literal[1]
    package_version: str
    policy: str
    policy_prior: PriorRecord | None = None
    round: Round
    random: RandomRecord
    categories: Annotated[list[CategoryRecord], Field(min_length=1)]


def upgraded(content: Any) -> StateRecord:
    """The same agent in the present format."""
    old = Format1.model_validate(content)
    kinds = [
        KindRecord(family=each.family, parameters=each.parameters, bound=each.bound, prior=each.prior)
        for each in old.categories
    ]
    fields = ("name", "threshold", "worth", "amount", "paused", *COUNT_ROWS, *SUM_ROWS)
    columns: dict[str, Any] = {field: [getattr(each, field) for each in old.categories] for field in fields}
    samples = [each.sample for each in old.categories if each.sample is not None]
    return StateRecord(
        format=old.format,
        format_version=2,
        package_version=old.package_version,
        policy=old.policy,
        policy_prior=old.policy_prior,
        round=old.round,
        random=old.random,
        kinds=kinds,
        columns=Columns(kind=list(range(len(kinds))), sample=samples or None, **columns),
    )
