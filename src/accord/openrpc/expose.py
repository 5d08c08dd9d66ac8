"""`expose`: offer the routes of a web application as methods of an API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Unpack

from accord.exposure.find import find_routes
from accord.exposure.in_process import Exposed, InProcess, InProcessLimits
from accord.exposure.routes import Naming, Selection, name_routes, select
from accord.jsonrpc.methods.method import ExternalDocs, Tag
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.openrpc.api import Api, ApiOptions, NamedApiOptions
from accord.openrpc.info import Contact, License, is_absolute
from accord.transports.options import check_options


def check_path(path: str) -> str:
    """Return `path` without a slash at its end.

    Raises `RegistrationError` unless it is a path such as `/rpc`.
    """
    trimmed = path.rstrip("/")
    if not trimmed.startswith("/") or "{" in trimmed or "//" in trimmed:
        raise RegistrationError(f"at={path!r} is no path such as '/rpc'")
    return trimmed


def mount(app: Any, endpoint: Any, path: str) -> None:
    """Mount `endpoint` at `path` of `app`, ahead of other routes that match the path.

    Raises `RegistrationError` unless `app` is an application of Starlette or FastAPI.
    """
    routes = getattr(getattr(app, "router", None), "routes", None)
    if not isinstance(routes, list):
        raise RegistrationError(
            f"at={path!r} is for applications of Starlette and FastAPI; "
            "serve what expose() gives beside this one instead"
        )
    from starlette.routing import Route

    routes[:0] = [
        Route(path, endpoint, include_in_schema=False),
        Route(f"{path}/{{rest:path}}", endpoint, include_in_schema=False),
    ]


UNNAMED: Final = "API"
UNVERSIONED: Final = "0.1.0"


def web_info(app: Any, openapi: Mapping[str, Any] | None) -> NamedApiOptions:
    """Return the metadata of the API: from `openapi` if given, or else from `app`."""
    said = _attributes(app) if openapi is None else openapi
    info = _mapping(said.get("info"))
    return {
        "title": _text(info, "title") or UNNAMED,
        "version": _text(info, "version") or UNVERSIONED,
        "description": _text(info, "description"),
        "terms_of_service": _url(info, "termsOfService"),
        "contact": _contact(_mapping(info.get("contact"))),
        "license": _license(_mapping(info.get("license"))),
        "tags": list(_tags(said.get("tags"))),
    }


def _attributes(app: Any) -> dict[str, Any]:
    """Return the metadata in an application's attributes, as in an OpenAPI document.

    The attributes are those of FastAPI, such as `title` and `version`.
    """
    info = {
        "title": getattr(app, "title", None),
        "version": getattr(app, "version", None),
        "description": getattr(app, "description", None) or getattr(app, "summary", None),
        "termsOfService": getattr(app, "terms_of_service", None),
        "contact": getattr(app, "contact", None),
        "license": getattr(app, "license_info", None),
    }
    return {"info": info, "tags": getattr(app, "openapi_tags", None)}


def _contact(info: Mapping[str, Any]) -> Contact | None:
    contact = Contact(name=_text(info, "name"), url=_url(info, "url"), email=_text(info, "email"))
    return None if contact == Contact() else contact


def _license(info: Mapping[str, Any]) -> License | None:
    name = _text(info, "name")
    return License(name, _url(info, "url")) if name else None


def _tags(listed: Any) -> Iterator[Tag]:
    for each in listed if isinstance(listed, list | tuple) else ():
        tag = _mapping(each)
        docs = _mapping(tag.get("externalDocs"))
        if name := _text(tag, "name"):
            url = _url(docs, "url")
            about = ExternalDocs(url, _text(docs, "description")) if url else None
            yield Tag(name, description=_text(tag, "description"), external_docs=about)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(info: Mapping[str, Any], name: str) -> str:
    value = info.get(name)
    return value if isinstance(value, str) else ""


def _url(info: Mapping[str, Any], name: str) -> str:
    value = str(info.get(name) or "")
    return value if is_absolute(value) else ""


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
    """Return an API with the routes of `app` as methods, which are called in process.

        expose(app, at="/rpc")

    With `at`, the API is served at that path of `app`, an application of Starlette or FastAPI.
    Without `at`, mount the result yourself: it is an ASGI application.

    Routes that are added to `app` later do not become methods. The methods are added to `router`,
    which may have other methods, or to a new router. `include` and `exclude` select routes;
    `naming` and `prefix` determine the names of methods; with `nested` the parameters are
    grouped by their part of the request. `forward` names the caller's headers that are forwarded
    with a call. `openapi` is the OpenAPI document of an application that is not of Starlette
    or FastAPI. The OpenRPC document contains the metadata of `app`, unless the options of `Api`
    override it.

    Raises `RegistrationError` if two routes would have one name, or if a pattern matches no route.
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
    mount(app, served, options["path"])
    return served
