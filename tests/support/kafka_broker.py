"""A real Kafka for tests: one broker in KRaft mode, started from the jars of Maven Central in `build/kafka`.

    mvn -q -f .ci/jars/kafka.xml dependency:copy-dependencies

It listens without security, with TLS, and with SCRAM; who comes with SCRAM may do only what an ACL allows. Sessions and
rebalances are short, logs are cleaned at once, and nothing expires by time unless a topic says so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

JARS = Path(__file__).parents[2] / "build" / "kafka"
PASSWORD = "changeit"
PATIENCE = 60.0
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},SCRAM://127.0.0.1:{scram},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAIN://127.0.0.1:{plain},TLS://127.0.0.1:{tls},SCRAM://127.0.0.1:{scram}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
listener.security.protocol.map=PLAIN:PLAINTEXT,TLS:SSL,SCRAM:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-256
listener.name.scram.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.location={folder}/keys.p12
ssl.keystore.type=PKCS12
ssl.keystore.password=changeit
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={folder}/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=200
group.consumer.min.session.timeout.ms=500
group.consumer.session.timeout.ms=2000
log.retention.ms=-1
log.retention.check.interval.ms=200
log.initial.task.delay.ms=100
log.cleaner.backoff.ms=100
"""


def missing() -> str | None:
    """Return what a broker lacks on this machine, None if nothing."""
    if not list(JARS.glob("kafka_*.jar")):
        return "needs Kafka: mvn -q -f .ci/jars/kafka.xml dependency:copy-dependencies"
    return None if shutil.which("java") and shutil.which("keytool") else "needs Java with keytool"


class Broker:
    """A broker in a folder; `servers`, `tls` and `scram` are its addresses, `authority` is a certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._process, self._admin = folder, None, None
        ports = free_ports(4)
        names = dict(zip(("plain", "tls", "scram", "controller"), ports, strict=True))
        self.servers, self.tls, self.scram = (f"127.0.0.1:{port}" for port in ports[:3])
        self.authority = str(folder / "authority.pem")
        self._make_keys()
        (folder / "server.properties").write_text(SETTINGS.format(folder=folder, **names))
        with (folder / "format.log").open("wb") as log:
            order = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(folder / "server.properties")]
            subprocess.run(self._java("kafka.tools.StorageTool", *order), check=True, stdout=log, stderr=log)

    def _make_keys(self) -> None:
        place = ["-keystore", str(self.folder / "keys.p12"), "-storetype", "PKCS12", "-storepass", PASSWORD]
        names = ["-alias", "broker", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1,dns:localhost"]
        for command in (["-genkeypair", "-keyalg", "EC", *names], ["-exportcert", "-rfc", "-alias", "broker"]):
            output = subprocess.run(["keytool", *command, *place], check=True, capture_output=True).stdout
        Path(self.authority).write_bytes(output)

    @staticmethod
    def _java(main: str, *arguments: str) -> list[str]:
        quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Xss512k"]
        return ["java", *quick, "-cp", f"{JARS}/*", main, *arguments]

    def start(self) -> None:
        """Start it, also again, and wait until it answers."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA")}
        with (self.folder / "server.log").open("ab") as log:
            command = self._java("kafka.Kafka", str(self.folder / "server.properties"))
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.admin().list_topics(timeout=1)
                return
            except Exception:
                if self._process.poll() is not None or time.monotonic() > end:
                    tail = (self.folder / "server.log").read_text()[-2000:]
                    raise RuntimeError(f"the broker did not start: {tail}") from None

    def stop(self, kill: bool = False) -> None:
        """Stop it; `kill` gives it no time to do so in order."""
        if self._process is not None:
            (self._process.kill if kill else self._process.terminate)()
            self._process.wait()
            self._process = None

    def admin(self) -> Any:
        """Return a client that may do everything."""
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        return self._admin

    def create(self, topic: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic."""
        from confluent_kafka.admin import NewTopic

        done(self.admin().create_topics([NewTopic(topic, partitions, 1, config=dict(settings or {}))]))

    def drop(self, topic: str) -> None:
        """Delete a topic."""
        done(self.admin().delete_topics([topic]))

    def extend(self, topic: str, partitions: int) -> None:
        """Let a topic have more partitions, so many in all."""
        from confluent_kafka.admin import NewPartitions

        done(self.admin().create_partitions([NewPartitions(topic, partitions)]))

    def alter(self, topic: str, settings: Mapping[str, str]) -> None:
        """Change settings of a topic."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        how = AlterConfigOpType.SET
        entries = [ConfigEntry(name, value, incremental_operation=how) for name, value in settings.items()]
        change = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        done(self.admin().incremental_alter_configs([change]))

    def delete(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset."""
        from confluent_kafka import TopicPartition

        done(self.admin().delete_records([TopicPartition(topic, partition, before)]))

    def add_user(self, name: str, password: str) -> None:
        """Let a user come with SCRAM."""
        from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

        how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(name, how, password.encode())
        done(self.admin().alter_user_scram_credentials([change]))

    def allow(self, user: str, kind: str, name: str) -> None:
        """Let a user read a TOPIC or be of a GROUP."""
        done(self.admin().create_acls([self._access(user, kind, name)]))

    def deny(self, user: str, kind: str, name: str) -> None:
        """Take that away."""
        from confluent_kafka.admin import AclBindingFilter

        rule = self._access(user, kind, name)
        fields = "restype", "name", "resource_pattern_type", "principal", "host", "operation", "permission_type"
        done(self.admin().delete_acls([AclBindingFilter(*(getattr(rule, field) for field in fields))]))

    @staticmethod
    def _access(user: str, kind: str, name: str) -> Any:
        from confluent_kafka.admin import (
            AclBinding,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        where = ResourceType[kind], name, ResourcePatternType.LITERAL
        return AclBinding(*where, f"User:{user}", "*", AclOperation.READ, AclPermissionType.ALLOW)


def done(answers: Mapping[Any, Any]) -> None:
    """Wait for what was asked."""
    for answer in answers.values():
        answer.result(timeout=60)


def free_ports(number: int) -> list[int]:
    """Return ports at which no process listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        with closing(each):
            pass
    return ports


@contextmanager
def running() -> Iterator[Broker]:
    """A broker in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="kafka") as folder:
        broker = Broker(Path(folder))
        try:
            broker.start()
            yield broker
        finally:
            broker.stop(kill=True)
