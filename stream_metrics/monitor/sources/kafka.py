"""Topics of Kafka: one with predictions, labels or both, or one of predictions and one of labels.

    source = KafkaSource(config.SourceTable(kind="kafka", predictions="predictions", labels="labels"))
    source.start(monitor)
    while running:
        monitor.step(source.poll(0.5))
    source.close()                              # revokes what it has, so before monitor.close()

Exactly once comes from the store: on assignment each partition goes on at the offset that is stored with its counts,
and checkpoints are committed to Kafka for displays of lag only. Partitions are taken from the monitor when the group
gives them to another worker, with a checkpoint, or without one if they were lost before that was known. The client
serves these callbacks within `poll`, in its thread.

What is asked for by offset and is not there any more is for `truncated` to decide, whether it was gone at the start or
while the broker was away; the client never resets an offset itself. A log that ends before the stored offset is another
log, of a topic that was created again, and so is one of a topic with another id: this always fails, since offsets of
the two cannot be told apart.

A broker that does not answer at the start is waited for, with the reason in `problem`; one that refuses, and topics
that are not there or cannot be joined, end it.

The end of a partition is read as well as its records: behind the last one may be ends of transactions and records that
were aborted or compacted away, which are no lag, and whose deletion is no loss.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sized
from functools import partial
from operator import itemgetter
from typing import Any

from stream_metrics.monitor import config
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.kafka_errors import AWAY, BROKEN, DENIED, END, MISSING, RANGE, Problems
from stream_metrics.monitor.sources.kafka_options import (
    SourceError,
    checked,
    consumer_options,
    first,
    incremental,
    topics,
)
from stream_metrics.monitor.sources.kafka_topic_ids import TopicIds
from stream_metrics.monitor.store import StoreError

try:
    from confluent_kafka import (
        OFFSET_BEGINNING,
        OFFSET_END,
        Consumer,
        KafkaException,
        Message,
        TopicPartition,
    )
except ImportError as error:
    raise ImportError('Expected confluent-kafka to be installed: pip install "stream-metrics[kafka]"') from error


LOG = logging.getLogger("stream_metrics.monitor")
CLIENT = logging.getLogger("stream_metrics.monitor.client")
CLIENT.addFilter(lambda record: record.getMessage().split(" ")[0] not in ("FAIL", "ERROR"))  # `_note_error` says them
AT_ONCE = 20_000  # records of a poll: spread over partitions, fewer show the fixed cost of a batch
PATIENCE = 10.0  # seconds, for a broker at the start
QUICKLY = 0.5  # for questions while records are read
EVERY = 1.0  # seconds between two commits, and between two questions whether the broker is back
LATE = 10.0  # seconds after which assigned partitions that another worker has claimed are claimed again
SERVERS, GROUP = "bootstrap.servers", "group.id"

_record = partial(tuple.__new__, Record)


class KafkaSource:
    """The records of one or two topics, as a consumer of a group; `problem` is why none can come now, or None.

    Raises ``ValueError`` for options that would break the join or the counts.
    """

    def __init__(self, source: config.SourceTable) -> None:
        self.ended = False
        self._topics = topics(source)
        self._options = consumer_options(source)
        self._incremental = incremental(self._options)
        self._first = OFFSET_BEGINNING if first(source) == "earliest" else OFFSET_END
        self._truncated = source.truncated
        self._problems = Problems(self._options)
        self._ids = TopicIds(self._options, self._topics)
        self._places: set[tuple[str, int]] = set()
        self._left: set[int] = set()  # partitions that went during this poll
        self._gone: dict[tuple[str, int], int] = {}  # offsets that the broker does not have
        self._ends: dict[tuple[str, int], int] = {}  # ends that were reached with the last records
        self._first_counts: dict[str, int] = {}  # partitions of each topic when counting began
        self._done: dict[tuple[str, int], int] = {}  # checkpointed, and to be committed
        self._asked = self._committed = self._whole = time.monotonic()
        self._consumer: Any = None
        self._subscribed = False
        self._monitor: Monitor

    @property
    def problem(self) -> str | None:
        """Why no records can come now."""
        return str(self._problems) or None

    def start(self, monitor: Monitor) -> None:
        """Join the group, or see to it that it is joined as soon as the broker answers.

        Raises ``SourceError`` if access is refused, a topic is missing, or two topics differ in partitions.
        """
        self._monitor = monitor
        monitor.on_checkpoint(self._done.update)
        self._first_counts = dict(monitor.attach("topics", lambda: sorted(self._first_counts.items())) or ())
        self._ids.start(monitor)
        stored = self._first_counts.keys() | {topic for topic, _ in monitor.stored_offsets()}
        gone, new = stored - set(self._topics), set(self._topics) - stored
        if gone and new:  # before anything is claimed
            raise SourceError(
                f"Expected a store of the topics {self._topics}, but it has counts of {sorted(stored)}: "
                f"each model needs a state file, or a schema of a database, of its own"
            )
        try:
            self._consumer = Consumer({**self._options, "error_cb": self._problems.note}, logger=CLIENT)
            self._subscribe(PATIENCE)
        except KafkaException as error:
            self.close()
            raise SourceError(self._problems.explained(error.args[0])) from None
        except SourceError:
            self.close()
            raise

    def _subscribe(self, patience: float) -> None:
        """Join the group if the broker says that the topics are as they have to be."""
        self._asked = time.monotonic()
        self._ids.check()  # sends a request, which is mostly answered by the time that the topics are known
        try:
            counts = {name: self._partition_count(name, patience) for name in self._topics}
        except KafkaException as error:
            self._consumer.poll(0)  # which reports the reasons
            text = self._problems.explained(error.args[0])
            if error.args[0].code() not in AWAY or self._problems.is_access_refused():
                raise SourceError(text) from None
            if patience == PATIENCE:
                LOG.warning("%s; waiting until it answers", text)
            self._problems.texts["broker"] = text
            return
        if len(set(counts.values())) > 1:
            raise SourceError(f"Expected the topics to have equally many partitions, but they have {counts}")
        self._ids.check()
        self._first_counts = counts | self._first_counts
        self._consumer.subscribe(self._topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)
        self._subscribed = True
        self._problems.clear()

    def _partition_count(self, topic: str, patience: float) -> int:
        metadata = self._consumer.list_topics(topic, timeout=patience).topics[topic]
        if metadata.error is not None:
            raise SourceError(f"Kafka at {self._options[SERVERS]}: topic {topic!r}: {metadata.error.str()}")
        partitions: Sized = metadata.partitions
        return len(partitions)

    def _assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Go on at the stored offsets; while it closes take none: the client would abort the process."""
        if self.ended:
            consumer.unassign()
            return
        places = {(each.topic, each.partition) for each in partitions}
        self._places = self._places | places if self._incremental else places
        checked(self._topics, self._places)
        self._done.update(self._monitor.assign({number for _, number in places}))
        self._read_from(places)

    def _read_from(self, places: Iterable[tuple[str, int]], moved: dict[tuple[str, int], int] | None = None) -> None:
        following = self._following() | (moved or {})
        wanted = [TopicPartition(*place, following.get(place, self._begin(*place))) for place in sorted(places)]
        (self._consumer.incremental_assign if self._incremental else self._consumer.assign)(wanted)

    def _begin(self, topic: str, partition: int) -> int:
        """Return where a partition begins that was never read: at the first record, if it was added later."""
        return int(self._first if partition < self._first_counts.get(topic, 0) else OFFSET_BEGINNING)

    def _following(self) -> dict[tuple[str, int], int]:
        """Return the next offsets of the monitor's partitions."""
        return self._monitor.assign(self._monitor.partitions)

    def _again(self, places: set[tuple[str, int]], moved: dict[tuple[str, int], int] | None = None) -> None:
        """Read places again, where the client may have given up and refuse to seek; `moved` ones from other offsets."""
        for place in places:
            self._ends.pop(place, None)
        if self._incremental:
            self._consumer.incremental_unassign([TopicPartition(*place) for place in places])
        self._read_from(places if self._incremental else self._places, moved)

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Write what was counted; the client gives the partitions back when this returns."""
        numbers = self._leave(partitions)
        try:
            self._monitor.revoke(numbers)
        except StoreError as error:
            LOG.warning("the next owner of partitions %s reads some records again: %s", sorted(numbers), error)
        self._commit()

    def _lose(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget what another worker has by now."""
        numbers = self._leave(partitions)
        LOG.warning("the partitions %s were lost; they are read again from the last checkpoint", sorted(numbers))
        self._monitor.lost(numbers)
        self._done.clear()

    def _leave(self, partitions: list[TopicPartition]) -> set[int]:
        places = {(each.topic, each.partition) for each in partitions}
        self._places -= places
        numbers = {number for _, number in places}
        self._left |= numbers
        self._gone = {place: at for place, at in self._gone.items() if place not in places}
        self._ends = {place: at for place, at in self._ends.items() if place not in places}
        return numbers

    def poll(self, timeout: float) -> list[Record]:
        """Return what the client has fetched, up to 20,000 records, waiting only for the first.

        Raises ``SourceError`` if reading cannot go on: records are gone, topics not co-partitioned, access denied.
        """
        self._left.clear()
        self._skip_to_ends()
        self._claim_again()
        messages = self._consumer.consume(1, timeout)
        if messages:
            messages += self._consumer.consume(AT_ONCE - 1, 0)
        if "fatal" in self._problems.texts:
            raise SourceError(self._problems.texts["fatal"])
        if self._subscribed:
            self._ids.check()
        now = time.monotonic()
        if self._done and now - self._committed >= EVERY:
            self._commit()
        if any(map(Message.error, messages)):
            messages = [message for message in messages if message.error() is None or self._fault(message)]
        if messages:
            self._problems.clear()
            self._ids.note_answer()
        elif now - self._asked >= EVERY and (
            self._problems.texts.keys() & {"broker", "access", "topic"} or self._ids.is_unanswered
        ):
            self._ask()
        if self._gone:
            self._reset()
        return self._ours(translated(messages))

    def _ours(self, records: list[Record]) -> list[Record]:
        """Return the records of partitions that the monitor has, and has had since before they were fetched."""
        back = self._left & {number for _, number in self._places}
        if back:
            self._again({place for place in self._places if place[1] in back})
        self._problems.texts.pop("owner", None)
        if unclaimed := self._unclaimed():
            self._problems.texts["owner"] = f"the partitions {unclaimed} have another owner in the state file"
        ours = set(self._monitor.partitions) - self._left
        if ours.issuperset(map(itemgetter(1), records)):
            return records
        return [record for record in records if record[1] in ours]

    def _claim_again(self) -> None:
        """Claim assigned partitions that another worker has claimed, if it has had `LATE` seconds to give them up.

        A worker that was paused claims partitions that it has lost meanwhile. It drops them at the next rebalance, and
        without a second claim no worker would count them.
        """
        unclaimed, now = self._unclaimed(), time.monotonic()
        if not unclaimed:
            self._whole = now
        elif now - self._whole >= LATE:
            self._whole = now
            LOG.warning("the partitions %s are claimed again, since Kafka assigns them here", unclaimed)
            self._done.update(self._monitor.assign(unclaimed))
            self._again({place for place in self._places if place[1] in unclaimed})

    def _unclaimed(self) -> list[int]:
        """Return the partitions that Kafka assigns here and that have another owner in the store."""
        return sorted({number for _, number in self._places} - set(self._monitor.partitions))

    def _fault(self, message: Message) -> bool:
        """Deal with an error that came in place of a record; no such error is a record that was rejected."""
        error, place = message.error(), (message.topic(), message.partition())
        where = f"{place[0]!r}, partition {place[1]}, offset {message.offset()}"
        if message.offset() is None or message.offset() < 0:
            where = f"topic {place[0]!r}" if place[0] else f"group {self._options[GROUP]!r}"
        text = self._problems.hidden(f"{where}: {error.str()}")
        if error.fatal() or error.code() in DENIED:
            raise SourceError(text)
        if error.code() == END:
            self._ends[place] = message.offset()
            return False
        if error.code() == RANGE and place in self._places:
            self._gone[place] = message.offset()
        elif error.code() in BROKEN and place[1] in self._monitor.partitions:
            self._monitor.mark_incomplete(place[1], text)
        elif error.code() in MISSING:
            self._problems.texts["topic"] = text
        LOG.warning("%s", text)
        return False

    def _skip_to_ends(self) -> None:
        """Have the monitor go on at the ends that were reached: between the last record and the end are no records."""
        ours = set(self._monitor.partitions)
        for (topic, partition), end in self._ends.items():
            if (topic, partition) in self._places and partition in ours:
                self._monitor.skip_to(topic, partition, end)
        self._ends.clear()

    def _reset(self) -> None:
        """Go on where the log begins by now, if that is allowed; later, if the broker does not say."""
        for place, wanted in list(self._gone.items()):
            try:
                low, high = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=QUICKLY)
            except KafkaException:
                continue
            del self._gone[place]
            known = place in self._following()
            message = f"offset {wanted} of {place[0]!r}, partition {place[1]}, is gone: it has {low} to {high} by now"
            if wanted > high:
                raise SourceError(f"{message}; if the topic was created again, start with a new state file")
            if known and wanted < low and self._truncated != "reset":
                raise SourceError(f'{message}; truncated = "reset" goes on there, and says that counts lack some')
            if known and wanted < low:
                LOG.warning("%s; counts lack it", message)
                self._monitor.mark_incomplete(place[1], message)
            self._again({place}, {place: low} if known else None)

    def _ask(self) -> None:
        """See whether the broker is back, or whether it hangs, which the client reports only after a minute."""
        self._asked = time.monotonic()
        if not self._subscribed:
            self._subscribe(QUICKLY)
            return
        try:
            for topic in self._topics:
                self._partition_count(topic, QUICKLY)
        except SourceError:
            return
        except KafkaException as error:
            if not self._problems.texts:
                self._problems.texts["broker"] = self._problems.explained(error.args[0])
                LOG.warning("%s", self._problems)
            return
        self._problems.clear()
        self._ids.note_answer()

    def _commit(self) -> None:
        """Tell Kafka what was checkpointed, without waiting for an answer: it is for displays of lag."""
        offsets = [TopicPartition(*place, offset) for place, offset in self._done.items() if place[0] in self._topics]
        self._done.clear()
        self._committed = time.monotonic()
        if offsets:
            try:
                self._consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                LOG.debug("no commit to Kafka: %s", self._problems.hidden(error))

    def lag(self) -> dict[tuple[str, int], int] | None:
        """Return how many records follow those counted, as of the last fetch; offsets, so gaps count too.

        None before every partition has been fetched once.
        """
        behind: dict[tuple[str, int], int] = {}
        following = self._following() if self._places else {}
        for place in self._places:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            if high < 0:
                return None
            start = low if self._first == OFFSET_BEGINNING else high
            behind[place] = max(high - max(following.get(place, start), low), 0)
        return behind or None

    def close(self) -> None:
        """Write a checkpoint of its partitions and leave the group."""
        self.ended = True
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self._ids.close()


def translated(messages: list[Message]) -> list[Record]:
    """Return messages as records."""
    offsets = list(map(Message.offset, messages))
    stamps = [stamp / 1000 if kind else None for kind, stamp in map(Message.timestamp, messages)]
    where = map(Message.topic, messages), map(Message.partition, messages), offsets, [offset + 1 for offset in offsets]
    what = map(Message.key, messages), map(Message.value, messages)
    return list(map(_record, zip(*where, stamps, *what, strict=True)))
