"""Any writes, on both engines: the hub does what the model does.

ACCORD_STATEFUL=20 tries twenty times as many (`make races`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.hub.stateful.machine import HubMachine
from tests.store.cluster import Cluster

TIMES = int(os.environ.get("ACCORD_STATEFUL", "1"))


def run(new_url: Callable[[], str], examples: int) -> None:
    machine = type("Machine", (HubMachine,), {"new_url": staticmethod(new_url)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples * TIMES,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.req("H-01", "H-02", "H-17")
def test_a_hub_on_sqlite_does_what_the_model_does(tmp_path: Path, migrated_file: Path) -> None:
    numbers = count(1)

    def new_url() -> str:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copy(migrated_file, path)
        return f"sqlite://{path}"

    run(new_url, 20)


@pytest.mark.timeout(300 * TIMES)
@pytest.mark.req("H-01", "H-02", "H-17")
def test_a_hub_on_postgresql_does_what_the_model_does(
    cluster: Cluster, migrated_database: str
) -> None:
    run(lambda: cluster.database(template=migrated_database), 5)
