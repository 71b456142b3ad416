"""The helpers of the tests: Ctrl-C arrives however the tests were started."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT

ROOT = Path(__file__).parent.parent
PRESS = """
import signal, subprocess, sys

def press():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return "heard"
    return "ignored"

child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
print(press())
{heed}
print(press(), flush=True)
subprocess.run([sys.executable, "-c", child], check=True)
"""


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("heed", "printed"),
    [("", "ignored ignored False"), ("import tests.conftest", "ignored heard True")],
)
def test_ctrl_c_arrives_in_a_background_job(heed: str, printed: str) -> None:
    """`nohup make test &` ignores SIGINT: here without and with the tests' setup."""
    done = subprocess.run(
        [sys.executable, "-c", PRESS.format(heed=heed)],
        cwd=ROOT,
        preexec_fn=_ignore_ctrl_c,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout.split() == printed.split()
