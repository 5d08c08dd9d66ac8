"""The pool of threads for handlers that block."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from accord import BusyError, ThreadPool


async def test_jobs_run_in_threads_and_give_their_results_and_errors() -> None:
    pool = ThreadPool()
    assert await pool.submit(threading.get_ident) != threading.get_ident()

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await pool.submit(fail)


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt])
async def test_exceptions_that_no_future_can_carry_become_runtime_errors(
    raised: type[BaseException],
) -> None:
    pool = ThreadPool(threads=1)

    def fail() -> None:
        raise raised

    with pytest.raises(RuntimeError, match=raised.__name__):
        await pool.submit(fail)
    assert await pool.submit(lambda: "the thread lives") == "the thread lives"


async def test_jobs_see_the_context_variables_of_their_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("mine")
    assert await ThreadPool().submit(variable.get) == "mine"


@pytest.mark.req("F-24", "F-28")
async def test_no_more_threads_run_and_no_more_jobs_wait_than_the_limits_say() -> None:
    pool = ThreadPool(threads=2, queued=3)
    release = threading.Event()
    started = threading.Semaphore(0)
    running, most = 0, 0
    lock = threading.Lock()

    def job() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        started.release()
        release.wait(10)
        with lock:
            running -= 1

    first = [pool.submit(job) for _ in range(2)]
    for _ in first:
        await asyncio.to_thread(started.acquire)
    queued = [pool.submit(job) for _ in range(3)]
    assert pool.waiting == 3
    with pytest.raises(BusyError):
        pool.submit(job)
    release.set()
    await asyncio.gather(*first, *queued)
    assert most == 2


async def test_a_job_cancelled_while_it_waits_is_never_run() -> None:
    pool = ThreadPool(threads=1)
    release = threading.Event()
    ran: list[str] = []
    first = pool.submit(lambda: release.wait(10))
    second = pool.submit(lambda: ran.append("second"))
    second.cancel()
    release.set()
    await first
    await pool.submit(lambda: ran.append("third"))
    assert ran == ["third"]


def test_a_result_for_a_loop_that_is_closed_is_dropped() -> None:
    pool = ThreadPool(threads=1)
    release = threading.Event()

    async def leave_behind() -> None:
        pool.submit(lambda: release.wait(10))

    asyncio.run(leave_behind())
    release.set()

    async def again() -> str:
        result: str = await pool.submit(lambda: "still works")
        return result

    assert asyncio.run(again()) == "still works"
