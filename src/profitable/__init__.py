"""profitable: bandits for those who learn only by saying yes.

Public names are loaded on first use, so that importing the package costs nothing until
something is needed.  Families and policies are not listed here: they register
themselves (`common/registry.py`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from profitable.version import VERSION

if TYPE_CHECKING:
    from profitable import bounds as bounds
    from profitable import errors as errors
    from profitable.agent.agent import Agent as Agent
    from profitable.agent.cutoff_table import CutoffTable as CutoffTable
    from profitable.agent.decision import Decision as Decision
    from profitable.agent.explanation import Standing as Standing
    from profitable.agent.explanation import Verdict as Verdict
    from profitable.agent.observation import Batch as Batch
    from profitable.errors import ProfitableError as ProfitableError
    from profitable.model.category import Category as Category
    from profitable.model.families import *  # noqa: F403
    from profitable.model.families import Family as Family
    from profitable.model.lending import Lending as Lending
    from profitable.model.prior import Prior as Prior
    from profitable.past.cells import Cells as Cells
    from profitable.policy.policies import *  # noqa: F403
    from profitable.policy.policies import Policy as Policy
    from profitable.portfolio.outcome import Client as Client
    from profitable.portfolio.outcome import LoanOutcome as LoanOutcome
    from profitable.portfolio.outcome import Outcome as Outcome
    from profitable.portfolio.outcome import Receipt as Receipt
    from profitable.portfolio.portfolio import Portfolio as Portfolio
    from profitable.replay.backtest import backtest as backtest
    from profitable.replay.backtest_result import Backtest as Backtest
    from profitable.simulation.clients_per_round import OnePlusPoisson as OnePlusPoisson
    from profitable.simulation.clients_per_round import UniformClients as UniformClients
    from profitable.simulation.curve import Curve as Curve
    from profitable.simulation.custom_policy import Seen as Seen
    from profitable.simulation.lending_world import Borrowers as Borrowers
    from profitable.simulation.lending_world import LendingWorld as LendingWorld
    from profitable.simulation.result import Result as Result
    from profitable.simulation.runner import simulate as simulate
    from profitable.simulation.scenario import Scenario as Scenario
    from profitable.simulation.scenario import Truth as Truth
    from profitable.studies.conduct import study as study
    from profitable.studies.study import Study as Study
    from profitable.studies.study_result import StudyResult as StudyResult

__version__ = VERSION

_HOMES = {
    "agent.agent": ["Agent"],
    "agent.cutoff_table": ["CutoffTable"],
    "agent.decision": ["Decision"],
    "agent.explanation": ["Standing", "Verdict"],
    "agent.observation": ["Batch"],
    "errors": ["ProfitableError"],
    "model.category": ["Category"],
    "model.families": ["Family"],
    "model.lending": ["Lending"],
    "model.prior": ["Prior"],
    "policy.policies": ["Policy"],
    "portfolio.outcome": ["Client", "LoanOutcome", "Outcome", "Receipt"],
    "portfolio.portfolio": ["Portfolio"],
    "replay.backtest": ["backtest"],
    "past.cells": ["Cells"],
    "replay.backtest_result": ["Backtest"],
    "simulation.clients_per_round": ["OnePlusPoisson", "UniformClients"],
    "simulation.curve": ["Curve"],
    "simulation.custom_policy": ["Seen"],
    "simulation.lending_world": ["Borrowers", "LendingWorld"],
    "simulation.result": ["Result"],
    "simulation.runner": ["simulate"],
    "simulation.scenario": ["Scenario", "Truth"],
    "studies.conduct": ["study"],
    "studies.study": ["Study"],
    "studies.study_result": ["StudyResult"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("bounds", "errors")


def _registered() -> dict[str, Any]:
    """Return the families and policies of this package by class name."""
    from profitable.common.registry import exported
    from profitable.model.families import FAMILIES
    from profitable.policy.policies import POLICIES

    return exported(FAMILIES) | exported(POLICIES)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted([*_HOME_OF, *_MODULES, *_registered(), "__version__"])
    if name in _MODULES:
        value: Any = import_module(f"profitable.{name}")
    elif name in _HOME_OF:
        value = getattr(import_module(f"profitable.{_HOME_OF[name]}"), name)
    elif name[:1].isupper() and name in (registered := _registered()):
        value = registered[name]
    else:
        raise AttributeError(f"module 'profitable' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__")
