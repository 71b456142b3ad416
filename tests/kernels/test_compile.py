"""The functions that are compiled, when, and what is announced."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import json, sys
from numba.core import event

class Names(event.Listener):
    found = []
    def on_start(self, event):
        self.found.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Names())
import profitable as pb
"""
DECIDE = """
category = pb.Category("a", pb.{family}(), threshold=0.5)
agent = pb.Agent([category], policy="{policy}", seed=1)
agent.decide(); agent.observe("a", [1, 0, 0]); str(agent.decide())
"""
SIMULATE = """
category = pb.Category("a", pb.Bernoulli(), threshold=0.6)
truth = pb.Truth(category, mean=0.5, clients=pb.OnePlusPoisson(rate=2.0))
for kernel in ("events", "rounds"):
    pb.simulate(pb.Scenario("a", [truth]), ["{policy}"], horizon=300, runs=3, kernel=kernel)
"""
TELL = "print(json.dumps([Names.found, 'rich' in sys.modules]))\n"
WARM = "from profitable.simulation.warm_up import steps\n[step() for _, step in steps({chosen})]\n"


def environment(cache: Path, **more: str) -> dict[str, str]:
    return os.environ | {"NUMBA_CACHE_DIR": str(cache), **more}


def compiled_by(code: str, cache: Path) -> list[str]:
    """The functions that a process compiles."""
    command = [sys.executable, "-c", COUNT + code + TELL]
    done = subprocess.run(
        command, env=environment(cache), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)[0]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty for the first decision; what it compiles need not be compiled again for the
    tests after it.
    """
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
def test_a_first_decision_compiles_what_it_needs_and_a_sign_moves_on_the_terminal(
    cache: Path,
) -> None:
    assert not list(cache.iterdir())
    code = COUNT + DECIDE.format(family="Bernoulli", policy="kl-ucb") + TELL
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(cache, TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as job:
        os.close(theirs)
        said = b""
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:  # how a terminal says that nobody writes to it any more
                break
        assert job.stdout is not None
        names, has_rich = json.loads(job.stdout.read())
    os.close(ours)
    assert job.returncode == 0
    assert {"absorb", "deviance_by_gap"} <= set(names)
    # Other policies and families have theirs compiled when they are used.
    assert not {
        "posterior_evidence",
        "gamma_evidence",
        "beta_evidence",
        "empirical_dual",
        "run_events",
    } & set(names)
    shown = said.decode()
    signs = {part[0] for part in shown.split("\r") if "compiling at first use" in part}
    assert len(signs) >= 3, shown  # it moves
    assert "absorb" in shown
    assert shown.endswith("\r")  # it is gone
    assert shown.split("\r")[-2].strip() == ""
    assert not has_rich
    assert compiled_by(DECIDE.format(family="Bernoulli", policy="kl-ucb"), cache) == []


@pytest.mark.skipif(os.environ.get("PROFITABLE_SOAK") != "1", reason="a minute; part of make soak")
def test_after_a_warm_up_nothing_is_compiled(cache: Path) -> None:
    assert {"run_events", "run_rounds"} <= set(
        compiled_by(WARM.format(chosen="['bernoulli'], ['ts']"), cache)
    )
    uses = DECIDE.format(family="Bernoulli", policy="ts") + SIMULATE.format(policy="ts")
    assert compiled_by(uses, cache) == []


@pytest.mark.skipif(os.environ.get("PROFITABLE_SOAK") != "1", reason="a minute; part of make soak")
def test_after_warming_everything_up_nothing_is_compiled_for_any_pair(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "profitable", "warm-up"]
    first, second = (
        subprocess.run(
            command, env=environment(tmp_path), capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert "Compiled" in first
    assert str(tmp_path) in first
    assert "already" in second
    uses = """
sys.path.insert(0, ".")
from tests.matrix import FAMILIES, POLICIES
for row in FAMILIES:
    for policy in POLICIES:
        agent = pb.Agent([row.category()], policy=policy, seed=1)
        for size in (1, 30):
            agent.decide(); agent.observe("it", row.rewards(size, seed=size)); str(agent.decide())
        if row.law is not None:
            clients = pb.UniformClients(low=1, high=3)
            truth = pb.Truth(row.category(), mean=row.mean, clients=clients, sigma=row.sigma)
            scenario = pb.Scenario("it", [truth])
            for kernel in ("events", "rounds"):
                pb.simulate(scenario, [policy], horizon=50, runs=2, seed=1, kernel=kernel)
"""
    assert compiled_by(uses, tmp_path) == []
