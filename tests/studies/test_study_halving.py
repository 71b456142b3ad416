"""The stages and who survives them, recomputed plainly."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from profitable.studies.study import runs_of, stages, survivors


@given(st.integers(1, 3_000), st.integers(2, 10**6), st.integers(1, 20))
def test_stages(settings: int, runs: int, finalists: int) -> None:
    found = stages(settings, runs=runs, finalists=finalists)
    assert found[0].settings == settings
    assert found[-1].runs == runs
    for before, after in pairwise(found):
        assert before.runs % 100 == 0
        assert before.runs < after.runs
        assert after.settings < before.settings <= 2 * after.settings
    for place, stage in enumerate(found):
        assert stage.settings == max(math.ceil(settings / 2**place), min(finalists, settings))
        assert stage.runs >= runs / 2 ** (len(found) - 1 - place)
        assert stage.runs < runs / 2 ** (len(found) - 1 - place) + 100
    # One stage more would have too few settings, or judge by less than half a block.
    assert found[-1].settings <= finalists or runs <= 100 * 2 ** (len(found) - 1)
    played, has = 0, 0
    for stage in found:
        played, has = played + stage.settings * (stage.runs - has), stage.runs
    assert runs_of(found) == played <= settings * runs


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=30), st.data())
def test_survivors(regrets: list[float], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, len(regrets)))
    found = survivors(regrets, number)
    assert found == sorted(found)
    left = list(range(len(regrets)))
    while len(left) > number:  # drop the worst, of equal ones the last
        worst = max(regrets[place] for place in left)
        left.remove(max(place for place in left if regrets[place] == worst))
    assert found == left
