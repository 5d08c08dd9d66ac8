"""Pages of several processes become one."""

from __future__ import annotations

import msgspec

from accord.telemetry.metrics import Exposition, Family


def test_each_sample_says_whose_it_is() -> None:
    page = Exposition()
    for number in (1, 2):
        own = Exposition()
        own.family("calls", "counter", "Calls.", [((("method", "add"),), number)])
        own.family("late", "histogram", "Late.")
        own.histogram("late", (), (0.5,), (number, 0), 0.25)
        sent = msgspec.json.encode(own.families)
        page.include(msgspec.json.decode(sent, type=dict[str, Family]), ("worker", str(number)))
    assert page.encode().decode().splitlines() == [
        "# HELP calls Calls.",
        "# TYPE calls counter",
        'calls{worker="1",method="add"} 1',
        'calls{worker="2",method="add"} 2',
        "# HELP late Late.",
        "# TYPE late histogram",
        'late_bucket{worker="1",le="0.5"} 1',
        'late_bucket{worker="1",le="+Inf"} 1',
        'late_sum{worker="1"} 0.25',
        'late_count{worker="1"} 1',
        'late_bucket{worker="2",le="0.5"} 2',
        'late_bucket{worker="2",le="+Inf"} 2',
        'late_sum{worker="2"} 0.25',
        'late_count{worker="2"} 2',
    ]
