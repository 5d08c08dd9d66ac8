"""Which URLs are asked, and which resource is whose."""

from __future__ import annotations

import pytest

from accord.mcp.client.auth import UntrustedError
from accord.mcp.client.auth.web import covers, trusted


@pytest.mark.parametrize(
    ("url", "local", "remote"),
    [
        ("https://a.example/x", True, True),
        ("https://a.example:8443/x?y=z", True, True),
        ("http://a.example/x", False, False),
        ("http://127.0.0.1:8000/x", True, False),
        ("http://[::1]:8000/x", True, False),
        ("http://localhost/x", True, False),
        ("https://localhost/x", True, False),
        ("http://evil.localhost/x", False, False),
        ("http://10.0.0.1/x", False, False),
        ("ftp://a.example/x", False, False),
        ("file:///etc/passwd", False, False),
        ("javascript:alert(1)", False, False),
        ("https://user:password@a.example/", False, False),
        ("https://a.example/#x", False, False),
        ("https://a.example/`x`", False, False),
        ("https://a.example/\r\nx", False, False),
        ('https://a.example/"x', False, False),
        ("https:///x", False, False),
        ("https://a.example:99999/x", False, False),
        ("", False, False),
        ("https://a.example/" + "x" * 3000, False, False),
    ],
)
def test_urls_are_trusted_by_where_they_lead(url: str, local: bool, remote: bool) -> None:
    assert (_is_trusted(url, local=True), _is_trusted(url, local=False)) == (local, remote)


def test_an_untrusted_url_is_shown_without_its_secrets() -> None:
    with pytest.raises(UntrustedError) as caught:
        trusted("http://user:password@a.example/?token=secret", "it", local=True)
    assert "password" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("resource", "server", "covered"),
    [
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example", "https://a.example/mcp", True),
        ("https://a.example/", "https://a.example/mcp", True),
        ("https://A.example:443/mcp", "https://a.example/mcp", True),
        ("https://a.example/mcp/", "https://a.example/mcp", True),
        ("https://a.example/one", "https://a.example/one/mcp", True),
        ("https://a.example/mcp", "https://a.example/mcp2", False),
        ("https://a.example/mcp/x", "https://a.example/mcp", False),
        ("https://b.example/mcp", "https://a.example/mcp", False),
        ("http://a.example/mcp", "https://a.example/mcp", False),
        ("https://a.example:8443/mcp", "https://a.example/mcp", False),
        ("https://a.example/mcp?x=1", "https://a.example/mcp?x=1", True),
        ("https://a.example/mcp?x=1", "https://a.example/mcp?x=2", False),
        ("https://a.example/mcp", "https://a.example/mcp?x=2", True),
        ("https://a.example/mcp#x", "https://a.example/mcp", False),
        ("nonsense", "https://a.example/mcp", False),
    ],
)
def test_a_resource_covers_what_is_below_it(resource: str, server: str, covered: bool) -> None:
    assert covers(resource, server) is covered


def _is_trusted(url: str, *, local: bool) -> bool:
    try:
        trusted(url, "it", local=local)
    except UntrustedError:
        return False
    return True
