"""Cluster: the only file that knows Dask, imported when a cluster is used.

Example: `with connected("tcp://scheduler:8786") as executor: simulate(...,
executor=executor)`.
"""

import logging
import time
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from profitable.common.extras import extra
from profitable.errors import InputError

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
PATIENCE_SECONDS = 10.0  # for the scheduler to answer
LOOK_EVERY = 5.0  # seconds between two looks at how many workers there are
_seen: "WeakKeyDictionary[Executor, tuple[float, int]]" = WeakKeyDictionary()


def is_cluster(executor: Executor) -> bool:
    """Return whether an executor is that of a Dask client."""
    return type(executor).__module__.partition(".")[0] == "distributed"


def options(executor: Executor) -> dict[str, Any]:
    """Return the options that its `submit` needs.

    Dask would take a task that was cancelled and is wanted again for the same one: each
    is to be one of its own.
    """
    return {"pure": False} if is_cluster(executor) else {}


def workers_of(executor: Executor) -> int | None:
    """Return how many tasks a cluster plays at a time; None if it is not a cluster."""
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
    """Connect to a Dask cluster and yield its executor.

    InputError if Dask is not installed, or if the scheduler does not answer.
    """
    with extra("dask", "clusters are reached with it"):
        from distributed import Client
    _check_address(address)
    with _quiet():
        try:
            client: Any = Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
        except OSError as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                "cluster",
                address,
                f"does not answer ({reason})",
                "start `dask scheduler` and `dask worker`, and give the address that it prints",
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
            except TimeoutError:
                raise InputError(
                    "cluster", address, "has no workers", f"start some: dask worker {address}"
                ) from None
            yield client.get_executor()


def _check_address(address: str) -> None:
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in SCHEMES and parts.hostname and parts.port:
            return
    raise InputError(
        "cluster",
        address,
        "must be the address of a scheduler",
        "give one such as tcp://scheduler:8786",
    )


@contextmanager
def _quiet() -> Generator[None]:
    """Silence Dask's log of connections: our errors report them once."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
