"""``stream-metrics run`` on URLs, through fsspec: its file system in memory, a web server, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import random
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import stream_metrics as sm
from stream_metrics.cli import storage

fsspec = pytest.importorskip("fsspec", reason="needs fsspec")

RNG = random.Random(2)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(500)]


def lines(pairs, form):
    """Return pairs as the bytes of CSV or JSON Lines."""
    if form == "csv":
        return ("y_true,y_pred\n" + "".join(f"{a},{b}\n" for a, b in pairs)).encode()
    return "".join(json.dumps({"y_true": a, "y_pred": b}) + "\n" for a, b in pairs).encode()


def table(pairs, path, form):
    """Write pairs as Parquet or Arrow to a local path."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    columns = pa.table({"y_true": [a for a, _ in pairs], "y_pred": [b for _, b in pairs]})
    if form == "parquet":
        pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet").write_table(
            columns, path, row_group_size=40
        )
    else:
        pytest.importorskip("pyarrow.feather", reason="needs pyarrow with Feather").write_feather(columns, str(path))
    return path.read_bytes()


def counted(pairs):
    """Return the bytes of a state that has counted pairs."""
    state = sm.MetricSet()
    state.update_many([a for a, _ in pairs], [b for _, b in pairs])
    return state.to_bytes()


@pytest.fixture
def memory():
    """Return the file system in memory, empty, and leave it so."""
    system = fsspec.filesystem("memory")
    for _ in range(2):
        system.store.clear()
        system.pseudo_dirs[:] = [""]
        if _ == 0:
            yield system


def content(pairs, form, tmp_path):
    """Return pairs in a format."""
    if form == "csv.gz":
        return gzip.compress(lines(pairs, "csv"))
    return lines(pairs, form) if form in ("csv", "jsonl") else table(pairs, tmp_path / "table", form)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_files_folders_and_patterns(cli, tmp_path, memory, form):
    """What works with paths works with URLs: formats by name, folders, patterns, hidden parts, repeated runs."""
    for at, name in enumerate(("data/a", "data/k=1/b", "data/_h=2/c")):
        memory.pipe(f"/{name}.{form}", content(PAIRS[at::3], form, tmp_path))
    memory.pipe(f"/data/_temporary/0/d.{form}", b"no data")
    memory.pipe("/data/_SUCCESS", b"")
    state = tmp_path / "s"
    ways = {
        ("memory://data",): PAIRS,
        ("memory://data/",): PAIRS,
        ("memory://data/**",): PAIRS,
        (f"memory://data/**/*.{form}",): PAIRS,
        (f"memory://data/k=*/*.{form}", f"memory://data/a.{form}"): PAIRS[0::3] + PAIRS[1::3],
        (f"memory:///data/k=1/b.{form}",): PAIRS[1::3],
    }
    for paths, pairs in ways.items():
        result = cli("run", *paths, "--state", state)

        assert (result.status, result.err) == (0, "")
        assert counted(pairs) == state.read_bytes()
        again = cli("run", *paths, "--resume", state, "--state", state)
        assert "counted before, and not counted again" in again.err
        assert counted(pairs) == state.read_bytes()


def test_partitions_and_mixed_places(cli, tmp_path, memory):
    """Partitions of a URL are fields, and local files are counted beside it."""
    memory.pipe("/data/land=fi/a.csv", lines(PAIRS[:9], "csv"))
    (tmp_path / "land=de").mkdir()
    (tmp_path / "land=de" / "a.csv").write_bytes(lines(PAIRS[9:20], "csv"))

    result = cli("run", "memory://data", tmp_path / "land=de", "--by", "land", "--format", "json")

    groups = json.loads(result.out)["groups"]
    assert {name: group["n"] for name, group in groups.items()} == {"fi": 9, "de": 11}


def test_one_file_by_two_urls(cli, tmp_path, memory):
    """A file in a folder and the same file by its own URL are one, in a run and in the list of counted files."""
    folder = "memory://one"
    with fsspec.open(f"{folder}/a.jsonl", "wb") as file:
        file.write(lines(PAIRS[:9], "jsonl"))
    twice = cli("run", folder, f"{folder}/a.jsonl")
    assert (twice.status, "counted twice" in twice.err) == (2, True)
    cli("run", folder, "--state", tmp_path / "s")
    again = cli("run", f"{folder}/a.jsonl", "--resume", tmp_path / "s", "--state", tmp_path / "t")
    assert "1 file counted before" in again.err
    assert (tmp_path / "t").read_bytes() == (tmp_path / "s").read_bytes()


def test_changed_files(cli, tmp_path, memory):
    """A file that was written again is recognised by its size or version."""
    for data in (lines(PAIRS[:10], "csv"), lines(PAIRS[:10][::-1], "csv"), lines(PAIRS[:11], "csv")):
        memory.pipe("/a.csv", data)
        result = cli("run", "memory://a.csv", *(["--resume", tmp_path / "s"] * (tmp_path / "s").exists()))
        if not (tmp_path / "s").exists():
            cli("run", "memory://a.csv", "--state", tmp_path / "s")
            continue

        assert (result.status, result.out) == (1, "")
        assert "since it was counted" in result.err


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json", ".hoodie/x"])
def test_tables_behind_a_url(cli, memory, log):
    """A table is recognised there as well; what deltalake cannot open ends the run."""
    for name in (log, "a.csv", "k=1/b.csv"):
        memory.pipe(f"/lake/table/{name}", lines(PAIRS, "csv"))

    for named in ("lake", "lake/table", "lake/table/a.csv", "lake/table/k=1", "lake/table/**/*.csv"):
        result = cli("run", f"memory://{named}")

        assert result.status in (1, 2)
        assert result.out == ""
        assert result.err.count("\n") == 1


