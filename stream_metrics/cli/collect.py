"""stream-metrics collect: workers report their states, which are merged, stored and shown."""

from __future__ import annotations

import argparse
import logging
import threading
from pathlib import Path

from stream_metrics.cli import logs, options
from stream_metrics.cli.errors import LISTING, CliError, UsageError, taken_addresses, usage
from stream_metrics.monitor.serve.sockets import handled_signals

LOG = logging.getLogger("stream_metrics.collector")


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    add = options.add_command(commands, name, execute).add_argument
    add("--store", metavar="FILE", required=True, help="SQLite file; created if it does not exist")
    about = "where workers report and the page is; port 0 takes a free one (default: %(default)s)"
    add("--listen", metavar="HOST:PORT", default="127.0.0.1:9900", help=about)
    add("--token-file", metavar="FILE", help="file with the token of workers and readers")
    about = "names of this server in addresses, such as of a proxy"
    add("--names", metavar="N1,N2", type=options.texts, default=[], help=about)
    add("--health", metavar="HOST:PORT", default="", help="where /healthz and /readyz are answered to everybody")
    add("--title", default="workers", help="title of the page (default: %(default)s)")
    add("--metrics", type=options.keys, metavar="K1,K2", help=f"the metrics of the headline; {LISTING}")
    add("--expect", metavar="W1,W2", type=options.texts, default=[], help="workers that are missing unless they report")
    add("--report-to", metavar="URL", help="collector that the total is reported to, under --title")
    add("--expect-file", metavar="FILE", help="file with the names of such workers, one in a line")
    for option, default, about in (
        ("--silent", "3m", "time without a report after which a worker is shown as silent"),
        ("--retire", "1d", "time without a report after which a worker is retired"),
        ("--forget", "7d", "time without a report after which a retired worker cannot come back"),
    ):
        add(option, metavar="TIME", type=options.length, default=default, help=f"{about} (default: {default})")
    logs.add(add)


def execute(arguments: argparse.Namespace) -> int:
    """Merge, store and show the states that workers report.

    Workers report with sm.Reporter("http://HOST:PORT", state). A report is answered
    when it is in the file, which survives a kill at any instant: nothing that was
    answered is lost, and nothing is counted twice. The page, /metrics (Prometheus),
    /api/snapshot (JSON) and /api/state (the merged state) are at the same address.

    A worker that has not reported for --silent is shown as silent; its counts stay.
    After --retire it is shown no longer. If it reports again within --forget, it goes
    on as if it had not been away.

    Beyond this machine a token is needed, in the file --token-file or in the
    environment: STREAM_METRICS_TOKEN_FILE or STREAM_METRICS_TOKEN. There is no TLS:
    put a proxy in front of it where the network is not trusted.

    examples:
      stream-metrics collect --store agg.sqlite --listen 127.0.0.1:9900
      stream-metrics collect --store agg.sqlite --listen 0.0.0.0:9900 --token-file token
      stream-metrics collect --store agg.sqlite --expect pod-0,pod-1,pod-2
      curl -o total.state http://127.0.0.1:9900/api/state; stream-metrics show total.state
    """
    return logs.run(_execute, arguments)


def _execute(arguments: argparse.Namespace, lines: logs.LineHandler) -> int:
    from stream_metrics.collector.collector import Options
    from stream_metrics.collector.reporter import read_token
    from stream_metrics.monitor.serve.sockets import split_address

    try:
        from stream_metrics.collector.service import TITLE, Service
    except ModuleNotFoundError:
        raise UsageError('collect needs Starlette and uvicorn: pip install "stream-metrics[monitor]"') from None

    if arguments.report_to is not None and arguments.title == TITLE:
        raise UsageError("--report-to needs a --title of its own, which is the name of this collector there")
    with usage():
        service = Service(
            arguments.store,
            *split_address(arguments.listen),
            token=read_token(None, arguments.token_file),
            title=arguments.title,
            expected=[*arguments.expect, *_lines(arguments.expect_file)],
            options=Options(arguments.silent, arguments.retire, arguments.forget),
            names=arguments.names,
            health=arguments.health,
            report_to=arguments.report_to,
            **({} if arguments.metrics is None else {"metrics": arguments.metrics}),
        )
    stop = threading.Event()
    with lines.logged(), handled_signals(stop.set):
        with taken_addresses(arguments.listen):
            address = service.start()
        try:
            LOG.info("workers report to %s, where the page is, too", address)
            stop.wait()
        finally:
            service.close()
    return 0


def _lines(path: str | None) -> list[str]:
    """Return the names in a file."""
    if path is None:
        return []
    try:
        return [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise CliError(f"{path}: expected names in UTF-8") from None
