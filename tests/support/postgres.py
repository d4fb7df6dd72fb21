"""A PostgreSQL server of its own in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import select
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def binaries() -> Path | None:
    """Return the folder with `initdb` and `pg_ctl`, the newest of Debian's if they are not on the path."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in versions), key=lambda path: int(path.parent.name), default=None)


def owner() -> str | None:
    """Return the user under which the server runs, since it refuses to run as root; None for this one."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def crash(bin_folder: Path, folder: str) -> None:
    """Have the server in a folder crash and start again."""
    command = [str(bin_folder / "pg_ctl"), "-D", f"{folder}/data", "-w", "-m", "immediate", "-l", f"{folder}/log"]
    subprocess.run([*command, "restart"], check=True, user=owner(), cwd=folder, stdout=subprocess.DEVNULL, timeout=120)


@contextmanager
def server(bin_folder: Path) -> Iterator[str]:
    """Start a server; the value is what `psycopg.connect` takes."""
    user = owner()
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        if user is not None:
            shutil.chown(folder, user)

        def run(program: str, *arguments: str) -> None:
            command = [str(bin_folder / program), "-D", f"{folder}/data", *arguments]
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=120)

        run("initdb", "--auth=trust", "--username=test", "--encoding=UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"host={folder} user=test dbname=postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


class Proxy:
    """A socket in front of the socket of a server, which can break connections and refuse new ones.

    `cut` is when the next connection breaks that commits: "before" the server has the statement, or "after" it has
    done it, so that its answer is lost; `away` is whether new connections are refused from then on.
    """

    def __init__(self, server: str, folder: str) -> None:
        self.cut, self.away, self.cuts = "", False, 0
        self._server = f"{server}/.s.PGSQL.5432"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{folder}/.s.PGSQL.5432")
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.away:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if ready is client and self.cut and b"\0commit\0" in data:
                        if self.cut == "after":
                            server.sendall(data)
                            server.recv(1 << 16)
                        self.cut, self.cuts = "", self.cuts + 1
                        return
                    (server if ready is client else client).sendall(data)

    def close(self) -> None:
        """Accept no more connections."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
