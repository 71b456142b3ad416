"""The agent's file: identical continuation, versions, damage."""

import json
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable import errors


def busy_agent() -> pb.Agent:
    agent = pb.Agent(
        [
            pb.Category("students", pb.Bernoulli(), threshold=0.2, prior=pb.Prior.beta(1, 1)),
            pb.Category("shops", pb.Exponential(), threshold=3.0, prior=pb.Prior.like(clients=12, mean=2.5)),
            pb.Category("trials", pb.Binomial(trials=12), threshold=5.0),
            pb.Category("heavy", pb.Pareto(scale=1.5), threshold=4.0, bound=70.0),
            pb.Category.loan("loans", amount=1_000, rate=0.12),
        ],
        policy=pb.ThompsonSampling(),
        seed=7,
    )
    for i in range(7):
        agent.decide()
        agent.observe({"students": [i % 2], "shops": [0.1 + i / 3], "heavy": [2.0 + i], "loans": [1, 1, i % 2]})
    agent.pause("heavy")
    agent.expect("loans", 9)
    agent.set_threshold("loans", 0.8)
    agent.add_category(pb.Category("späte", pb.Gaussian(sigma=0.1), threshold=-2.0))
    return agent


def test_the_continuation_is_identical(tmp_path: Path) -> None:
    agent = busy_agent()
    for stop in range(12):  # stop at different places of the buffer of draws
        path = tmp_path / f"{stop}.json"
        agent.save(path)
        twin = pb.Agent.load(path)
        assert str(twin) == str(agent)
        assert [twin.category(name) for name in twin.names] == [agent.category(name) for name in agent.names]
        for _ in range(120):
            one, other = agent.decide(), twin.decide()
            assert one.to_dict() == other.to_dict()
        rewards = np.random.default_rng(stop).exponential(2.0, 3)
        agent.observe("shops", rewards)
        twin.observe("shops", rewards)
        twin.save(tmp_path / "twin.json")
        agent.save(tmp_path / "agent.json")
        assert (tmp_path / "twin.json").read_bytes() == (tmp_path / "agent.json").read_bytes()


def test_the_file_is_readable_json(tmp_path: Path) -> None:
    busy_agent().save(tmp_path / "agent.json")
    content = json.loads((tmp_path / "agent.json").read_text(encoding="utf-8"))
    assert content["format"] == "profitable-agent"
    assert content["format_version"] == 1
    assert content["package_version"] == pb.__version__
    assert content["policy"] == "ts"
    assert content["categories"][0]["clients"] == 7
    assert content["categories"][-1]["name"] == "späte"


def test_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["format_version"] = 99
    content["something new"] = {}
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(errors.NewerStateError, match="format version 99"):
        pb.Agent.load(path)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole.rstrip()), 37), *range(len(whole.rstrip()) - 40, len(whole.rstrip()))]:
        path.write_bytes(whole[:length])
        with pytest.raises(errors.BrokenStateError) as caught:
            pb.Agent.load(path)
        assert "backup" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c.pop("round"),
        lambda c: c.update(round=-1),
        lambda c: c.update(round="7"),
        lambda c: c.update(policy="ucb1"),
        lambda c: c.update(extra=1),
        lambda c: c.update(categories=[]),
        lambda c: c.update(format="something-else"),
        lambda c: c["categories"][0].update(threshold=1.7),
        lambda c: c["categories"][0].update(threshold="0.2"),
        lambda c: c["categories"][0].update(family="binomial"),
        lambda c: c["categories"][0].update(family="cauchy"),
        lambda c: c["categories"][0].update(clients=-3),
        lambda c: c["categories"][0].update(total=1e9),
        lambda c: c["categories"][0].update(name="shops"),
        lambda c: c["random"].update(used=10**9),
        lambda c: c["random"].update(state="x"),
        lambda c: c["random"].update(state="9" * 39),
        lambda c: c.update(round=10**400),
        lambda c: c["categories"][0].update(clients=10**400),
        lambda c: c["categories"][0].update(squares=-1.0),
        lambda c: c["categories"][0].update(cost=-1.0),
        lambda c: c["categories"][4].update(amount=-4.0),
        lambda c: c["categories"][0].update(prior={"kind": "beta", "first": -3.0, "second": 1.0}),
        lambda c: c["categories"][2].update(parameters={"trials": 2.5}),
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    damage(content)  # type: ignore[operator]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(errors.BrokenStateError):
        pb.Agent.load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(errors.StateFileError, match="cannot be read"):
        pb.Agent.load(tmp_path / "none.json")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(errors.BrokenStateError):
        pb.Agent.load(tmp_path / "text")


def test_kl_emp_remembers_its_values(tmp_path: Path) -> None:
    agent = pb.Agent([pb.Category("p", pb.Poisson(), threshold=3.0, bound=50.0)], policy=pb.KLEmpUCB())
    agent.observe("p", [1, 1, 4, 0, 60])
    agent.save(tmp_path / "agent.json")
    twin = pb.Agent.load(tmp_path / "agent.json")
    assert twin["p"] == agent["p"]
    assert twin.memory == agent.memory


@pytest.mark.parametrize(
    "sample",
    [
        {"values": [0.0, 1.0, 4.0], "counts": [1, 2, 1]},
        {"values": [0.0, 1.0, 4.0, 50.0], "counts": [1, 2, 2, 0]},
        {"values": [0.0, 1.0, 5.0, 50.0], "counts": [1, 2, 1, 1]},
        {"values": [0.0, 1.0, 1.0, 53.0], "counts": [1, 1, 2, 1]},
    ],
)
def test_a_sample_that_does_not_fit_is_noticed(tmp_path: Path, sample: dict[str, object]) -> None:
    path = tmp_path / "agent.json"
    agent = pb.Agent([pb.Category("p", pb.Poisson(), threshold=3.0, bound=50.0)], policy=pb.KLEmpUCB())
    agent.observe("p", [1, 1, 4, 0, 60])
    agent.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["categories"][0]["sample"] = sample
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(errors.BrokenStateError):
        pb.Agent.load(path)
