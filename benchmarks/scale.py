"""Measure simulations on many cores: speed, memory and overheads.

    .venv/bin/python benchmarks/scale.py [PART ...]

Parts: speed, memory, overhead, blocks, many, docs.

`docs` computes what 1 000 cores would do from what the other parts found, and renews
docs/scale.md and its picture. What a part finds is kept in docs/scale.json, so that
parts can be run one by one.
"""

import copy
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import profitable as pb
from common import seconds, verdict
from profitable.common.charts import Rows, saved, styled, titled
from profitable.common.line_styles import BLUE, DASHED, GREEN, GREY, PURPLE, VERMILION
from profitable.common.text_tables import text_table
from profitable.paper.experiment import PAPER, load
from profitable.simulation.pool import Engine, Job, open_pool
from profitable.simulation.runner import new_result
from profitable.simulation.settings import Settings, prepare
from profitable.simulation.worker import Reply, compile_kernels, play

DOCS = Path(__file__).parent.parent / "docs"
FOUND = DOCS / "scale.json"
POLICIES = ("kl-ucb", "kl-ucb+", "bayes-ucb", "ts")  # those of the paper's that skip time
T, RUNS, BLOCKS, CORES = 10**12, 10**6, 10**4, 1_000
LEAST_SECONDS, TURNS = 30.0, 3
NAP = 0.05  # seconds that a pretended block takes
SMALL = pb.Scenario(
    "one coin", [pb.Truth(pb.Category("coin", pb.Bernoulli(), threshold=0.6), mean=0.5, clients=4)]
)


def settings_of(name: str, runs: int, policies: tuple[str, ...] = POLICIES) -> Settings:
    return prepare(load(name).scenario, policies, horizon=T, runs=runs, seed=1)


@contextmanager
def two_dask_workers(**options: Any) -> Generator[Any]:
    from distributed import Client, LocalCluster

    given: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": True} | options
    with (
        LocalCluster(dashboard_address=":0", silence_logs=50, **given) as both,
        Client(both) as client,
    ):
        yield client


def keep(**found: Any) -> None:
    before = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    FOUND.write_text(json.dumps(before | found, indent=1) + "\n")


# Two Dask workers beside two threads.


def timed(executor: Executor | None, runs: int) -> float:
    """Return the seconds of a simulation on an executor with warm workers."""
    first, given = settings_of("bernoulli", 400), settings_of("bernoulli", runs)
    with open_pool(executor, 2) as pool:
        Engine(pool).play([Job(first, new_result(first))])
        return seconds(lambda: Engine(pool).play([Job(given, new_result(given))]))


def speed() -> None:
    """Time a job of 30 s or more on threads, processes and Dask workers, in turns."""
    runs = 10_000
    while (threads := timed(None, runs)) < LEAST_SECONDS:
        runs = math.ceil(runs * 1.3 * LEAST_SECONDS / threads / 1_000) * 1_000
    spawn = get_context("spawn")
    with two_dask_workers() as client, ProcessPoolExecutor(2, mp_context=spawn) as processes:
        dask = client.get_executor()
        rows: list[tuple[float, float, float]] = []
        for _ in range(TURNS):
            rows.append((timed(None, runs), timed(processes, runs), timed(dask, runs)))
            print(rows[-1], flush=True)
    both = [statistics.median(row[0] / row[place] for row in rows) for place in (1, 2)]
    table = [
        [f"{each:.1f} s" for each in row] + [f"{row[0] / row[1]:.2f}", f"{row[0] / row[2]:.2f}"]
        for row in rows
    ]
    headers = (
        "two threads",
        "two processes",
        "two Dask workers",
        "threads/processes",
        "threads/Dask",
    )
    print(
        f"Bernoulli to T = 10^12, four policies, {runs} runs, in turns:\n"
        f"{text_table(headers, table)}"
    )
    print(
        f"  median speed of Dask {both[1]:.2f}, bar 0.85: {verdict(both[1], 0.85, at_least=True)}\n"
    )
    keep(speed={"runs": runs, "seconds": rows, "processes": both[0], "dask": both[1]})


# Memory of the client.


def memory() -> None:
    """Peak memory of a client whose workers are elsewhere, for 10^5 and 10^6 runs."""
    found: dict[str, list[float]] = {}
    with two_dask_workers() as client:
        for runs in (10**5, 10**6):
            words = [sys.executable, __file__, "client", client.scheduler.address, str(runs)]
            ran = subprocess.run(words, capture_output=True, text=True, check=True)
            found[str(runs)] = [float(each) for each in ran.stdout.split()]
    rows = [[runs, f"{peak:.0f} MB", f"{taken:.0f} s"] for runs, (peak, taken) in found.items()]
    print(
        "Peak memory of the client, two Dask workers:\n"
        f"{text_table(('runs', 'peak', 'time'), rows)}"
    )
    growth = found[str(10**6)][0] - found[str(10**5)][0]
    print(f"  growth {growth:.0f} MB, bar 50 MB: {verdict(growth, 50.0, at_least=False)}\n")
    keep(memory=found)


