"""The page about error codes is what the catalogue says, and which of them the code sends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accord.jsonrpc.protocol.catalogue import BUILT_IN, SHARED
from accord.mcp.protocol.messages import CASES
from tools.error_page import PAGE, render
from tools.errors_sent import is_sent, names_of, names_sent


@pytest.fixture(scope="module")
def sent_names() -> frozenset[str]:
    """The names of all errors that our code makes."""
    return names_sent()


@pytest.mark.req("F-09")
def test_the_page_of_error_codes_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"


@pytest.mark.req("M-27")
def test_the_page_says_of_each_code_whether_it_is_sent(sent_names: frozenset[str]) -> None:
    row = re.compile(
        r"^\| (-?\d+) \| (.*?) \| \w+ \| .* \| (sent|defined, not sent) \|$", re.MULTILINE
    )
    told = {found[1]: found[2] == "sent" for found in row.findall(PAGE.read_text(encoding="utf-8"))}
    assert told == {
        ", ".join(f"`{name}`" for name in names_of(entry)): is_sent(entry, sent_names)
        for entry in (*BUILT_IN, *SHARED)
    }
    assert {"`request_id_invalid`", "`session_not_found`"} <= {
        it for it, sent in told.items() if sent
    }
    assert not told["`cursor_expired`"]


@pytest.mark.req("M-27")
@pytest.mark.parametrize("case", CASES)
def test_no_case_of_mcp_is_defined_in_vain(case: str, sent_names: frozenset[str]) -> None:
    assert case in sent_names


@pytest.mark.parametrize(
    ("code", "sent"),
    [
        ('raise own_error("cursor_expired", "no")', True),
        ('raise failure("cursor_expired" if a else "page_size_invalid", "no", era=era)', True),
        ('raise core.unforeseen(error, "cursor_expired", incoming)', True),
        ('"""cursor_expired"""', False),
        ("# cursor_expired", False),
        ('CASES = {"cursor_expired": Case(1, 2, 3)}', False),
        ('other("cursor_expired")', False),
        ('own_error("internal_error", "cursor_expired too")', False),
    ],
)
def test_a_name_is_sent_where_an_error_is_made_of_it(code: str, sent: bool, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(code, encoding="utf-8")
    assert ("cursor_expired" in names_sent(tmp_path)) is sent
