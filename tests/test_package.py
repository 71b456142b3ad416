"""The package as a whole: exports, the cost of importing it, the cache of kernels."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import profitable as pb
from profitable.common.registry import exported
from profitable.model.families import FAMILIES
from profitable.policy.policies import POLICIES

# Families and policies are exported by registering themselves; everything else is
# pinned here.
PUBLIC = """
Agent Backtest Batch Borrowers Category Cells Client Curve CutoffTable Decision Family Lending
LendingWorld LoanOutcome OnePlusPoisson Outcome Policy Portfolio Prior ProfitableError Receipt
Result Scenario Seen Standing Study StudyResult Truth UniformClients Verdict __version__
backtest bounds errors simulate study
""".split()  # noqa: SIM905
REGISTERED = """
BayesUCB Bernoulli Binomial Bounded Exponential Gamma Gaussian Geometric KLBernoulliUCB
KLBernoulliUCBPlus KLEmpUCB KLGaussianUCB KLUCB KLUCBPlus NegativeBinomial Pareto Poisson
ThompsonSampling UCBV Weibull
""".split()  # noqa: SIM905  # once released, a name stays; more may come


def test_exports() -> None:
    names = pb.__all__
    registered = {
        row.__name__ for row in (*exported(FAMILIES).values(), *exported(POLICIES).values())
    }
    assert set(names) == {*PUBLIC, *registered}
    assert set(REGISTERED) <= registered
    assert dir(pb) == names == sorted(names)
    for name in names:
        assert getattr(pb, name) is not None
    assert not hasattr(pb, "nonsense")
    assert not hasattr(pb, "Nonsense")


def test_star_import_and_public_modules() -> None:
    names: dict[str, object] = {}
    exec(
        "from profitable import *\n"
        "from profitable.bounds import lower_bound\n"
        "from profitable.errors import InputError",
        names,
    )
    assert names["KLUCB"] is pb.KLUCB
    assert names["lower_bound"] is pb.bounds.lower_bound


def test_streams_are_named_by_the_canonical_string() -> None:
    """Renaming a class, or adding an option to it, must not change anyone's numbers."""
    prior = pb.Prior.beta(1, 2.5)
    assert pb.KLUCBPlus(c=3, inflate=10).stream_name == "kl-ucb+:c=3,inflate=10"
    assert pb.BayesUCB(prior=prior).stream_name == "bayes-ucb, prior beta(1.0, 2.5)"
    coin = pb.Truth(pb.Category("coin", pb.Bernoulli(), threshold=0.6), mean=0.5, clients=4)
    result = pb.simulate(
        pb.Scenario("one coin", [coin]), ["kl-ucb", "ts"], horizon=100, runs=100, seed=1
    )
    assert [round(float(curve.regret[-1]), 6) for curve in result.curves] == [19.128, 6.024]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        key: value for key, value in os.environ.items() if not key.startswith(("NUMBA", "PYTEST"))
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=variables | environment,
    )


DIVERGE = "import profitable as pb; print(pb.Bernoulli().divergence(0.2, 0.5))"


def test_importing_is_lazy_and_silent() -> None:
    done = python(
        "import sys, profitable; print({'numba', 'numpy', 'pydantic', 'typer'} & set(sys.modules))"
    )
    assert done.stdout.strip() == "set()"
    assert done.stderr == ""


def test_kernels_are_cached_when_the_package_cannot_be_written(tmp_path: Path) -> None:
    """First process: says that it compiles.

    Second: silent, from the user's cache folder.
    """
    package = tmp_path / "site" / "profitable"
    shutil.copytree(Path(pb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where the cache folder would be: not even root can make the folder.
    (package / "kernels" / "__pycache__").write_text("")
    cache = tmp_path / "cache"
    cache.mkdir()
    where = {
        "PYTHONPATH": str(package.parent),
        "XDG_CACHE_HOME": str(cache),
        "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    first = python(DIVERGE, **where)
    assert "compiling numerical kernels" in first.stderr
    assert first.stderr.count("\n") == 1
    assert list(cache.rglob("*.nbi")), "nothing was cached"
    second = python(DIVERGE, **where)
    assert second.stderr == ""
    # Nowhere to write at all: slower, but it works.
    shutil.rmtree(cache)
    cache.write_text("")
    nowhere = python(DIVERGE, **where, TMPDIR=str(tmp_path))
    assert "compiling" in nowhere.stderr


def test_a_change_in_one_kernel_reaches_the_kernels_that_use_it(tmp_path: Path) -> None:
    """numba looks at a kernel's own file only; a cached `law` must not go on with
    yesterday's `special`.
    """
    package = tmp_path / "profitable"
    shutil.copytree(Path(pb.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = float(python(DIVERGE, PYTHONPATH=str(tmp_path)).stdout)
    assert before == pb.Bernoulli().divergence(0.2, 0.5)
    assert python(DIVERGE, PYTHONPATH=str(tmp_path)).stderr == ""
    special = package / "kernels" / "special.py"
    text = special.read_text(encoding="utf-8")
    changed = "    return 2.0 * x * excess(v, expected / x)\n"
    assert text.count(changed.replace("2.0 * ", "")) == 1
    special.write_text(text.replace(changed.replace("2.0 * ", ""), changed), encoding="utf-8")
    # A struct that is gone by now is named in the old cache: it must not even be looked
    # at.
    for path in package.rglob("*.py"):
        path.write_text(
            re.sub(r"\bLaw\b", "Distribution", path.read_text(encoding="utf-8")), encoding="utf-8"
        )
    assert float(python(DIVERGE, PYTHONPATH=str(tmp_path)).stdout) == 2.0 * before
