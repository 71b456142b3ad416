"""Progress never goes back."""

from profitable.common.progress import Progress


def test_progress_never_goes_back() -> None:
    told: list[float] = []
    with Progress(total=10, shown=told.append) as bar:
        for done in (1.0, 7.390000000000001, 7.39, 10.0):
            bar.update(done)
    assert told == sorted(told)
    assert told[-1] == 1.0
