"""Any definition that is valid, of the forms that the reference interpreter understands."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

Json = dict[str, Any]


class Around(Struct, frozen=True):
    """What stands around a list of steps: what it may refer to, whether each loop has items, where
    it may jump, how deep it is, whether something failed."""

    visible: tuple[str, ...] = ()
    loops: tuple[bool, ...] = ()
    targets: tuple[str, ...] = ()
    depth: int = 0
    failed: bool = False


class Generated(Struct, frozen=True):
    definition: Json
    input: Json
    signals: tuple[str, ...]


@st.composite
def generated(draw: st.DrawFn) -> Generated:
    """A definition, an input for it, and the signals it waits for."""
    maker = _Maker(draw)
    steps, names = maker.steps(Around())
    definition: Json = {"name": "any", "steps": steps}
    after = Around(visible=names)
    if draw(st.integers(0, 2)) == 0:
        definition["on_error"], _ = maker.steps(replace(after, failed=True, depth=2))
    if draw(st.booleans()):
        definition["output"] = {"a": maker.reference(after), "b": maker.reference(after)}
    input = {
        "flag": draw(st.booleans()),
        "number": draw(st.integers(0, 2)),
        "list": draw(st.lists(st.integers(0, 5), max_size=3)),
    }
    return Generated(definition, input, tuple(maker.signals))


class _Maker:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._count = 0
        self.signals: list[str] = []

    def _name(self) -> str:
        self._count += 1
        return f"s-{self._count}"

    def _one_in(self, chances: int) -> bool:
        return self._draw(st.integers(1, chances)) == chances

    def _seconds(self) -> float:
        # No two things of a run may end at the very same time.
        return self._draw(st.integers(1, 9)) + self._count * 0.0001234567

    # Lists

    def steps(
        self, around: Around, *, first_task: bool = False
    ) -> tuple[list[Json], tuple[str, ...]]:
        """A list of steps, and the names in it that are visible after it."""
        names = [self._name() for _ in range(self._draw(st.integers(1, 3)))]
        steps: list[Json] = []
        inner: tuple[str, ...] = ()
        for index, name in enumerate(names):
            here = replace(
                around,
                visible=around.visible + inner,
                targets=(*names[index + 1 :], *around.targets),
            )
            kind = "task" if first_task and index == 0 else self._kind(around)
            step, seen = self._step(kind, name, here)
            self._decorate(step, replace(here, visible=here.visible + seen))
            handler = step.pop("_handler", ())
            steps.append(step)
            inner += (*seen, *handler, name)
        return steps, inner

    def _kind(self, around: Around) -> str:
        kinds = ["task", "task", "wait"]
        if around.depth < 3:
            kinds += ["parallel", "condition", "switch", "loop", "while"]
        return self._draw(st.sampled_from(kinds))

    def _decorate(self, step: Json, around: Around) -> None:
        if self._one_in(8):
            step["timeout"] = self._seconds() * self._draw(st.sampled_from([0.5, 2.0]))
        if self._one_in(4) and around.depth < 3 and "on_error" not in step:
            inside = replace(around, depth=3, failed=True)
            step["on_error"], step["_handler"] = self.steps(inside)
            self._maybe_jump(step["on_error"], around)
        elif self._one_in(5) and step["type"] != "loop":
            step["on_error"] = "continue"

    def _maybe_jump(self, steps: list[Json], around: Around) -> None:
        if self._one_in(3):
            steps[-1]["next"] = self._draw(st.sampled_from([*around.targets, "end"]))

    # Steps

    def _step(self, kind: str, name: str, around: Around) -> tuple[Json, tuple[str, ...]]:
        inside = replace(around, depth=around.depth + 1)
        match kind:
            case "task":
                return self._task(name, around), ()
            case "wait":
                return self._wait(name, around), ()
            case "parallel":
                return self._parallel(name, inside)
            case "condition" | "switch":
                return self._choice(kind, name, inside)
            case _:
                return self._loop(kind, name, inside), ()

    def _task(self, name: str, around: Around) -> Json:
        own: Json = self._draw(
            st.sampled_from(
                [
                    {"type": "agent", "agent": "a"},
                    {"type": "agent", "agent": "a"},
                    {"type": "call", "operation": "o"},
                    {"type": "workflow", "workflow": "w@2"},
                ]
            )
        )
        return {"name": name, **own, "input": {"x": self.reference(around), "y": "plain"}}

    def _wait(self, name: str, around: Around) -> Json:
        kinds = ["for", "approval"] if around.loops else ["for", "approval", "signal"]
        match self._draw(st.sampled_from(kinds)):
            case "for":
                return {"name": name, "type": "wait", "for": self._seconds()}
            case "approval":
                return {"name": name, "type": "wait", "approval": {"by": ["ann"]}}
            case _:
                self.signals.append(name)
                return {"name": name, "type": "wait", "signal": name}

    def _parallel(self, name: str, inside: Around) -> tuple[Json, tuple[str, ...]]:
        lane = replace(inside, targets=())
        branches: dict[str, list[Json]] = {}
        seen: tuple[str, ...] = ()
        for index in range(self._draw(st.integers(1, 3))):
            branches[f"b{index}"], names = self.steps(lane, first_task=True)
            seen += names
        step: Json = {"name": name, "type": "parallel", "branches": branches}
        rules: list[Any] = ["all", "any", "majority", len(branches)]
        step["join"] = self._draw(st.sampled_from(rules))
        if self._one_in(3):
            step["max_parallelism"] = self._draw(st.integers(1, 2))
        return step, seen

    def _choice(self, kind: str, name: str, inside: Around) -> tuple[Json, tuple[str, ...]]:
        first, seen = self.steps(inside)
        self._maybe_jump(first, inside)
        step: Json = {"name": name, "type": "condition"}
        if kind == "condition":
            step |= {"if": self._truth(inside), "then": first}
            other = "else"
        else:
            step |= {"switch": "${input.number}", "cases": {"1": first}}
            if inside.visible:
                step["switch"] = f"${{steps.{self._draw(st.sampled_from(inside.visible))}.output}}"
            other = "default"
        if self._one_in(2):
            step[other], more = self.steps(inside)
            seen += more
        return step, seen

    def _loop(self, kind: str, name: str, inside: Around) -> Json:
        step: Json = {"name": name, "type": "loop"}
        if kind == "while":
            step["while"] = f"${{loop.index < {self._draw(st.integers(0, 3))}}}"
        else:
            step["over"] = self._draw(st.sampled_from(["${input.list}", ["p", "q"], [1, 2, 3]]))
            if self._one_in(2):
                step["mode"] = "parallel"
                if self._one_in(2):
                    step["max_parallelism"] = self._draw(st.integers(1, 2))
        if self._one_in(2):
            step["on_error"] = self._draw(st.sampled_from(["stop", "continue", "collect"]))
        lane = replace(inside, targets=(), loops=(*inside.loops, kind == "loop"))
        step["body"], _ = self.steps(lane, first_task=True)
        return step

    # Expressions

    def reference(self, around: Around) -> str:
        forms = ["${input.number}", "${input.list}"]
        forms += [f"${{steps.{name}.output}}" for name in around.visible[-6:]]
        for up, has_items in enumerate(reversed(around.loops)):
            parents = "parent." * up
            forms.append(f"${{loop.{parents}index}}")
            forms += [f"${{loop.{parents}item}}"] if has_items else []
        if around.failed:
            forms.append("${error.code}")
        return self._draw(st.sampled_from(forms))

    def _truth(self, around: Around) -> str:
        forms = ["${input.flag}", "${input.number == 1}"]
        return self._draw(st.sampled_from(forms))
