"""Whether topics are still those that were counted: one that was deleted and created again has another id.

Its offsets begin again, so the stored ones mean other records, and no error of the client says so if the new log is as
long as the old one. Brokers without topic ids and failed requests are ignored, but a request that gets no answer says
that the broker may hang: the consumer waits for a minute before it reports that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.kafka_errors import AWAY
from stream_metrics.monitor.sources.kafka_options import SourceError

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
