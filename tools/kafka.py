"""A Kafka broker of one's own, from the jars of Maven Central: no container, nothing installed.

`python -m tools.kafka` runs one in the foreground until it is interrupted; `make kafka` does that.
What it has stays in the cache folder, with the jars.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path
from typing import Final

VERSION: Final = "4.1.1"
LOG4J: Final = "2.24.3"
CACHE: Final = Path(__file__).parent.parent / ".cache" / "kafka"
PATIENCE: Final = 300.0
MEMORY: Final = "-Xmx512m"
BRIEFLY: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a Java that runs for minutes: it spends more on compiling well than it has of it."""

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>accord</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY: Final = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
_JARS: Final = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.logging.log4j", "log4j-api", LOG4J),
    ("org.apache.logging.log4j", "log4j-core", LOG4J),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J),
)
_COPY: Final = (
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
    "-DincludeScope=runtime",
)
_LOG: Final = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %m%n
"""
# The last two bring a broker that was killed back in three seconds instead of twelve.
_SETTINGS: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
"""


class BrokerError(Exception):
    """There can be no broker here; the message says why."""


class MissingError(BrokerError):
    """Something is not on this machine."""


class Broker:
    """One broker in a folder. It can be killed and started again, on the same port. One that is
    `brief` costs less in its first minutes, and more for each message."""

    def __init__(self, folder: Path, *, port: int = 0, brief: bool = False) -> None:
        """Raises MissingError."""
        self._jars = jars()
        self._folder = folder
        self.port = port or _free_port()
        self._options = BRIEFLY if brief else ()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was not started"
        return self._process.pid

    def start(self) -> None:
        """Returns when it answers. Raises BrokerError."""
        if self._answers():
            raise BrokerError(f"port {self.port} is taken")
        self._prepare()
        self._process = subprocess.Popen(
            self._java(
                *self._options,
                f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
                *("kafka.Kafka", str(self._folder / "server.properties")),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt is for us: we stop it
        )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise BrokerError(f"Kafka does not start: see {self._folder / 'log'}")
            time.sleep(0.05)

    def kill(self) -> None:
        """As if the machine failed."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def wait(self) -> None:
        """Until it ends by itself."""
        assert self._process is not None
        self._process.wait()

    def _prepare(self) -> None:
        data = self._folder / "data"
        settings = self._folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(port=self.port, controller=_free_port(), data=data).lstrip()
        )
        (self._folder / "log4j2.properties").write_text(_LOG.format(self._folder / "log"))
        if not data.exists():
            id = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=").replace("-", "_")
            subprocess.run(
                self._java(
                    *BRIEFLY, "kafka.tools.StorageTool", "format", "-t", id, "-c", str(settings)
                ),
                check=True,
                capture_output=True,
                timeout=PATIENCE,
            )

    def _java(self, *arguments: str) -> list[str]:
        # Java expands the star, a shell must not.
        return ["java", MEMORY, "-cp", f"{self._jars}/*", *arguments]

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
            return True
        return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def jars() -> Path:
    """The folder with all jars, fetched if it is not there. Raises MissingError."""
    if shutil.which("java") is None:
        raise MissingError("java is not installed: see tools/install-programs")
    folder = CACHE / VERSION
    if not folder.exists():
        if shutil.which("mvn") is None:
            raise MissingError("mvn is not installed: see tools/install-programs")
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partly = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        pom = partly / "pom.xml"
        pom.write_text(_POM.format("".join(_DEPENDENCY.format(*each) for each in _JARS)))
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), *_COPY, f"-DoutputDirectory={partly / 'jars'}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines() or [""]
            raise MissingError(f"mvn cannot fetch Kafka: {lines[0]}")
        with suppress(OSError):  # another run was faster
            (partly / "jars").rename(folder)
    finally:
        shutil.rmtree(partly)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def main() -> int:
    folder = CACHE / "broker"
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        broker = Broker(folder, port=int(os.environ.get("KAFKA_PORT", "9092")))
        broker.start()
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        print(f"kafka://{broker.servers}", flush=True)
        broker.wait()
    except KeyboardInterrupt:
        pass
    finally:
        broker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
