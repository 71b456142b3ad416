"""The command line on both kinds of database: the same commands, the same answers."""

import json
from pathlib import Path

from tests.cli.books import LENDING, told
from tests.cli.test_app import call
from tests.portfolio.places import Place
from tests.waiting import said

OUTCOMES = "id,category,reward,decision\nl-1,students,1,1\nl-2,nobody,1,1\nl-3,shops,2.5,1\n"


def test_a_day(two_places: tuple[Place, Place], tmp_path: Path) -> None:
    where, copy = (place.where for place in two_places)
    (tmp_path / "lending.toml").write_text(LENDING)
    (tmp_path / "outcomes.csv").write_text(OUTCOMES)
    (tmp_path / "clients.csv").write_text("id,category,matures\nl-3,shops,2\n")

    def run(*arguments: str, code: int = 0) -> str:
        done = call(*arguments, cwd=tmp_path)
        assert (done.returncode, said(done.stderr)) == (code, []), (
            arguments,
            done.stdout,
            done.stderr,
        )
        return done.stdout

    assert run("portfolio", "create", where, "--from", "lending.toml").endswith(
        "lending, 2 categories, kl-ucb.\n"
    )
    assert "exists already" in told(
        call("portfolio", "create", where, "--from", "lending.toml", cwd=tmp_path)
    )
    assert json.loads(run("decide", where, "--key", "day-1", "--json"))["accepted"] == [
        "students",
        "shops",
    ]
    assert run("open", where, "clients.csv") == "1 row: 1 counted\n"
    assert "2 counted, 1 refused (nothing was stored)" in run(
        "observe", where, "outcomes.csv", "--dry-run", code=3
    )
    assert "2 counted, 1 refused" in run("observe", where, "outcomes.csv", code=3)
    assert "2 known already, 1 refused" in run("observe", where, "outcomes.csv", code=3)
    assert run("correct", where, "l-1", "--reward", "0") == "l-1: corrected in line 6.\n"
    run("portfolio", "change", where, "--pause", "shops")
    status = json.loads(run("status", where, "--json"))
    assert [(each["known"], each["held"], each["paused"]) for each in status["categories"]] == [
        (1, 0, False),
        (1, 1, True),
    ]
    assert "accepted in round 1 (key day-1)" in run("explain", where, "shops", "--round", "1")
    assert len(run("log", where, "--format", "csv").splitlines()) == 1 + 7
    run("copy", where, copy)
    assert json.loads(run("compare", where, copy, "--json"))["same_stream"] is True
    first, second = (json.loads(run("verify", each, "--json")) for each in (where, copy))
    assert first["clean"]
    assert first["head"] == second["head"]
    run("portfolio", "upgrade", copy, "--actor", "ann")
    assert "ann    upgrade  schema version 1 becomes 1; the state was recomputed" in run(
        "log", copy
    )
    assert json.loads(run("verify", copy, "--json", "--head", first["head"]["hash"]))["clean"]
