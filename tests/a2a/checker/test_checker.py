"""Agents of others and of ours are checked; so are those of the older format, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accord.a2a import Agent, CallError, Wire
from accord.a2a.checker.checker import CheckOptions, check
from accord.a2a.checker.rules import CheckReport
from accord.a2a.demo import DemoAgent
from tests.a2a.interop.programs import agent_of
from tests.a2a.scripted import LOCAL, Asked, http, scripted
from tests.interop.programs import serving


def outcomes(report: CheckReport, outcome: str) -> list[tuple[str, str]]:
    return [(each.wire, each.rule) for each in report.findings if each.outcome == outcome]


# Agents of others


@pytest.fixture(scope="module", params=["python", "javascript"])
def official(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with serving(agent_of(request.param)) as url:
        yield request.param, url


@pytest.mark.req("W-12", "W-13")
async def test_agents_of_the_official_sdks_pass(official: tuple[str, str]) -> None:
    language, url = official
    report = await check(url, CheckOptions(policy=LOCAL, text="artifact hello", long="wait"))
    # They begin anew when a message comes again, and each has a code of its own somewhere.
    own = {"python": ("0.3", "error-params"), "javascript": ("1.0", "error-request")}
    assert outcomes(report, "fail") == []
    assert {*outcomes(report, "warn")} == {
        ("0.3", "send-again"),
        ("1.0", "send-again"),
        own[language],
    }


# Our own


@pytest.mark.parametrize("wires", [(Wire.V03,), (Wire.V10,), (Wire.V10, Wire.V03)], ids=str)
@pytest.mark.req("W-12")
async def test_an_agent_of_the_toolkit_passes_in_every_format(wires: tuple[Wire, ...]) -> None:
    agent = DemoAgent("demo", token="secret", wires=wires)
    asking = CheckOptions(
        policy=LOCAL, long="slow 60", credentials={"authorization": "Bearer secret"}
    )
    async with agent.serve("http://127.0.0.1:0/") as serving:
        report = await check(serving.url, asking)
    assert outcomes(report, "fail") == outcomes(report, "warn") == []
    assert {*report.wires} == {*wires}
    assert {rule for _, rule in outcomes(report, "skipped")} <= {"error-version", "stream-refused"}


async def test_an_agent_that_answers_with_messages_has_no_tasks_to_check() -> None:
    agent = Agent("echo")

    @agent.skill(direct=True)
    async def echo(text: str) -> str:
        return text

    async with agent.serve("http://127.0.0.1:0/") as serving:
        report = await check(serving.url, CheckOptions(policy=LOCAL, wires=(Wire.V03,)))
    assert outcomes(report, "fail") == outcomes(report, "warn") == []
    assert [rule for _, rule in outcomes(report, "skipped")] == [
        "error-version",
        "send-state",
        "task-get",
        "cancel-over",
        "cancel-running",
        "stream-refused",
        "auth-needed",
    ]


@pytest.mark.parametrize(
    ("text", "outcome", "detail"),
    [
        ("ask Which city?", "skipped", "the agent asks back: 'Which city?'"),
        ("reject not today", "fail", "task_rejected: not today"),
    ],
)
async def test_how_a_task_ends_is_told(text: str, outcome: str, detail: str) -> None:
    async with DemoAgent("demo").serve("http://127.0.0.1:0/", drain=0) as serving:
        report = await check(serving.url, CheckOptions(policy=LOCAL, wires=(Wire.V10,), text=text))
    [told] = [each for each in report.findings if each.rule == "send-completed"]
    assert (told.outcome, told.detail) == (outcome, detail)


async def test_a_task_that_never_ends_is_told() -> None:
    async with DemoAgent("demo").serve("http://127.0.0.1:0/", drain=0) as serving:
        asking = CheckOptions(policy=LOCAL, wires=(Wire.V03,), text="slow 600", patience=0.3)
        report = await check(serving.url, asking)
    assert outcomes(report, "fail") == [("0.3", "send-completed"), ("0.3", "stream-end")]
    assert {each.detail for each in report.findings if each.outcome == "fail"} == {
        "it still works after 0.3 s",
        "the stream was still open when patience was over",
    }


async def test_an_agent_that_asks_for_credentials_is_not_checked_without_them() -> None:
    async with DemoAgent("demo", token="secret").serve("http://127.0.0.1:0/") as serving:
        report = await check(serving.url, CheckOptions(policy=LOCAL, wires=(Wire.V03,)))
    assert outcomes(report, "fail") == [("0.3", "answer-status"), ("0.3", "error-method")]
    [status] = [each for each in report.findings if each.rule == "answer-status"]
    assert status.detail == "it was HTTP 401: credentials are given with --token or --header"


async def test_credentials_are_not_sent_where_a_card_points() -> None:
    card = {"name": "x", "url": "http://localhost:1/", "protocolVersion": "0.3.0"}
    asked: list[Asked] = []
    async with scripted(*[http({}, status=404)] * 20) as elsewhere:
        card["url"] = elsewhere.url.replace("127.0.0.1", "localhost")
        async with scripted(http(card)) as agent:
            credentials = {"authorization": "Bearer secret"}
            headers = {"x-api-key": "secret"}
            await check(
                agent.url, CheckOptions(policy=LOCAL, credentials=credentials, headers=headers)
            )
            asked = elsewhere.asked
    assert asked
    assert all("secret" not in str(each.headers) for each in asked)


# The older format


async def test_an_agent_of_the_older_format_is_recognised_and_told_how_to_move() -> None:
    no_card = http({"detail": "Not Found"}, status=404)
    refused = http({"detail": "task_id is missing"}, status=422)
    answer = http({"task_id": "other", "status": "success", "output": "HELLO", "error": None})
    async with scripted(no_card, refused, answer) as agent:
        report = await check(agent.url, CheckOptions(policy=LOCAL, text="hello"))
    assert report.wires == ("plain",)
    assert agent.asked[-1].json["input"] == "hello"
    assert outcomes(report, "fail") == [
        ("", "card-found"),
        ("plain", "plain-answer"),
        ("plain", "plain-moved"),
    ]
    told = report.findings[-1]
    assert "docs/agents/migration.md" in told.fix


@pytest.mark.req("W-14")
@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ({"status": "success", "output": "HELLO"}, ""),
        ({"status": "error", "error": "no"}, ""),
        ({"status": "success"}, "there is no output"),
        ({"status": "error"}, "there is no error"),
        ({"status": "done"}, "the status is neither success nor error"),
    ],
)
async def test_answers_of_the_older_format_are_judged(answer: dict[str, str], wrong: str) -> None:
    import msgspec

    from accord.a2a.checker.checker import judge_plain
    from accord.a2a.checker.probes import ProbeResponse
    from accord.a2a.checker.rules import FindingCollector

    notes = FindingCollector()
    body = msgspec.json.encode({"task_id": "t-1", **answer})
    seen = ProbeResponse(status=200, content_type="application/json", headers={}, body=body)
    judge_plain(seen, "t-1", notes)
    found, moved = notes.findings()
    assert (found.outcome, found.detail) == (("fail", wrong) if wrong else ("pass", ""))
    assert moved.outcome == "fail"


async def test_a_format_can_be_said_to_be_the_older_one() -> None:
    async with scripted(http([1, 2])) as agent:
        report = await check(agent.url, CheckOptions(policy=LOCAL, plain=True))
    assert outcomes(report, "fail") == [("plain", "plain-answer"), ("plain", "plain-moved")]
    assert len(agent.asked) == 1


# What is no agent at all


async def test_nothing_that_listens_is_an_error() -> None:
    with pytest.raises(CallError, match="unreachable"):
        await check("http://127.0.0.1:1/", CheckOptions(policy=LOCAL))


async def test_addresses_are_judged_by_the_policy() -> None:
    with pytest.raises(CallError, match="link-local"):
        await check("http://169.254.169.254/", CheckOptions(policy=LOCAL))


async def test_a_card_cannot_point_at_what_is_never_asked() -> None:
    async with scripted(http({"name": "x", "url": "http://169.254.169.254/"})) as agent:
        with pytest.raises(CallError, match="link-local"):
            await check(agent.url, CheckOptions(policy=LOCAL))


@pytest.mark.parametrize("url", ["ftp://example.com/", "nonsense", "http://user:pw@example.com/"])
async def test_what_is_no_url_of_an_agent_is_refused(url: str) -> None:
    with pytest.raises(CallError, match=r"\(url\)") as refused:
        await check(url, CheckOptions(policy=LOCAL))
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "answer",
    [
        http(b"\xff\xfe\x00"),
        http(b"[" * 100_000),
        http({"jsonrpc": "2.0", "id": {"a": 1}, "result": [[[]]]}),
        http({"jsonrpc": 2, "id": None, "error": {"code": None, "message": {"x": 1}}}),
        http({"jsonrpc": "2.0", "id": "1", "result": {"status": {"state": ["x"]}}}),
        http({"jsonrpc": "2.0", "id": "1", "result": {"kind": "task", "parts": 7, "status": 1}}),
        http("<html>" * 10_000, kind="text/html"),
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{}",
        b"nonsense\r\n\r\n",
        http({"name": "x", "url": "nonsense", "protocolVersion": "0.3.0"}),
        http({"name": "x", "supportedInterfaces": [7], "skills": {"a": 1}}),
        http({"name": 7, "skills": [None, 1], "supportedInterfaces": [{"url": "\u0007"}]}),
        http({"jsonrpc": "2.0", "id": None, "error": {"code": [], "message": "x"}}),
        http({}, status=307, headers="location: http://169.254.169.254/\r\n"),
    ],
)
async def test_whatever_is_answered_gives_a_report(answer: bytes) -> None:
    async with scripted(*[answer] * 60) as agent:
        asking = CheckOptions(policy=LOCAL, timeout=1.0, patience=1.0, wires=tuple(Wire))
        report = await check(agent.url, asking)
    assert not report.passed
    assert all(len(each.detail) <= 301 for each in report.findings)
