"""Workflows of DBOS: counts of runs come in on stdin, a line goes out when all of them are done.

Plain functions and its threads: coroutines, and one run after the other, cost it more.

    python -m benchmarks.peers.dbos_steps DATABASE_URL STEPS
"""

# mypy: ignore-errors

from __future__ import annotations

import sys

from dbos import DBOS

URL, STEPS = sys.argv[1], int(sys.argv[2])
ANSWER = "done"

DBOS(
    config={
        "name": "steps",
        "system_database_url": URL.replace("postgresql://", "postgresql+psycopg://", 1),
        "run_admin_server": False,
        "log_level": "ERROR",
    }
)


@DBOS.step()
def answer(number: int) -> str:
    return ANSWER


@DBOS.workflow()
def steps() -> str:
    said = ""
    for number in range(STEPS):
        said = answer(number)
    return said


def main() -> None:
    DBOS.launch()
    print("ready", flush=True)
    for line in sys.stdin:
        handles = [DBOS.start_workflow(steps) for _ in range(int(line))]
        assert {handle.get_result() for handle in handles} == {ANSWER}
        print("done", flush=True)
    DBOS.destroy()


main()
