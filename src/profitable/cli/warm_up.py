"""`profitable warm-up`: compile everything, for an image or a server."""

import time

import typer

EXAMPLE = "profitable warm-up"


def warm_up() -> None:
    """Compile every kernel now, so that nobody waits for it later: for an image or a server."""
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
        typer.echo(f"compiled {number} functions, but no folder can be written to keep them; set NUMBA_CACHE_DIR.")
    elif number == 0:
        typer.echo(f"Everything is compiled already, in {folder}.")
    else:
        typer.echo(f"Compiled {number} functions in {seconds:.0f} seconds of CPU time; they are kept in {folder}.")
