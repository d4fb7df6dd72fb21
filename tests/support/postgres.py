"""A PostgreSQL server of its own in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
