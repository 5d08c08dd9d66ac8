"""`accord serve`, as an operator runs it: first start, commands beside it, its end."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.app.served import accord, serving
from tests.patience import PATIENCE


async def test_the_first_start_hands_over_credentials_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with serving(data) as served:
        told = await served.line()
        assert told.endswith(f"are in {data / 'first-run.txt'}")
        assert await served.line() == f"Open {served.url}/ and sign in"
        assert (data / "first-run.txt").stat().st_mode & 0o777 == 0o600
        assert data.stat().st_mode & 0o777 == 0o700
        async with served.client() as client:
            me = (await client.get("/api/v1/users/me")).json()
            assert (me["username"], me["role"]) == ("admin", "Administrator")
        assert served.token not in served.log
        assert await served.stop() == 0
    (data / "first-run.txt").unlink()
    async with serving(data) as served:
        assert await served.stop() == 0
    assert not (data / "first-run.txt").exists()


async def test_on_a_terminal_the_credentials_are_shown(tmp_path: Path) -> None:
    main, other = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "accord", "serve", "--data", str(tmp_path / "data")),
        *("--port", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=other,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(other)
    shown = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while b"curl http" not in shown:
                shown += await asyncio.to_thread(os.read, main, 65_536)
    finally:
        process.terminate()
        await process.wait()
        os.close(main)
    assert re.search(rb"password +\w{16}", shown)
    assert re.search(rb"token +accord_pat_\w{36}", shown)
    assert b"/api/v1/mcp --header" in shown
    assert not (tmp_path / "data" / "first-run.txt").exists()


async def test_users_and_tokens_are_made_while_it_runs(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    async with serving(tmp_path / "data") as served:
        code, _, err = await accord("user", "create", "maria", "--role", "user", "--data", data)
        assert (code, err) == (0, "")
        code, token, err = await accord(
            "token", "create", "--user", "maria", "--name", "laptop", "--data", data
        )
        assert (code, err) == (0, "")
        assert re.fullmatch(r"accord_pat_\w{36}\n", token)
        async with served.client(token.strip()) as client:
            made = await client.post("/api/v1/epics", json={"title": "Payments"})
            assert (made.status_code, made.json()["creator"]) == (201, "maria")
            code, _, err = await accord(
                "token", "revoke", "laptop", "--user", "maria", "--data", data
            )
            assert (code, err) == (0, "")
            assert (await client.get("/api/v1/epics")).status_code == 401


async def test_a_second_server_on_the_same_data_says_what_to_do(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with serving(data):
        code, out, err = await accord("serve", "--data", str(data), "--port", "0")
    assert (code, out) == (2, "")
    line = err.strip().splitlines()[-1]
    assert line.startswith("error: another server (process ")
    assert "several on the same data need PostgreSQL" in line


async def test_several_workers_need_postgresql(tmp_path: Path) -> None:
    code, _, err = await accord("serve", "--data", str(tmp_path / "data"), "--workers", "2")
    assert code == 2
    assert "several workers need PostgreSQL" in err


@pytest.mark.req("H-19")
async def test_the_log_has_a_line_for_every_write_with_its_correlation_id(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served:
        async with served.client() as client:
            made = await client.post(
                "/api/v1/epics", json={"title": "Payments"}, headers={"X-Correlation-Id": "order-7"}
            )
            assert made.headers["x-correlation-id"] == "order-7"
        await served.stop()
        lines = [json.loads(line) for line in served.log.splitlines()]
        calls = [line for line in lines if line["logger"] == "accord.calls"]
        [line] = [line for line in calls if line["correlation_id"] == "order-7"]
    assert line["time"].endswith("Z")
    assert {key: line[key] for key in ("level", "message", "correlation_id", "user", "face")} == {
        "level": "info",
        "message": "create_epic done",
        "correlation_id": "order-7",
        "user": "admin",
        "face": "rest",
    }


async def test_probes_and_metrics_need_no_token(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served, served.client("") as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        assert "accord_operations_total" in (await client.get("/metrics")).text
        assert (await client.post("/healthz")).status_code == 405
        home = await client.get("/")
        assert (home.status_code, home.headers["location"]) == (303, "/sign-in")
        assert (await client.get("/nowhere")).status_code == 404


async def test_what_is_under_way_when_it_is_stopped_is_finished(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served:
        async with served.client() as client:
            calls = [
                asyncio.create_task(client.post("/api/v1/epics", json={"title": f"Epic {number}"}))
                for number in range(40)
            ]
            await calls[0]
            assert await served.stop() == 0
            answers = await asyncio.gather(*calls, return_exceptions=True)
        made = [each for each in answers if not isinstance(each, BaseException)]
        assert {each.status_code for each in made} <= {201, 503}
    async with serving(tmp_path / "data") as served, served.client() as client:
        total = (await client.get("/api/v1/epics")).json()["total"]
        assert total >= sum(each.status_code == 201 for each in made)
