"""What a workflow comes to, worked out the plain way: recursively, list by list, with the time at which
each thing ends. It shares no code with the machine; it knows no history, no agenda and no state.

Everything returns a `Result` with a log of what started and what was done when. Whoever cancels
something at a time T strikes from its log what is not before T.
"""

from __future__ import annotations

import heapq
import re
from typing import Any, Literal

from msgspec import Struct, structs

from tests.workflows.core.simulation import World

Json = dict[str, Any]
_REFERENCE = re.compile(r"\$\{(steps|input|loop|error)\.([\w.-]+)( == | < )?(\d+)?\}")


class Entry(Struct, frozen=True):
    at: float
    kind: Literal["given", "done"]
    key: str
    value: Any


class Result(Struct, frozen=True):
    end: float
    log: tuple[Entry, ...]
    output: Any = None
    code: str | None = None
    jump: str | None = None

    def until(self, time: float) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.log if entry.at < time)


class Place(Struct, frozen=True):
    """What is known at a place: outputs by key, the rounds of the loops around and their items,
    and why a handler runs."""

    done: dict[str, Any]
    input: Any
    rounds: tuple[int, ...] = ()
    items: tuple[Any, ...] = ()
    error: str | None = None

    def after(self, log: tuple[Entry, ...]) -> Place:
        done = {**self.done, **{each.key: each.value for each in log if each.kind == "done"}}
        return structs.replace(self, done=done)


class Outcome(Struct, frozen=True):
    status: str
    output: Any
    code: str | None
    inputs: dict[str, Any]


def interpret(definition: Json, input: Any, world: World) -> Outcome:
    """Return the result of a run of the definition."""
    reference = _Reference(world)
    place = Place({}, input)
    main = reference.steps(definition["steps"], 0.0, place, lane=True)
    log = main.log
    if main.code is not None:
        if "on_error" in definition:
            after = structs.replace(place.after(log), error=main.code)
            log += reference.steps(definition["on_error"], main.end, after, lane=True).log
        return Outcome("failed", None, main.code, _inputs(log))
    output = main.output
    if "output" in definition:
        output = reference.value(definition["output"], place.after(log))
    return Outcome("completed", output, None, _inputs(log))


def _inputs(log: tuple[Entry, ...]) -> dict[str, Any]:
    return {entry.key: entry.value for entry in log if entry.kind == "given"}


