"""Texts and JSON that break programs which did not expect them."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "sql": "Robert'); DROP TABLE items;--",
    "sql or": "' OR 1=1 --",
    "sql placeholder": "$1 ? :name %s {0} @p1",
    "sql dollar quote": "$$; DROP TABLE users; $$",
    "sql like": "100% _ \\% [a-z]",
    "fts5": '"unclosed AND NEAR(a b, 5) OR col:x* ^y -z',
    "fts5 column": "title : till",
    "fts5 operators": "AND OR NOT NEAR ( ) * ^ : + - { }",
    "tsquery": "a & | ! ( <-> :* 'b'",
    "tsquery quotes": "''\\'' <2> !! &&",
    "backslashes": "\\\\server\\share\\n \\u0041 \\x00",
    "quotes": "'\"`´‘’“”«»",
    "template": "${jndi:ldap://x} {{7*7}} <%= 1 %> #{x} $(id) `id`",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "markdown": "[x](javascript:alert(1)) ![y](data:text/html;base64,PHM+)",
    "xml": "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;&amp;",
    "path": "../../../../etc/passwd\\..\\..",
    "formula": '=HYPERLINK("http://x","y")',
    "formula plus": "+1+cmd|' /C calc'!A0",
    "formula minus": "-2+3",
    "formula at": "@SUM(1)",
    "rtl": "\u202eevil\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea",
    "zalgo": "Z\u0351\u036b\u0343\u036a\u0302a\u0306\u0304l\u034c\u0335g\u0315o\u0321\u0489",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f4\U000e0067\U000e007f \u2764\ufe0f",
    "zero width": "a\u200bb\u200cc\u200dd\ufeffe",
    "combining": "e\u0301 \u00e9 \u1e9e \u0130 \u0131 \ufb01",
    "astral": "\U0010ffff\U0001d54f\U00020000",
    "noncharacters": "\ufffe\uffff\ufdd0",
    "replacement": "\ufffd",
    "private": "\ue000\uf8ff",
    "controls": "\x01\x02\x08\x0b\x0c\x0e\x1b[31m\x7f\x80\x9f",
    "lines": "one\r\ntwo\nthree\rfour\u2028five\u2029six\x85seven",
    "tabs": "\t\ttabs\t",
    "blanks": "  spaces around  ",
    "nbsp": "\u00a0\u2003\u3000x",
    "null words": "null",
    "none": "None",
    "undefined": "undefined NaN Infinity true false",
    "number": "1e1000",
    "json": '{"$ref": "#", "__proto__": {"x": 1}}',
    "reference": "EP-001",
    "step": "$1.id",
    "reserved": "CON NUL COM1",
    "long word": "x" * 2_000,
    "many words": "till " * 400,
    "many spans": "(" * 1_000 + ")" * 1_000,
}
"""Texts that can be kept, by what they are."""

UNKEEPABLE: dict[str, bytes] = {
    "NUL": rb'"a\u0000b"',
    "lone surrogate": rb'"\ud800"',
    "reversed surrogates": rb'"\udc00\ud800"',
    "lone surrogate at the end": rb'"x\udfff"',
}
"""JSON texts that no database keeps."""

NO_JSON: dict[str, bytes] = {
    "NaN": b'{"title": NaN}',
    "Infinity": b'{"title": -Infinity}',
    "half": b'{"title": "x"',
    "twice": b'{"title": "x"}{"title": "y"}',
    "comment": b'{"title": "x" /* y */}',
    "trailing comma": b'{"title": "x",}',
    "single quotes": b"{'title': 'x'}",
    "not UTF-8": b'{"title": "\xff\xfe"}',
    "overlong": b'{"title": "\xc0\xaf"}',
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "raw control": b'{"title": "a\x01b"}',
    "deep": b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "nothing": b" ",
}
"""What is no JSON, or none that is read."""

WRONG: dict[str, bytes] = {
    "unknown field": b'{"title": "x", "titel": "y"}',
    "empty name": b'{"title": "x", "": "y"}',
    "proto": b'{"title": "x", "__proto__": {}}',
    "huge integer": b'{"title": "x", "priority": ' + b"9" * 400 + b"}",
    "huge float": b'{"title": "x", "priority": 1e400}',
    "fraction": b'{"title": "x", "priority": 1.5}',
    "negative": b'{"title": "x", "priority": -1}',
    "boolean": b'{"title": true}',
    "null": b'{"title": null}',
    "number": b'{"title": 1}',
    "list": b'{"title": ["x"]}',
    "object": b'{"title": {"x": "y"}}',
    "empty": b'{"title": ""}',
    "array": b"[]",
    "text": b'"title"',
    "literal": b"null",
}
"""JSON that is refused."""
