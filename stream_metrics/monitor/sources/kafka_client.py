"""The Kafka client: its options, what its errors mean, which partitions one worker has, and the ids of topics.

The offsets of the store decide where reading goes on, never those that Kafka keeps: `enable.auto.commit` is off, and
`auto.offset.reset` only says where a partition begins of which nothing was ever counted. Beyond that `options` goes to
the client as it is: security, static membership, `group.protocol`, how much is fetched ahead.

The client fetches while records are counted, until 100,000 records (`queued.min.messages`) or 64 MiB
(`queued.max.messages.kbytes`) wait, and at most one answer of each broker more (`fetch.max.bytes`, 50 MiB). Then it
pauses. A monitor counts 100,000 records in less than the second for which the client pauses by default, and would wait
for the rest of it.

A join keeps its state by partition number, so one worker must have the same partitions of both topics. The assignor
`range` sees to it; `roundrobin`, `cooperative-sticky` and the `uniform` of KIP-848 do not.

A topic that was deleted and created again has another id. Its offsets begin again, so the stored ones mean other
records, and no error of the client says so if the new log is as long as the old one. Brokers without topic ids and
failed requests are ignored, but a request that gets no answer says that the broker may hang: the consumer waits for a
minute before it reports that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor import config
from stream_metrics.monitor.config.reading import is_secret_option
from stream_metrics.monitor.monitor import Monitor

try:
    from confluent_kafka import KafkaError
except ImportError as error:
    raise ImportError('Expected confluent-kafka to be installed: pip install "stream-metrics[kafka]"') from error


LOG = logging.getLogger("stream_metrics.monitor")
# Errors of the client itself begin with an underscore in its documentation too.
END = KafkaError._PARTITION_EOF
RANGE = KafkaError._AUTO_OFFSET_RESET
DOWN = KafkaError._ALL_BROKERS_DOWN
AWAY = {DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._RESOLVE}
SSL = KafkaError._SSL
REFUSED = {KafkaError._AUTHENTICATION, SSL}
CERTIFICATE = "the client does not say what is wrong with the certificate: its authority, its dates or its host name"
DAMAGED = {KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION}
BROKEN = DAMAGED | {KafkaError.INVALID_MSG, KafkaError.MSG_SIZE_TOO_LARGE}
DENIED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
UNKNOWN = {KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
MISSING = UNKNOWN | {KafkaError.UNKNOWN_TOPIC_OR_PART}


class Problems:
    """Why no records can come: one text for each of the kinds fatal, access, broker, topic and owner.

    Texts have no passwords of `options` in them.
    """

    def __init__(self, options: Mapping[str, object]) -> None:
        self.texts: dict[str, str] = {}
        self._options = options
        self._noted: dict[str, int] = {}  # errors since records came, with their codes

    def __str__(self) -> str:
        return "; ".join(self.texts.values())

    def note(self, error: KafkaError) -> None:
        """Take note of an error of the client that is about no record."""
        text = self.hidden(error.str()).partition(" (after ")[0]
        if text not in self._noted:  # the client tries again some twenty times a second
            LOG.warning("%s", text)
            self._noted[text] = error.code()
        code = error.code()
        kinds = {"fatal": error.fatal(), "access": code in REFUSED, "broker": code == DOWN, "topic": code in MISSING}
        self.texts |= {kind: text for kind, is_so in kinds.items() if is_so}

    def is_access_refused(self) -> bool:
        """Return whether a broker that was reached did not let the client in."""
        return bool(REFUSED & set(self._noted.values()))

    def explained(self, error: KafkaError) -> str:
        """Return an error with what was noted before it."""
        reasons = dict.fromkeys([self.hidden(error.str()), *self._noted])
        if SSL in self._noted.values():
            reasons[CERTIFICATE] = None
        return f"Kafka at {self._options['bootstrap.servers']}: {'; '.join(reasons)}"

    def hidden(self, text: object) -> str:
        """Return a text without passwords."""
        return hidden(text, self._options)

    def clear(self) -> None:
        """Note that records come."""
        self.texts.clear()
        self._noted.clear()


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


SILENT = logging.getLogger("stream_metrics.monitor.admin")  # the consumer logs the same errors
SILENT.setLevel(logging.CRITICAL)
NOTE = "topic ids"
EVERY = 10.0  # seconds between two requests
SLOW = 10.0  # seconds without an answer, after which the broker may hang
CONNECTION = ("bootstrap.", "broker.", "client.", "enable.sasl.", "enable.ssl.", "sasl.", "security.", "socket", "ssl.")


class TopicIds:
    """The ids of topics, of which those that were seen first are stored with the counts."""

    def __init__(self, options: Mapping[str, object], topics: Sequence[str]) -> None:
        self._topics = topics
        self._options = {name: value for name, value in options.items() if name.startswith(CONNECTION)}
        self._known: dict[str, str] = {}
        self._client: Any = None
        self._asked: dict[str, Future[Any]] = {}
        self._due = 0.0
        self._waiting: float | None = None  # since when there is a request and no answer, by time.monotonic

    @property
    def is_unanswered(self) -> bool:
        """Whether a request has waited too long for an answer."""
        return self._waiting is not None and time.monotonic() - self._waiting >= SLOW

    def note_answer(self) -> None:
        """Note that the broker has answered another request."""
        self._waiting = None

    def start(self, monitor: Monitor) -> None:
        """Load the ids that are stored with the counts."""
        self._known = dict(monitor.attach(NOTE, lambda: sorted(self._known.items())) or ())

    def check(self) -> None:
        """Request the ids every ten seconds, without waiting, and compare those that have come.

        Raises ``SourceError`` if a topic is another one than was counted.
        """
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY
            self._client = self._client or AdminClient(self._options, logger=SILENT)
            self._asked = self._client.describe_topics(TopicCollection(list(self._topics)))
            self._waiting = now if self._waiting is None else self._waiting
        for name, answer in list(self._asked.items()):
            if answer.done():
                del self._asked[name]
                self._compare(name, answer)

    def _compare(self, name: str, answer: Future[Any]) -> None:
        try:
            topic_id = str(answer.result().topic_id)
        except KafkaException as error:
            if error.args[0].code() not in AWAY:
                self.note_answer()
            return
        self.note_answer()
        if topic_id.strip("A"):  # all A: the broker has no ids
            known = self._known.setdefault(name, topic_id)
            if known != topic_id:
                raise SourceError(
                    f"the topic {name!r} was deleted and created again since it was counted: its offsets are others "
                    f"now; start with a new state file, or a new schema of a database"
                )

    def close(self) -> None:
        """Drop the client, and requests that were not answered."""
        self._asked, self._client = {}, None
