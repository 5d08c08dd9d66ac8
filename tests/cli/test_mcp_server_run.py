"""`accord mcp run`, as clients have it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from accord.mcp import Client
from tests.cli.command import PATIENCE, accord
from tests.cli.mcp_server_files import INITIALIZE, ask, call, run, serving, tell

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_stdout_has_nothing_but_messages(weather: Path) -> None:
    with run(str(weather)) as process:
        answer = ask(process, INITIALIZE)
        assert answer["result"]["serverInfo"] == {"name": "weather", "version": "1.0"}
        tell(process, INITIALIZED)
        answer = ask(process, call("forecast", city="Oslo"))
        assert answer["result"]["structuredContent"] == {"Oslo": 3}
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, b"")
    assert err.decode().splitlines() == ["running the file", "forecasting"]


@pytest.mark.parametrize("ending", ["stdin", "SIGTERM", "SIGINT"])
def test_it_leaves_whatever_runs(weather: Path, ending: str) -> None:
    with run(str(weather), "--stdio") as process:
        ask(process, INITIALIZE)
        tell(process, INITIALIZED)
        tell(process, call("block"))
        ask(process, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
        if ending == "stdin":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal(signal.Signals[ending])
        assert process.wait(PATIENCE) == 0  # `block` takes far longer


async def test_a_server_is_served_over_http(weather: Path) -> None:
    with serving(f"{weather}:server", "--http", "127.0.0.1:0") as url:
        assert url.endswith("/mcp")
        async with Client(url) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


async def test_the_path_can_be_chosen(weather: Path) -> None:
    with serving(str(weather), "--http", "http://127.0.0.1:0/a/b") as url:
        assert url.endswith("/a/b")
        async with Client(url, mode="legacy") as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


async def test_workers_share_a_file_of_their_own(
    weather: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving(str(weather), "--http", "127.0.0.1:0", "--workers", "2") as url:
        assert len(shared_files(tmp_path)) == 1
        for _ in range(8):  # the kernel shares connections among the workers
            async with Client(url, mode="legacy") as client:
                assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
    assert shared_files(tmp_path) == []


def shared_files(folder: Path) -> list[Path]:
    return list(folder.glob("accord-mcp-*/shared.db"))


async def test_a_store_can_be_chosen(weather: Path, tmp_path: Path) -> None:
    store = tmp_path / "chosen.db"
    with serving(str(weather), "--http", "127.0.0.1:0", "--store", f"sqlite://{store}") as url:
        async with Client(url, mode="legacy") as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
    assert store.exists()


def test_codes_and_versions_are_chosen_by_flags(weather: Path) -> None:
    with run(str(weather), "--codes", "extended", "--strict-versions") as process:
        params = {**INITIALIZE["params"], "protocolVersion": "1999-01-01"}
        refused = ask(process, {**INITIALIZE, "params": params})
        assert refused["error"]["code"] == -32062
        assert ask(process, {**INITIALIZE, "id": 2})["id"] == 2
        tell(process, INITIALIZED)
        assert ask(process, call("nope", id=3))["error"]["code"] == -32002


def test_a_function_may_make_the_server(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text(
        "from accord.mcp import Server\ndef make() -> Server:\n    return Server('made')"
    )
    with run(f"{file}:make") as process:
        assert ask(process, INITIALIZE)["result"]["serverInfo"]["name"] == "made"


def test_modules_beside_the_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'from beside'")
    file = tmp_path / "json.py"  # a name that is taken
    file.write_text("import beside\nfrom accord.mcp import Server\nserver = Server(beside.NAME)")
    with run(str(file)) as process:
        assert ask(process, INITIALIZE)["result"]["serverInfo"]["name"] == "from beside"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 5", "", "a.py has no server: give a variable of it an accord.mcp.Server"),
        (
            "from accord.mcp import Server\none = Server('one')\nsame = one\ntwo = Server('two')",
            "",
            "a.py has several servers (one, two): say which, as in a.py:one",
        ),
        (
            "from accord.mcp import Server\none = Server('one')",
            ":two",
            "a.py has no two; its servers are one",
        ),
        ("x = 5", ":x", "x of a.py is no accord.mcp.Server but a int"),
        ("1 / 0", "", "a.py cannot be run: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "", "a.py ends the program when it is run: 3"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, text: str, name: str, message: str
) -> None:
    file = tmp_path / "a.py"
    file.write_text(text)
    shown = accord("mcp", "run", f"{file}{name}")
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a FILE is missing"),
        (("nowhere.py",), "there is no file nowhere.py"),
        (("{file}", "--http", "nonsense"), "--http nonsense is not of the form HOST:PORT/PATH"),
        (("{file}", "--http", "https://127.0.0.1:1"), "is not of the form HOST:PORT/PATH"),
        (("{file}", "--http", "127.0.0.1:0", "--stdio"), "either --stdio or --http, not both"),
        (("{file}", "--workers", "2"), "--workers and --store are for --http"),
        (("{file}", "--store", "sqlite:x.db"), "--workers and --store are for --http"),
        (("{file}", "--http", "127.0.0.1:0", "--workers", "0"), "--workers must be at least 1"),
        (
            ("{file}", "--http", "127.0.0.1:0", "--store", "mysql://x"),
            "--store: 'mysql://x' is neither",
        ),
        (
            ("{file}", "--http", "127.0.0.1:0", "--store", "sqlite:///no/such/folder/x.db"),
            "--store: cannot open /no/such/folder/x.db",
        ),
    ],
)
def test_wrong_usage_is_said(weather: Path, arguments: tuple[str, ...], message: str) -> None:
    shown = accord("mcp", "run", *(word.format(file=weather) for word in arguments))
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


def test_a_port_that_is_taken_is_said(weather: Path) -> None:
    with serving(str(weather), "--http", "127.0.0.1:0") as url:
        shown = accord("mcp", "run", str(weather), "--http", url)
    assert shown.code == 3
    assert "cannot listen" in shown.err
