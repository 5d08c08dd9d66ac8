"""Graphs are drawn from left to right, without boxes or words on top of each other."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from accord.web.graph_layout import (
    HEIGHT,
    LABEL_SIZE,
    WIDTH,
    Edge,
    Graph,
    GraphLayout,
    GraphNode,
    Point,
    place,
    shortened,
    text_width,
    wrapped,
)
from accord.web.svg import draw
from tests.effort import calls

pytestmark = pytest.mark.req("H-21")


def graph_of(*lines: str) -> Graph:
    """A graph of lines such as `a b label`."""
    split = [line.split(maxsplit=2) for line in lines]
    names = dict.fromkeys(name for each in split for name in each[:2])
    return Graph(
        tuple(GraphNode(id=name, title=name) for name in names),
        tuple(
            Edge(source=each[0], target=each[1], label=each[2] if len(each) > 2 else "")
            for each in split
            if len(each) > 1
        ),
    )


def random_graph(seed: int, nodes: int, edges: int) -> Graph:
    """Lines lead back now and then, and some say something."""
    chosen = random.Random(seed)
    names = [f"n{at}" for at in range(nodes)]
    return Graph(
        tuple(GraphNode(id=name, title=name) for name in names),
        tuple(
            Edge(
                source=chosen.choice(names),
                target=chosen.choice(names),
                label=chosen.choice(("", "", "else")),
            )
            for _ in range(edges)
        ),
    )


FANNED = graph_of("load a", "load b", "load c", "a join", "b join", "c join", "join approve")
GRAPHS = {
    "nothing": Graph((), ()),
    "one": graph_of("a"),
    "a chain": graph_of("a b", "b c", "c d"),
    "fanned out": FANNED,
    "a line past others": graph_of("a b", "b c", "c d", "a d otherwise"),
    "a circle": graph_of("a b", "b c", "c b again", "c d"),
    "to itself": graph_of("a b", "b b again", "b c"),
    "two lines between the same": graph_of("a b one", "a b two"),
    "in two parts": graph_of("a b", "c d"),
    **{f"random {seed}": random_graph(seed, 24, 32) for seed in range(6)},
}


@pytest.fixture(params=GRAPHS, ids=str)
def placed(request: pytest.FixtureRequest) -> GraphLayout:
    return place(GRAPHS[request.param])


def test_no_box_stands_on_another(placed: GraphLayout) -> None:
    for (one, first), (other, second) in combinations(placed.boxes.items(), 2):
        apart = abs(first.x - second.x) >= WIDTH or abs(first.y - second.y) >= HEIGHT
        assert apart, (one, other)


def test_everything_is_in_the_picture(placed: GraphLayout) -> None:
    for at in placed.boxes.values():
        assert at.x >= 0
        assert at.x + WIDTH <= placed.width
        assert HEIGHT / 2 <= at.y <= placed.height - HEIGHT / 2
    for _, points in placed.ways:
        assert all(0 <= each.x <= placed.width for each in points)
        assert all(0 <= each.y <= placed.height for each in points)


def test_lines_go_from_the_right_of_one_box_to_the_left_of_the_other(placed: GraphLayout) -> None:
    for edge, points in placed.ways:
        source, target = placed.boxes[edge.source], placed.boxes[edge.target]
        assert points[0] == Point(source.x + WIDTH, source.y)
        assert points[-1] == target
        if target.x > source.x:  # it leads on
            assert all(before.x < after.x for before, after in pairwise(points))


def test_no_line_crosses_a_box(placed: GraphLayout) -> None:
    """Within a layer lines are level, and boxes are beside them."""
    for _, points in placed.ways:
        for before, after in pairwise(points):
            for at in placed.boxes.values():
                left, right = sorted((before.x, after.x))
                crosses = left < at.x + WIDTH and right > at.x
                assert not crosses or abs(before.y - at.y) > HEIGHT / 2


def test_words_on_lines_stand_on_no_box_and_on_no_other_words(placed: GraphLayout) -> None:
    said = [
        (label, text_width(edge.label, LABEL_SIZE))
        for (edge, _), label in zip(placed.ways, placed.labels, strict=True)
        if label is not None
    ]
    for label, width in said:
        for at in placed.boxes.values():
            beside = label.x + width / 2 <= at.x or label.x - width / 2 >= at.x + WIDTH
            assert beside or abs(label.y - at.y) >= HEIGHT / 2
    for (one, width), (other, more) in combinations(said, 2):
        assert abs(one.x - other.x) >= (width + more) / 2 or abs(one.y - other.y) >= 11


@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_graph_is_drawn_the_same_way(name: str) -> None:
    assert draw(GRAPHS[name], "again") == draw(GRAPHS[name], "again")


def test_what_fans_out_stands_around_the_middle() -> None:
    boxes = place(FANNED).boxes
    middle = boxes["b"].y
    assert [boxes[name].y for name in ("load", "join", "approve")] == [middle] * 3
    assert boxes["b"].y - boxes["a"].y == boxes["c"].y - boxes["b"].y


def test_lines_that_need_not_cross_do_not() -> None:
    boxes = place(graph_of("s a", "s b", "s c", "a z", "b y", "c x")).boxes
    order = sorted(("x", "y", "z"), key=lambda name: boxes[name].y)
    assert order in (["z", "y", "x"], ["x", "y", "z"])
    assert sorted("abc", key=lambda name: boxes[name].y) == (
        ["a", "b", "c"] if order[0] == "z" else ["c", "b", "a"]
    )


def test_what_begins_late_stands_right_before_what_it_leads_to() -> None:
    boxes = place(graph_of("a b", "b c", "c d", "late d")).boxes
    assert boxes["late"].x == boxes["c"].x


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.req("H-53")
def test_every_line_has_a_tip_where_it_ends(graph: Graph) -> None:
    found = place(graph)
    picture = draw(graph, "x")
    for _, points in found.ways:
        assert f"L{points[-1].x:.0f} {points[-1].y:.1f}L" in picture
    assert picture.count('class="tip') == len(found.ways)


def test_a_line_that_leads_back_goes_below() -> None:
    graph = GRAPHS["a circle"]
    found = place(graph)
    points = found.ways[2][1]
    assert max(each.y for each in points) > found.boxes["c"].y + HEIGHT / 2


@pytest.mark.parametrize(("nodes", "edges"), [(500, 499), (500, 750)])
def test_five_hundred_boxes_are_drawn_with_bounded_work(nodes: int, edges: int) -> None:
    chosen = random.Random(nodes + edges)
    names = [f"n{at}" for at in range(nodes)]
    lines = [(chosen.randrange(max(0, at - 12), at), at) for at in range(1, nodes)]
    lines += [tuple(sorted(chosen.sample(range(nodes), 2))) for _ in range(edges - len(lines))]  # type: ignore[misc]
    graph = Graph(
        tuple(GraphNode(id=name, title=name) for name in names),
        tuple(Edge(source=names[a], target=names[b]) for a, b in lines),
    )
    assert calls(lambda: draw(graph, "many")) < 1_000_000


def test_what_is_drawn_is_escaped_and_says_its_state_in_words() -> None:
    hostile = '<script>"&'
    node = GraphNode(
        id=hostile, title=hostile, subtitle="agent", note="failed", href=f"/x?{hostile}"
    )
    picture = draw(Graph((node,), ()), hostile)
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    texts = ["".join(each.itertext()) for each in root.iter(f"{space}text")]
    assert texts == [hostile, "agent", "failed"]
    assert root.attrib["role"] == "group"
    [link] = root.iter(f"{space}a")
    assert link.attrib == {
        "href": f"/x?{hostile}",
        "aria-label": f"{hostile}, agent, failed",
    }


def test_titles_take_two_lines_before_they_are_cut() -> None:
    assert wrapped("List sailings of a day", 148, 14.5) == ["List sailings of a", "day"]
    assert wrapped("Short", 148, 14.5) == ["Short"]
    first, second = wrapped("Offer the nearest sailing where a day has none left", 148, 14.5)
    assert (first, second[-1]) == ("Offer the nearest", "…")
    assert all(text_width(each, 14.5) <= 148 for each in (first, second))
    unbroken = wrapped("x" * 50, 148, 14.5)
    assert len(unbroken) == 2
    assert unbroken[0] + unbroken[1][:-1] == "x" * len(unbroken[0] + unbroken[1][:-1])


def test_long_words_are_cut_to_fit_their_box() -> None:
    assert shortened("short", 100, 13) == "short"
    cut = shortened("w" * 500, 150, 13)
    assert cut.endswith("…")
    assert text_width(cut, 13) <= 150
    assert shortened("漢" * 50, 130, 13) == "漢" * 8 + "…"