def client(address: str, runs: str) -> None:
    """Run the client of `memory`: print its peak memory in megabytes, and seconds."""
    import resource

    from profitable.simulation.pool import connected

    with connected(address) as executor:
        taken = seconds(
            lambda: pb.simulate(
                SMALL, ["ts"], horizon=100, runs=int(runs), executor=executor, progress=False
            )
        )
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0, taken)


# Overhead.


def nothing() -> None:
    """Do nothing: an empty task."""


def in_turn(executor: Executor, tasks: int, under_way: int = 6, **options: Any) -> float:
    """Seconds per empty task, a few being under way at any time, as in a simulation."""
    submit: Any = executor.submit
    active: deque[Future[None]] = deque(submit(nothing, **options) for _ in range(under_way))
    start = time.perf_counter()
    for _ in range(tasks):
        active.popleft().result()
        active.append(submit(nothing, **options))
    taken = time.perf_counter() - start
    for each in active:
        each.result()
    return taken / tasks


def overhead() -> None:
    """Time per empty task of each executor, and what the client does with a block."""
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        two_dask_workers() as client,
    ):
        dask = client.get_executor()
        turns = [
            (in_turn(threads, 20_000), in_turn(processes, 5_000), in_turn(dask, 1_000, pure=False))
            for _ in range(5)
        ]
    per_task = [statistics.median(column) for column in zip(*turns, strict=True)]
    found = dict(zip(("threads", "processes", "dask"), per_task, strict=True))
    found["client"], size = at_home()
    rows = [[name, f"{1e6 * value:.0f}"] for name, value in found.items()]
    print(
        "Microseconds per empty task, and per block at the client:\n"
        f"{text_table(('what', 'us'), rows)}\n"
    )
    keep(overhead=found, block_bytes=size)


def at_home() -> tuple[float, int]:
    """Return the seconds in which a client adds up a block, and the bytes of it."""
    import pickle

    given = settings_of("bernoulli", 100, ("ts",))
    reply = pickle.dumps(play(given, [0], [0], np.zeros(2, dtype=np.int64)))
    curve = new_result(given).curves[0]

    def add() -> None:
        for _ in range(1_000):
            curve.add_sums(pickle.loads(reply).blocks[0][0])

    start = time.process_time()
    for _ in range(5):
        add()
    return (time.process_time() - start) / 5_000, len(reply)


# Blocks.


def blocks() -> None:
    """Seconds per block of 100 runs to T = 10^12, in one thread."""
    found: dict[str, dict[str, float]] = {}
    for name in PAPER:
        given = settings_of(name, 10_000)
        compile_kernels(given)
        times: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        for block in range(12):
            for which, policy in enumerate(POLICIES):
                start = time.process_time()  # others may use the machine at the same time
                play(given, [which], [block], np.zeros(2, dtype=np.int64))
                times[policy].append(time.process_time() - start)
        found[name] = {policy: statistics.median(each) for policy, each in times.items()}
    rows = [[name, *(f"{1e3 * each:.0f}" for each in found[name].values())] for name in found]
    print(
        "Milliseconds per block of 100 runs to T = 10^12:\n"
        f"{text_table(('experiment', *POLICIES), rows)}\n"
    )
    keep(
        blocks=found,
        machine={"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()},
    )


# Many workers, which only pretend to work.


@lru_cache(maxsize=1)
def canned() -> Reply:
    return play(settings_of("bernoulli", 100, ("ts",)), [0], [0], np.zeros(2, dtype=np.int64))


def pretend(block_seconds: float, blocks: range) -> Reply:
    """Sleep as long as blocks would take, and reply with as many bytes."""
    one = canned().blocks[0]
    time.sleep(block_seconds * len(blocks))
    return Reply([copy.deepcopy(one) for _ in blocks])  # pickle would send the same one only once


class Pretending(Executor):
    """Gives a cluster tasks that only pretend to work."""

    def __init__(self, executor: Executor, block_seconds: float) -> None:
        self.executor, self.block_seconds, self.tasks = executor, block_seconds, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have something pretended instead."""
        import scale  # workers know this file by its name

        self.tasks += 1
        submit: Any = self.executor.submit
        return submit(scale.pretend, self.block_seconds, args[2], pure=False)


@contextmanager
def a_cluster_in_processes(folder: Path, workers: int, threads: int) -> Generator[tuple[str, int]]:
    """Start a scheduler and workers; yield the address and the scheduler's id."""
    file = folder / "scheduler.json"
    python = [sys.executable, "-m"]
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["env"] = os.environ | {"PYTHONPATH": paths}
    place = ["--scheduler-file", str(file), "--no-dashboard"]
    words = [[*python, "distributed.cli.dask_scheduler", "--port", "0", "--no-show", *place]]
    words += [
        [*python, "distributed.cli.dask_worker", "--nthreads", str(threads), "--no-nanny", *place]
    ] * workers
    jobs = [subprocess.Popen(each, **quiet) for each in words]
    try:
        while not file.exists():
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], jobs[0].pid
    finally:
        for job in jobs:
            job.terminate()
            job.wait()


