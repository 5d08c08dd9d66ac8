"""`expose`: the routes of a web application as described methods, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from accord.exposure.find import find_routes
from accord.exposure.in_process import Exposed, InProcess, InProcessLimits
from accord.exposure.routes import Naming, Selection, name_routes, select
from accord.jsonrpc.router import Router
from accord.openrpc.api import Api, ApiOptions, NamedApiOptions
from accord.openrpc.placing import check_path, put_into
from accord.openrpc.web_info import web_info
from accord.transports.options import check_options


def expose(
    app: Any,
    *,
    at: str | None = None,
    router: Router | None = None,
    include: Selection = (),
    exclude: Selection = (),
    naming: Naming = "path",
    prefix: str = "",
    nested: bool = False,
    forward: Iterable[str] = ("authorization",),
    base_url: str | None = None,
    root_path: str = "",
    route_limits: InProcessLimits | None = None,
    openapi: Mapping[str, Any] | None = None,
    title: str | None = None,
    version: str | None = None,
    **api: Unpack[ApiOptions],
) -> Api:
    """The routes of `app` as methods, called in process and described.

        expose(app, at="/rpc")

    Served `at` a path of `app` itself, where that is one of Starlette or FastAPI, or wherever
    you put the result, which is an ASGI application.

    The routes are those that `app` has now. They are added to `router`, which may have other
    methods, or to a new one. `include` and `exclude` choose, `naming` and `prefix` name, with
    `nested` the parameters are grouped by where they go. `forward` names the caller's headers
    that go along with a call. `openapi` describes an application that is not of Starlette or
    FastAPI. What `app` says about itself is in the document, unless the options of `Api` say
    otherwise.

    Raises `RegistrationError` when two routes would have one name, or a pattern fits none.
    """
    check_options(expose, api, ApiOptions.__annotations__)
    routes = find_routes(app, openapi=openapi, nested=nested)
    chosen = select(routes, include=include, exclude=exclude)
    named = name_routes(chosen, naming=naming, prefix=prefix)
    in_process = InProcess(
        app, forward=forward, base_url=base_url, root_path=root_path, limits=route_limits
    )
    methods = Router()
    for name, route in named.items():
        methods.add(Exposed(in_process, route), name)
    target = methods
    if router is not None:
        router.include(methods)
        target = router
    options: NamedApiOptions = {**web_info(app, openapi), **api}
    if title is not None:
        options["title"] = title
    if version is not None:
        options["version"] = version
    if at is None:
        return Api(target, behind=in_process, **options)
    options["path"] = check_path(at)
    served = Api(target, behind=in_process, **options)
    put_into(app, served, options["path"])
    return served
