"""A Kafka cluster for tests: librdkafka's own mock, in a process of its own, called through ctypes.

The mock is inside the wheel of confluent-kafka, behind functions that librdkafka calls experimental; nothing but tests
and benchmarks uses them. It keeps 5 MiB or 100,000 batches of each partition and drops the oldest beyond without a
word, so tests stay below. Run as a script it reads orders from standard input, one JSON list each: the name of a
method and its arguments; the process ends with its standard input.
"""

from __future__ import annotations

import ctypes as ct
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.orders import Orders

COMMIT = 8  # the number of the request OffsetCommit
ILLEGAL_GENERATION = 22


class MockKafka:
    """The cluster itself, of one broker, in this process."""

    def __init__(self, topics: Mapping[str, int], heartbeat_ms: int = 100, session_ms: int = 1000) -> None:
        import confluent_kafka

        libs = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
        self._library = ct.CDLL(str(next(libs.glob("librdkafka-*.so*"))))
        pointer, text = ct.c_void_p, ct.create_string_buffer(256)
        new = self._function("new", pointer, ct.c_int, pointer, ct.c_char_p, ct.c_size_t)
        self._client = new(0, None, text, 256)
        self._cluster = self._function("mock_cluster_new", pointer, pointer, ct.c_int)(self._client, 1)
        self._call("group_initial_rebalance_delay_ms", ct.c_int32(50))
        self._call("set_group_consumer_heartbeat_interval_ms", ct.c_int(heartbeat_ms))
        self._call("set_group_consumer_session_timeout_ms", ct.c_int(session_ms))
        for name, partitions in topics.items():
            self.create(name, partitions)

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Return a function of the library; without their types declared, pointers would be cut to 32 bits."""
        function = self._library[f"rd_kafka_{name}"]
        function.restype, function.argtypes = result, arguments
        return function  # type: ignore[no-any-return]

    def _call(self, name: str, *values: Any) -> None:
        call = self._function(f"mock_{name}", ct.c_int, ct.c_void_p, *map(type, values))
        error = call(self._cluster, *values)
        if error and not name.startswith(("group", "set")):  # these return nothing
            raise RuntimeError(f"{name}: error {error}")

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic."""
        self._call("topic_create", ct.c_char_p(topic.encode()), ct.c_int(partitions), ct.c_int(1))

    def servers(self) -> str:
        """Return the address."""
        servers = self._function("mock_cluster_bootstraps", ct.c_char_p, ct.c_void_p)(self._cluster)
        return str(servers.decode())

    def down(self) -> None:
        """Let the broker fail."""
        self._call("broker_set_down", ct.c_int32(1))

    def up(self) -> None:
        """Have the broker back."""
        self._call("broker_set_up", ct.c_int32(1))

    def delete(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset."""
        values = ct.c_char_p(topic.encode()), ct.c_int32(partition), ct.c_int64(before)
        self._call("partition_delete_records", *values)

    def fail(self, request: int, error: int) -> None:
        """Answer the next request of a kind with an error."""
        push = self._function("mock_push_request_errors_array", None, ct.c_void_p, ct.c_int16, ct.c_size_t, ct.c_void_p)
        push(self._cluster, request, 1, ct.byref(ct.c_int(error)))


class Cluster(Orders):
    """A cluster in another process, which outlives the consumers that a test kills; it has the methods above."""

    script = __file__

    def __init__(self, topics: Mapping[str, int], **options: int) -> None:
        super().__init__(json.dumps([topics, options]))
        self.servers = str(self.ask("servers"))

    def ask(self, method: str, *values: Any) -> Any:
        """Call a method of the cluster."""
        return self.order([method, *values])


def main() -> None:
    """Do what is ordered."""
    topics, options = json.loads(sys.argv[1])
    cluster = MockKafka(topics, **options)
    for line in sys.stdin:
        method, *values = json.loads(line)
        print(json.dumps(getattr(cluster, method)(*values)), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
