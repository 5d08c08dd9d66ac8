"""Decides on many runs at once.

Messages and due timers are read, decisions are made in memory, and all are written in one
transaction that checks the fences of the shards. If that fails because of one decision, the
decisions are written run by run, so that the others succeed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, get_args

import msgspec

from accord.store.store import Store, StoreUnavailableError, Transaction
from accord.workflows.bus.bus import Bus, LocalWorker
from accord.workflows.core.errors import CoreError, NewerSchemaError
from accord.workflows.core.events import Arrival, RunStarted, decode_event, type_of
from accord.workflows.executor.decision import (
    Children,
    LocalTasks,
    RunDecision,
    RunWrites,
    begin_decision,
    compose_writes,
    decide_run,
    write_decisions,
)
from accord.workflows.executor.inbox import (
    Agenda,
    DecisionProblem,
    Offer,
    Offers,
    UnreadableMessageError,
    postpone_problems,
    record_offers,
    settle_offers,
)
from accord.workflows.executor.run_cache import CachedRun, RunCache, added_bytes, load_states
from accord.workflows.metrics import ExecutorMetrics, SpanRecorder
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.history import RunRow
from accord.workflows.storage.leases import FencedError, Shards, shard_of
from accord.workflows.storage.messages import InboxMessage, RunMessage
from accord.workflows.storage.tasks import attempt_groups

log = logging.getLogger("accord.workflows")

_YIELD_AFTER: Final = 0.005
"""How long deciding may block the event loop, in seconds."""
_ARRIVALS: Final = get_args(Arrival)


class Decider:
    """The part of an executor that decides on the runs in its shards.

    Only one asyncio task may use it.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        shards: Shards,
        *,
        lane: str,
        definitions: Definitions,
        metrics: ExecutorMetrics,
        cached: RunCache,
        now: Callable[[], float],
        local_worker: LocalWorker | None,
        spans: SpanRecorder | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._shards = shards
        self._lane = lane
        self._definitions = definitions
        self._metrics = metrics
        self._cache = cached
        self._now = now
        self._local_worker = local_worker
        self._spans = spans
        self._agenda = Agenda(store, now)
        self._offers = Offers()
        self._is_woken = True

    @property
    def pause(self) -> float:
        """The number of seconds to wait for a notification before reading the inbox again."""
        return self._agenda.pause

    def forget(self, shards: frozenset[int]) -> None:
        """Drop cached runs of these shards, and read the whole inbox the next time.

        Another executor has the shards, or has had them since the runs were cached.
        """
        if shards:
            self._cache.drop(lambda cached: cached.row.shard in shards)
        self._agenda.forget()

    def wake(self) -> None:
        """Record that a message has arrived in the inbox."""
        self._is_woken = True

    def offer(self, messages: Sequence[RunMessage]) -> asyncio.Future[set[str]]:
        """Queue task results that the bus offers directly, without storing them first.

        The future gets the ids of the messages that were recorded with decisions.
        """
        return self._offers.add(messages)

    def refuse(self) -> None:
        """Answer all queued offers without recording any of their messages."""
        settle_offers(self._offers.take())

    async def decide(self) -> bool:
        """Decide on a batch of runs; return True if there were any.

        Raise StoreError if the database cannot be read or written.
        """
        offers = self._offers.take()
        try:
            return await self._decide_on(offers)
        finally:
            settle_offers(offers)

    async def _decide_on(self, offers: Sequence[Offer]) -> bool:
        fences = dict(self._shards.fences)
        if not fences:
            return False
        now = self._now()
        todo = await self._look(fences, now)
        for offer in offers:
            for message in offer.messages:
                if shard_of(message.run_id) in fences:
                    todo.setdefault(message.run_id, []).append(message)
        if todo:
            await self._decide(todo, fences, now, offers)
        return bool(todo)

    async def _look(self, fences: Mapping[int, int], now: float) -> dict[str, list[InboxMessage]]:
        if not self._is_woken and not self._agenda.is_due(now):
            return {}
        self._is_woken = False  # before reading: a notification during the read must count
        try:
            found = await self._agenda.read(fences, now)
        except BaseException:
            self._is_woken = True
            raise
        self._is_woken |= bool(found)  # there may be more
        return found

    async def _decide(
        self,
        todo: Mapping[str, list[InboxMessage]],
        fences: Mapping[int, int],
        now: float,
        offers: Sequence[Offer],
    ) -> None:
        loaded = await load_states(self._store, self._definitions, self._cache, todo)
        problems = loaded.problems
        decisions = await self._play(loaded.messages, loaded.cached, now, problems)
        batch = await self._compose(decisions, now, problems)
        try:
            for writes in await self._write_all(batch, loaded.strays, fences, problems):
                record_offers(offers, writes.decision.messages)
            record_offers(offers, loaded.strays)
            if problems:
                await self._postpone(problems, fences, now)
        except FencedError as error:
            self._metrics.fenced += 1
            log.warning("nothing was written: %s", error)
            self._shards.lose(error.shards)
            self.forget(error.shards)
        self._metrics.held = len(self._cache)

    # Deciding

    async def _play(
        self,
        todo: Mapping[str, Sequence[InboxMessage]],
        cached: Mapping[str, CachedRun],
        now: float,
        problems: list[DecisionProblem],
    ) -> list[RunDecision]:
        decisions: list[RunDecision] = []
        began = monotonic()
        oldest = now
        for run_id, each in cached.items():
            messages, arrivals = _readable_messages(todo[run_id], problems)
            if todo[run_id] and not messages:
                continue
            decision = begin_decision(each, messages)
            try:
                for _ in decide_run(decision, arrivals, now):
                    await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001 - the problem of one run, stored and logged
                problems.append(_decision_problem(each.row, messages, error))
                continue
            decisions.append(decision)
            oldest = min((oldest, *(arrival.at for arrival in arrivals)))
            if monotonic() - began > _YIELD_AFTER:
                await asyncio.sleep(0)
                began = monotonic()
        self._metrics.lag = now - oldest
        return decisions

    async def _compose(
        self, decisions: Sequence[RunDecision], now: float, problems: list[DecisionProblem]
    ) -> list[RunWrites]:
        children = Children(self._store, self._definitions)
        batch: list[RunWrites] = []
        for decision in decisions:
            try:
                begun = await children.prepare(decision.cached.row, decision.commands, now)
                groups = await attempt_groups(
                    self._store, self._store.engine, decision.cached.row.id, decision.commands
                )
                batch.append(compose_writes(decision, begun, groups, now))
            except StoreUnavailableError:
                raise
            except Exception as error:  # noqa: BLE001 - the problem of one run, stored and logged
                problems.append(_decision_problem(decision.cached.row, decision.messages, error))
        return batch

    # Writing

    async def _write_all(
        self,
        batch: Sequence[RunWrites],
        strays: Sequence[InboxMessage],
        fences: Mapping[int, int],
        problems: list[DecisionProblem],
    ) -> Sequence[RunWrites]:
        """Write all decisions in one transaction; return those that were written.

        Raise FencedError if a shard was lost. Raise StoreUnavailableError if the database is
        unavailable; it is then unknown whether the decisions were written.
        """
        if not batch and not strays:
            return []
        try:
            await self._write(batch, strays, fences)
        except (FencedError, StoreUnavailableError):
            raise
        except Exception as error:  # noqa: BLE001 - found again when each run is written alone
            log.warning("a decision on %d runs is written run by run: %s", len(batch), error)
            batch = await self._write_each(batch, strays, fences, problems)
        else:
            self._metrics.ignored += len(strays)
        for writes in batch:
            self._written(writes)
        return batch

    async def _write_each(
        self,
        batch: Sequence[RunWrites],
        strays: Sequence[InboxMessage],
        fences: Mapping[int, int],
        problems: list[DecisionProblem],
    ) -> list[RunWrites]:
        """Write each run's decision in its own transaction; return those that were written."""
        jobs = [self._write([writes], [], fences) for writes in batch]
        results = await asyncio.gather(
            self._write([], strays, fences), *jobs, return_exceptions=True
        )
        written: list[RunWrites] = []
        for writes, result in zip(batch, results[1:], strict=True):
            match result:
                case None:
                    written.append(writes)
                case FencedError() | StoreUnavailableError():
                    raise result
                case Exception():
                    problems.append(
                        _decision_problem(
                            writes.decision.cached.row, writes.decision.messages, result
                        )
                    )
                case _:
                    raise result
        return written

    async def _write(
        self, batch: Sequence[RunWrites], strays: Sequence[InboxMessage], fences: Mapping[int, int]
    ) -> None:
        local_worker = self._local_worker
        if local_worker is None:
            await self._record(batch, strays, fences, LocalTasks())
            return
        tasks = local_worker.claim(
            [task for writes in batch for task in (*writes.calls, *writes.operations)]
        )
        owned = LocalTasks(local_worker.owner, frozenset(task.id for task in tasks))
        try:
            await self._record(batch, strays, fences, owned)
        except BaseException:
            local_worker.drop(tasks)
            raise
        local_worker.give(tasks)

    async def _record(
        self,
        batch: Sequence[RunWrites],
        strays: Sequence[InboxMessage],
        fences: Mapping[int, int],
        owned: LocalTasks,
    ) -> None:
        runs = [writes.row.id for writes in batch] + [message.run_id for message in strays]
        needed = {shard: fences[shard] for shard in sorted(set(map(shard_of, runs)))}

        async def work(db: Transaction) -> None:
            await self._shards.check(db, needed)
            await write_decisions(db, self._store.engine, self._bus, batch, strays, owned)

        await self._store.transact(work, lane=self._lane)

    def _written(self, writes: RunWrites) -> None:
        decision, cached, row = writes.decision, writes.decision.cached, writes.row
        cached.row = row
        cached.values += added_bytes(decision.events)
        self._cache.put([cached])
        self._metrics.decided += bool(decision.events)
        self._metrics.events.update(type_of(event) for event in decision.events)
        self._metrics.ignored += decision.ignored
        log.debug(
            "run %s: %d events, %d commands, %d messages ignored",
            *(row.id, len(decision.events), len(decision.commands), decision.ignored),
        )
        self._agenda.note(row.next_timer)
        if any(isinstance(event, RunStarted) for event in decision.events[:1]):
            self._metrics.started += 1
            log.info(
                "run %s of %s@%d started, correlation id %s",
                *(row.id, row.workflow, row.version, row.correlation_id),
            )
        if decision.end is not None:
            seconds = max(decision.end.at - row.created_at, 0.0)
            self._metrics.finished[row.status] += 1
            self._metrics.seconds.add(seconds)
            self._tell_span(row)
            log.info(
                "run %s of %s@%d %s, correlation id %s",
                *(row.id, row.workflow, row.version, row.status, row.correlation_id),
            )

    def _tell_span(self, row: RunRow) -> None:
        if self._spans is None:
            return
        self._spans.tell(
            f"run {row.workflow}",
            began=row.created_at,
            traceparent=row.traceparent,
            attributes={
                "accord.run.id": row.id,
                "accord.run.workflow": f"{row.workflow}@{row.version}",
                "accord.run.state": row.status,
                "accord.correlation_id": row.correlation_id,
            },
            error="failed" if row.status == "failed" else "",
        )

    async def _postpone(
        self, problems: Sequence[DecisionProblem], fences: Mapping[int, int], now: float
    ) -> None:
        for problem in problems:
            _log_problem(problem)
        needed = {shard: fences[shard] for shard in {shard_of(each.run_id) for each in problems}}

        async def work(db: Transaction) -> None:
            await self._shards.check(db, needed)
            await postpone_problems(db, self._store.engine, problems, now)

        await self._store.transact(work, lane=self._lane)
        self._metrics.undecided += len(problems)
        self._metrics.dead_letters += sum(len(each.given_up) for each in problems)


