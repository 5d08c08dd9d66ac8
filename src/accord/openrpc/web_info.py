"""What a web application says about itself: FastAPI in its attributes, others in OpenAPI.

Nothing is taken for granted about either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from accord.jsonrpc.about import ExternalDocs, Tag
from accord.openrpc.api import NamedApiOptions
from accord.openrpc.info import Contact, License, is_absolute

UNNAMED: Final = "API"
UNVERSIONED: Final = "0.1.0"


def web_info(app: Any, openapi: Mapping[str, Any] | None) -> NamedApiOptions:
    """What an application, or its OpenAPI document where one is given, says about itself."""
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
    """What FastAPI would write into its document."""
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
