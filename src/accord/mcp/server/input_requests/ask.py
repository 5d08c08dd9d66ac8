"""Input channels of both eras: handlers ask the client and get its answers.

In the handshake era a question is a request to the client. In the stateless era it is part of
a result: the handler ends at the question, and is run again when the client repeats its request
with the answers. Answers of earlier rounds are in the state that the client returns, so the
handler runs up to the first question without an answer.

    run 1: elicit "name" ─▶ no answer yet ─▶ result: input_required, state
    run 2: elicit "name" ─▶ from inputResponses ─▶ elicit "sure?" ─▶ input_required, state
    run 3: elicit "name" ─▶ from the state ─▶ elicit "sure?" ─▶ from inputResponses ─▶ done
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from hashlib import sha256
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.definitions import ClientCapabilities
from accord.mcp.protocol.input_requests import AnswerRefusedError, InputRequest, Method
from accord.mcp.protocol.messages import AnswerableParams, InputRequiredResult, Profile, failure
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import Era
from accord.mcp.server.input_requests.client_features import (
    Elicitations,
    ElicitUrl,
    decode_message,
    decode_roots,
    read_elicited,
)
from accord.mcp.server.input_requests.forms import problem_with
from accord.mcp.server.input_requests.request_state import Once, RequestState, StateSeal
from accord.mcp.server.session import Incoming

log = logging.getLogger("accord.mcp")

MAX_QUESTIONS: Final = 1_000
"""The maximum number of questions in one request."""

T_co = TypeVar("T_co", covariant=True)

_decode_request = msgspec.json.Decoder(InputRequest).decode


class Question(Protocol[T_co]):
    """A question of a handler to a client, such as a form for the user."""

    label: ClassVar[str]
    """The prefix of the keys that questions of this type get by default."""
    method: ClassVar[Method]

    def needs(self) -> dict[str, Any]:
        """Return the capabilities that a client must have declared."""

    def suits(self, capabilities: ClientCapabilities, version: str) -> bool:
        """Return whether a client with these capabilities can answer the question.

        `version` is the version of the protocol that the client uses.
        """

    def params(self, version: str) -> Any:
        """Return the params of the request in `version`; UNSET for a request without params."""

    def read(self, raw: bytes) -> T_co:
        """Decode `raw`, the client's answer to this question, and return the answer.

        Raises `AnswerRefusedError` if the answer does not fit the question.
        """


Named: TypeAlias = tuple[str, Question[Any]]
"""A pair of a name and a question; the name is empty if the handler has given it none."""


class InputRequired(BaseException):
    """A signal that ends a handler until its question is answered.

    It is not an `Exception`, so handlers do not catch it by accident. If a handler catches it
    anyway, the question is still sent, because the input channel has recorded it before.
    """


class InputChannel(Protocol):
    """The channel through which the handler of one request asks its client."""

    once: Once
    waiting: int
    """The number of questions that wait for an answer."""

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        """Ask several questions together and return their answers.

        Raises RpcError if the client cannot answer a question, or gives an invalid answer.
        """

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        """Return the exception that refuses a request until the user has visited pages."""

    async def required(self) -> InputRequiredResult | None:
        """Return the result of a request that has questions without answers.

        The result carries these questions. Return None if there are none.
        """


class Asker:
    """The factory of one server's input channels, and the state that they share."""

    def __init__(
        self,
        *,
        profile: Profile,
        timeout: float | None,
        state_keys: Sequence[bytes],
        state_seconds: float,
    ) -> None:
        self.elicitations = Elicitations()
        self.profile: Profile = profile
        self.timeout = timeout
        self._has_keys = bool(state_keys)
        self._state_seconds = state_seconds
        self._seal = StateSeal(state_keys, seconds=state_seconds)

    def share_key(self, key: bytes) -> None:
        """Seal request states with `key`, which all processes share.

        If the application has configured `state_keys`, these stay in use instead.
        """
        if not self._has_keys:
            self._seal = StateSeal([key], seconds=self._state_seconds)

    def begin(self, incoming: Incoming, params: AnswerableParams) -> InputChannel:
        """Return the input channel of one request.

        Raises RpcError if the request carries the state of another request.
        """
        if incoming.era is Era.STATELESS:
            return RoundTripChannel(incoming, params, self._seal)
        return RequestChannel(
            incoming,
            profile=self.profile,
            timeout=self.timeout,
            elicitations=self.elicitations,
        )


