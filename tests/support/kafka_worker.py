"""Monitors of topics in processes of their own, to be killed and stopped: a script that forks a worker for each order.

An order has `state`, `log` (a file that has what it logs), `source` (the keys of `config.SourceTable`), `shared`,
`at_once`, `cpu`, the processor time after which the worker is killed, and `stop`, the number of the poll after which it
stops itself, with what was polled in its hands. On SIGTERM a worker leaves its group.
"""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

from stream_metrics.monitor import Monitor, config, make_source, open_store
from stream_metrics.monitor.sources import kafka
from support.inner_monitor import SourceError, StaleOwner
from support.kafka_topics import JOINED, KEPT
from support.monitor_events import NOW
from support.orders import Forks, fork_children


class Workers(Forks):
    """Forks workers."""

    script = __file__


def worker(order: dict[str, Any]) -> int:
    """Read topics until told to end, and return the exit status."""
    logging.basicConfig(filename=order["log"], level=logging.WARNING)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    kafka.AT_ONCE = order.get("at_once", 200)
    asked = config.SourceTable(kind="kafka", **order["source"])
    store = open_store(order["state"], order.get("shared", False))
    monitor, source = Monitor(JOINED if asked.labels else KEPT, store, lambda: NOW), make_source(asked)
    if "cpu" in order:
        signal.setitimer(signal.ITIMER_PROF, order["cpu"])
    try:
        source.start(monitor)
        monitor.share()
        polls = 0
        while not stopped:
            records = source.poll(0.1)
            polls += bool(records)
            if records and polls == order.get("stop"):
                os.kill(os.getpid(), signal.SIGSTOP)
            try:
                monitor.step(records)
                monitor.leads()
            except StaleOwner as stale:
                logging.getLogger("worker").warning("stale %d", stale.part)
        source.close()
        monitor.close()
    except SourceError as error:
        logging.getLogger("worker").error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    fork_children(worker)
