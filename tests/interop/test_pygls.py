"""A language server on pygls driven by us, and pygls's client calling us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException

from accord import Peer, Router, RpcError, connect, serve
from accord.cli.demo import demo_router
from accord.jsonrpc.protocol.messages import Id
from tests.interop.programs import ACCORD, peer

URI = "file:///words.txt"
TEXT = "größer als 😀 hier\nTODO: wörter\n"


class Editor:
    """The client's side of the Language Server Protocol, as far as these tests need it."""

    def __init__(self) -> None:
        self.router = Router()
        self.diagnostics: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.log: asyncio.Queue[str] = asyncio.Queue()
        self.router.add(self.publish, "textDocument/publishDiagnostics")
        self.router.add(self.log_message, "window/logMessage")
        self.router.add(self.configuration, "workspace/configuration")

    def publish(self, **params: Any) -> None:
        self.diagnostics.put_nowait(params)

    def log_message(self, type: int, message: str) -> None:
        self.log.put_nowait(message)

    def configuration(self, items: list[dict[str, str]]) -> list[str]:
        return [f"the value of {item['section']}" for item in items]


@pytest.fixture
def editor() -> Editor:
    return Editor()


@pytest.fixture
async def server(editor: Editor) -> AsyncIterator[Peer]:
    """The language server, with our document open."""
    command = peer("language_server.py")
    async with connect(command, editor.router, framing="content-length", timeout=10) as server:
        answer = await server.call(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {}}
        )
        assert answer["serverInfo"] == {"name": "words", "version": "1.0"}
        assert answer["capabilities"]["hoverProvider"] is True
        await server.notify("initialized", {})
        document = {"uri": URI, "languageId": "text", "version": 1, "text": TEXT}
        await server.notify("textDocument/didOpen", {"textDocument": document})
        yield server
        assert await server.call("shutdown") is None
        await server.notify("exit")


def at(line: int, character: int) -> dict[str, Any]:
    position = {"line": line, "character": character}
    return {"textDocument": {"uri": URI}, "position": position}


@pytest.mark.req("F-12", "F-16", "F-17")
async def test_a_language_server_answers_hover_and_completion(server: Peer) -> None:
    # Positions count UTF-16 code units: the emoji is two.
    assert await server.call("textDocument/hover", at(0, 14)) == {"contents": "the word hier"}
    words = await server.call("textDocument/completion", at(0, 0))
    assert [word["label"] for word in words] == ["TODO:", "als", "größer", "hier", "wörter", "😀"]


@pytest.mark.req("F-12")
async def test_diagnostics_arrive_at_our_router(server: Peer, editor: Editor) -> None:
    assert await editor.diagnostics.get() == {
        "uri": URI,
        "version": 1,
        "diagnostics": [
            {
                "range": {
                    "start": {"line": 1, "character": 0},
                    "end": {"line": 1, "character": 12},
                },
                "message": "still to do: TODO: wörter",
            }
        ],
    }


@pytest.mark.req("F-12")
async def test_a_language_server_asks_back_while_we_wait(server: Peer) -> None:
    command = {"command": "words.language", "arguments": []}
    assert await server.call("workspace/executeCommand", command) == "the value of words.language"


@pytest.mark.req("F-06", "F-09")
async def test_what_a_language_server_does_not_know_is_an_error(server: Peer) -> None:
    with pytest.raises(RpcError) as caught:
        await server.call("textDocument/definition", at(0, 0))
    assert caught.value.code == -32601
    assert "textDocument/definition" in caught.value.message


@pytest.mark.req("F-15")
async def test_a_call_that_we_give_up_is_cancelled_at_a_language_server(
    server: Peer, editor: Editor
) -> None:
    told: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

    def tell(id: Id, method: str) -> None:
        notify = server.notify("$/cancelRequest", {"id": id})
        told.put_nowait(asyncio.get_running_loop().create_task(notify))

    server.on_abandoned = tell
    call = server.begin("words/wait", {})
    assert await editor.log.get() == "waiting"
    call.cancel()
    await (await told.get())
    assert await editor.log.get() == "cancelled"
    # Its answer, that the call was cancelled, interests nobody any more.
    assert await server.call("textDocument/hover", at(0, 14)) == {"contents": "the word hier"}
    assert server.pending == 0


@pytest.mark.req("F-12", "F-16", "F-17")
@pytest.mark.parametrize("transport", ["stdio", "tcp", "ws"])
async def test_the_client_of_pygls_calls_us_and_is_called_back(transport: str) -> None:
    client = JsonRPCClient()

    @client.feature("double")  # type: ignore[untyped-decorator]
    def double(client: JsonRPCClient, params: Any) -> Any:
        return 2 * params[0]

    async def check() -> None:
        call = client.protocol.send_request_async
        assert await call("add", [1, 2]) == 3
        assert await call("add", {"a": 20, "b": 22}) == 42
        assert await call("echo", ["größer 😀"]) == "größer 😀"
        assert await call("call_back", ["double", [21]]) == 42
        assert await asyncio.gather(*(call("sum", [n, 1]) for n in range(20))) == list(range(1, 21))
        text = "x" * 1_000_000
        assert await call("echo", [text]) == text
        client.protocol.notify("echo", ["nobody answers"])
        with pytest.raises(JsonRpcException, match="no money") as caught:
            await call("fail", [4001, "no money", {"balance": 1}])
        assert (caught.value.code, caught.value.data) == (4001, {"balance": 1})

    if transport == "stdio":
        await client.start_io(*ACCORD, "demo", "stdio:", "--framing", "content-length")
        await check()
        close(client)
    else:
        options: dict[str, Any] = {"framing": "content-length"} if transport == "tcp" else {}
        async with serve(demo_router(), f"{transport}://127.0.0.1:0", **options) as server:
            port = int(server.url.rstrip("/").rpartition(":")[2])
            await (client.start_tcp if transport == "tcp" else client.start_ws)("127.0.0.1", port)
            await check()
            if transport == "tcp":
                close(client)
    await client.stop()  # type: ignore[no-untyped-call]


def close(client: JsonRPCClient) -> None:
    """The library leaves its end of a stream open."""
    assert client.protocol.writer is not None
    client.protocol.writer.close()
