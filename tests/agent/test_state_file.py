"""The agent's file: identical continuation, versions, damage."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable import errors
from profitable.common.files import seal

Change = Callable[[dict[str, Any]], object]


def busy_agent() -> pb.Agent:
    agent = pb.Agent(
        [
            pb.Category("students", pb.Bernoulli(), threshold=0.2, prior=pb.Prior.beta(1, 1)),
            pb.Category(
                "shops", pb.Exponential(), threshold=3.0, prior=pb.Prior.like(clients=12, mean=2.5)
            ),
            pb.Category("trials", pb.Binomial(trials=12), threshold=5.0),
            pb.Category("heavy", pb.Pareto(scale=1.5), threshold=4.0, bound=70.0),
            pb.Category.loan("loans", amount=1_000, rate=0.12),
        ],
        policy=pb.ThompsonSampling(),
        seed=7,
    )
    for i in range(7):
        agent.decide()
        agent.observe(
            {
                "students": [i % 2],
                "shops": [0.1 + i / 3],
                "heavy": [2.0 + i],
                "loans": [1, 1, i % 2],
            }
        )
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
        assert [twin.category(name) for name in twin.names] == [
            agent.category(name) for name in agent.names
        ]
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
    assert content["format_version"] == 4
    assert content["package_version"] == pb.__version__
    assert content["policy"] == "ts"
    assert content["columns"]["clients"][0] == 7
    assert content["columns"]["name"][-1] == "späte"


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
    for length in [
        *range(0, len(whole.rstrip()), 37),
        *range(len(whole.rstrip()) - 40, len(whole.rstrip())),
    ]:
        path.write_bytes(whole[:length])
        with pytest.raises(errors.BrokenStateError) as caught:
            pb.Agent.load(path)
        assert "backup" in str(caught.value)
        assert "\n" not in str(caught.value)


def rewrite(path: Path, change: Change) -> None:
    """Change the content of a saved agent, and give it the checksum that fits."""
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["checksum"]
    change(content)
    path.write_text(seal(json.dumps(content, ensure_ascii=False)), encoding="utf-8")


def test_a_rewritten_file_is_read(tmp_path: Path) -> None:
    """So that the tests of damage below fail for their own reason."""
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    rewrite(path, lambda content: content.update(round=20))
    assert pb.Agent.load(path).round == 20


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.pop("round"), "round"),
        (lambda c: c.update(round=-1), "round"),
        (lambda c: c.update(round="7"), "round"),
        (lambda c: c.update(policy="ucb1"), "ucb1"),
        (lambda c: c.update(extra=1), "extra"),
        (lambda c: c["columns"].update(name=[]), "name"),
        (lambda c: c.update(format="something-else"), "format"),
        (lambda c: c["columns"]["threshold"].__setitem__(0, 1.7), "threshold of 'students'"),
        (lambda c: c["columns"]["threshold"].__setitem__(0, "0.2"), "threshold"),
        (lambda c: c["kinds"][0].update(family="binomial"), "family"),
        (lambda c: c["kinds"][0].update(family="cauchy"), "cauchy"),
        (lambda c: c["columns"]["clients"].__setitem__(0, -3), "clients"),
        (lambda c: c["columns"]["clients"].pop(), "torn"),
        (lambda c: c["columns"]["kind"].__setitem__(0, 99), "torn"),
        (lambda c: c["columns"]["total"].__setitem__(0, 1e9), "total of 'students'"),
        (lambda c: c["columns"]["name"].__setitem__(0, "shops"), "shops"),
        (lambda c: c["columns"]["name"].__setitem__(0, " "), "name"),
        (lambda c: c["random"].update(used=10**9), "generator"),
        (lambda c: c["random"].update(state="x"), "state"),
        (lambda c: c["random"].update(state="9" * 39), "generator"),
        (lambda c: c.update(round=10**400), "round"),
        (lambda c: c["columns"]["clients"].__setitem__(0, 10**400), "clients"),
        (lambda c: c["columns"].update(squares=[-1.0] * 6), "squares"),
        (lambda c: c["columns"]["amount"].__setitem__(4, -4.0), "amount"),
        (lambda c: c["columns"]["amount"].__setitem__(1, 4.0), "amount"),
        (
            lambda c: c["kinds"][0].update(prior={"kind": "beta", "first": -3.0, "second": 1.0}),
            "a =",
        ),
        (lambda c: c["kinds"][2].update(parameters={"trials": 2.5}), "trials"),
    ],
)
def test_damage_is_noticed(tmp_path: Path, change: Change, why: str) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    rewrite(path, change)
    with pytest.raises(errors.BrokenStateError) as caught:
        pb.Agent.load(path)
    assert why in str(caught.value)
    assert caught.value.value == str(path)


def test_every_changed_digit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    whole = path.read_bytes()
    digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()]
    for place in digits:
        other = ord("1") if whole[place] != ord("1") else ord("2")
        path.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
        with pytest.raises((errors.BrokenStateError, errors.NewerStateError)):
            pb.Agent.load(path)


def test_every_missing_line_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for i in range(len(lines)):
        path.write_bytes(b"".join(lines[:i] + lines[i + 1 :]))
        with pytest.raises(errors.BrokenStateError):
            pb.Agent.load(path)


def test_formats_that_were_never_published_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    busy_agent().save(path)
    text = path.read_text(encoding="utf-8").rpartition(',\n"checksum"')[0]
    path.write_text(
        seal(text.replace('"format_version": 4', '"format_version": 3') + "\n}"), encoding="utf-8"
    )
    with pytest.raises(errors.BrokenStateError, match="format_version"):
        pb.Agent.load(path)


def test_a_negative_cost_is_read(tmp_path: Path) -> None:
    """It is written for a negative threshold, or after a correction."""
    path = tmp_path / "agent.json"
    agent = pb.Agent([pb.Category("a", pb.Gaussian(sigma=1.0), threshold=-2.0)], policy="kl-ucb")
    agent.observe("a", [-1.0, 0.5])
    agent.save(path)
    assert pb.Agent.load(path)["a"].cost == agent["a"].cost
    assert (agent["a"].cost or 0.0) < 0.0


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    busy_agent().save(link)
    assert link.is_symlink()
    assert target.is_file()
    busy_agent().save(link)
    assert link.is_symlink()
    assert pb.Agent.load(link).names == busy_agent().names


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(errors.StateFileError, match="not a regular file"):
            busy_agent().save(path)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(errors.StateFileError, match="cannot be read"):
        pb.Agent.load(tmp_path / "none.json")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(errors.BrokenStateError):
        pb.Agent.load(tmp_path / "text")


def test_kl_emp_remembers_its_values(tmp_path: Path) -> None:
    agent = pb.Agent(
        [pb.Category("p", pb.Poisson(), threshold=3.0, bound=50.0)], policy=pb.KLEmpUCB()
    )
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
    agent = pb.Agent(
        [pb.Category("p", pb.Poisson(), threshold=3.0, bound=50.0)], policy=pb.KLEmpUCB()
    )
    agent.observe("p", [1, 1, 4, 0, 60])
    agent.save(path)
    rewrite(path, lambda content: content["columns"].update(sample=[sample]))
    with pytest.raises(errors.BrokenStateError, match="sample"):
        pb.Agent.load(path)


def test_a_sample_that_nearly_cancels_can_be_saved(tmp_path: Path) -> None:
    """The sample in increasing order has another rounding error than the total."""
    agent = pb.Agent(
        [pb.Category("g", pb.Gaussian(sigma=1.0), threshold=0.0, bound=1e10)], policy=pb.KLEmpUCB()
    )
    agent.observe("g", [1e10, 0.1, -1e10])
    agent.save(tmp_path / "agent.json")
    assert pb.Agent.load(tmp_path / "agent.json")["g"] == agent["g"]


def test_a_count_beyond_all_numbers_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = pb.Agent(
        [pb.Category("p", pb.Poisson(), threshold=3.0, bound=50.0)], policy=pb.KLEmpUCB()
    )
    agent.observe("p", [1])
    agent.save(path)
    rewrite(
        path,
        lambda content: content["columns"].update(sample=[{"values": [1.0], "counts": [10**400]}]),
    )
    with pytest.raises(errors.BrokenStateError, match="sample"):
        pb.Agent.load(path)
    agent.save(path)
    rewrite(path, lambda content: content["columns"].update(kind=[10**30]))
    with pytest.raises(errors.BrokenStateError, match="kind"):
        pb.Agent.load(path)


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127])
def test_the_longest_file_names_can_be_saved(tmp_path: Path, name: str) -> None:
    agent = busy_agent()
    agent.save(tmp_path / name)
    assert pb.Agent.load(tmp_path / name).names == agent.names


def test_saving_leaves_the_umask_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the whole process: two threads that set it and set it back may
    leave it at 0.
    """
    (tmp_path / "plain").touch()
    monkeypatch.setattr(os, "umask", None)
    busy_agent().save(tmp_path / "agent.json")
    assert (tmp_path / "agent.json").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "agent.json").chmod(0o440)
    busy_agent().save(tmp_path / "agent.json")
    assert (tmp_path / "agent.json").stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize("path", ["half a pair \ud800", "nul\0", os.fsencode("bytes"), 3])
def test_what_is_no_file_name(path: Any) -> None:
    with pytest.raises(errors.StateFileError, match="file name"):
        busy_agent().save(path)
    with pytest.raises(errors.StateFileError, match="file name"):
        pb.Agent.load(path)
    with pytest.raises(errors.ParameterError, match="path"):
        busy_agent().plot(path)
