"""Where a request points at, whatever server and framework it came through."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.transports.asgi.scope import place_of


@pytest.mark.parametrize(
    ("path", "root_path", "place"),
    [
        ("/", "", ""),
        ("", "", ""),
        ("/openrpc.json", "", "openrpc.json"),
        ("//", "", "/"),
        # the path includes root_path, as ASGI says today
        ("/rpc", "/rpc", ""),
        ("/rpc/", "/rpc", ""),
        ("/rpc/", "/rpc/", ""),
        ("/rpc/explore/app.js", "/rpc", "explore/app.js"),
        ("/rpc/rpc", "/rpc", "rpc"),
        ("/v1/rpc/", "/v1/rpc", ""),
        # it does not, as older frameworks have it, and as behind a proxy that takes it off
        ("/", "/rpc", ""),
        ("/explore/app.js", "/rpc", "explore/app.js"),
        ("/rpcs", "/rpc", "rpcs"),
    ],
)
def test_a_mounted_endpoint_finds_its_place(path: str, root_path: str, place: str) -> None:
    assert place_of({"path": path, "root_path": root_path}, "") == place


@pytest.mark.parametrize(
    ("path", "root_path", "place"),
    [
        ("/rpc", "", ""),
        ("/rpc/", "", ""),
        ("/rpc/openrpc.json", "", "openrpc.json"),
        ("/api/rpc/openrpc.json", "/api", "openrpc.json"),
        ("/", "", None),
        ("/rpcs", "", None),
        ("/api/rpc", "", None),
    ],
)
def test_an_endpoint_with_a_path_of_its_own(path: str, root_path: str, place: str | None) -> None:
    assert place_of({"path": path, "root_path": root_path}, "/rpc") == place


def test_a_root_path_may_be_left_out() -> None:
    assert place_of({"path": "/x"}, "") == "x"


@given(path=st.text(), root_path=st.text(), own=st.text())
def test_any_path_is_here_or_elsewhere(path: str, root_path: str, own: str) -> None:
    place = place_of({"path": path, "root_path": root_path}, own)
    assert place is None or path.endswith(place)
