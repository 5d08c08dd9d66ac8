"""How the questions of a handler get to the client, and the answers back.

In the handshake era a question is a request to the client. In the stateless one it is part
of a result: the handler ends there, and is run again when the client repeats its request with
the answers. Answers that were given before are found in the state that comes along, so that
the handler gets as far as the first question without one.

    run 1: elicit "name" ─▶ nobody has answered ─▶ result: input_required, state
    run 2: elicit "name" ─▶ from inputResponses ─▶ elicit "sure?" ─▶ input_required, state
    run 3: elicit "name" ─▶ from the state ─▶ elicit "sure?" ─▶ from inputResponses ─▶ done
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol, TypeAlias

from msgspec import UNSET, Raw

from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RpcError
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.params import AnswerableParams
from accord.mcp.protocol.results import InputRequiredResult
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import Era
from accord.mcp.server.elicitations import Elicitations
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.once import Once
from accord.mcp.server.questions import AnswerRefusedError, ElicitUrl, Question
from accord.mcp.server.request_state import RequestState, StateSeal

log = logging.getLogger("accord.mcp")

MAX_QUESTIONS: Final = 1_000
"""How many questions one request may ask."""

Named: TypeAlias = tuple[str, Question[Any]]
"""A question with the name that its handler gives it; empty for none."""


class Unanswered(BaseException):
    """Ends a handler that asks what nobody has answered yet.

    It is no `Exception`, so that handlers do not catch it by accident. One that catches it all
    the same changes nothing: what it asked is asked.
    """


class Asking(Protocol):
    """The way of one request to ask its client."""

    once: Once
    waiting: int
    """How many questions are being waited for."""

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        """The answers to questions that are asked together. Raises RpcError."""

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        """What to raise when a request cannot be served before the user has been to pages."""

    async def required(self) -> InputRequiredResult | None:
        """What is sent in place of a result when questions are left; None if there are none."""


class Keys:
    """Gives the questions of a request their keys, which do not depend on the order in which
    handlers that do several things at once happen to ask."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def key(self, name: str, label: str, digest: str) -> str:
        """A key that no other question of the request has."""
        wanted = name or f"{label}-{digest[:12]}"
        times = self._taken[wanted] = self._taken.get(wanted, 0) + 1
        if len(self._taken) > MAX_QUESTIONS:
            raise RuntimeError(f"a request asks more than {MAX_QUESTIONS:,} questions")
        return wanted if times == 1 else f"{wanted}-{times}"


class Requests:
    """Asks by requests to the client, as the handshake era has it."""

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
        check(questions, self._incoming, self._profile)
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
        return read(question, question.label, bytes(raw), self._incoming.era, self._profile)

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check([("", question) for question in questions], self._incoming, self._profile)
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


class Rounds:
    """Asks by results, and finds the answers in the repeated request."""

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
        self._keys = Keys()
        self._answers: dict[str, Raw] = {}
        self._digests: dict[str, str] = {}
        self._open: dict[str, Raw] = {}
        self._refusal: RpcError | None = None

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        check(questions, self._incoming)
        answers = [self._answer(*self._place(*each)) for each in questions]
        if UNSET not in answers:
            return answers
        # What is asked at the same time goes into the same result: a turn for the others.
        await asyncio.sleep(0)
        raise Unanswered

    def _place(self, name: str, question: Question[Any]) -> tuple[str, Question[Any]]:
        """The question with its key. It is open until it turns out to have an answer."""
        request = request_of(question, self._incoming.version)
        digest = sha256(request).hexdigest()
        key = self._keys.key(name, question.label, digest)
        self._digests[key] = digest
        self._open[key] = Raw(request)
        return key, question

    def _answer(self, key: str, question: Question[Any]) -> Any:
        """The answer; UNSET if there is none. An answer to what was asked under the same key in
        other words is none."""
        if self._asked.get(key, self._digests[key]) != self._digests[key]:
            log.warning("%s asks something else than before as '%s'", self._incoming.method, key)
            return UNSET
        raw = self._before.get(key, self._given.get(key))
        if raw is None:
            return UNSET
        del self._open[key]
        try:
            found = read(question, key, bytes(raw), Era.STATELESS)
        except RpcError as error:
            self._refusal = error
            raise
        self._answers[key] = raw
        return found

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check([("", question) for question in questions], self._incoming)
        for question in questions:
            self._place("", question)
        return Unanswered()

    async def required(self) -> InputRequiredResult | None:
        if self._refusal is not None:
            # 2026-07-28, multi round-trip requests: malformed answers are errors, whatever the
            # handler made of them.
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
        """For whoever wonders why a handler never gets on: it must ask the same in each run."""
        lost = [key for key in self._given if key in self._asked and key not in self._digests]
        if lost:
            log.warning(
                "%s was answered what it did not ask again: the words of a question must not "
                "change from run to run",
                self._incoming.method,
            )


async def leave(unanswered: Unanswered) -> Any:
    """Work that ends as a function did which could not be waited for."""
    raise unanswered


def check(questions: Sequence[Named], incoming: Incoming, profile: Profile = "standard") -> None:
    """Raises RpcError for questions that the client has not said it can answer.

    2026-07-28, multi round-trip requests: such a question must not be asked.
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


def read(
    question: Question[Any], key: str, raw: bytes, era: Era, profile: Profile = "standard"
) -> Any:
    """The answer to a question. Raises RpcError for what is none."""
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
    """A question as the stateless era sends it: a request without an id."""
    params = params_of(question, version)
    if params is UNSET:
        return encode({"method": question.method})
    return encode({"method": question.method, "params": params})


def params_of(question: Question[Any], version: str) -> Any:
    """The params of a question, without what `version` does not know; UNSET for none."""
    params = question.params(version)
    return params if params is UNSET else in_version(version, params)


async def together(work: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The results of all; if one fails, the others are given up."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
