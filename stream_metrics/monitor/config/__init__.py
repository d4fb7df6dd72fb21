"""All options of a monitor with their types, ranges, defaults and meanings; one class for each table of the TOML file.

A monitor is configured by a TOML file, by flags that are named like its keys (`--join-ttl`), or by these classes.
Times and lengths of time are texts such as "30s", "5m", "1h", "7d"; `${VAR}` in a text is an environment variable. What
each key means is part of its type, since help, the commented example and this file must say the same.

`reading` makes a configuration of TOML and flags, and `secrets` replaces variables. Types, ranges and lengths of time
are checked whenever a table is made (see `checking`); all else is checked where a value is used.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field, structs

from stream_metrics.catalog.table import ALIASES
from stream_metrics.errors import with_article
from stream_metrics.inputs.arguments import GROUP, ID, SCORES, TIME, WEIGHT, Y_PRED, Y_TRUE
from stream_metrics.monitor.config.checking import ConfigError, ConfigKey, checked, keys_of

__all__ = [
    "AlertsTable", "Config", "ConfigError", "ConfigKey", "CountingTable", "FieldsTable", "JoinTable", "ServeTable",
    "SourceTable", "StoreTable", "keys",
]  # fmt: skip

LARGEST = 2**63 - 1
ABOVE, LEAST, RULE = "above 0", "of at least 0", "rule"  # lengths of time
Texts: TypeAlias = tuple[str, ...]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
Label: TypeAlias = Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST)] | float | bool | str


def _is(meaning: str, *, secret: bool = False, shown: bool = True, length: str = "") -> Meta:
    """Return what a key means; a value that is not `shown`, as no secret is, is in no error and no `repr`."""
    return Meta(description=meaning, extra={"secret": secret, "shown": shown and not secret, "length": length})


class ConfigTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the configuration; its text has no key that may hold a secret."""

    def __post_init__(self) -> None:
        """Check all values, and take each as its type has it."""
        kinds = {each.name: each.type for each in structs.fields(self)}
        for key in keys_of(type(self)):
            value = getattr(self, key.name)
            if (taken := checked(key, kinds[key.name], value)) is not value:
                structs.force_setattr(self, key.name, taken)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = (key.name for key in structs.fields(self) if key.type.__metadata__[-1].extra["shown"])
        return [(name, getattr(self, name)) for name in shown]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


class SourceTable(ConfigTable, frozen=True, kw_only=True):
    """Where records come from."""

    kind: Annotated[Literal["file", "stdin", "kafka", "memory"], _is("where records come from")] = "file"
    path: Annotated[str, _is("the file of JSON Lines; - is standard input")] = ""
    follow: Annotated[bool, _is("wait for more at the end of the file")] = False
    idle: Annotated[
        str, _is("without an event for so long, or for the shortest window, the source counts as silent", length=ABOVE)
    ] = "5m"
    servers: Annotated[str, _is("addresses of the Kafka brokers; this and what follows is of Kafka")] = "127.0.0.1:9092"
    group: Annotated[str, _is("the consumer group")] = "stream-metrics"
    predictions: Annotated[str, _is("the topic of predictions, or of predictions and labels")] = ""
    labels: Annotated[str, _is("the topic of labels, if they have their own")] = ""
    truncated: Annotated[
        Literal["fail", "reset"],
        _is("if records were deleted unread, or the file was replaced: fail, or go on and report it"),
    ] = "fail"
    options: Annotated[
        dict[str, str], _is("passed to the Kafka client; NAME_file reads the value from a file", secret=True)
    ] = field(default_factory=dict)


class FieldsTable(ConfigTable, frozen=True, kw_only=True):
    """The fields of an event, nested ones with dots.

    An event may lack any but the id, and one of the default name too if it has both a truth and a prediction. `truth`
    and `prediction` are read where an event lacks `y_true` and `y_pred`; see ``stream_metrics.inputs.arguments``.
    """

    decoder: Annotated[str, _is("json, or the name of an entry point in the group stream_metrics.decoders")] = "json"
    id: Annotated[str, _is("event ID, which joins a prediction and its label; nested fields have dots")] = ID
    time: Annotated[str, _is("field of the time of the event: seconds since 1970, or ISO 8601")] = TIME
    truth: Annotated[str, _is("field of the label; y_true may also be spelled truth")] = Y_TRUE
    prediction: Annotated[str, _is("field of the predicted class; y_pred may also be spelled prediction")] = Y_PRED
    scores: Annotated[str, _is("field of the scores by class")] = SCORES
    weight: Annotated[str, _is("field of the sample weight")] = WEIGHT
    group: Annotated[str, _is("field of the group, such as a country")] = GROUP


class JoinTable(ConfigTable, frozen=True, kw_only=True):
    """How long predictions wait for labels, and labels for predictions."""

    ttl: Annotated[str, _is("how long a prediction waits for its label, by the time of events", length=ABOVE)] = "7d"
    keep_joined: Annotated[
        str, _is("how long joined pairs are kept, to recognise duplicates and corrections", length=LEAST)
    ] = "1h"
    keep_ids: Annotated[
        str, _is("how long ids are remembered after that, so that a replay is not counted twice; 0s: not", length=LEAST)
    ] = "2d"
    max_pending: Annotated[Count, _is("maximum pending entries; older ones expire early")] = 10_000_000
    max_joined: Annotated[Count, _is("maximum joined entries kept; older ones are forgotten early")] = 1_000_000
    max_ids: Annotated[Count, _is("maximum ids remembered, 9 bytes each on disk, up to 19 in memory")] = 20_000_000
    in_memory: Annotated[Count, _is("pending entries kept in memory; older ones are in the state file only")] = 250_000
    ahead: Annotated[str, _is("an event that is further ahead of the clock is rejected", length=LEAST)] = "10m"
    votes: Annotated[
        int,
        Meta(ge=1, le=65536),
        _is("the last events of a partition that tell its time, a quarter of them; 1 trusts every clock"),
    ] = 256
    due: Annotated[
        str, _is("the age from which a prediction should have a label: what coverage is measured of", length=LEAST)
    ] = "0s"


