"""All options of a monitor with their defaults; one class for each table of the TOML file.

A monitor is configured by a TOML file, by flags that are named like its keys (`--join-ttl`), or by these classes.
Times and lengths of time are texts such as "30s", "5m", "1h", "7d"; `${VAR}` in a text is an environment variable. What
each key means is part of its field, since help, the commented example and this file must say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from stream_metrics.inputs.field_names import GROUP, ID, SCORES, TIME, WEIGHT, Y_PRED, Y_TRUE

__all__ = ["Alerts", "Config", "Counting", "Fields", "Join", "Serve", "Source", "Store"]

T = TypeVar("T")


def _key(default: T, meaning: str, *allowed: object, shown: bool = True) -> T:
    """Return the field of a key; `allowed` are all values that it may have, if they can be listed."""
    key: T = field(default=default, repr=shown, metadata={"meaning": meaning, "allowed": allowed})
    return key


@dataclass(frozen=True)
class Source:
    """Where records come from."""

    kind: str = _key("file", "where records come from", "file", "stdin", "kafka", "memory")
    path: str = _key("", "the file of JSON Lines; - is standard input")
    follow: bool = _key(False, "wait for more at the end of the file")
    idle: str = _key("5m", "without an event for so long, or for the shortest window, the source counts as silent")
    servers: str = _key("127.0.0.1:9092", "addresses of the Kafka brokers; this and what follows is of Kafka")
    group: str = _key("stream-metrics", "the consumer group")
    predictions: str = _key("", "the topic of predictions, or of predictions and labels")
    labels: str = _key("", "the topic of labels, if they have their own")
    truncated: str = _key("fail", "if records were deleted unread: fail, or go on and report it", "fail", "reset")
    options: dict[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata={"meaning": "passed to the Kafka client; NAME_file reads the value from a file", "allowed": ()},
    )


@dataclass(frozen=True)
class Fields:
    """The fields of an event, nested ones with dots.

    An event may lack any but the id, and one of the default name too if it has both a truth and a prediction. `truth`
    and `prediction` are read where an event lacks `y_true` and `y_pred`; see ``stream_metrics.inputs.field_names``.
    """

    decoder: str = _key("json", "json, or the name of an entry point in the group stream_metrics.decoders")
    id: str = _key(ID, "event ID, which joins a prediction and its label; nested fields have dots")
    time: str = _key(TIME, "field of the time of the event: seconds since 1970, or ISO 8601")
    truth: str = _key(Y_TRUE, "field of the label; y_true may also be spelled truth")
    prediction: str = _key(Y_PRED, "field of the predicted class; y_pred may also be spelled prediction")
    scores: str = _key(SCORES, "field of the scores by class")
    weight: str = _key(WEIGHT, "field of the sample weight")
    group: str = _key(GROUP, "field of the group, such as a country")


@dataclass(frozen=True)
class Join:
    """How long predictions wait for labels, and labels for predictions."""

    ttl: str = _key("7d", "how long a prediction waits for its label, by the time of events")
    keep_joined: str = _key("1h", "how long joined pairs are kept, to recognise duplicates and corrections")
    keep_ids: str = _key("2d", "how long ids are remembered after that, so that a replay is not counted twice; 0s: not")
    max_pending: int = _key(10_000_000, "maximum pending entries; older ones expire early")
    max_joined: int = _key(1_000_000, "maximum joined entries kept; older ones are forgotten early")
    max_ids: int = _key(20_000_000, "maximum ids remembered, 9 bytes each on disk, up to 80 in memory")
    in_memory: int = _key(250_000, "pending entries kept in memory; older ones are in the state file only")
    ahead: str = _key("10m", "an event that is further ahead of the clock is rejected")
    votes: int = _key(256, "the last events of a partition that tell its time, a quarter of them; 1 trusts every clock")
    due: str = _key("0s", "the age from which a prediction should have a label: what coverage is measured of")


@dataclass(frozen=True)
class Counting:
    """What is counted."""

    title: str = _key("model", "the name of the model, as it is shown")
    scores: bool | str = _key(False, "count scores: true for probabilities, any for other numbers", False, True, "any")
    pos_label: object = _key(True, "the class whose score a single number is")
    labels: tuple[object, ...] = _key((), "the classes, if they are fixed; without, as they come")
    windows: tuple[str, ...] = _key(("1h", "1d"), "the windows, in addition to the total since the start")
    panes: int = _key(60, "the number of steps in which a window moves")
    clock: str = _key("label", "whether windows use the time of the label or of the prediction", "label", "prediction")
    max_groups: int = _key(100, "maximum groups; all others are counted as one")
    max_classes: int = _key(1000, "maximum classes, the first that come; all others are counted as one")
    reference: str = _key("", "the window that is compared with from then on, once it was full: its first, such as 1d")
    metrics: tuple[str, ...] = _key((), "the metrics of the headline; none: those that suit how rare classes are")


@dataclass(frozen=True)
class Store:
    """Where states and offsets are kept: one SQLite file, or a PostgreSQL database."""

    path: str = _key(
        "monitor.sqlite", "a state file or postgresql:// address; read once, a source has one on request", shown=False
    )
    every_seconds: float = _key(1.0, "seconds between two checkpoints; these take at most a tenth of the time")
    every_events: int = _key(10_000, "records between two checkpoints")
    shared: bool = _key(False, "several workers of a group keep their partitions in this file")
    retention: tuple[str, ...] = _key(
        ("1m for 2d", "1h for 90d", "1d"),
        "counts by time, for queries of any range: panes of a length, for so long, then longer ones; []: none",
    )
    export: str = _key("", "a file to which the merged state is written, whole or not at all, every minute")


@dataclass(frozen=True)
class Serve:
    """The page and its interfaces."""

    host: str = _key("127.0.0.1", "where the page is served")
    port: int = _key(8765, "its port; 0 takes a free one")
    socket: str = _key("", "a Unix socket instead")
    token: str = _key("", 'needed for a host beyond loopback; better from a file, or "${VAR}"', shown=False)
    token_file: str = _key("", "a file that has the token")
    names: tuple[str, ...] = _key((), "names of this server in addresses beside its host, such as that of a proxy")
    health: str = _key("", "HOST:PORT of /healthz and /readyz alone, for everybody, such as 0.0.0.0:8766")
    max_classes: int = _key(50, "maximum classes in Prometheus; all others are one")
    max_groups: int = _key(50, "maximum groups in Prometheus; all others are one")
    matrix: bool = _key(False, "export the whole confusion matrix, up to 10 classes")


@dataclass(frozen=True)
class Alerts:
    """Alert rules, and where alerts are sent."""

    rules: tuple[str, ...] = _key((), "such as 'balanced_accuracy[1h] < 0.8 for 5m', 'changed(accuracy) arl=10000'")
    defaults: bool = _key(True, "also fire if over 1 % of records are rejected, or if labels differ in type")
    webhook: str = _key("", "an address to which alerts are posted as JSON; it may hold a secret", shown=False)
    webhook_file: str = _key("", "a file that has the address")
    authorization: str = _key("", 'the header Authorization of these, such as "Bearer ${TOKEN}"', shown=False)
    authorization_file: str = _key("", "a file that has the header")
    retry: str = _key("1d", "how long an alert is tried again that did not arrive")
    log: bool = _key(True, "write alerts to the log")


@dataclass(frozen=True)
class Config:
    """The whole configuration."""

    source: Source = Source()
    fields: Fields = Fields()
    join: Join = Join()
    counting: Counting = Counting()
    store: Store = Store()
    serve: Serve = Serve()
    alerts: Alerts = Alerts()