class QuestionKeys:
    """A generator of keys for the questions of one request.

    Keys do not depend on the order in which concurrent parts of a handler ask different questions.
    """

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def key(self, name: str, label: str, digest: str) -> str:
        """Return a key that is unique within the request."""
        key = name or f"{label}-{digest[:12]}"
        times = self._taken[key] = self._taken.get(key, 0) + 1
        if len(self._taken) > MAX_QUESTIONS:
            raise RuntimeError(f"a request asks more than {MAX_QUESTIONS:,} questions")
        return key if times == 1 else f"{key}-{times}"


class RequestChannel:
    """The input channel of the handshake era, which sends requests to the client.

    Implements `InputChannel`.
    """

    def __init__(
        self,
        incoming: Incoming,
        *,
        profile: Profile,
        timeout: float | None,
        elicitations: Elicitations,
    ) -> None:
        self.once = Once()
        self.waiting = 0
        self._incoming = incoming
        self._profile: Profile = profile
        self._timeout = timeout
        self._elicitations = elicitations

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        check_capabilities(questions, self._incoming, self._profile)
        if len(questions) == 1:
            return [await self._ask(questions[0][1])]
        return await together([self._ask(question) for _, question in questions])

    async def _ask(self, question: Question[Any]) -> Any:
        if isinstance(question, ElicitUrl):
            self._elicitations.remember(question.id, self._incoming.link)
        self.waiting += 1
        try:
            raw = await self._incoming.link.ask(
                question.method,
                params_of(question, self._incoming.version),
                into=Raw,
                timeout=self._timeout,
            )
        finally:
            self.waiting -= 1
        return read_answer(question, question.label, bytes(raw), self._incoming.era, self._profile)

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check_capabilities(
            [("", question) for question in questions], self._incoming, self._profile
        )
        for question in questions:
            self._elicitations.remember(question.id, self._incoming.link)
        return failure(
            "url_elicitation_required",
            "This request requires more information.",
            era=self._incoming.era,
            profile=self._profile,
            elicitations=[question.params(self._incoming.version) for question in questions],
        )

    async def required(self) -> InputRequiredResult | None:
        return None


class RoundTripChannel:
    """The input channel of the stateless era, which ends and repeats the request.

    Questions are part of the result, and answers part of the repeated request. Implements
    `InputChannel`.
    """

    def __init__(self, incoming: Incoming, params: AnswerableParams, seal: StateSeal) -> None:
        state = seal.open(params, incoming)
        self.waiting = 0
        self.once = Once({key: bytes(raw) for key, raw in state.once.items()})
        self._incoming = incoming
        self._params = params
        self._seal = seal
        self._asked = state.asked
        self._before = state.answers
        self._given: dict[str, Raw] = (
            {} if params.input_responses is UNSET else params.input_responses
        )
        self._keys = QuestionKeys()
        self._answers: dict[str, Raw] = {}
        self._digests: dict[str, str] = {}
        self._open: dict[str, Raw] = {}
        self._refusal: RpcError | None = None

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        check_capabilities(questions, self._incoming)
        answers = [self._answer(*self._place(*each)) for each in questions]
        if UNSET not in answers:
            return answers
        # Let concurrent questions be recorded too: they go into the same result.
        await asyncio.sleep(0)
        raise InputRequired

    def _place(self, name: str, question: Question[Any]) -> tuple[str, Question[Any]]:
        """Record a question as open, and return its key and the question."""
        request = request_of(question, self._incoming.version)
        digest = sha256(request).hexdigest()
        key = self._keys.key(name, question.label, digest)
        self._digests[key] = digest
        self._open[key] = Raw(request)
        return key, question

    def _answer(self, key: str, question: Question[Any]) -> Any:
        """Return the answer to a question; UNSET if it has not been answered yet.

        An answer to a differently worded question under the same key is ignored.
        """
        if self._asked.get(key, self._digests[key]) != self._digests[key]:
            log.warning("%s asks something else than before as '%s'", self._incoming.method, key)
            return UNSET
        raw = self._before.get(key, self._given.get(key))
        if raw is None:
            return UNSET
        del self._open[key]
        try:
            found = read_answer(question, key, bytes(raw), Era.STATELESS)
        except RpcError as error:
            self._refusal = error
            raise
        self._answers[key] = raw
        return found

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check_capabilities([("", question) for question in questions], self._incoming)
        for question in questions:
            self._place("", question)
        return InputRequired()

    async def required(self) -> InputRequiredResult | None:
        if self._refusal is not None:
            # 2026-07-28, multi round-trip requests: malformed answers are errors, even if the
            # handler has caught the exception.
            raise self._refusal
        if not self._open:
            return None
        await self.once.finish()
        self._warn_of_others()
        state = RequestState(
            asked=self._digests,
            answers=self._answers,
            once={key: Raw(data) for key, data in self.once.results.items()},
        )
        return InputRequiredResult(
            result_type="input_required",
            input_requests=self._open,
            request_state=self._seal.seal(state, self._params, self._incoming),
        )

    def _warn_of_others(self) -> None:
        """Log a warning if the client has answered questions that this run has not asked.

        A handler must ask the same questions in each run: without them it cannot use the answers,
        and makes no progress.
        """
        lost = [key for key in self._given if key in self._asked and key not in self._digests]
        if lost:
            log.warning(
                "%s was answered what it did not ask again: the words of a question must not "
                "change from run to run",
                self._incoming.method,
            )