class CountingTable(ConfigTable, frozen=True, kw_only=True):
    """What is counted."""

    title: Annotated[str, _is("the name of the model, as it is shown")] = "model"
    scores: Annotated[bool | Literal["any"], _is("count scores: true for probabilities, any for other numbers")] = False
    pos_label: Annotated[Label, _is("the class whose score a single number is")] = True
    labels: Annotated[tuple[Label, ...], _is("the classes, if they are fixed; without, as they come")] = ()
    windows: Annotated[Texts, _is("the windows, in addition to the total since the start", length=ABOVE)] = ("1h", "1d")
    panes: Annotated[int, Meta(ge=1, le=1_000_000), _is("the number of steps in which a window moves")] = 60
    clock: Annotated[
        Literal["label", "prediction"], _is("whether windows use the time of the label or of the prediction")
    ] = "label"
    max_groups: Annotated[Positive, _is("maximum groups; all others are counted as one")] = 100
    max_classes: Annotated[Positive, _is("maximum classes, the first that come; all others are counted as one")] = 1000
    reference: Annotated[
        str, _is("the window that is compared with from then on, once it was full: its first, such as 1d")
    ] = ""
    metrics: Annotated[Texts, _is("the metrics of the headline; none: those that suit how rare classes are")] = ()

    def __post_init__(self) -> None:
        """Check all values, and take each metric by the name that the headline shows."""
        super().__post_init__()
        structs.force_setattr(self, "metrics", tuple(ALIASES.get(key, key) for key in self.metrics))


class StoreTable(ConfigTable, frozen=True, kw_only=True):
    """Where states and offsets are kept: one SQLite file, or a PostgreSQL database."""

    path: Annotated[
        str, _is("a state file or postgresql:// address; read once, a source has one on request", shown=False)
    ] = "monitor.sqlite"
    every_seconds: Annotated[
        float, Meta(gt=0), _is("seconds between two checkpoints; these take at most a tenth of the time")
    ] = 1.0
    every_events: Annotated[Count, _is("records between two checkpoints")] = 10_000
    shared: Annotated[bool, _is("several workers of a group keep their partitions in this file")] = False
    retention: Annotated[
        Texts,
        _is(
            "counts by time, for queries of any range: panes of a length, for so long, then longer ones; []: none",
            length=RULE,
        ),
    ] = ("1m for 2d", "1h for 90d", "1d")


class ServeTable(ConfigTable, frozen=True, kw_only=True):
    """The page and its interfaces."""

    host: Annotated[str, _is("where the page is served")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535), _is("its port; 0 takes a free one")] = 8765
    socket: Annotated[str, _is("a Unix socket instead")] = ""
    token: Annotated[str, _is('needed for a host beyond loopback; better from a file, or "${VAR}"', secret=True)] = ""
    token_file: Annotated[str, _is("a file that has the token")] = ""
    names: Annotated[Texts, _is("names of this server in addresses beside its host, such as that of a proxy")] = ()
    health: Annotated[str, _is("HOST:PORT of /healthz and /readyz alone, for everybody, such as 0.0.0.0:8766")] = ""
    max_classes: Annotated[Count, _is("maximum classes in Prometheus; all others are one")] = 50
    max_groups: Annotated[Count, _is("maximum groups in Prometheus; all others are one")] = 50
    matrix: Annotated[bool, _is("export the whole confusion matrix, up to 10 classes")] = False


class AlertsTable(ConfigTable, frozen=True, kw_only=True):
    """Alert rules, and where alerts are sent."""

    rules: Annotated[Texts, _is("such as 'balanced_accuracy[1h] < 0.8 for 5m', 'changed(accuracy) arl=10000'")] = ()
    defaults: Annotated[bool, _is("also fire if over 1 % of records are rejected, or if labels differ in type")] = True
    webhook: Annotated[str, _is("an address to which alerts are posted as JSON; it may hold a secret", secret=True)] = (
        ""
    )
    webhook_file: Annotated[str, _is("a file that has the address")] = ""
    authorization: Annotated[str, _is('the header Authorization of these, such as "Bearer ${TOKEN}"', secret=True)] = ""
    authorization_file: Annotated[str, _is("a file that has the header")] = ""
    alertmanager: Annotated[str, _is("the address of an Alertmanager, such as http://localhost:9093")] = ""
    log: Annotated[bool, _is("write alerts to the log")] = True


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration."""

    source: SourceTable = SourceTable()
    fields: FieldsTable = FieldsTable()
    join: JoinTable = JoinTable()
    counting: CountingTable = CountingTable()
    store: StoreTable = StoreTable()
    serve: ServeTable = ServeTable()
    alerts: AlertsTable = AlertsTable()

    def __post_init__(self) -> None:
        """Check that there are tables."""
        for each in structs.fields(self):
            table = getattr(self, each.name)
            if not isinstance(table, each.type):
                got = with_article(type(table))
                raise ConfigError(f"Expected {each.name!r} to be a table, [{each.name}], but got {got}")


def keys() -> Iterator[ConfigKey]:
    """Yield every key, in order."""
    for table in structs.fields(Config):
        yield from keys_of(table.type)
