"""Ids and times that are made cheaply are what they should be."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from uuid import UUID

from accord.operations.context import new_id, random_hex, utc_now


def test_ids_are_uuids_in_the_order_in_which_they_are_made() -> None:
    begun = time.time()
    ids = [new_id() for _ in range(5_000)]
    assert len({each[19:] for each in ids}) == 5_000
    assert [each[:18] for each in ids] == sorted(each[:18] for each in ids)
    for each in ids:
        assert str(UUID(each)) == each
        assert (UUID(each).version, UUID(each).variant) == (7, "specified in RFC 4122")
        assert abs((UUID(each).int >> 80) / 1000 - begun) < 60


def test_a_forked_process_makes_other_ids() -> None:
    random_hex(4)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, random_hex(16).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as pipe:
        os.close(writing)
        assert pipe.read() != random_hex(16)


def test_times_are_of_one_width_and_never_go_back() -> None:
    times = [utc_now() for _ in range(2_000)]
    assert times == sorted(times)
    assert {len(each) for each in times} == {27}
    read = datetime.fromisoformat(times[-1])
    assert abs((datetime.now(UTC) - read).total_seconds()) < 60