def problem_with_answer(request: bytes, answer: bytes) -> str:
    """Return the problem with an answer to a request; empty if the answer is valid.

    For processes that receive an answer to a question of another process.
    """
    decoded = _decode_request(request)
    try:
        if decoded.method == "roots/list":
            decode_roots(answer)
        elif decoded.method == "sampling/createMessage":
            decode_message(answer)
        else:
            found = read_elicited(answer)
            schema = msgspec.json.decode(decoded.params).get("requestedSchema")
            if found.action == "accept" and schema is not None:
                return problem_with(found.content or {}, schema)
    except (AnswerRefusedError, *REFUSALS):
        return "it is no answer to this question"
    return ""


async def leave(unanswered: InputRequired) -> Any:
    """Raise `unanswered`, the exception by which a question has ended a function.

    The coroutine stands for that of the function, so that the exception is raised when it is
    awaited.
    """
    raise unanswered


def check_capabilities(
    questions: Sequence[Named], incoming: Incoming, profile: Profile = "standard"
) -> None:
    """Raise RpcError for questions that the client cannot answer.

    2026-07-28, multi round-trip requests: a question must not be asked without the client's
    capability.
    """
    capabilities = incoming.capabilities
    for _, question in questions:
        if not question.suits(capabilities, incoming.version):
            raise failure(
                "capability_not_supported",
                f"The client has not declared what {question.method} needs",
                era=incoming.era,
                profile=profile,
                requiredCapabilities=question.needs(),
            )


def read_answer(
    question: Question[Any], key: str, raw: bytes, era: Era, profile: Profile = "standard"
) -> Any:
    """Return the decoded answer to a question.

    Raises RpcError if the answer does not fit the question.
    """
    try:
        return question.read(raw)
    except AnswerRefusedError as refused:
        raise invalid_answer(key, str(refused), era, profile) from None


def invalid_answer(key: str, problem: str, era: Era, profile: Profile = "standard") -> RpcError:
    return failure(
        "invalid_params",
        f"Invalid params: the answer to '{key[:100]}': {problem}",
        era=era,
        profile=profile,
        question=key[:100],
    )


def request_of(question: Question[Any], version: str) -> bytes:
    """Encode a question as the stateless era sends it: a request without an id."""
    params = params_of(question, version)
    if params is UNSET:
        return encode({"method": question.method})
    return encode({"method": question.method, "params": params})


def params_of(question: Question[Any], version: str) -> Any:
    """Return the params of a question in `version`; UNSET for a question without params."""
    params = question.params(version)
    return params if params is UNSET else in_version(version, params)


async def together(work: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run all coroutines at the same time and return their results.

    If one of them fails, the others are cancelled.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
