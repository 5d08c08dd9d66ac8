"""A route that says no more than its path: those of Starlette, which declare nothing else.

It is offered with what it may want: a query of any keys, and any body of JSON.
"""

from __future__ import annotations

from accord.exposure.declared_body import NO_BODY, WHOLE, Body
from accord.exposure.operation import Operation
from accord.exposure.route import RouteParameter
from accord.schema.schema import Schema

_QUERY = RouteParameter(
    name="query",
    wire_name="",
    location="query",
    schema=Schema(
        {
            "type": "object",
            "additionalProperties": {
                "type": ["string", "number", "boolean", "array"],
                "items": {"type": ["string", "number", "boolean"]},
            },
        }
    ),
    description="What goes into the query string, by name; an array gives a name several values.",
)
_BODY = Body(
    form="json",
    whole=RouteParameter(
        name=WHOLE, wire_name="", location="body", description="The body, as JSON."
    ),
)
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH")


def undescribed(method: str, path: str, doc: str) -> Operation:
    """What there is to say about a route of which nothing is known but its docstring."""
    summary, _, description = doc.partition("\n")
    return Operation(
        method=method,
        path=path,
        parameters=(_QUERY,),
        body=_BODY if method in _METHODS_WITH_BODY else NO_BODY,
        summary=summary.strip(),
        description=description.strip(),
    )