class _Reference:
    def __init__(self, world: World) -> None:
        self._world = world

    # Lists and steps

    def steps(self, steps: list[Json], start: float, place: Place, *, lane: bool) -> Result:
        names = [step["name"] for step in steps]
        log: tuple[Entry, ...] = ()
        at, index, output = start, 0, None
        while index < len(steps):
            result = self._handled(steps[index], at, place.after(log))
            log, at = log + result.log, result.end
            if result.code is not None:
                return Result(at, log, code=result.code)
            output = result.output
            target = result.jump or steps[index].get("next")
            if target is None:
                index += 1
            elif target in names:
                index = names.index(target)
            elif target == "end" and lane:
                break
            else:
                return Result(at, log, output, jump=target)
        return Result(at, log, output)

    def _handled(self, step: Json, start: float, place: Place) -> Result:
        """A step with what is done about its failure."""
        result = self._timed(step, start, place)
        if result.code is None:
            done = Entry(result.end, "done", _key(step, place), result.output)
            return structs.replace(result, log=(*result.log, done))
        on_error = step.get("on_error")
        if isinstance(on_error, list):
            around = structs.replace(place.after(result.log), error=result.code)
            handler = self.steps(on_error, result.end, around, lane=False)
            log = result.log + handler.log
            return Result(handler.end, log, None, handler.code, handler.jump)
        if on_error == "continue" and step["type"] != "loop":
            return Result(result.end, result.log)
        return result

    def _timed(self, step: Json, start: float, place: Place) -> Result:
        result = self._step(step, start, place)
        limit = start + step.get("timeout", 3600.0 if step["type"] in ("agent", "call") else 1e9)
        if result.end > limit:
            return Result(limit, result.until(limit), code="timeout")
        return result

    def _step(self, step: Json, start: float, place: Place) -> Result:
        match step["type"]:
            case "agent" | "call" | "workflow":
                return self._task(step, start, place)
            case "wait":
                return self._wait(step, start, place)
            case "condition":
                return self._condition(step, start, place)
            case "parallel":
                return self._parallel(step, start, place)
            case _:
                return self._loop(step, start, place)

    def _task(self, step: Json, start: float, place: Place) -> Result:
        key = _key(step, place)
        fate = self._world.task(key)
        given = Entry(start, "given", key, self.value(step.get("input"), place))
        return Result(start + fate.seconds, (given,), fate.output, fate.code)

    def _wait(self, step: Json, start: float, place: Place) -> Result:
        if "for" in step:
            return Result(start + step["for"], ())
        if "signal" in step:
            arrival = self._world.signal(step["signal"])
            return Result(max(start, arrival), (), f"signal {step['signal']}")
        fate = self._world.task(_key(step, place))
        if fate.code is not None:
            return Result(start + fate.seconds, (), code="rejected")
        return Result(start + fate.seconds, (), {"approved": True, "by": "ann", "reason": ""})

    def _condition(self, step: Json, start: float, place: Place) -> Result:
        if "if" in step:
            chosen = step["then"] if self.value(step["if"], place) else step.get("else")
        else:
            value = self.value(step["switch"], place)
            label = "null" if value is None else str(value)
            chosen = step["cases"].get(label, step.get("default"))
        if chosen is None:
            return Result(start, ())
        return self.steps(chosen, start, place, lane=False)

    # Side by side

    def _parallel(self, step: Json, start: float, place: Place) -> Result:
        names = list(step["branches"])
        results = self._scheduled(
            len(names),
            step.get("max_parallelism", len(names)),
            start,
            lambda index, at: self.steps(step["branches"][names[index]], at, place, lane=True),
        )
        join = step.get("join", "all")
        need = {"all": len(names), "any": 1, "majority": len(names) // 2 + 1}
        needed = join if isinstance(join, int) else need[join]
        order = sorted(range(len(names)), key=lambda index: results[index].end)
        succeeded = failed = 0
        end = start
        for index in order:
            succeeded += results[index].code is None
            failed += results[index].code is not None
            if succeeded >= needed or failed > len(names) - needed:
                end = results[index].end
                break
        log = _joined(results, end)
        if succeeded < needed:
            return Result(end, log, code="join_failed")
        output = {
            name: result.output if result.end <= end and result.code is None else None
            for name, result in zip(names, results, strict=True)
        }
        return Result(end, log, output)

    def _loop(self, step: Json, start: float, place: Place) -> Result:
        on_error = step.get("on_error", "stop")
        tolerant = on_error in ("continue", "collect")
        if "while" in step:
            results = self._while(step, start, place, tolerant)
        else:
            results = self._over(step, start, place)
        failures = [result.end for result in results if result.code is not None]
        if failures and not tolerant:
            end = min(failures)
            code = next(result.code for result in results if result.end == end)
            return Result(end, _joined(results, end), code=code)
        end = max((result.end for result in results), default=start)
        log = tuple(entry for result in results for entry in result.log)
        if on_error == "collect":
            return Result(end, log, [_collected(result) for result in results])
        return Result(end, log, [result.output for result in results])

    def _over(self, step: Json, start: float, place: Place) -> list[Result]:
        items = self.value(step["over"], place)
        parallel = step.get("mode") == "parallel"
        return self._scheduled(
            len(items),
            step.get("max_parallelism", len(items)) if parallel else 1,
            start,
            lambda index, at: self._round(step, at, place, index, items[index]),
            stop=not parallel and step.get("on_error", "stop") not in ("continue", "collect"),
        )

    def _while(self, step: Json, start: float, place: Place, tolerant: bool) -> list[Result]:
        results: list[Result] = []
        at = start
        _, _, _, limit = _REFERENCE.fullmatch(step["while"]).groups()  # type: ignore[union-attr]
        while len(results) < int(limit):
            result = self._round(step, at, place, len(results), None)
            results.append(result)
            at = result.end
            if result.code is not None and not tolerant:
                break
        return results

    def _round(self, step: Json, at: float, place: Place, index: int, item: Any) -> Result:
        inside = structs.replace(place, rounds=(*place.rounds, index), items=(*place.items, item))
        return self.steps(step["body"], at, inside, lane=True)

    def _scheduled(
        self, count: int, most: int, start: float, run: Any, stop: bool = False
    ) -> list[Result]:
        """Lists of steps of which only so many run at once, the first first."""
        free = [start] * min(count, most)
        results: list[Result] = []
        for index in range(count):
            at = heapq.heappop(free)
            result: Result = run(index, at)
            results.append(result)
            heapq.heappush(free, result.end)
            if stop and result.code is not None:
                break
        return results

    # Expressions: of the few forms that the definitions here have

    def value(self, value: Any, place: Place) -> Any:
        match value:
            case str():
                found = _REFERENCE.fullmatch(value)
                return value if found is None else self._evaluated(found, place)
            case dict():
                return {key: self.value(each, place) for key, each in value.items()}
            case _:
                return value

    def _evaluated(self, found: re.Match[str], place: Place) -> Any:
        root, path, operator, number = found.groups()
        if root == "steps":
            value = self._output(path.removesuffix(".output"), place)
        elif root == "input":
            value = place.input[path]
        elif root == "error":
            value = place.error
        else:
            *parents, field = path.split(".")
            index = -1 - len(parents)
            value = place.rounds[index] if field == "index" else place.items[index]
        return value if operator is None else value == int(number)

    def _output(self, name: str, place: Place) -> Any:
        for depth in range(len(place.rounds), -1, -1):
            key = name + "".join(f"[{each}]" for each in place.rounds[:depth])
            if key in place.done:
                return place.done[key]
        return None


def _key(step: Json, place: Place) -> str:
    return step["name"] + "".join(f"[{each}]" for each in place.rounds)  # type: ignore[no-any-return]


def _joined(results: list[Result], end: float) -> tuple[Entry, ...]:
    """What happened until the end; of what ended at that very time, all."""
    return tuple(
        entry
        for result in results
        for entry in (result.log if result.end <= end else result.until(end))
    )


def _collected(result: Result) -> Json:
    status = "completed" if result.code is None else "failed"
    return {"status": status, "output": result.output, "error": result.code}
