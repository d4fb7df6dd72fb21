"""``stream-metrics run`` on URLs, through fsspec: its file system in memory, a web server, and what goes wrong."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.command_line import as_csv, as_json_lines, of_pairs, refusal, run_json, saved, write_parquet

fsspec = pytest.importorskip("fsspec", reason="needs fsspec")

RNG = random.Random(2)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(500)]
FORMS = ["csv", "csv.gz", "jsonl", "parquet", "arrow"]


def content(pairs, form, tmp_path):
    """Return pairs as the bytes of a file in a format."""
    columns, path = {"y_true": [a for a, _ in pairs], "y_pred": [b for _, b in pairs]}, tmp_path / f"table.{form}"
    if form == "parquet":
        write_parquet(path, columns, 40)
    elif form == "arrow":
        pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
        feather = pytest.importorskip("pyarrow.feather", reason="needs pyarrow with Feather")
        feather.write_feather(pa.table(columns), str(path))
    elif form == "jsonl":
        path.write_bytes(as_json_lines({"y_true": a, "y_pred": b} for a, b in pairs))
    else:
        path.write_bytes(gzip.compress(as_csv(pairs)) if form == "csv.gz" else as_csv(pairs))
    return path.read_bytes()


@pytest.fixture
def memory():
    """Return the file system in memory, empty, and leave it so."""
    system = fsspec.filesystem("memory")
    for _ in range(2):
        system.store.clear()
        system.pseudo_dirs[:] = [""]
        if _ == 0:
            yield system


@pytest.mark.parametrize("form", FORMS)
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
        assert (result.status, result.err, state.read_bytes()) == (0, "", of_pairs(pairs))
        again = cli("run", *paths, "--resume", state, "--state", state)
        assert "counted before, and not counted again" in again.err
        assert of_pairs(pairs) == state.read_bytes()


def test_partitions_and_mixed_places(cli, tmp_path, memory):
    """Partitions of a URL are fields, local files are counted beside it; one file by two URLs is one."""
    memory.pipe("/data/land=fi/a.csv", as_csv(PAIRS[:9]))
    (tmp_path / "land=de").mkdir()
    (tmp_path / "land=de" / "a.csv").write_bytes(as_csv(PAIRS[9:20]))
    groups = run_json("run", "memory://data", tmp_path / "land=de", "--by", "land")["groups"]
    assert {name: group["n"] for name, group in groups.items()} == {"fi": 9, "de": 11}

    folder, file, state = "memory://data", "memory://data/land=fi/a.csv", tmp_path / "s"
    twice = cli("run", folder, file)
    assert (twice.status, "counted twice" in twice.err) == (2, True)
    cli("run", folder, "--state", state)
    again = cli("run", file, "--resume", state, "--state", tmp_path / "t")
    assert "1 file counted before" in again.err
    assert (tmp_path / "t").read_bytes() == state.read_bytes()


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


@pytest.mark.parametrize("form", FORMS)
def test_web(tmp_path, web, form):
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
            assert saved(*paths, "--jobs", jobs) == of_pairs(pairs), paths


def test_large_and_changed_files_of_the_web(cli, tmp_path, web):
    """More than one block is read; the time of the last change, or the size, tells a file that has changed."""
    address, folder = web
    file, url, state = folder / "a.csv", f"{address}/a.csv", tmp_path / "s"
    file.write_bytes(b"y_true,y_pred\n" + as_csv(PAIRS * 2500)[14:].replace(b"\n", b" " * 9 + b"\n"))
    assert file.stat().st_size > 12 << 20
    assert run_json("run", url)["n"] == len(PAIRS) * 2500

    file.write_bytes(as_csv(PAIRS[:9]))
    cli("run", url, "--state", state)
    assert "1 file counted before" in cli("run", url, "--resume", state).err
    file.write_bytes(as_csv(PAIRS[:10]))
    result = cli("run", url, "--resume", state)
    assert (result.status, result.out, "has grown since it was counted" in result.err) == (1, "", True)


def test_what_is_not_there(memory, web):
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
        assert url in refusal("run", url, "--input", "parquet" if url.endswith("t") else "csv", status=status)


def test_local_files_by_url(tmp_path):
    """A file:// URL is the local path, quoted or not; a chain of URLs reads a file in an archive."""
    (tmp_path / "a b.csv").write_bytes(as_csv(PAIRS))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in/a.csv", as_csv(PAIRS))

    urls = [(tmp_path / "a b.csv").as_uri(), f"file://{tmp_path}/a b.csv", f"file://{tmp_path}/*.csv"]
    for url in (*urls, f"zip://in/a.csv::{tmp_path}/a.zip"):
        assert saved(url) == of_pairs(PAIRS), url


def test_without_fsspec(monkeypatch):
    """The extra is named, and so is the package of a scheme that fsspec needs."""
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert "s3fs" in refusal("run", "s3://bucket/a.csv", status=2)

    code = "import sys; sys.modules['fsspec'] = None; from stream_metrics.cli.main import main; sys.exit(main())"
    order = [sys.executable, "-c", code, "run", "s3://bucket/a.csv"]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert 'pip install "stream-metrics[remote]"' in done.stderr
