"""The catalogue finds every code by number and by name, and takes an application's own."""

from __future__ import annotations

from collections import Counter

import pytest

from accord.jsonrpc.protocol.catalogue import (
    BUILT_IN,
    CATALOGUE,
    RESERVED,
    Catalogue,
    Entry,
    Severity,
)

NOT_FOUND = Entry(404, "page_not_found", "web", Severity.WARNING, "Page not found")


@pytest.mark.req("F-09", "RPC-5.1d")
@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        (-32700, "parse_error", "Parse error"),
        (-32600, "invalid_request", "Invalid Request"),
        (-32601, "method_not_found", "Method not found"),
        (-32602, "invalid_params", "Invalid params"),
        (-32603, "internal_error", "Internal error"),
        (-32000, "server_error", "Server error"),
    ],
)
def test_the_pre_defined_codes_have_the_names_and_messages_of_the_specification(
    code: int, name: str, message: str
) -> None:
    entry = CATALOGUE.named(name)
    assert (entry.code, entry.category, entry.message) == (code, "jsonrpc", message)
    assert CATALOGUE.get(code) is entry


@pytest.mark.req("F-09")
def test_every_entry_is_found_by_its_code_and_by_its_name() -> None:
    for entry in BUILT_IN:
        assert CATALOGUE.get(entry.code) is entry
        assert CATALOGUE.named(entry.name) is entry


@pytest.mark.req("F-09")
def test_every_category_is_complete() -> None:
    assert Counter(entry.category for entry in BUILT_IN) == {
        "jsonrpc": 6,
        "core": 10,
        "content": 10,
        "resource": 10,
        "tool": 10,
        "prompt": 9,
        "auth": 10,
        "protocol": 10,
        "pagination": 10,
        "task": 10,
        "progress": 9,
        "completion": 4,
        "elicitation": 5,
        "experimental_task": 5,
    }
    assert len(BUILT_IN) == 118


def test_every_message_is_a_fragment_that_begins_with_a_capital_and_has_no_full_stop() -> None:
    for entry in BUILT_IN:
        assert entry.message[0].isupper()
        assert not entry.message.endswith(".")


@pytest.mark.req("F-09")
def test_the_experimental_tasks_have_names_of_their_own() -> None:
    assert CATALOGUE.named("task_not_found").code == -32081
    assert CATALOGUE.named("experimental_task_not_found").code == 1095


@pytest.mark.req("F-28")
def test_busy_is_another_name_of_rate_limited() -> None:
    entry = CATALOGUE.named("rate_limited")
    assert entry == Entry(-32010, "rate_limited", "core", Severity.WARNING, "Busy")
    assert CATALOGUE.named("busy") is entry
    assert CATALOGUE.aliases(entry) == ("busy",)


def test_an_entry_without_other_names_has_no_aliases() -> None:
    assert CATALOGUE.aliases(CATALOGUE.named("timeout")) == ()


def test_an_unknown_code_has_no_entry() -> None:
    assert CATALOGUE.get(-31999) is None


def test_an_unknown_name_is_refused_with_the_names_that_come_close() -> None:
    with pytest.raises(KeyError) as caught:
        Catalogue((NOT_FOUND,)).named("page_not_fund")
    assert caught.value.args == (
        "no error is called 'page_not_fund'; did you mean page_not_found?",
    )


def test_an_unknown_name_that_resembles_nothing_is_refused_plainly() -> None:
    with pytest.raises(KeyError) as caught:
        Catalogue().named("zzz")
    assert caught.value.args == ("no error is called 'zzz'",)


@pytest.mark.req("F-09", "RPC-5.1e")
def test_an_application_registers_a_code_of_its_own() -> None:
    catalogue = Catalogue()
    entry = catalogue.register(404, "page_not_found", "web", Severity.WARNING, "Page not found")
    assert entry == NOT_FOUND
    assert list(catalogue) == [NOT_FOUND]
    assert len(catalogue) == 1
    assert catalogue.get(404) is catalogue.named("page_not_found") is entry


@pytest.mark.req("F-09", "RPC-5.1e")
@pytest.mark.parametrize("code", [RESERVED[0], -32603, -32500, RESERVED[-1]])
def test_an_application_cannot_register_a_reserved_code(code: int) -> None:
    catalogue = Catalogue()
    with pytest.raises(ValueError) as caught:
        catalogue.register(code, "mine", "web", Severity.ERROR, "Mine")
    assert str(caught.value) == (
        f"code {code} of 'mine' is reserved: applications use codes outside -32768 to -32000"
    )
    assert len(catalogue) == 0


@pytest.mark.req("F-09", "RPC-5.1e")
@pytest.mark.parametrize("code", [-32769, -31999])
def test_the_codes_beside_the_reserved_range_are_free(code: int) -> None:
    entry = Catalogue().register(code, "mine", "web", Severity.ERROR, "Mine")
    assert entry.code == code


@pytest.mark.req("F-09")
def test_a_code_is_registered_once() -> None:
    catalogue = Catalogue((NOT_FOUND,))
    with pytest.raises(ValueError, match=r"^code 404 of 'gone' is taken by 'page_not_found'$"):
        catalogue.register(404, "gone", "web", Severity.WARNING, "Gone")
    assert list(catalogue) == [NOT_FOUND]


@pytest.mark.req("F-09")
@pytest.mark.parametrize("name", ["page_not_found", "missing"])
def test_a_name_is_registered_once_be_it_an_alias(name: str) -> None:
    catalogue = Catalogue((NOT_FOUND,), aliases={"missing": "page_not_found"})
    with pytest.raises(ValueError, match=rf"^name '{name}' is taken by code 404$"):
        catalogue.register(410, name, "web", Severity.WARNING, "Gone")
    assert list(catalogue) == [NOT_FOUND]


def test_registering_while_iterating_harms_nothing() -> None:
    catalogue = Catalogue((NOT_FOUND,))
    for entry in catalogue:
        catalogue.register(entry.code + 1, "next", "web", Severity.INFO, "Next")
    assert [entry.code for entry in catalogue] == [404, 405]
