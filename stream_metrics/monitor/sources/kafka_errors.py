"""What the error codes of the Kafka client mean to a monitor, and what is wrong at the moment."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from stream_metrics.monitor.sources.kafka_options import hidden

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
