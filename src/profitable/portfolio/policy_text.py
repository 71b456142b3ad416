"""Policies and categories as the journal writes them."""

from dataclasses import asdict, replace
from typing import Any

from profitable.agent.categories import Kind, Terms
from profitable.agent.state_file import family_of, kind_record, prior_of
from profitable.agent.state_record import KindRecord, PriorRecord
from profitable.errors import ParameterError
from profitable.model.category import Category
from profitable.policy.policies import Bayesian, Policy

TERM_FIELDS = ("threshold", "worth", "amount", "recovery")


def policy_record(policy: Policy) -> str | dict[str, Any]:
    """A policy: its text, with its prior if it has one of its own."""
    prior = getattr(policy, "prior", None)
    return str(policy) if prior is None else {"policy": str(policy), "prior": asdict(prior)}


def policy_of(record: str | dict[str, Any]) -> Policy:
    """The policy that a record describes."""
    if isinstance(record, str):
        return Policy.parse(record)
    policy = Policy.parse(record["policy"])
    if not isinstance(policy, Bayesian):
        raise ParameterError("policy", record["policy"], "has no prior", "restore the portfolio from a backup")
    return replace(policy, prior=prior_of(PriorRecord(**record["prior"])))


def category_record(category: Category) -> dict[str, Any]:
    """A category as JSON-ready values."""
    kind = Kind(category.family, category.bound, category.prior, category.weight)
    return {"name": category.name, **kind_record(kind), **{key: getattr(category, key) for key in TERM_FIELDS}}


def category_of(record: dict[str, Any]) -> Category:
    """The category that a record describes."""
    kind = KindRecord(**{key: value for key, value in record.items() if key not in ("name", *TERM_FIELDS)})
    shared = Kind(family_of(kind), kind.bound, prior_of(kind.prior), kind.weight)
    return Terms(shared, *(record[key] for key in TERM_FIELDS)).named(record["name"])
