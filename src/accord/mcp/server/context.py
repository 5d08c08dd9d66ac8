"""The context of a handler: its request, and the methods to reach the client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from math import inf
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from accord.mcp.protocol.definitions import ClientCapabilities, Implementation, Tool
from accord.mcp.protocol.input_requests import (
    CreateMessageResult,
    ModelPreferences,
    Root,
    SamplingMessage,
)
from accord.mcp.protocol.messages import AnswerableParams, LogLevel, LogParams, ProgressParams
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import Era
from accord.mcp.server.input_requests.ask import InputChannel as Asking, InputRequired, Question
from accord.mcp.server.input_requests.client_features import (
    Answer,
    Elicit,
    ElicitUrl,
    Roots,
    Sample,
)
from accord.mcp.server.session import Incoming, Principal, is_wanted

if TYPE_CHECKING:
    from accord.mcp.server.input_requests.ask import Asker

log = logging.getLogger("accord.mcp")

T = TypeVar("T")


class Done:
    """The awaitable result of an operation that is already done."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


DONE = Done()


class Context(Struct, eq=False):
    """The context of a handler: its request, and ways to reach the client.

    A handler gets the context in a parameter annotated with `Context`. The methods `progress` and
    `log` have sent their notification when they return; awaiting them is possible and unnecessary.
    """

    _incoming: Incoming
    lifespan: Any
    """The value of the server's lifespan."""
    _asker: Asker | None = None
    _params: AnswerableParams | None = None
    asking: Asking | None = None
    """The channel by which the handler asks the client; None until the handler first uses it.
    Handlers use methods such as `elicit` instead."""
    is_held: bool = False
    """True while the handler continues as a task, after its request was answered with the task's
    handle; then `end` does nothing."""
    _progress: float = -inf
    _begin_task: Callable[[], Awaitable[None]] | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _waiting: set[asyncio.Task[Any]] | None = None

    @property
    def version(self) -> str:
        """The version of the protocol that this request follows."""
        return self._incoming.version

    @property
    def client(self) -> Implementation | None:
        """The client's name and version, as reported by the client."""
        return self._incoming.client_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        return self._incoming.capabilities

    @property
    def principal(self) -> Principal | None:
        """The authenticated caller; None for an anonymous caller."""
        return self._incoming.link.principal

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers with names in lower case; empty over other transports."""
        return self._incoming.context.headers

    @property
    def incoming(self) -> Incoming:
        """The request itself, for components that forward it."""
        return self._incoming

    # Threads

    def in_thread(self, function: Callable[[], Any]) -> Awaitable[Any]:
        """Run a blocking function: `await context.in_thread(partial(read, path))`."""
        self._loop = asyncio.get_running_loop()
        job = self._incoming.context.in_thread
        return job(function) if self._params is None else _asking_job(job(partial(_run, function)))

    def from_thread(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and wait for its result in this thread.

        For handlers that are plain functions: `answer = context.from_thread(context.elicit("Your
        name?", str))`.
        """
        loop = self._loop
        if loop is None or _is_running(loop):
            work.close()
            raise RuntimeError("from_thread is for plain functions that run in a thread: use await")
        return asyncio.run_coroutine_threadsafe(self._wait(work), loop).result()

    async def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        waiting = self._waiting = self._waiting or set()
        waiting.add(task)
        try:
            return await work
        finally:
            waiting.discard(task)

    def end(self) -> None:
        """Cancel calls of `from_thread` and `once` that the handler has left running.

        Do nothing while the handler continues as a task.
        """
        if self.is_held:
            return
        for task in tuple(self._waiting or ()):
            task.cancel()
        if self.asking is not None:
            self.asking.once.cancel()

    # Notifications

    def progress(self, progress: float, total: float | None = None, message: str = "") -> Done:
        """Report the progress of this request, if the client has requested progress.

        The value must grow: a value that is not above the last one is logged and not sent.
        """
        token = self._incoming.meta.progress_token
        if token is not UNSET and not progress > self._progress:
            # 2025-11-25, progress: the value must increase with each notification.
            log.debug("progress of %g after %g is not sent", progress, self._progress)
        elif token is not UNSET:
            self._progress = progress
            params = ProgressParams(
                progress_token=token, progress=progress, total=total, message=message
            )
            self._tell("notifications/progress", in_version(self.version, params))
        return DONE

    def log(self, level: LogLevel, data: Any, *, logger: str = "") -> Done:
        """Send the client a log message, if it wants messages of this level."""
        incoming = self._incoming
        if incoming.era is Era.STATELESS:
            least = incoming.meta.log_level
            is_requested = least is not UNSET and is_wanted(level, least)
        else:
            session = incoming.link.session
            is_requested = session is not None and is_wanted(level, session.log_level or "debug")
        if is_requested:
            params = LogParams(level=level, data=data, logger=logger)
            self._tell("notifications/message", params)
        return DONE

    def _tell(self, method: str, params: Any) -> None:
        """Send a notification from any thread that the handler runs in."""
        self._on_loop(partial(self._incoming.link.notify, method, params))

    def close_stream(self) -> None:
        """Release the HTTP connection that waits for the answer.

        The client reconnects for the answer. This saves a connection during a long operation; it
        does nothing for other transports and in the stateless era.
        """
        self._on_loop(self._incoming.link.close_stream)

    def _on_loop(self, do: Callable[[], None]) -> None:
        if self._loop is None or _is_running(self._loop):
            do()
        else:
            self._loop.call_soon_threadsafe(do)

    def debug(self, data: Any) -> Done:
        return self.log("debug", data)

    def info(self, data: Any) -> Done:
        return self.log("info", data)

    def warning(self, data: Any) -> Done:
        return self.log("warning", data)

    def error(self, data: Any) -> Done:
        return self.log("error", data)

    # Input requests

    def is_asking(self) -> bool:
        """Return whether the handler is waiting for an answer of the client."""
        return self.asking is not None and self.asking.waiting > 0

    @overload
    async def elicit(self, message: str, *, key: str = "") -> Answer[None]: ...
    @overload
    async def elicit(
        self, message: str, form: dict[str, Any], *, key: str = ""
    ) -> Answer[dict[str, Any]]: ...
    @overload
    async def elicit(self, message: str, form: type[T], *, key: str = "") -> Answer[T]: ...

    async def elicit(self, message: str, form: Any = None, *, key: str = "") -> Any:
        """Ask the user to fill in a form or, without a form, to confirm the message.

        The form is a type with simple fields, one simple type, or a schema. Raises RpcError if the
        client cannot show the form.
        """
        return await self._ask(key, Elicit(message, form))

    async def elicit_url(
        self, message: str, url: str, *, id: str = "", key: str = ""
    ) -> Answer[None]:
        """Ask the user to open a web page and enter data that the client must not see.

        `Accepted` means that the user has agreed to open the page, not that they have finished:
        report that with `server.elicitation_completed(id)`.
        """
        return await self._ask(key, ElicitUrl(message, url, id=id or token_urlsafe(16)))

    async def sample(
        self,
        messages: str | SamplingMessage | Sequence[str | SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | UnsetType = UNSET,
        model_preferences: ModelPreferences | str | Sequence[str] | None = None,
        temperature: float | UnsetType = UNSET,
        stop_sequences: list[str] | UnsetType = UNSET,
        include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
        tools: list[Tool] | UnsetType = UNSET,
        tool_choice: Literal["auto", "required", "none"] | UnsetType = UNSET,
        key: str = "",
    ) -> CreateMessageResult:
        """Ask the client's model to continue a conversation.

        A plain text counts as a message of the user.
        """
        return await self._ask(
            key,
            Sample(
                messages,
                max_tokens=max_tokens,
                system_prompt=system_prompt,
                model_preferences=model_preferences,
                temperature=temperature,
                stop_sequences=stop_sequences,
                include_context=include_context,
                metadata=metadata,
                tools=tools,
                tool_choice=tool_choice,
            ),
        )

    async def roots(self, *, key: str = "") -> list[Root]:
        """Ask the client for the locations that the server may work in."""
        return await self._ask(key, Roots())

    async def ask(self, **questions: Question[Any]) -> dict[str, Any]:
        """Ask several questions together and return the answers by name.

        `await context.ask(name=Elicit(…), tale=Sample(…))`
        """
        answers = await self.prepare_asking().ask(list(questions.items()))
        return dict(zip(questions, answers, strict=True))

    def url_required(self, *pages: ElicitUrl) -> BaseException:
        """Return an exception to raise if the user must first visit `pages`.

        `raise context.url_required(ElicitUrl("Sign in", url, id=id))`. The client repeats the
        request after the user has visited them.
        """
        return self.prepare_asking().refuse(pages)

    async def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Return the result of `function`, plain or async, called once per request.

        A handler that asks questions may be run again from its start for each answer: put one-time
        effects into `function`, or after the last question. The result is stored as JSON.
        """
        return await self.prepare_asking().once.do(key, function)

    async def start_task(self) -> None:
        """Continue the call as a task, in tools with `starts_task=True`.

        The client gets the handle of the task now, and later questions belong to the task. Does
        nothing in a call that cannot become a task or is a task already.
        """
        if self._begin_task is not None:
            await self._begin_task()

    async def _ask(self, key: str, question: Question[T]) -> T:
        answers: list[T] = await self.prepare_asking().ask([(key, question)])
        return answers[0]

    def prepare_asking(self) -> Asking:
        """Return the input channel of this request, created at the first call.

        Raises RpcError if the request carries the answers of another request.
        """
        if self.asking is None:
            if self._asker is None or self._params is None:
                raise RuntimeError(
                    "only tools, prompts and resources can ask the client, not "
                    + self._incoming.method
                )
            self.asking = self._asker.begin(self._incoming, self._params)
        return self.asking

    # For tasks

    def move(
        self,
        incoming: Incoming | None = None,
        asking: Asking | None = None,
        begin_task: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Give a running handler the request, input channel and start function of a task.

        This is done when a call becomes a task. A request or channel that is None is not replaced.
        """
        self._begin_task = begin_task
        if incoming is not None:
            self._incoming = incoming
        if asking is not None:
            self.asking = asking


def _run(function: Callable[[], Any]) -> Any:
    """Return the result of a function in a thread.

    The future of a thread can only raise an `Exception`, so an `InputRequired` is returned as a
    value.
    """
    try:
        return function()
    except InputRequired as unanswered:
        return unanswered


async def _asking_job(job: Awaitable[Any]) -> Any:
    result = await job
    if isinstance(result, InputRequired):
        raise result
    return result


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
