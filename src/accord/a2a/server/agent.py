"""`Agent`: an agent in a few lines.

    agent = Agent("shouter", description="Says things louder.")

    @agent.skill
    async def shout(text: str) -> str:
        "Says it in capitals."
        return text.upper()

    agent.run("http://127.0.0.1:9000/")

It is served in both wire formats at one URL, with its card at /.well-known/agent-card.json. Tasks
are in memory and lost when the program ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.card import (
    JSON,
    TEXT,
    AgentCard,
    Interface,
    Provider,
    bearer_scheme,
)
from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.model import Message
from accord.a2a.server.app import AgentApp, Authenticate, by_token
from accord.a2a.server.backend import MAX_TASKS, Backend
from accord.a2a.server.memory_backend import MemoryBackend
from accord.a2a.server.skills import SkillFunction, make_skill
from accord.jsonrpc.protocol.errors import RegistrationError

if TYPE_CHECKING:
    from accord.a2a.server.serving import AgentServeOptions, Serving, serve
    from accord.transports.asgi.web import WebAsgi

F = TypeVar("F", bound=Callable[..., Any])


class Agent:
    """An agent server: skills under one name.

    `choose` returns the id of the skill for a message. Without `choose`, or if it returns None, the
    skill is the one named in `metadata.skill` of the message, or else the first skill. With `once`,
    a repeated message starts nothing: it is answered with the task that it first started. `wires`
    are the supported formats, with the preferred one first. With a `token`, requests need this
    bearer token. `webhooks` is the policy for the addresses of webhooks; without it, webhooks are
    not supported.
    """

    def __init__(
        self,
        name: str,
        *,
        description: str = "",
        version: str = "1.0.0",
        provider: Provider | None = None,
        documentation_url: str = "",
        input_modes: Sequence[str] = (TEXT, JSON),
        output_modes: Sequence[str] = (TEXT, JSON),
        choose: Callable[[Message], str | None] | None = None,
        once: bool = True,
        wires: Sequence[Wire] = (Wire.V10, Wire.V03),
        token: str = "",
        webhooks: AddressPolicy | None = None,
        max_tasks: int = MAX_TASKS,
    ) -> None:
        self.name = name
        self._description = description or name
        self._version = version
        self._provider = provider
        self._documentation_url = documentation_url
        self._input_modes = tuple(input_modes)
        self._output_modes = tuple(output_modes)
        self._choose = choose
        self._once = once
        self._wires = tuple(wires)
        self._token = token
        self._webhooks = webhooks
        self._max_tasks = max_tasks
        self._skills: dict[str, SkillFunction] = {}

    # Skills

    @overload
    def skill(self, function: F, /) -> F: ...

    @overload
    def skill(
        self,
        *,
        id: str = "",
        name: str = "",
        description: str = "",
        tags: Sequence[str] = (),
        examples: Sequence[str] = (),
        direct: bool = False,
    ) -> Callable[[F], F]: ...

    def skill(
        self,
        function: Any = None,
        *,
        id: str = "",
        name: str = "",
        description: str = "",
        tags: Sequence[str] = (),
        examples: Sequence[str] = (),
        direct: bool = False,
    ) -> Any:
        """Register a function as a skill.

        A parameter of type `str` gets the text of the message, `Message` the whole message,
        `TaskContext` the task, and any other type the message's data. The return value becomes an
        artifact; the values of a generator become the pieces of one artifact. With `direct` the
        return value is the answer, without a task.
        """

        def add(function: F) -> F:
            made = make_skill(
                function,
                id=id,
                name=name,
                direct=direct,
                description=description,
                tags=tuple(tags),
                examples=tuple(examples),
            )
            if made.card.id in self._skills:
                raise RegistrationError(f"there is a skill {made.card.id} already")
            self._skills[made.card.id] = made
            return function

        return add if function is None else add(function)

    def card(self, url: str) -> AgentCard:
        """Return the agent's card for the address `url`."""
        return AgentCard(
            name=self.name,
            description=self._description,
            version=self._version,
            interfaces=tuple(Interface(url=url, version=wire.value) for wire in self._wires),
            skills=tuple(skill.card for skill in self._skills.values()),
            streaming=True,
            push_notifications=self._webhooks is not None,
            input_modes=self._input_modes,
            output_modes=self._output_modes,
            provider=self._provider,
            documentation_url=self._documentation_url,
            security_schemes={"bearer": bearer_scheme()} if self._token else {},
        )

    # Serving

    def app(self, *, url: str = "", scheme: str = "http", path: str = "/") -> AgentApp:
        """Return the agent as a web application.

        The agent's card names `url`. Without `url`, it names `path` at the address that the request
        for the card reached, and requests for the card with another host name are refused.
        """
        if not self._skills:
            raise RegistrationError(f"the agent {self.name} has no skill")
        authenticate: Authenticate | None = by_token(self._token) if self._token else None
        return AgentApp(
            self.backend(),
            lambda bound: self.card(url or f"{bound}{path}"),
            has_url=bool(url),
            wires=self._wires,
            authenticate=authenticate,
        )

    def backend(self) -> Backend:
        """Return the backend of the agent, which runs its skills in memory."""
        return MemoryBackend(
            self._skills,
            choose=self._choose,
            once=self._once,
            input_modes=self._input_modes,
            webhooks=self._webhooks,
            max_tasks=self._max_tasks,
        )

    def asgi(self, path: str = "/", *, url: str = "") -> WebAsgi:
        """Return an ASGI application, to be mounted or served alone.

        `url` is the address for clients, which the card names.
        """
        from accord.a2a.server.serving import LIMITS
        from accord.transports.asgi.web import WebAsgi

        return WebAsgi(self.app(url=url, path=path), path=path, limits=LIMITS)

    def serve(self, url: str, **options: Unpack[AgentServeOptions]) -> serve:
        """Serve the agent at `url`: `async with agent.serve(url) as serving`."""
        from accord.a2a.server.serving import serve

        return serve(self, url, **options)

    def run(
        self,
        url: str,
        *,
        on_listen: Callable[[Serving], None] | None = None,
        **options: Unpack[AgentServeOptions],
    ) -> None:
        """Serve the agent until SIGINT or SIGTERM."""
        from accord.a2a.server.serving import run

        run(self, url, on_listen=on_listen, **options)
