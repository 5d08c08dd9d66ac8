"""The same call as code: what is shown runs, and does what the page would do."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.explorer.visit import Visit
from tests.patience import PATIENCE

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("O-13")]

HOSTILE = {
    "quotes": "'\"'; touch pwned; \"'",
    "expansions": "$(touch pwned) `touch pwned` ${HOME} $HOME !! \\ \\' %s",
    "lines": "one\ntwo\r\nthree\t\u0000\u0007\u001b[31m\u2028",
    "direction": "\u202e\u2066abc\u200b\ufeff",
    "file": "@/etc/passwd",
    "code": '"""\' + __import__("os").system("touch pwned") + """',
    "html": "</script><img src=x onerror=alert(1)>",
    "letters": "äß漢字😀",
    "__proto__": {"constructor": 1},
    "numbers": [0, -1, 1.5, True, False, None],
    "it's": {"a'b": []},
    "long": ["words that make the line too long to stay on one line"] * 3,
}


async def run(*command: str, text: str = "", folder: Path, **env: str) -> str:
    """What a program prints; it must succeed, and say nothing else."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=os.environ | env,
    )
    out, err = await asyncio.wait_for(process.communicate(text.encode()), PATIENCE)
    assert (process.returncode, err.decode()) == (0, ""), text
    assert os.listdir(folder) == []
    return out.decode()


async def shell(code: str, folder: Path, **env: str) -> Any:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    quiet = code.replace("curl ", "curl --silent --show-error ", 1)
    return json.loads(await run("sh", text=quiet, folder=folder, **env) or "null")


async def python(code: str, folder: Path, **env: str) -> str:
    return await run(sys.executable, "-", text=code, folder=folder, **env)


async def node(code: str, folder: Path, **env: str) -> str:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    # A number of log's own, so that objects are printed whole.
    shown = code.replace("console.log(await response.json())", "console.log(await response.text())")
    return await run("node", "--input-type=module", "-", text=shown, folder=folder, **env)


async def fill(visit: Visit, value: Any) -> None:
    await visit.open("desk.echo")
    await visit.write_params(json.dumps({"value": value}))


async def test_curl_sends_exactly_the_same(visit: Visit, tmp_path: Path) -> None:
    await fill(visit, HOSTILE)
    code = await visit.code("curl")
    assert not any(ord(letter) < 32 and letter != "\n" for letter in code)
    assert not any(letter in code for letter in "\u202e\u2066\u200b\ufeff\u2028")
    assert await shell(code, tmp_path) == {"jsonrpc": "2.0", "id": 1, "result": HOSTILE}


async def test_python_sends_exactly_the_same(visit: Visit, tmp_path: Path) -> None:
    await fill(visit, HOSTILE)
    assert await python(await visit.code("Python"), tmp_path) == f"{HOSTILE!r}\n"


async def test_typescript_sends_exactly_the_same(visit: Visit, tmp_path: Path) -> None:
    await fill(visit, HOSTILE)
    answer = json.loads(await node(await visit.code("TypeScript"), tmp_path))
    assert answer["result"] == HOSTILE
    plain = {key: value for key, value in HOSTILE.items() if key != "__proto__"}
    await fill(visit, plain)
    code = await visit.code("TypeScript")
    assert "JSON.stringify({" in code
    assert json.loads(await node(code, tmp_path))["result"] == plain


async def test_numbers_keep_their_digits_in_code(visit: Visit, tmp_path: Path) -> None:
    await visit.open("desk.echo")
    await visit.write_params('{"value": [12345678901234567890, 0.1]}')
    expected = "[12345678901234567890, 0.1]"
    assert await shell(await visit.code("curl"), tmp_path) == {
        "jsonrpc": "2.0", "id": 1, "result": json.loads(expected)
    }  # fmt: skip
    assert await python(await visit.code("Python"), tmp_path) == f"{expected}\n"
    sent = await node(await visit.code("TypeScript"), tmp_path)
    assert expected.replace(" ", "") in sent


async def test_the_message_itself_is_shown(visit: Visit) -> None:
    await visit.open("desk.note")
    await visit.control("text").fill("hi")
    await visit.page.get_by_label("Notification").check()
    assert await visit.code("Message") == (
        '{\n  "jsonrpc": "2.0",\n  "method": "desk.note",\n  "params": {\n    "text": "hi"\n  }\n}'
    )


async def test_notifications_are_notifications(
    visit: Visit, tmp_path: Path, heard: list[Any]
) -> None:
    await visit.open("desk.note")
    await visit.control("text").fill("from code")
    await visit.page.get_by_label("Notification").check()
    heard.clear()
    assert await shell(await visit.code("curl"), tmp_path) is None
    assert await python(await visit.code("Python"), tmp_path) == ""
    assert await node(await visit.code("TypeScript"), tmp_path) == "204\n"
    assert heard == ["from code"] * 3


async def test_tokens_are_read_from_the_environment(visit: Visit, tmp_path: Path) -> None:
    await visit.open("desk.headers")
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.page.fill("#token", "s3cret")
    await visit.button("Add header").click()
    await visit.page.get_by_label("Name of header 1").fill("X-Desk")
    await visit.page.get_by_label("Value of header 1").fill('it\'s "$HOME" `id`')
    await visit.page.locator("#settings > summary").click()
    expected = {
        "authorization": "Bearer t0ken",
        "content-type": "application/json",
        "x-desk": 'it\'s "$HOME" `id`',
    }
    for language in ("curl", "Python", "TypeScript"):
        assert "s3cret" not in await visit.code(language)
    answer = await shell(await visit.code("curl"), tmp_path, TOKEN="t0ken")
    assert answer["result"] == expected
    answer = json.loads(await node(await visit.code("TypeScript"), tmp_path, TOKEN="t0ken"))
    assert answer["result"] == expected
    printed = await python(await visit.code("Python"), tmp_path, TOKEN="t0ken")
    assert "'authorization': 'Bearer t0ken'" in printed


async def test_a_key_in_a_header_is_read_from_the_environment_too(visit: Visit) -> None:
    await visit.open("desk.headers")
    await visit.page.locator("summary", has_text="Headers and token").click()
    await visit.button("Add header").click()
    await visit.page.get_by_label("Name of header 1").fill("X-Api-Key`$(id)")
    assert await visit.problems() == ["A name has letters, digits and dashes."]
    await visit.page.get_by_label("Name of header 1").fill("9-Api-Key`'$")
    await visit.page.get_by_label("Value of header 1").fill("hidden")
    await visit.page.locator("#settings > summary").click()
    code = await visit.code("curl")
    assert "-H '9-Api-Key`'\\''$: '\"$_9_API_KEY___\"" in code
    assert "hidden" not in code


async def test_a_batch_as_code_runs(visit: Visit, tmp_path: Path, heard: list[Any]) -> None:
    await visit.open("desk.echo")
    for value in ("1", '{"a": "it\'s"}'):
        await visit.control("value").fill(value)
        await visit.page.click("#add-to-batch")
    await visit.go("desk.note")
    await visit.control("text").fill("in a batch")
    await visit.page.get_by_label("Notification").check()
    await visit.page.click("#add-to-batch")
    await visit.page.click("#tab-batch")
    heard.clear()
    answers = [
        {"jsonrpc": "2.0", "id": 1, "result": 1},
        {"jsonrpc": "2.0", "id": 2, "result": {"a": "it's"}},
    ]
    assert await shell(await visit.code("curl"), tmp_path) == answers
    assert json.loads(await node(await visit.code("TypeScript"), tmp_path)) == answers
    assert await python(await visit.code("Python"), tmp_path) == "1\n{'a': \"it's\"}\n"
    assert heard == ["in a batch"] * 3


async def test_code_follows_what_is_filled_in(visit: Visit) -> None:
    await visit.open("books.get")
    assert '"params":{}}\'' in await visit.code("curl")
    await visit.control("id").fill("7")
    assert '"params":{"id":7}}\'' in await visit.code("curl")
    await visit.button("By position").click()
    assert '"params":[7]}\'' in await visit.code("curl")
