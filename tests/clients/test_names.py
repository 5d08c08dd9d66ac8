"""Names of documents as identifiers."""

from __future__ import annotations

import pytest

from accord.openrpc.clients.names import IdentifierScope, camel, line, lines, pascal, snake, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("userName", ["user", "Name"]),
        ("user-name", ["user", "name"]),
        ("user.name/id", ["user", "name", "id"]),
        ("user_name", ["user", "name"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("parseURL2Text", ["parse", "URL2", "Text"]),
        ("  ", []),
        ("größe", ["größe"]),
        ("ﬁnd", ["find"]),
        ("数-値", ["数", "値"]),
        ("a\u202eb", ["a", "b"]),
    ],
)
def test_words_are_told_apart(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "in_snake", "in_pascal", "in_camel"),
    [
        ("userName", "user_name", "UserName", "userName"),
        ("user_name", "user_name", "UserName", "user_name"),
        ("user name", "user_name", "UserName", "userName"),
        ("GetUser", "get_user", "GetUser", "GetUser"),
        ("1st", "x_1st", "X1st", "X1st"),
        ("", "x", "X", "X"),
        ("$_", "x", "X", "X"),
        ("__proto__", "proto", "Proto", "proto"),
        ("値", "値", "X値", "値"),
        ("a" * 99, "a" * 40, "A" + "a" * 39, "a" * 40),
    ],
)
def test_names_are_written_in_a_style(
    text: str, in_snake: str, in_pascal: str, in_camel: str
) -> None:
    assert snake(text, "x") == in_snake
    assert pascal([text], "X") == in_pascal
    assert camel(text, "X") == in_camel


def test_a_scope_numbers_names_that_are_taken() -> None:
    scope = IdentifierScope({"class"})
    names = ["a", "a", "a_2", "a", "class"]
    assert [scope.claim(name) for name in names] == ["a", "a_2", "a_2_2", "a_3", "class_2"]


def test_texts_are_lines_without_what_ends_or_turns_them() -> None:
    text = "one\r\ntwo\u2028three \u202efour\x00\n\n\n\n  five six seven\n"
    assert lines(text, 20) == ["one", "two", "three  four", "", "  five six seven"]
    assert lines("a word " * 5, 20) == ["a word a word a word", "a word a word"]
    assert lines("", 20) == []
    assert line(" one\ntwo\u2029 three ") == "one two three"
