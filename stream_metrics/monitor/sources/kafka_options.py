"""What the consumer of a monitor may be told, and which partitions one worker may have.

The offsets of the store decide where reading goes on, never those that Kafka keeps: `enable.auto.commit` is off, and
`auto.offset.reset` only says where a partition begins of which nothing was ever counted. Beyond that `options` goes to
the client as it is: security, static membership, `group.protocol`, how much is fetched ahead.

The client fetches while records are counted, until 100,000 records (`queued.min.messages`) or 64 MiB
(`queued.max.messages.kbytes`) wait, and at most one answer of each broker more (`fetch.max.bytes`, 50 MiB). Then it
pauses. A monitor counts 100,000 records in less than the second for which the client pauses by default, and would wait
for the rest of it.

A join keeps its state by partition number, so one worker must have the same partitions of both topics. The assignor
`range` sees to it; `roundrobin`, `cooperative-sticky` and the `uniform` of KIP-848 do not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor import config
from stream_metrics.monitor.config.reading import is_secret_option

OURS = {"bootstrap.servers": "servers", "group.id": "group"}
FIXED = {"enable.auto.commit": False, "auto.offset.reset": "error", "enable.partition.eof": True}
PREFETCH = {"fetch.queue.backoff.ms": 50}  # unless `options` says otherwise
FIRST = ("earliest", "latest")
PROTOCOL, STRATEGY, ASSIGNOR = "group.protocol", "partition.assignment.strategy", "group.remote.assignor"


class SourceError(StreamMetricsError):
    """Records cannot be read, and why."""


def topics(source: config.SourceTable) -> list[str]:
    """Return the topics to read; ``ValueError`` if there is none."""
    if not source.predictions:
        raise ValueError("Expected `predictions` to name a topic, but got ''")
    return list(dict.fromkeys([source.predictions, source.labels or source.predictions]))


def first(source: config.SourceTable) -> str:
    """Return where a partition begins of which nothing was counted: "earliest", the default, or "latest"."""
    policy = source.options.get("auto.offset.reset", FIRST[0])
    if policy not in FIRST:
        raise ValueError(f"Expected `auto.offset.reset` in `options` to be one of {list(FIRST)}, but got {policy!r}")
    return policy


def consumer_options(source: config.SourceTable) -> dict[str, object]:
    """Return the configuration of the client.

    Raises ``ValueError`` for options that are not to be chosen, and for assignors that keep two topics apart.
    """
    options: dict[str, object] = dict(source.options)
    for name, key in OURS.items():
        if name in options:
            raise ValueError(f"Expected `options` to leave {name!r} to `{key}`, but got {options[name]!r}")
    if str(options.get("enable.auto.commit", False)).lower() != "false":
        raise ValueError("Expected `enable.auto.commit` in `options` to be false: the offsets of the store decide")
    if len(topics(source)) == 2:
        name = ASSIGNOR if options.get(PROTOCOL) == "consumer" else STRATEGY
        if options.setdefault(name, "range") != "range":
            raise ValueError(
                f"Expected {name!r} in `options` to be 'range', but got {options[name]!r}, which would not give one "
                f"worker the same partitions of {source.predictions!r} and {source.labels!r}"
            )
    return {**PREFETCH, **options, **{name: getattr(source, key) for name, key in OURS.items()}, **FIXED}


def incremental(options: Mapping[str, object]) -> bool:
    """Return whether a rebalance changes single partitions, rather than assigning all of them again."""
    return options.get(PROTOCOL) == "consumer" or "cooperative" in str(options.get(STRATEGY, ""))


def checked(names: Collection[str], partitions: Collection[tuple[str, int]]) -> None:
    """Raise ``SourceError`` unless every topic of `names` has the same `partitions`, pairs of (topic, partition)."""
    numbers = {name: sorted(number for topic, number in partitions if topic == name) for name in names}
    if len(set(map(tuple, numbers.values()))) > 1:
        had = " and ".join(f"{count} of {name!r}" for name, count in numbers.items())
        raise SourceError(
            f"Expected the same partitions of both topics, since each is joined with its own labels, but got {had}; "
            f"every worker of the group has to use the assignor range, and the topics need equally many partitions"
        )


def hidden(text: object, options: Mapping[str, object]) -> str:
    """Return a text without the passwords that are among the options."""
    result = str(text)
    for name, value in options.items():
        if is_secret_option(name) and value:
            result = result.replace(str(value), "***")
    return result
