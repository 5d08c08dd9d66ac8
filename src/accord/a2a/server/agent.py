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
    """Skills under one name.

    `choose` gives the id of the skill that a message is for; without it, or where it gives None,
    that is `metadata.skill` of the message, else the first skill. `once` answers a message that
    comes again with the task that it began. `wires` are the formats that are spoken, the one to
    be preferred first. `token` lets in only those who have it. `webhooks` says which addresses
    are told of tasks, if any; without it no webhooks are taken.
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

        A parameter of type `str` gets the text of the message, a `Message` all of it, a
        `TaskContext` the task; any other type gets the message's data. The return value becomes an
        artifact; a generator yields an artifact piece by piece. With `direct` the return value is
        the answer, without a task.
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

        Its card names `url`. Without one it names `path` at the address that a request reached, and
        requests for other hosts are refused.
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
        """Serve the agent while this is entered: `async with agent.serve(url) as serving`."""
        from accord.a2a.server.serving import serve

        return serve(self, url, **options)

    def run(
        self,
        url: str,
        *,
        on_listen: Callable[[Serving], None] | None = None,
        **options: Unpack[AgentServeOptions],
    ) -> None:
        """Serve until a signal."""
        from accord.a2a.server.serving import run

        run(self, url, on_listen=on_listen, **options)
