"""Cluster: the only file that knows Dask.  It is imported when a cluster is used, and not before.

Example: `with connected("tcp://scheduler:8786") as executor: simulate(..., executor=executor)`.
"""

import logging
import time
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from profitable.errors import InputError

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
PATIENCE_SECONDS = 10.0  # for the scheduler to answer
LOOK_EVERY = 5.0  # seconds between two looks at how many workers there are
_seen: "WeakKeyDictionary[Executor, tuple[float, int]]" = WeakKeyDictionary()


def is_cluster(executor: Executor) -> bool:
    """Whether an executor is that of a Dask client."""
    return type(executor).__module__.partition(".")[0] == "distributed"


def options(executor: Executor) -> dict[str, Any]:
    """What its `submit` needs besides.

    Dask would take a task that was cancelled and is wanted again for the same one: each is to be one of its own.
    """
    return {"pure": False} if is_cluster(executor) else {}


def workers_of(executor: Executor) -> int | None:
    """How many tasks a cluster plays at the same time, at present; None if the executor is no cluster."""
    if not is_cluster(executor):
        return None
    now = time.monotonic()
    looked, found = _seen.get(executor, (-LOOK_EVERY, 1))
    if now - looked >= LOOK_EVERY:
        client: Any = getattr(executor, "_client")  # noqa: B009
        found = max(1, sum(client.nthreads().values()))
        _seen[executor] = now, found
    return found


@contextmanager
def connected(address: str) -> Generator[Executor]:
    """The executor of a Dask cluster; InputError if Dask is not installed, or if nobody answers."""
    try:
        from distributed import Client
    except ImportError:
        remedy = "run: pip install 'profitable[dask]'"
        raise InputError("cluster", address, "needs Dask, which is not installed", remedy) from None
    _check_address(address)
    with _quiet():
        try:
            client: Any = Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
        except OSError as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            remedy = "start one with `dask scheduler` and `dask worker`, and give the address that it prints"
            raise InputError("cluster", address, f"does not answer ({reason})", remedy) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
            except TimeoutError:
                remedy = f"start some: dask worker {address}"
                raise InputError("cluster", address, "has no workers", remedy) from None
            yield client.get_executor()


def _check_address(address: str) -> None:
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in SCHEMES and parts.hostname and parts.port:
            return
    raise InputError("cluster", address, "is not the address of a scheduler", "give one such as tcp://scheduler:8786")


@contextmanager
def _quiet() -> Generator[None]:
    """Dask logs what happens to a connection.  We say it ourselves, once."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
