"""The broker, where workflows use Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from accord.app.engine import EMBEDDED, KAFKA
from accord.app.settings import Settings
from accord.cli.checkup.finding import Finding, ok, problem

SECONDS: Final = 5.0


def look(settings: Settings) -> Iterator[Finding]:
    if settings.bus == EMBEDDED:
        yield ok("bus", "embedded: no broker is needed")
    elif not settings.bus.startswith(KAFKA):
        detail = "the bus is neither embedded nor kafka://host:port"
        yield problem("bus", detail, "see --bus in accord config")
    else:
        yield _kafka(settings.bus)


def _kafka(url: str) -> Finding:
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        from accord.workflows.bus.address import read_address
        from accord.workflows.bus.errors import BusError
    except ImportError:
        return problem("bus", "confluent-kafka is not installed", "pip install 'accord[kafka]'")
    try:
        address = read_address(url)
    except BusError as error:
        return problem("bus", str(error), "see --bus in accord config")
    try:
        client = AdminClient(
            {**address.options, "bootstrap.servers": address.servers, "log_level": 0}
        )
        found = client.list_topics(timeout=SECONDS)
    except KafkaException as error:
        told = error.args[0].str() if hasattr(error.args[0], "str") else str(error)
        advice = "check that the broker runs, and --bus or ACCORD_BUS"
        return problem("bus", f"no broker answers at {address.servers}: {told}", advice)
    missing = [name for name in address.names.all() if name not in found.topics]
    topics = f"; the server will make {len(missing)} topics" if missing else ", with all topics"
    return ok("bus", f"{len(found.brokers)} brokers answer at {address.servers}{topics}")
