"""The page with the graph around an item, and with the impact of changing the item."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET, Struct

from accord.hub.operations.relationships import Impact, Neighbour, Neighbourhood, NeighbourLink
from accord.operations.errors import ServiceError
from accord.web.formatting import look_of
from accord.web.graph_layout import Edge, Graph, GraphNode
from accord.web.pages.traceability import epics_offered
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse
from accord.web.svg import draw

pages: Final = Pages()

MAX_NEIGHBOURS: Final = 40
"""The most boxes in a graph; the page shows the number of omitted items."""
MAX_AFFECTED: Final = 100
DEPTHS: Final = ("1", "2", "3")
PLACES: Final = frozenset({"has", "steers"})
"""The line types that show the hierarchy of items; lines of these types need no labels."""


class KindName(Struct, frozen=True):
    """The singular and plural name of a kind of item."""

    one: str
    plural: str


KINDS: Final = {
    "epic": KindName("epic", "epics"),
    "user_story": KindName("user story", "user stories"),
    "acceptance_criteria": KindName("set of criteria", "sets of criteria"),
    "requirement": KindName("requirement", "requirements"),
    "steering_document": KindName("steering document", "steering documents"),
}


class GraphQuery(Struct, frozen=True):
    """The options of the graph page."""

    item: str
    depth: str
    types: tuple[str, ...]
    """The relationship types to show; empty for all types."""
    hierarchy: bool
    impact: bool

    def path(self, **other: Any) -> str:
        """Return the path of the graph page, with the options in `other` replaced."""
        values = {name: getattr(self, name) for name in self.__struct_fields__} | other
        pairs = [("item", values["item"]), ("depth", values["depth"])]
        pairs += [("type", each) for each in values["types"]]
        pairs += [("hierarchy", "no")] if not values["hierarchy"] else []
        pairs += [("impact", "yes")] if values["impact"] else []
        return f"/traceability/graph?{urlencode(pairs)}"


@pages.get("/traceability/graph")
async def graph(request: PageRequest) -> PageResponse:
    options = read_query(request)
    context: dict[str, Any] = {
        "tab": "graph",
        "section": "/traceability",
        "asked": options,
        "depths": DEPTHS,
        "types": [each.name for each in (await request.run("list_relationship_types")).items],
        "error": None,
    }
    if not options.item:
        epics = await epics_offered(request)
        return await request.page("traceability/graph_start.html", epics=epics[:12], **context)
    try:
        found, impact = await asyncio.gather(
            _neighbourhood(request, options), _impact(request, options)
        )
    except ServiceError as error:
        epics = await epics_offered(request)
        return await request.page(
            "traceability/graph_start.html",
            status=error.kind.status,
            epics=epics[:12],
            **(context | {"error": error}),
        )
    affected = {each.reference_id: each for each in impact.items} if impact else {}
    return await request.page(
        "traceability/graph.html",
        found=found,
        impact=impact,
        affected=affected,
        titles={each.reference_id: each for each in found.items},
        picture=draw(
            picture(found, impact, options), f"What {found.reference_id} is connected with"
        ),
        places=PLACES,
        kinds=KINDS,
        **context,
    )


def read_query(request: PageRequest) -> GraphQuery:
    query = request.query
    return GraphQuery(
        item=query["item"].strip(),
        depth=query["depth"] if query["depth"] in DEPTHS else DEPTHS[0],
        types=tuple(query.every("type")),
        hierarchy=query["hierarchy"] != "no",
        impact=query["impact"] == "yes",
    )


async def _neighbourhood(request: PageRequest, options: GraphQuery) -> Any:
    return await request.run(
        "get_neighbourhood",
        id=options.item,
        depth=options.depth,
        types=list(options.types) or UNSET,
        hierarchy=options.hierarchy,
        limit=MAX_NEIGHBOURS,
    )


async def _impact(request: PageRequest, options: GraphQuery) -> Any:
    if not options.impact:
        return None
    return await request.run(
        "impact_analysis", id=options.item, types=list(options.types) or UNSET, limit=MAX_AFFECTED
    )


def picture(found: Neighbourhood, impact: Impact | None, options: GraphQuery) -> Graph:
    """Convert the items found to a graph to draw; items in `impact` are highlighted."""
    affected = {each.reference_id for each in impact.items} if impact else set()
    paths = _impact_paths(impact)
    return Graph(
        tuple(_node(each, each.reference_id in affected, options) for each in found.items),
        tuple(
            _edge(each, frozenset((each.source, each.target)) in paths)
            for each in _drawn_links(found)
        ),
    )


def _drawn_links(found: Neighbourhood) -> list[NeighbourLink]:
    """Return the lines to draw.

    The hierarchy line from a story to a requirement is left out if the graph also has the
    acceptance criteria between them.
    """
    above: dict[str, set[str]] = {}
    for line in found.lines:
        if line.type == "has":
            above.setdefault(line.target, set()).add(line.source)
    return [
        line
        for line in found.lines
        if line.type != "has"
        or not any(line.source in above.get(each, ()) for each in above[line.target])
    ]


def _impact_paths(impact: Impact | None) -> set[frozenset[str]]:
    """Return the pairs of neighbouring items on the paths of an impact."""
    paths: Sequence[str] = [each.path for each in impact.items] if impact else ()
    # A path is `REQ-001 is_depended_on_by REQ-002 has REQ-003`.
    return {frozenset(pair) for path in paths for pair in pairwise(path.split()[::2])}


def _node(item: Neighbour, is_affected: bool, options: GraphQuery) -> GraphNode:
    more = f" +{item.more:,}" if item.more else ""
    is_start = item.distance == 0
    return GraphNode(
        id=item.reference_id,
        title=item.title,
        subtitle=f"{item.reference_id}{more}",
        note="affected" if is_affected else look_of(item.status).word if item.status else "",
        tone="accent" if is_affected else look_of(item.status).tone,
        href=options.path(item=item.reference_id),
        is_marked=is_start,
    )


def _edge(line: NeighbourLink, is_way: bool) -> Edge:
    name = "" if line.type in PLACES else line.type.replace("_", " ")
    if line.suspect:
        return Edge(
            source=line.source,
            target=line.target,
            label=f"{name}, suspect",
            line="dashed",
            tone="warn",
        )
    return Edge(
        source=line.source, target=line.target, label=name, tone="accent" if is_way else "idle"
    )
