"""Certificates and what is promised about https."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from accord.app.settings import Settings
from accord.app.site import CertificateError, answer_headers, tls_context


def test_old_versions_of_tls_and_weak_ciphers_are_refused(certificate: tuple[Path, Path]) -> None:
    cert, key = (str(each) for each in certificate)
    context = tls_context(Settings(tls_certificate=cert, tls_key=key))
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    weak = [each["name"] for each in context.get_ciphers() if each["strength_bits"] < 128]
    assert weak == []


def test_a_proxy_that_speaks_https_has_it_kept_to() -> None:
    assert "strict-transport-security" in answer_headers(Settings(public_url="https://hub.example"))
    assert "strict-transport-security" not in answer_headers(Settings())


@pytest.mark.parametrize("wrong", ["nothing", "no certificate", "a key alone"])
def test_a_certificate_that_cannot_be_used_is_told(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "certificate.pem"
    if wrong == "no certificate":
        file.write_text("no certificate")
    given = "" if wrong == "a key alone" else str(file)
    settings = Settings(tls_certificate=given, tls_key=str(file))
    with pytest.raises(CertificateError, match=r"tls_certificate|certificate\.pem"):
        tls_context(settings)
