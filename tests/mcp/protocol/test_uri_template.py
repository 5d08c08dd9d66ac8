"""URI templates: what RFC 6570 says they expand to, and what matching gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.mcp.protocol.uri_template import UriTemplate
from tests.effort import growth

# RFC 6570, section 3.2: the values of its examples
VALUES: dict[str, Any] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": 6,
    "x": 1024,
    "y": 768,
    "empty": "",
    "empty_keys": {},
    "undef": None,
    # section 2.4.2
    "year": ["1965", "2000", "2012"],
    "semi": ";",
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        # 3.2.1 variables
        ("{count}", "one,two,three"), ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"), ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"), ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"), ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        # 3.2.2 simple
        ("{var}", "value"), ("{hello}", "Hello%20World%21"), ("{half}", "50%25"),
        ("O{empty}X", "OX"), ("O{undef}X", "OX"), ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"), ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"), ("?{undef,y}", "?768"), ("{var:3}", "val"), ("{var:30}", "value"),
        ("{list}", "red,green,blue"), ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"), ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        # 3.2.3 reserved
        ("{+var}", "value"), ("{+hello}", "Hello%20World!"), ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"), ("O{+empty}X", "OX"),
        ("O{+undef}X", "OX"), ("{+path}/here", "/foo/bar/here"), ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"), ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"), ("{+path:6}/here", "/foo/b/here"),
        ("{+list}", "red,green,blue"), ("{+list*}", "red,green,blue"),
        ("{+keys}", "semi,;,dot,.,comma,,"), ("{+keys*}", "semi=;,dot=.,comma=,"),
        # 3.2.4 fragment
        ("{#var}", "#value"), ("{#hello}", "#Hello%20World!"), ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"), ("foo{#undef}", "foo"), ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"), ("{#path:6}/here", "#/foo/b/here"),
        ("{#list}", "#red,green,blue"), ("{#list*}", "#red,green,blue"),
        ("{#keys}", "#semi,;,dot,.,comma,,"), ("{#keys*}", "#semi=;,dot=.,comma=,"),
        # 3.2.5 label
        ("{.who}", ".fred"), ("{.who,who}", ".fred.fred"), ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"), ("X{.var}", "X.value"), ("X{.empty}", "X."),
        ("X{.undef}", "X"), ("X{.var:3}", "X.val"), ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"), ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
        ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"), ("X{.empty_keys}", "X"), ("X{.empty_keys*}", "X"),
        # 3.2.6 path
        ("{/who}", "/fred"), ("{/who,who}", "/fred/fred"), ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"), ("{/var}", "/value"), ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"), ("{/var,x}/here", "/value/1024/here"), ("{/var:1,var}", "/v/value"),
        ("{/list}", "/red,green,blue"), ("{/list*}", "/red/green/blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"), ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        # 3.2.7 parameters of a path
        ("{;who}", ";who=fred"), ("{;half}", ";half=50%25"), ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"), ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;x,y}", ";x=1024;y=768"), ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"), ("{;hello:5}", ";hello=Hello"),
        ("{;list}", ";list=red,green,blue"), ("{;list*}", ";list=red;list=green;list=blue"),
        ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"), ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        # 3.2.8 and 3.2.9 query
        ("{?who}", "?who=fred"), ("{?half}", "?half=50%25"), ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="), ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"), ("{?list}", "?list=red,green,blue"),
        ("{?list*}", "?list=red&list=green&list=blue"), ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"), ("{&who}", "&who=fred"), ("{&half}", "&half=50%25"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"), ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&var:3}", "&var=val"), ("{&list}", "&list=red,green,blue"),
        ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
        # 2.4.2, and what the sections say in words
        ("find{?year*}", "find?year=1965&year=2000&year=2012"), ("{semi:2}", "%3B"),
        ("", ""), ("a%20b", "a%20b"), ("über{/who}", "%C3%BCber/fred"),
    ],
)  # fmt: skip
def test_the_examples_of_the_rfc_expand(template: str, expected: str) -> None:
    assert UriTemplate(template).expand(VALUES) == expected


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("{x}{y}", {"x": True, "y": False}, "truefalse"),
        ("{x}", {"x": 1.5}, "1.5"),
        ("{x}", {"x": "ä€𝄞"}, "%C3%A4%E2%82%AC%F0%9D%84%9E"),
        ("{x:2}", {"x": "ä€𝄞"}, "%C3%A4%E2%82%AC"),
        ("{+x}", {"x": "%41%zz"}, "%41%25zz"),
        ("{x}", {"x": "%41"}, "%2541"),
        ("{?x*}", {"x": ["a", None, ""]}, "?x=a&x="),
        ("{?x*}", {"x": {"a": None, "b": ""}}, "?b="),
        ("{;x*}", {"x": {"b": ""}}, ";b"),
        ("{/x}", {"x": [None]}, ""),
        ("{a.b}{%41}", {"a.b": 1, "%41": 2}, "12"),
    ],
)
def test_values_of_every_kind_expand(template: str, values: dict[str, Any], expected: str) -> None:
    assert UriTemplate(template).expand(values) == expected


def test_a_list_has_no_first_characters() -> None:
    with pytest.raises(ValueError, match=r"^'x' has no first 3 characters: no text$"):
        UriTemplate("{x:3}").expand({"x": ["a"]})


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{", "a brace at 0 has no partner"),
        ("a{b", "a brace at 1 has no partner"),
        ("a}b", "a brace at 1 has no partner"),
        ("{a{b}}", "a brace at 0 has no partner"),
        ("{}", "'{}' is no expression"),
        ("{=x}", "'{=x}' is no expression"),
        ("{!x}", "'{!x}' is no expression"),
        ("{?}", "'{?}' is no expression"),
        ("{x,}", "'{x,}' is no expression"),
        ("{x y}", "'{x y}' is no expression"),
        ("{x-y}", "'{x-y}' is no expression"),
        ("{.x..y}", "'{.x..y}' is no expression"),
        ("{x:0}", "'{x:0}' is no expression"),
        ("{x:10000}", "'{x:10000}' is no expression"),
        ("{x:3*}", "'{x:3*}' is no expression"),
        ("{x*:3}", "'{x*:3}' is no expression"),
        ("{%4}", "'{%4}' is no expression"),
        ("a b", "'a b' cannot be in a URI"),
        ("100%", "'100%' cannot be in a URI"),
        ("a\nb", "'a\nb' cannot be in a URI"),
        ("<{x}>", "'<' cannot be in a URI"),
    ],
)
def test_a_malformed_template_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        UriTemplate(template)
    assert str(refused.value) == f"'{template}' is no URI template: {problem}"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("x" * 8_193, "URI template of 8,193 characters is over the limit of 8,192"),
        ("{x}" * 65, "URI template has more than 64 expressions"),
    ],
)
def test_a_template_has_limits(template: str, problem: str) -> None:
    with pytest.raises(ValueError) as refused:
        UriTemplate(template)
    assert str(refused.value) == problem


def test_variables_are_named_once_in_their_order() -> None:
    assert UriTemplate("x://{b}/{a:3}{/a,c*}{?b,d}").variables == ("b", "a", "c", "d")
    assert UriTemplate("x://y").variables == ()


# Matching


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("x://y", "x://y", {}),
        ("x://y", "x://z", None),
        ("x://y", "x://y/", None),
        ("", "", {}),
        ("", "x", None),
        # one value
        ("weather://{city}", "weather://London", {"city": "London"}),
        ("weather://{city}", "weather://S%C3%A3o%20Paulo", {"city": "São Paulo"}),
        ("weather://{city}", "weather://São Paulo", {"city": "São Paulo"}),
        ("weather://{city}", "weather://a%2Fb%3F", {"city": "a/b?"}),
        ("weather://{city}", "weather://", None),
        ("weather://{city}", "weather://a/b", None),
        ("weather://{city}", "weather://a?b", None),
        ("weather://{city}", "weather://a#b", None),
        ("weather://{city}", "weather://a%FF", None),
        ("weather://{city}", "weather://a%zz", {"city": "a%zz"}),
        ("weather://{city}/now", "weather://London/now", {"city": "London"}),
        ("weather://{city}/now", "weather://now", None),
        ("weather://{city}/now", "weather:///now", None),
        ("über://{x}", "über://1", {"x": "1"}),
        ("über://{x}", "%C3%BCber://1", {"x": "1"}),
        # several values
        ("x://{a}/{b}", "x://1/2", {"a": "1", "b": "2"}),
        ("x://{a}-{b}", "x://1-2-3", {"a": "1-2", "b": "3"}),
        ("{a}{b}", "123", {"a": "12", "b": "3"}),
        ("{a}{b}", "1", None),
        ("{a,b}", "1,2", {"a": "1", "b": "2"}),
        ("{a,b}", "1", {"a": "1"}),
        ("{a,b}", "1,2,3", None),
        ("{a,b}", "1,%2C", {"a": "1", "b": ","}),
        ("{a}", "1,2", {"a": "1,2"}),
        ("{a*}", "1,2,%2C", {"a": ["1", "2", ","]}),
        ("{a,b*,c}", "1,2,3,4", {"a": "1", "b": ["2", "3"], "c": "4"}),
        ("{a,b*,c}", "1,2", {"a": "1", "b": ["2"]}),
        ("{a,b*}", "1", {"a": "1"}),
        ("{a}/{a}", "1/1", {"a": "1"}),
        ("{a}/{a}", "1/2", None),
        # reserved
        ("file://{+path}", "file:///a/b.txt", {"path": "/a/b.txt"}),
        ("file://{+path}", "file://a?b#c%20", {"path": "a?b#c "}),
        ("file://{+path}", "file://a\nb", {"path": "a\nb"}),
        ("file://{+path}", "file://", None),
        ("{+path}/{name}", "a/b/c", {"path": "a/b", "name": "c"}),
        ("{+path}/{name}", "abc", None),
        ("{+path}.{ext}", "a.b.c", {"path": "a.b", "ext": "c"}),
        ("{+path}{?q}", "a/b?q=1", {"path": "a/b", "q": "1"}),
        ("{+a,b}", "x/y,z", {"a": "x/y", "b": "z"}),
        # path
        ("users{/id}", "users/7", {"id": "7"}),
        ("users{/id}", "users", {}),
        ("users{/id}", "users/", {"id": ""}),
        ("users{/id}", "users/7/8", None),
        ("x{/a,b}", "x/1/2", {"a": "1", "b": "2"}),
        ("x{/a,b}", "x/1", {"a": "1"}),
        ("x{/a,b}", "x/1/2/3", None),
        ("x{/a*}", "x/1/%2F/3", {"a": ["1", "/", "3"]}),
        ("x{/a*}", "x", {}),
        ("x{/a*}/end", "x/1/end/end", {"a": ["1", "end"]}),
        ("x{/a*}/end", "x/end", {}),
        ("{/var:1,var}", "/d/dog", {"var": "dog"}),
        ("{/var:1,var}", "/d/cat", None),
        # labels
        ("{name}{.ext}", "file.txt", {"name": "file", "ext": "txt"}),
        ("{name}{.ext}", "file.tar.gz", {"name": "file.tar", "ext": "gz"}),
        ("{name}{.ext}", "file", {"name": "file"}),
        ("www{.dom*}", "www.example.com", {"dom": ["example", "com"]}),
        ("www{.dom}", "www.example.com", {"dom": "example.com"}),
        # parameters of a path
        ("x{;a,b}", "x;b=2;a=1", {"a": "1", "b": "2"}),
        ("x{;a,b}/y", "x;a/y", {"a": ""}),
        ("x{;a}", "x", {}),
        ("x{;a}", "x;b=1", None),
        # query
        ("x{?q}", "x?q=a%26b", {"q": "a&b"}),
        ("x{?q}", "x", {}),
        ("x{?q}", "x?", {}),
        ("x{?q}", "x?q", {"q": ""}),
        ("x{?q}", "x?q=", {"q": ""}),
        ("x{?q}", "x?q=1=2", {"q": "1=2"}),
        ("x{?q}", "x?q=1&q=2", None),
        ("x{?q}", "x?r=1", None),
        ("x{?q}", "x?q=/a?b", {"q": "/a?b"}),
        ("x{?a,b}", "x?b=2&a=1", {"a": "1", "b": "2"}),
        ("x{?a,b}", "x?&b=2&", {"b": "2"}),
        ("x{?a}{&b,c}", "x?c=3&a=1", {"a": "1", "c": "3"}),
        ("x{?a}{&b}", "x&b=2", {"b": "2"}),
        ("x?fixed=1{&a}{&b}", "x?fixed=1&b=2&a=1", {"a": "1", "b": "2"}),
        ("x?fixed=1{&a}", "x?fixed=1", {}),
        ("x{?a*}", "x?a=1&a=2", {"a": ["1", "2"]}),
        ("x{?a*}", "x?b=1&c%20=2", {"a": {"b": "1", "c ": "2"}}),
        ("x{?a*}", "x?b=1&b=2", None),
        ("x{?a*}", "x?a=1&b=2", None),
        ("x{?q,more*}", "x?q=1&r=2", {"q": "1", "more": {"r": "2"}}),
        ("x{?q:3}", "x?q=abc", {"q": "abc"}),
        ("x{?q:3}", "x?q=abcd", None),
        ("{q:1}/{q:2}", "a/ab", {"q": "ab"}),
        ("{q:1}/{q:2}", "b/ab", None),
        ("{q:1}{/q*}", "a/a", None),
        # fragment
        ("x{?q}{#f}", "x?q=1#top", {"q": "1", "f": "top"}),
        ("x{#f}", "x#", {"f": ""}),
        ("x{#f}", "x", {}),
        ("x{#a,b}", "x#1,2", {"a": "1", "b": "2"}),
    ],
)  # fmt: skip
def test_uris_are_taken_apart(template: str, uri: str, expected: dict[str, Any] | None) -> None:
    assert UriTemplate(template).match(uri) == expected


@pytest.mark.req("M-05")
def test_a_long_uri_is_not_looked_at() -> None:
    assert UriTemplate("{x}").match("x" * 8_193) is None
    assert UriTemplate("{x}").match("x" * 8_192) == {"x": "x" * 8_192}


@pytest.mark.parametrize(
    ("template", "repeated"),
    [
        ("{a}{b}{c}{d}{e}{f}{g}{h}!", "a"),
        ("{+a}/{+b}/{+c}/{+d}/{+e}!", "/"),
        ("{a}-{b}-{c}-{d}-{e}!", "-"),
        ("{/a*}{/b*}{/c*}{/d*}!", "/"),
        ("{.a*}{.b*}{.c*}{.d*}!", "."),
        ("{+a}aaaaaaaaaaaaaaaaaaaaab", "a"),
        ("{?a}", "&"),
    ],
)
def test_matching_takes_work_in_proportion_to_the_uri(template: str, repeated: str) -> None:
    def match(size: int) -> Callable[[], object]:
        uri = ("?" if repeated == "&" else "") + repeated * size + ("x" if repeated == "&" else "")
        found = UriTemplate(template)
        assert found.match(uri) is None
        return lambda: found.match(uri)

    assert growth(match(1_000), match(8_000)) < 32  # a square would be 64


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(texts, texts, texts, texts, st.lists(texts, min_size=1, max_size=4))
def test_what_is_expanded_is_matched(a: str, b: str, q: str, f: str, path: list[str]) -> None:
    template = UriTemplate("x://{a}/{b}{/path*}{?q,r}{#f}")
    values = {"a": a, "b": b, "path": path, "q": q}
    assert template.match(template.expand(values)) == values
    found = template.match(template.expand({**values, "f": f})) or {}
    found.pop("f")  # what looks encoded in it stays as it is
    assert found == values


@given(texts, texts)
def test_single_expressions_give_back_what_they_were_given(x: str, y: str) -> None:
    for text in (
        "{x}",
        "{x,y}",
        "{/x}",
        "{/x,y}",
        "{.x}",
        "{;x}",
        "{;x,y}",
        "{?x}",
        "{?x,y}",
        "{&x,y}",
        "{?y}{&x}",
    ):
        template = UriTemplate("s:" + text)
        values = {name: {"x": x, "y": y}[name] for name in template.variables}
        assert template.match(template.expand(values)) == values


@given(st.text(alphabet="ab/?#&=;.,%2F", max_size=30))
def test_what_is_matched_expands_to_something_that_matches_the_same(uri: str) -> None:
    for text in ("{a}{/p*}{?q,r*}", "{+a}{.b}{#c}", "{a,b}{;c,d}", "{a:2}/{a}"):
        template = UriTemplate(text)
        found = template.match(uri)
        if found is not None:
            assert template.match(template.expand(found)) is not None
