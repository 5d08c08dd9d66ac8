"""The first steps of somebody whose password was chosen by somebody else: a password of their own,
a token for their assistant, something to work on.

Each step can be left out but the first: whoever signs in is led there until they took it.
"""

from __future__ import annotations

from typing import Final

from accord.hub.demo.loading import demo_operation, first_epic
from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.connecting import ways
from accord.web.pages.own_password import change_password, check_repeated
from accord.web.pages.session import SET_UP
from accord.web.pages.tokens import presets, scopes_of
from accord.web.routing import Pages
from accord.web.turn import Turn

ASSISTANT: Final = f"{SET_UP}/assistant"
PROJECT: Final = f"{SET_UP}/project"

pages: Final = Pages()


@pages.get(SET_UP)
async def password(turn: Turn) -> Answer:
    user = await turn.do("get_own_user")
    if not user.temporary_password:
        return turn.go(ASSISTANT)
    return await _password(turn, user.email)


@pages.post(SET_UP)
async def choose_password(turn: Turn) -> Answer:
    email = turn.form["email"].strip()
    try:
        check_repeated(turn)
        if email:
            await turn.do("update_own_user", email=email)
        return await change_password(turn, ASSISTANT, "Your password is your own now.")
    except ServiceError as error:
        return await _password(turn, email, error)


@pages.get(ASSISTANT)
async def assistant(turn: Turn) -> Answer:
    return await _assistant(turn, "my assistant")


@pages.post(ASSISTANT)
async def create_token(turn: Turn) -> Answer:
    name = turn.form["name"].strip()
    try:
        scopes = scopes_of(turn.form, turn.who.role)
        token = await turn.do("create_token", name=name, scopes=scopes)
    except ServiceError as error:
        return await _assistant(turn, name, error)
    return await turn.page(
        "set_up/token.html", status=201, token=token, ways=ways(turn.url, token.token)
    )


@pages.get(PROJECT)
async def project(turn: Turn) -> Answer:
    return await _project(turn)


@pages.post(PROJECT)
async def load_sample(turn: Turn) -> Answer:
    try:
        outcome = await turn.services.runner.run(demo_operation(), {}, turn.who)
    except ServiceError as error:
        return await _project(turn, error)
    begin = first_epic(outcome.result)
    return turn.go("/requirements", f"The sample project is here. Begin with {begin}.")


async def _password(turn: Turn, email: str, error: ServiceError | None = None) -> Answer:
    status = 200 if error is None else error.kind.status
    return await turn.page("set_up/password.html", status=status, email=email, error=error)


async def _assistant(turn: Turn, name: str, error: ServiceError | None = None) -> Answer:
    status = 200 if error is None else error.kind.status
    found = presets(turn.who.role)
    return await turn.page(
        "set_up/assistant.html",
        status=status,
        name=name,
        presets=found,
        preset=turn.form["preset"] or found[0].key,
        error=error,
    )


async def _project(turn: Turn, error: ServiceError | None = None) -> Answer:
    status = 200 if error is None else error.kind.status
    epics = await turn.do("list_epics", limit=1)
    return await turn.page("set_up/project.html", status=status, epics=epics.total, error=error)