class Whole(SimpleHTTPRequestHandler):
    """A web server that sends whole files only and logs nothing."""

    def log_message(self, *arguments):
        """Print nothing."""


class Ranges(Whole):
    """A web server that sends the bytes that are asked for."""

    def do_GET(self):
        """Answer a request."""
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        path = self.translate_path(self.path)
        if not asked or self.path.endswith("/"):
            super().do_GET()
            return
        with open(path, "rb") as file:
            data = file.read()
        first, last = asked.split("-")
        some = data[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(some)))
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(some) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(some)


@pytest.fixture(params=[Whole, Ranges])
def web(tmp_path, request):
    """Return the address of a web server, and the folder that it serves."""
    pytest.importorskip("aiohttp", reason="needs aiohttp")
    folder = tmp_path / "web"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(request.param, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()
    thread.join()
    fsspec.filesystem("http").clear_instance_cache()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_web(cli, tmp_path, web, form):
    """Files of a web server, with ranges and without, also with a query; a folder as it lists it."""
    address, folder = web
    (folder / f"a.{form}").write_bytes(content(PAIRS[:300], form, tmp_path))
    (folder / f"b.{form}").write_bytes(content(PAIRS[300:], form, tmp_path))
    ways = {
        (f"{address}/a.{form}",): PAIRS[:300],
        (f"{address}/a.{form}?version=1&x=[2]",): PAIRS[:300],
        (f"{address}/a.{form}", f"{address}/b.{form}"): PAIRS,
        (f"{address}/",): PAIRS,
    }
    for paths, pairs in ways.items():
        for jobs in "12" if form == "parquet" else "1":
            result = cli("run", *paths, "--state", tmp_path / "s", "--jobs", jobs)

            assert (result.status, result.err) == (0, "")
            assert counted(pairs) == (tmp_path / "s").read_bytes()


def test_large_files_of_the_web(cli, tmp_path, web):
    """More than one block of lines and of a table is read from both servers."""
    address, folder = web
    pairs = PAIRS * 2500
    (folder / "a.csv").write_bytes(b"y_true,y_pred\n" + lines(pairs, "csv")[14:].replace(b"\n", b" " * 9 + b"\n"))
    assert (folder / "a.csv").stat().st_size > 12 << 20

    result = cli("run", f"{address}/a.csv", "--format", "json")

    assert json.loads(result.out)["n"] == len(pairs)


def test_a_version_from_the_web(cli, tmp_path, web):
    """The time of the last change, or the size, tells a file that has changed."""
    address, folder = web
    (folder / "a.csv").write_bytes(lines(PAIRS[:9], "csv"))
    cli("run", f"{address}/a.csv", "--state", tmp_path / "s")
    assert "1 file counted before" in cli("run", f"{address}/a.csv", "--resume", tmp_path / "s").err

    (folder / "a.csv").write_bytes(lines(PAIRS[:10], "csv"))
    result = cli("run", f"{address}/a.csv", "--resume", tmp_path / "s")
    assert (result.status, result.out) == (1, "")
    assert "has grown since it was counted" in result.err


def test_what_is_not_there(cli, memory, web):
    """A wrong name, a wrong server, an unknown scheme: one line, and no result."""
    address, _ = web
    wrong = {
        "memory://nothing.csv": 1,
        "memory://nothing/*.csv": 1,
        f"{address}/nothing.csv": 1,
        f"{address}/nothing.parquet": 1,
        "http://127.0.0.1:9/a.csv": 1,
        "http://127.0.0.1:9/*.csv": 1,
        "http://127.0.0.1:9/": 1,
        "nonsense://a.csv": 2,
    }
    for url, status in wrong.items():
        result = cli("run", url, "--input", "parquet" if url.endswith("t") else "csv")

        assert (result.status, result.out) == (status, "")
        assert url in result.err
        assert result.err.count("\n") == 1


def test_files_by_url(cli, tmp_path):
    """A file:// URL is the local path, quoted or not."""
    (tmp_path / "a b.csv").write_bytes(lines(PAIRS, "csv"))

    for url in ((tmp_path / "a b.csv").as_uri(), f"file://{tmp_path}/a b.csv", f"file://{tmp_path}/*.csv"):
        assert json.loads(cli("run", url, "--format", "json").out)["n"] == len(PAIRS)


def test_archives(cli, tmp_path):
    """A chain of URLs reads a file in an archive."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in/a.csv", lines(PAIRS, "csv"))

    result = cli("run", f"zip://in/a.csv::{tmp_path}/a.zip", "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert counted(PAIRS) == (tmp_path / "s").read_bytes()


def test_without_fsspec(cli, monkeypatch):
    """The extra is named, and so is the package of a scheme that fsspec needs."""
    monkeypatch.setitem(sys.modules, "s3fs", None)
    missing = cli("run", "s3://bucket/a.csv")
    assert (missing.status, missing.out) == (2, "")
    assert "s3fs" in missing.err

    storage._remote.cache_clear()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    result = cli("run", "s3://bucket/a.csv")
    storage._remote.cache_clear()
    assert (result.status, result.out) == (2, "")
    assert 'pip install "stream-metrics[remote]"' in result.err
