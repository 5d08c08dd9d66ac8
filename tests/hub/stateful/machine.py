"""Whatever is done to a hub, it does what a model does; what does nothing leaves no trace."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import note, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from msgspec import to_builtins

from accord.app.composition import data_checks
from accord.hub.domain.rules import AcceptancePolicy
from accord.hub.exchange.formats import Formats
from accord.hub.registry import hub_operations
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import verify
from accord.operations.errors import ServiceError
from accord.operations.operation import Outcome
from accord.operations.runner import Runner
from tests.hub.stateful.agreement import Agreement
from tests.hub.stateful.commands import BEGINNING, Chooser, Command
from tests.hub.stateful.dump import dump
from tests.hub.stateful.model import Change, Model, Refused, Who
from tests.hub.world import RECORDERS, World, world_at

T = TypeVar("T")

KEY = b"k" * 32
NOBODY = "00000000-0000-4000-8000-00000000dead"
"""The id of nothing."""

WHO = st.sampled_from(("ada", "ada", "uma"))
LIMITS = st.integers(1, 7)
NUMBERS = st.integers(0, 10**6)


class HubMachine(RuleBasedStateMachine):
    """A hub and its model."""

    new_url: ClassVar[Any]
    """Gives the URL of an empty database with all tables."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._model = Model()
        self._ids: dict[str, str] = {}
        self._change_ids: list[str] = []
        self._keys = 0
        self._has_failed = False
        self._run(self._open())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.run(work)
        except BaseException:
            self._has_failed = True
            raise

    async def _open(self) -> None:
        url = type(self).new_url()
        self._world: World = await self._stack.enter_async_context(world_at(url))
        store = self._world.store
        self._trail = AuditTrail(store, KEY)
        self._world.runner = Runner(
            hub_operations(),
            store,
            self._trail,
            services=(Formats(), AcceptancePolicy()),
            recorders=RECORDERS,
        )
        self._agreement = Agreement(self._world, self._ids)
        for who, command in BEGINNING:
            name = self._model.call(command.operation, who, command.arguments)
            outcome = await self._call(command, who)
            self._model.commit(who)
            self._change_ids.append(outcome.change_id)
            self._learn(name, outcome.result)

    def teardown(self) -> None:
        try:
            self._run(self._end())
        finally:
            self._loop.close()

    async def _end(self) -> None:
        """The audit trail has a record of every write, and is whole."""
        try:
            await self._trail.flush()
            report = await verify(self._world.store, KEY, checks=data_checks())
            assert report.findings == ()
            done = await self._world.store.fetch(
                "SELECT COUNT(*) AS total FROM audit_records WHERE change_id <> ''"
            )
            assert self._has_failed or done[0]["total"] == len(self._model.changes)
        finally:
            await self._stack.aclose()

    # What can happen

    @rule(data=st.data(), who=WHO, limit=LIMITS)
    def write(self, data: st.DataObject, who: Who, limit: int) -> None:
        self._run(self._write(self._chooser(data).command(), who, limit))

    @rule(data=st.data(), who=WHO, limit=LIMITS)
    def write_after_a_dry_run(self, data: st.DataObject, who: Who, limit: int) -> None:
        command = self._chooser(data).command()
        self._run(self._dry_run(command, who))
        self._run(self._write(command, who, limit))

    @rule(data=st.data(), who=WHO, limit=LIMITS)
    def write_twice_with_a_key(self, data: st.DataObject, who: Who, limit: int) -> None:
        self._run(self._write_twice(self._chooser(data).command(), who, limit))

    @rule(data=st.data(), who=WHO, limit=LIMITS, dry_run=st.booleans())
    def write_several(self, data: st.DataObject, who: Who, limit: int, dry_run: bool) -> None:
        self._run(self._several(self._chooser(data).steps(), who, limit, dry_run))

    @precondition(lambda self: self._model.changes)
    @rule(back=st.integers(0, 6), who=WHO, limit=LIMITS, dry_run=st.booleans())
    def undo(self, back: int, who: Who, limit: int, dry_run: bool) -> None:
        number = max(0, len(self._model.changes) - 1 - back)
        self._run(self._undo(number, who, limit, dry_run))

    # How

    def _chooser(self, data: st.DataObject) -> Chooser:
        return Chooser(self._model, lambda count: data.draw(NUMBERS) % count)

    async def _write(
        self, command: Command, who: Who, limit: int, **further: Any
    ) -> Outcome | None:
        tried = self._model.copy()
        try:
            name = tried.call(command.operation, who, command.arguments)
        except Refused as refused:
            await self._refused(command, who, {refused.code}, **further)
            return None
        outcome = await self._call(command, who, **further)
        change = tried.commit(who)
        self._learn(name, outcome.result)
        self._check_result(tried, name, outcome.result)
        await self._committed(tried, change, outcome, limit)
        return outcome

    async def _dry_run(self, command: Command, who: Who) -> None:
        tried = self._model.copy()
        try:
            tried.call(command.operation, who, command.arguments)
        except Refused as refused:
            await self._refused(command, who, {refused.code}, dry_run=True)
            return
        before = await dump(self._world.store)
        outcome = await self._call(command, who, dry_run=True)
        assert await dump(self._world.store) == before
        change = tried.commit(who)
        assert len(outcome.result.changes) == (len(change.touches) if change else 0)
        assert (outcome.change_id, outcome.effects) == ("", ())

    async def _write_twice(self, command: Command, who: Who, limit: int) -> None:
        self._keys += 1
        key = {"idempotency_key": f"key {self._keys}"}
        first = await self._write(command, who, limit, **key)
        if first is None:
            return
        before = await dump(self._world.store)
        again = await self._call(command, who, **key)
        assert (again.replayed, again.change_id, again.effects) == (True, first.change_id, ())
        assert again.result == to_builtins(first.result)
        other = Command("create_epic", {"title": "another"})
        await self._refused(other, who, {"conflict"}, **key)
        assert await dump(self._world.store) == before

    async def _several(self, steps: list[Command], who: Who, limit: int, dry_run: bool) -> None:
        tried = self._model.copy()
        arguments = {
            "steps": [
                {"operation": each.operation, "arguments": self._real(each)} for each in steps
            ]
        }
        names: list[str] = []
        try:
            for step in steps:
                given = {
                    field: _filled(self._in_model(value), names)
                    for field, value in step.arguments.items()
                }
                names.append(tried.call(step.operation, who, given))
        except Refused as refused:
            all_of_it = Command("apply_changes", arguments)
            await self._refused(all_of_it, who, {refused.code}, dry_run=dry_run)
            return
        if dry_run:
            before = await dump(self._world.store)
            await self._world.outcome("apply_changes", self._caller(who), **arguments, dry_run=True)
            assert await dump(self._world.store) == before
            return
        outcome = await self._world.outcome("apply_changes", self._caller(who), **arguments)
        for name, each in zip(names, outcome.result.results, strict=True):
            self._learn(name, each.result)
        await self._committed(tried, tried.commit(who), outcome, limit)

    async def _undo(self, number: int, who: Who, limit: int, dry_run: bool) -> None:
        tried = self._model.copy()
        command = Command("undo", {"change_id": self._change_ids[number]})
        try:
            tried.undo(who, number)
        except Refused as refused:
            alike = {"conflict", "validation_failed"}
            codes = alike if refused.code in alike else {refused.code}
            await self._refused(command, who, codes, dry_run=dry_run)
            return
        if dry_run:
            before = await dump(self._world.store)
            await self._call(command, who, dry_run=True)
            assert await dump(self._world.store) == before
            return
        outcome = await self._call(command, who)
        await self._committed(tried, tried.commit(who, number), outcome, limit)

    async def _committed(
        self, tried: Model, change: Change | None, outcome: Outcome, limit: int
    ) -> None:
        """The model becomes what was tried, and the hub agrees with it."""
        assert bool(outcome.change_id) == (change is not None)
        if change is not None:
            self._change_ids.append(outcome.change_id)
        self._model = tried
        keys = list({touch.key: None for touch in change.touches}) if change else []
        await self._agreement.check(tried, keys, limit)

    async def _refused(self, command: Command, who: Who, codes: set[str], **further: Any) -> None:
        """It is refused, and nothing is left of it."""
        before = await dump(self._world.store)
        with pytest.raises(ServiceError) as refused:
            await self._call(command, who, **further)
        assert refused.value.kind.code in codes, refused.value.message
        assert await dump(self._world.store) == before

    async def _call(self, command: Command, who: Who, **further: Any) -> Outcome:
        note(f"{who}: {command.operation} {command.arguments} {further or ''}")
        return await self._world.outcome(
            command.operation, self._caller(who), **self._real(command), **further
        )

    def _caller(self, who: Who) -> Any:
        return self._world.admin if who == "ada" else self._world.user

    def _real(self, command: Command) -> dict[str, Any]:
        """Arguments as the hub knows things; items may be named by what people call them."""
        return {field: self._named(value) for field, value in command.arguments.items()}

    def _named(self, value: Any) -> Any:
        return self._ids.get(value, NOBODY) if _is_name(value) else value

    def _in_model(self, value: Any) -> Any:
        """What is nobody to the hub is nobody to the model, also where a step before gives that
        very name away."""
        if _is_name(value) and value not in self._ids:
            return f"{value.partition(' ')[0]} 0"
        return value

    def _learn(self, name: str, result: Any) -> None:
        """How what was made is called in the hub."""
        id = result.get("id") if isinstance(result, Mapping) else getattr(result, "id", None)
        if id is not None:
            assert self._ids.setdefault(name, id) == id

    def _check_result(self, model: Model, name: str, result: Any) -> None:
        if hasattr(result, "deleted"):
            gone = [touch.key for touch in model.changes[-1].touches if touch.after is None]
            kind = "comment" if name.startswith("comment") else "item"
            also = [each for what, each in gone if what == kind and each != name]
            assert sorted(result.also_deleted) == sorted(map(self._named, also))
        elif ("item", name) in model.rows and hasattr(result, "version"):
            assert (result.reference_id, result.version) == (name, model.item(name)["version"])


def _is_name(value: Any) -> bool:
    """Whether it is what the model calls something that has no reference id."""
    return isinstance(value, str) and value.startswith(("comment ", "link ", "label "))


def _filled(value: Any, names: list[str]) -> Any:
    """`$1.id` is what the first step made."""
    if isinstance(value, str) and value.startswith("$"):
        return names[int(value[1 : value.index(".")]) - 1]
    return value