def cpu_seconds(process: int) -> float:
    import psutil

    times = psutil.Process(process).cpu_times()
    return times.user + times.system


def many() -> None:
    """Measure the CPU time of scheduler and client with 1 000 workers that sleep."""
    from tempfile import TemporaryDirectory

    from distributed import Client

    import scale  # workers know this file by its name

    found: list[dict[str, float]] = []
    with (
        TemporaryDirectory() as folder,
        a_cluster_in_processes(Path(folder), 2, CORES // 2) as (address, scheduler),
        Client(address) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        client.run(scale.canned)
        for per_task in (1, 2, 5, 10, 20):
            number = 1_000 * per_task
            given = settings_of("bernoulli", 100 * number, ("ts",))
            pretending, job = Pretending(client.get_executor(), NAP), Job(given, new_result(given))
            setattr(Job, "_blocks_in_a_task", lambda *_, size=per_task: size)  # noqa: B010
            before = [cpu_seconds(scheduler), time.process_time()]
            with open_pool(pretending, 100) as pool:
                taken = seconds(lambda job=job, pool=pool: Engine(pool).play([job]))
            used = [cpu_seconds(scheduler) - before[0], time.process_time() - before[1]]
            row = {"blocks": number, "tasks": pretending.tasks, "seconds": taken}
            found.append(row | {"scheduler": used[0], "client": used[1]})
            print(found[-1], flush=True)
    keep(many=found)


# The page.


def line(found: list[dict[str, float]], who: str) -> tuple[float, float]:
    """Return CPU seconds per task and per block: the best line through `many`."""
    blocks, spent = ([row[key] / row["tasks"] for row in found] for key in ("blocks", who))
    per_block, per_task = np.polyfit(blocks, spent, 1)
    return float(per_task), float(per_block)


def docs() -> None:
    """Compute what 1 000 cores would do from docs/scale.json; renew the page."""
    found = json.loads(FOUND.read_text())
    costs = {who: line(found["many"], who) for who in ("scheduler", "client")}
    means = {name: statistics.mean(each.values()) for name, each in found["blocks"].items()}
    total = BLOCKS * len(POLICIES)
    rows: list[list[str]] = []
    whole = np.zeros(4)
    for name, mean in means.items():
        per_task = in_a_task(mean, found["block_bytes"])
        used = [
            total * mean / CORES,
            *(total / per_task * (a + b * per_task) for a, b in costs.values()),
        ]
        whole += [*used, max(used)]
        shown = [f"{each:.0f} s" for each in (*used, max(used))]
        rows.append(
            [name, f"{1e3 * mean:.0f} ms", str(per_task), f"{total * mean / 3600:.1f}", *shown]
        )
    rows.append(
        ["all four", "", "", f"{whole[0] * CORES / 3600:.1f}", *(f"{each:.0f} s" for each in whole)]
    )
    headers = [
        "experiment",
        "a block",
        "blocks per task",
        "core hours",
        "1 000 cores",
        "scheduler",
        "client",
        "longest",
    ]
    sizes = (1, 3, 10, 30, 100)
    busy = {
        name: [[limit(mean, size, each) for each in costs.values()] for size in sizes]
        for name, mean in means.items()
    }
    limits = [
        [name, *(f"{round_off(min(pair)):,}".replace(",", " ") for pair in busy[name])]
        for name in busy
    ]
    over = found["overhead"]
    measured = [
        [
            "an empty task, there and back: threads, processes, Dask",
            ", ".join(f"{1e3 * over[k]:.2f}" for k in ("threads", "processes", "dask")) + " ms",
        ],
        [
            "the scheduler's CPU time",
            "{:.2f} ms per task and {:.3f} ms per block".format(
                *(1e3 * x for x in costs["scheduler"])
            ),
        ],
        [
            "the client's CPU time",
            "{:.2f} ms per task and {:.3f} ms per block".format(
                *(1e3 * x for x in costs["client"])
            ),
        ],
        ["a block's reply", f"{found['block_bytes'] / 1024:.0f} kB"],
        [
            "peak memory of the client, 10⁵ and 10⁶ runs",
            " and ".join(f"{each[0]:.0f} MB" for each in found["memory"].values()),
        ],
    ]
    if "speed" in found:  # only a machine with nothing else to do can tell
        measured += [
            ["speed of two Dask workers relative to two threads", f"{found['speed']['dask']:.2f}"],
            [
                "speed of two processes relative to two threads",
                f"{found['speed']['processes']:.2f}",
            ],
        ]
    page = DOCS / "scale.md"
    renew(page, "measured", markdown(["what", "measured"], measured))
    renew(page, "paper", markdown(headers, rows))
    renew(page, "limits", markdown(["experiment", *(f"{each} per task" for each in sizes)], limits))
    draw(DOCS / "scale.svg", means, costs, found["block_bytes"])
    print(page.read_text())


def in_a_task(block_seconds: float, block_bytes: int) -> int:
    """Return the blocks that a simulation on 1 000 cores puts into a task."""
    job = Job(settings_of("bernoulli", RUNS), new_result(settings_of("bernoulli", 100)))
    job.seconds, job.size, job.measured = block_seconds, block_bytes, 1
    return job._blocks_in_a_task(BLOCKS, len(POLICIES), CORES)


def limit(block_seconds: float, per_task: float, cost: tuple[float, float]) -> float:
    """How many cores are busy at most if each task costs somebody that much time."""
    return block_seconds * per_task / (cost[0] + cost[1] * per_task)


def round_off(value: float) -> int:
    """Two digits."""
    return int(float(f"{value:.1e}"))


def markdown(headers: list[str], rows: list[list[str]]) -> str:
    return (
        "\n".join("| " + " | ".join(row) + " |" for row in (headers, ["---"] * len(headers), *rows))
        + "\n"
    )


def renew(page: Path, name: str, table: str) -> None:
    """Put a table between its two marks on a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- table: {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert (begin, end) == (f"<!-- table: {name} -->\n", "<!-- end -->")
    page.write_text(before + begin + table + end + after, encoding="utf-8")


def draw(
    path: Path, means: dict[str, float], costs: dict[str, tuple[float, float]], block_bytes: int
) -> None:
    """Cores that can be kept busy, by blocks per task."""
    sizes = np.geomspace(1, 100, 200).tolist()
    lines: Rows = []
    words: Rows = [{"x": 1.05, "y": CORES * 1.13, "text": "1 000 cores", "job": ""}]
    dots: Rows = []
    lowest = 0.0  # of the next label, so that none touches another
    for name, mean in sorted(means.items(), key=lambda each: each[1]):
        busy = [min(limit(mean, size, each) for each in costs.values()) for size in sizes]
        lines += [{"x": x, "y": y, "job": name} for x, y in zip(sizes, busy, strict=True)]
        place = max(busy[-1], lowest)
        words.append(
            {"x": sizes[-1] * 1.05, "y": place, "text": f"{name}, {1e3 * mean:.0f} ms", "job": name}
        )
        lowest = 1.25 * place
        chosen = in_a_task(mean, block_bytes)
        most = min(limit(mean, chosen, each) for each in costs.values())
        dots.append({"x": chosen, "y": most, "job": name})
    across = alt.X(
        "x:Q",
        title="blocks of 100 runs in a task (the dot: what a simulation takes by itself)",
        scale=alt.Scale(type="log", domain=[1, 100]),
        axis=alt.Axis(values=[1, 3, 10, 30, 100], grid=False),
    )
    up = alt.Y(
        "y:Q",
        title="cores that can be kept busy",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=[10.0**k for k in range(7)], format=","),
    )
    colours = alt.Scale(domain=["", *means], range=[GREY, BLUE, GREEN, VERMILION, PURPLE])
    colour = alt.Color("job:N", scale=colours, legend=None)

    def layer(rows: Rows) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=up, color=colour)

    level = alt.Chart(alt.InlineData(values=[{"y": CORES}]))
    layers = [
        level.mark_rule(color=GREY, strokeDash=list(DASHED)).encode(y=up),
        layer(lines).mark_line(strokeWidth=2.0),
        layer(dots).mark_point(filled=True, size=60, opacity=1.0),
        layer(words).mark_text(align="left", fontSize=13).encode(text="text:N"),
    ]
    title = titled("Where scheduler or client become the bottleneck, T = 10¹²")
    saved(styled(alt.layer(*layers).properties(width=560, height=380, title=title)), path)


PARTS = {
    "speed": speed,
    "memory": memory,
    "overhead": overhead,
    "blocks": blocks,
    "many": many,
    "docs": docs,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(*sys.argv[2:])
        sys.exit()
    if unknown := set(sys.argv[1:]) - set(PARTS):
        sys.exit(f"unknown part {unknown.pop()!r}; choose from {', '.join(PARTS)}")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
