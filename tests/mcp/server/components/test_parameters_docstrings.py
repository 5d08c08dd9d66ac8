"""Docstrings of three styles describe parameters, and nothing that they say is lost."""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any

import msgspec
import pytest

from accord import Router
from accord.mcp import Client, Context, Server
from accord.mcp.server.components.parameters import read_docstring

GOOGLE = """Find towns.

    Args:
        text (str): What to look for,
            in any letter case.
        most: How many.

    Returns:
        Their names.
    """
NUMPY = """Find towns.

    Parameters
    ----------
    text : str
        What to look for,
        in any letter case.
    most
        How many.

    Returns
    -------
    list
        Their names.
    """
SPHINX = """Find towns.

    :param str text: What to look for,
        in any letter case.
    :param most: How many.
    :returns: Their names.
    """
SAID = {"text": "What to look for, in any letter case.", "most": "How many."}


@pytest.mark.req("M-26")
@pytest.mark.parametrize(
    ("doc", "rest"),
    [
        (GOOGLE, "Find towns.\n\nReturns:\n    Their names."),
        (NUMPY, "Find towns.\n\nReturns\n-------\nlist\n    Their names."),
        (SPHINX, "Find towns.\n\n:returns: Their names."),
        ("Find towns.", "Find towns."),
        ("", ""),
    ],
)
def test_a_docstring_is_taken_apart(doc: str, rest: str) -> None:
    found = read_docstring(cleandoc(doc), ["text", "most"])
    assert found.text == rest
    assert found.parameters == (SAID if "look" in doc else {})


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX])
def test_what_describes_others_stays(doc: str) -> None:
    found = read_docstring(cleandoc(doc), ["text"])
    assert "How many." in found.text
    assert found.parameters == {"text": SAID["text"]}


@pytest.mark.parametrize(
    "doc",
    [
        "Args:\n    give them in any order\n    or not",
        "Parameters\n----------\nThey are many, and various.",
        "Args:",
        "Parameters\n----------",
        ":param: nothing",
        "Say this: that.",
    ],
)
def test_what_is_no_list_of_parameters_stays(doc: str) -> None:
    assert read_docstring(doc, ["text"]) == msgspec.structs.replace(
        read_docstring("", []), text=doc.strip()
    )


def test_several_names_and_stars() -> None:
    doc = "Args:\n    *text: One.\n    **most: Two.\n\n        Three.\n\n\nEnd."
    found = read_docstring(doc, ["text", "most"])
    assert (found.text, found.parameters) == ("End.", {"text": "One.", "most": "Two. Three."})
    found = read_docstring("Other Parameters\n-----\na, b : int\n    Both.", ["a", "b"])
    assert found.parameters == {"a": "Both.", "b": "Both."}
    assert found.text == ""


@pytest.mark.req("M-26")
async def test_tools_prompts_and_methods_are_described_so() -> None:
    server = Server("docs")

    @server.tool
    async def find(context: Context, text: str, most: Annotated[int, "At most."] = 5) -> str:
        """Find towns.

        Args:
            context: Given by the server.
            text: What to look for.
            most: How many.
        """
        return text

    @server.tool(description="As I say.")
    async def other(text: str) -> str:
        """Not this.

        :param text: But this.
        """
        return text

    @server.prompt
    def ask(town: str) -> str:
        """Ask about a town.

        Args:
            town: Which one.
        """
        return town

    router = Router()

    @router.method
    def look(text: str) -> str:
        """Look.

        Args:
            text: At what.
        """
        return text

    routed = Server.from_router(router)
    async with Client(server) as client, Client(routed) as looking:
        tools = {each.name: each for each in await client.list_tools()}
        [prompt] = await client.list_prompts()
        [method] = await looking.list_tools()

    def said(tool: Any) -> dict[str, str]:
        properties = tool.input_schema["properties"]
        return {name: each.get("description", "") for name, each in properties.items()}

    assert tools["find"].description == "Find towns."
    assert said(tools["find"]) == {"text": "What to look for.", "most": "At most."}
    assert tools["other"].description == "As I say."
    assert said(tools["other"]) == {"text": "But this."}
    assert (prompt.description, prompt.arguments[0].description) == (
        "Ask about a town.",
        "Which one.",
    )
    assert (method.description, said(method)) == ("Look.", {"text": "At what."})
