"""One run, driven by hand: what arrives is applied, what follows is decided, commands are kept."""

from __future__ import annotations

from itertools import count
from typing import Any

from accord.workflows.core.decisions import decide
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelRequested,
    Command,
    Event,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    RunStarted,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.machine import fold, receive
from accord.workflows.core.program import compile_program
from accord.workflows.core.reading import read_definition
from accord.workflows.core.state import Failure, State, decode_state, encode_state


def wait(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "wait", **more}


def agent(name: str, input: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a", "input": input, **more}


class Run:
    """A run of some steps. `now` is the time, and moves only by hand."""

    def __init__(self, *steps: dict[str, Any], **more: Any) -> None:
        definition = read_definition({"name": "w", "steps": list(steps), **more})
        self.program = compile_program(definition)
        self.state = State()
        self.history: list[Event] = []
        self.sent: list[Command] = []
        self.now = 0.0
        self._ids = count()

    def start(self, input: Any = None, depth: int = 0) -> Run:
        return self.arrive(RunStarted(at=self.now, input=input, depth=depth))

    def arrive(self, event: Arrival) -> Run:
        self.record(event)
        return self.decide()

    def record(self, event: Arrival) -> Run:
        """Something arrives, and nobody decides yet."""
        self.history.append(receive(self.program, self.state, event))
        return self

    def decide(self) -> Run:
        more = True
        while more:
            decision = decide(self.program, self.state, self.now)
            self.history.extend(decision.events)
            self.sent.extend(decision.commands)
            more = decision.more
        # Whatever happens in a test: a history folds to the state, and a state can be kept.
        assert fold(self.program, self.history) == self.state
        self.state = decode_state(encode_state(self.state))
        return self

    def later(self, seconds: float) -> Run:
        self.now += seconds
        return self.decide()

    def done(self, task: str, output: Any = None, **more: Any) -> Run:
        return self.arrive(TaskSucceeded(at=self.now, task=task, output=output, **more))

    def fail(self, task: str, code: str = "broken", **more: Any) -> Run:
        return self.arrive(
            TaskFailed(at=self.now, task=task, error=Failure(code, "it broke"), **more)
        )

    def ask(self, task: str, prompt: Any = None) -> Run:
        return self.arrive(TaskAsked(at=self.now, task=task, prompt=prompt))

    def signal(self, name: str, payload: Any = None, id: str | None = None) -> Run:
        id = id or f"signal-{next(self._ids)}"
        return self.arrive(SignalReceived(at=self.now, name=name, id=id, payload=payload))

    def approve(self, task: str, reason: str = "", *, approved: bool = True) -> Run:
        return self.arrive(
            ApprovalGiven(at=self.now, task=task, approved=approved, by="ann", reason=reason)
        )

    def pause(self) -> Run:
        return self.arrive(PauseRequested(at=self.now, by="ann"))

    def resume(self) -> Run:
        return self.arrive(ResumeRequested(at=self.now, by="ann"))

    def cancel(self, reason: str = "") -> Run:
        return self.arrive(CancelRequested(at=self.now, by="ann" if reason else "", reason=reason))

    def retry(self, step: str | None = None) -> Run:
        return self.arrive(RetryRequested(at=self.now, step=step))

    @property
    def commands(self) -> list[Command]:
        """Return the commands since the last call."""
        sent, self.sent = self.sent, []
        return sent

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks in the commands since somebody looked."""
        return [f"{type(command).__name__} {command.task}" for command in self.commands]

    @property
    def statuses(self) -> dict[str, str]:
        return {key: step.status for key, step in self.state.steps.items()}

    @property
    def outcome(self) -> tuple[str, Any]:
        """How it ended: the state, and the output or the error's code."""
        error = self.state.error
        return self.state.status, self.state.output if error is None else error.code