def _log_problem(problem: DecisionProblem) -> None:
    given_up = [each.message_id for each in problem.given_up]
    if given_up:
        log.error(
            "messages %s for run %s are given up, as dead letters: %s",
            *(", ".join(given_up), problem.run_id, problem.error),
            exc_info=problem.error,
        )
    elif problem.is_new:
        log.error(
            "run %s waits, as nothing can be decided on it: %s",
            *(problem.run_id, problem.error),
            exc_info=None if isinstance(problem.error, CoreError) else problem.error,
        )
    else:
        log.debug("run %s waits still: %s", problem.run_id, problem.error)


def _decision_problem(
    row: RunRow, messages: Sequence[InboxMessage], error: Exception
) -> DecisionProblem:
    """Return the problem that an exception caused while deciding on these messages.

    Without messages it is a problem of the run, whose timer was due.
    """
    return DecisionProblem(row.id, messages, error, row=None if messages else row)


def _readable_messages(
    messages: Sequence[InboxMessage], problems: list[DecisionProblem]
) -> tuple[list[InboxMessage], list[Arrival]]:
    """Return the messages that can be decoded, and their events; add the others to `problems`."""
    understood: list[InboxMessage] = []
    arrivals: list[Arrival] = []
    for message in messages:
        try:
            if message.message is not None:
                understood.append(message)
                arrivals.append(message.message.arrival)
                continue
            arrival = _arrival(message)
        except (NewerSchemaError, UnreadableMessageError) as error:
            problems.append(DecisionProblem(message.run_id, [message], error))
        else:
            understood.append(message)
            arrivals.append(arrival)
    return understood, arrivals


def _arrival(message: InboxMessage) -> Arrival:
    """Decode the event in a message.

    Raise NewerSchemaError if a newer release wrote it, UnreadableMessageError if it is invalid.
    """
    try:
        event = decode_event(message.arrival.encode())
    except msgspec.DecodeError as error:
        raise UnreadableMessageError(str(error)) from error
    if not isinstance(event, _ARRIVALS):
        raise UnreadableMessageError(f"{type(event).__name__} is decided, and does not arrive")
    arrival: Arrival = event
    return arrival
