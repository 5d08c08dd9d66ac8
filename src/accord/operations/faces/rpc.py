"""The operations of a registry as methods of JSON-RPC: the same names, params by name.

Who calls is in the context's state, put there by whoever serves the router. What the HTTP face
needs to know of a call beside its answer is left there too.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from msgspec import UNSET

from accord.jsonrpc.about import About, ErrorAbout
from accord.jsonrpc.arguments import members
from accord.jsonrpc.call_plan import Plan
from accord.jsonrpc.context import Context
from accord.jsonrpc.method import Method
from accord.jsonrpc.params_form import Params
from accord.jsonrpc.router import Router
from accord.operations.arguments import decode
from accord.operations.caller import Caller
from accord.operations.errors import KINDS, InvalidError, ServiceError, UnauthenticatedError
from accord.operations.faces.mapping import rpc_error
from accord.operations.operation import Operation
from accord.operations.outcome import Preview
from accord.operations.runner import InternalError, Runner

CALLER: Final = "accord.caller"
"""Under which the caller is found in a context's state."""
ALLOWANCE: Final = "accord.allowance"
"""Under which is left there what the caller has left."""
ERROR: Final = "accord.error"
"""Under which is left there why a call was refused."""


def rpc_router(runner: Runner) -> Router:
    """A router whose methods are the operations of the runner's registry."""
    router = Router()
    for operation in runner.registry:
        router.put(_method(operation, runner))
    return router


def _method(operation: Operation, runner: Runner) -> Method:
    plan = _plan(operation, runner)
    return Method(
        name=operation.name,
        function=operation.function,
        mode="async",
        deadline=UNSET,
        wants_context=True,
        parameters=operation.parameters,
        returns=operation.returns | Preview if operation.writes else operation.returns,
        doc=operation.description,
        about=About(
            summary=operation.title,
            description=operation.description,
            tags=(operation.tag,) if operation.tag else (),
            errors=tuple(_errors(operation)),
        ),
        protocol=False,
        invoke=plan,
        bind=lambda params, context: partial(plan, params, context),
        naming=members,
        function_mode="async",
    )


def _plan(operation: Operation, runner: Runner) -> Plan:
    def call(params: Params, context: Context | None) -> Any:
        assert context is not None
        # A copy: what was received is not kept while the call takes its time.
        return _call(b"{}" if params is UNSET else bytes(params), context)

    async def _call(params: bytes, context: Context) -> Any:
        caller: Caller | None = context.state.get(CALLER)
        try:
            if caller is None:
                raise UnauthenticatedError
            outcome = await runner.run(operation, lambda: _arguments(operation, params), caller)
        except (ServiceError, InternalError) as error:
            context.state[ERROR] = error
            correlation_id = "" if caller is None else caller.correlation_id
            raise rpc_error(error, correlation_id) from error
        context.state[ALLOWANCE] = outcome.allowance
        return outcome.result

    return call


def _arguments(operation: Operation, params: bytes) -> dict[str, Any]:
    if params.lstrip()[:1] == b"[":
        raise InvalidError("", "params are given by name, in an object")
    return decode(operation, params)


def _errors(operation: Operation) -> list[ErrorAbout]:
    names = ["validation_failed", "unauthenticated", "insufficient_permissions", "not_found"]
    if operation.writes:
        names.append("conflict")
    if any(each.name == "expected_version" for each in operation.parameters):
        names.append("version_mismatch")
    names.append("rate_limited")
    return [
        ErrorAbout(KINDS[name].rpc, KINDS[name].title, {"reason": name, "correlation_id": "…"})
        for name in names
    ]
