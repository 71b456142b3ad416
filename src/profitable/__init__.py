"""profitable: bandits for those who learn only by saying yes.

Public names are loaded on first use, so that importing the package costs nothing until something is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from profitable.version import VERSION

if TYPE_CHECKING:
    from profitable import bounds as bounds
    from profitable import errors as errors
    from profitable.agent import Agent as Agent
    from profitable.arrivals import OnePlusPoisson as OnePlusPoisson
    from profitable.arrivals import UniformClients as UniformClients
    from profitable.batch import Batch as Batch
    from profitable.category import Category as Category
    from profitable.curve import Curve as Curve
    from profitable.custom import Seen as Seen
    from profitable.decision import Decision as Decision
    from profitable.decision import Verdict as Verdict
    from profitable.errors import ProfitableError as ProfitableError
    from profitable.families import Bernoulli as Bernoulli
    from profitable.families import Binomial as Binomial
    from profitable.families import Bounded as Bounded
    from profitable.families import Exponential as Exponential
    from profitable.families import Family as Family
    from profitable.families import Gamma as Gamma
    from profitable.families import Gaussian as Gaussian
    from profitable.families import Geometric as Geometric
    from profitable.families import NegativeBinomial as NegativeBinomial
    from profitable.families import Pareto as Pareto
    from profitable.families import Poisson as Poisson
    from profitable.families import Weibull as Weibull
    from profitable.policies import KLUCB as KLUCB
    from profitable.policies import UCBV as UCBV
    from profitable.policies import BayesUCB as BayesUCB
    from profitable.policies import KLBernoulliUCB as KLBernoulliUCB
    from profitable.policies import KLBernoulliUCBPlus as KLBernoulliUCBPlus
    from profitable.policies import KLEmpUCB as KLEmpUCB
    from profitable.policies import KLGaussianUCB as KLGaussianUCB
    from profitable.policies import KLUCBPlus as KLUCBPlus
    from profitable.policies import Policy as Policy
    from profitable.policies import ThompsonSampling as ThompsonSampling
    from profitable.prior import Prior as Prior
    from profitable.result import Result as Result
    from profitable.scenario import Scenario as Scenario
    from profitable.scenario import Truth as Truth
    from profitable.simulation import simulate as simulate
    from profitable.standing import Standing as Standing

_HOME = {
    "agent": ["Agent"],
    "arrivals": ["OnePlusPoisson", "UniformClients"],
    "batch": ["Batch"],
    "category": ["Category"],
    "curve": ["Curve"],
    "custom": ["Seen"],
    "decision": ["Decision", "Verdict"],
    "errors": ["ProfitableError"],
    "families": [
        "Bernoulli",
        "Binomial",
        "Bounded",
        "Exponential",
        "Family",
        "Gamma",
        "Gaussian",
        "Geometric",
        "NegativeBinomial",
        "Pareto",
        "Poisson",
        "Weibull",
    ],
    "policies": [
        "UCBV",
        "BayesUCB",
        "KLBernoulliUCB",
        "KLBernoulliUCBPlus",
        "KLEmpUCB",
        "KLGaussianUCB",
        "KLUCB",
        "KLUCBPlus",
        "Policy",
        "ThompsonSampling",
    ],
    "prior": ["Prior"],
    "result": ["Result"],
    "scenario": ["Scenario", "Truth"],
    "simulation": ["simulate"],
    "standing": ["Standing"],
}
__version__ = VERSION
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES = ("bounds", "errors")

__all__ = sorted([*_MODULE_OF, *_MODULES, "__version__"])  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(f"profitable.{name}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"profitable.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'profitable' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
