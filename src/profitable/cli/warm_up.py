"""`profitable warm-up`: compile everything, for a container image or a server."""

import time

import typer

EXAMPLE = "profitable warm-up"


def warm_up() -> None:
    """Compile everything now, so that later commands start fast. Useful for a container image or a server."""
    from profitable.common.progress import Progress
    from profitable.kernels.compile import cache_folder, compiled_so_far
    from profitable.simulation.warm_up import steps

    start, work = time.process_time(), list(steps())
    with Progress(total=len(work), title="warming up") as bar:
        for done, (name, step) in enumerate(work):
            bar.update(done, title=f"{done + 1} of {len(work)}: {name}")
            step()
    folder, seconds, number = cache_folder(), time.process_time() - start, compiled_so_far()
    if folder is None:
        typer.echo(f"Compiled {number} functions, but found no folder to keep them in; set NUMBA_CACHE_DIR.")
    elif number == 0:
        typer.echo(f"Everything is already compiled, in {folder}.")
    else:
        typer.echo(f"Compiled {number} functions in {seconds:.0f} seconds of CPU time; they are kept in {folder}.")
