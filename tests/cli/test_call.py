"""`accord call` against a running `accord demo`."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cli.command import COMMAND, PATIENCE, Completed, Demo, accord, demo, environment


@pytest.fixture(scope="module")
def tcp() -> Iterator[Demo]:
    with demo("tcp://127.0.0.1:0") as running:
        yield running


@pytest.fixture(scope="module")
def http() -> Iterator[Demo]:
    with demo("http://127.0.0.1:0/rpc") as running:
        yield running


def test_params_by_position_by_name_as_json_and_from_stdin(tcp: Demo) -> None:
    nineteen = Completed(0, "19\n")
    assert tcp.call("subtract", "42", "23") == nineteen
    assert tcp.call("subtract", "subtrahend=23", "minuend=42") == nineteen
    assert tcp.call("subtract", '{"minuend": 42, "subtrahend": 23}') == nineteen
    assert tcp.call("subtract", "-", stdin="[\n42,\n23\n]\n") == nineteen
    assert tcp.call("subtract", "--", "-4", "-23") == nineteen


def test_a_result_is_indented_for_people_and_exact_for_programs(tcp: Demo) -> None:
    value = '{"price":1.10,"big":123456789012345678901234567890,"none":[]}'
    assert tcp.call("echo", f"[{value}]", "--json") == Completed(0, value + "\n")
    assert tcp.call("echo", f"value={value}") == Completed(
        0,
        '{\n  "price": 1.10,\n  "big": 123456789012345678901234567890,\n  "none": []\n}\n',
    )


def test_strings_are_json_too(tcp: Demo) -> None:
    assert tcp.call("echo", "größer") == Completed(0, '"größer"\n')


def test_control_characters_of_the_other_end_do_not_reach_the_terminal(tcp: Demo) -> None:
    assert tcp.call("echo", '["\x9b2J"]') == Completed(0, '"\\u009b2J"\n')
    assert tcp.call("fail", "1", '"\\u001b[2J\\n"') == Completed(
        1, "", "error 1: \\u001b[2J\\u000a\n"
    )


def test_an_error_is_a_line_with_its_data_below_and_exit_code_1(tcp: Demo) -> None:
    assert tcp.call("fail", "42", "no luck", '{"why": "chance"}') == Completed(
        1, "", 'error 42: no luck\ndata: {"why":"chance"}\n'
    )


def test_with_json_an_error_is_json_on_stdout(tcp: Demo) -> None:
    assert tcp.call("fail", "42", "no luck", '{"why": "chance"}', "--json") == Completed(
        1, '{"error":{"code":42,"message":"no luck","data":{"why":"chance"}}}\n'
    )


def test_an_unknown_method_is_exit_code_1(tcp: Demo) -> None:
    shown = tcp.call("frob")
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith("error -32601: Method not found: frob\n")


def test_nobody_there_is_exit_code_3_with_advice(tcp: Demo) -> None:
    shown = accord("call", "tcp://127.0.0.1:1", "add", "1", "2")
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.startswith("error: cannot connect to tcp://127.0.0.1:1")
    assert shown.err.endswith(
        "Check that the server runs and that the address is right, then try again.\n"
    )
    assert shown.err.count("\n") == 1


def test_with_json_a_failed_connection_is_json_too() -> None:
    shown = accord("call", "tcp://127.0.0.1:1", "add", "1", "2", "--json")
    assert (shown.code, shown.err) == (3, "")
    error = msgspec.json.decode(shown.out)["error"]
    assert error["code"] == -32008
    assert error["data"] == {"reason": "transport_error", "recoverable": True}
    assert error["advice"] == (
        "Check that the server runs and that the address is right, then try again."
    )


def test_a_lost_connection_is_exit_code_3() -> None:
    shown = accord("call", "stdio:true", "add", "1", "2")
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.count("\n") == 1


def test_a_program_that_does_not_exist_is_exit_code_3() -> None:
    shown = accord("call", "stdio:no-such-program", "add", "1", "2")
    assert (shown.code, shown.out) == (3, "")
    assert "no-such-program" in shown.err
    assert shown.err.count("\n") == 1


def test_no_answer_in_time_is_exit_code_4(tcp: Demo) -> None:
    assert tcp.call("sleep", "60", "--timeout", "0.1") == Completed(
        4, "", "error -32009: no answer to sleep within 0.1 s\n"
    )


def test_a_timeout_at_the_other_end_is_its_answer(tcp: Demo) -> None:
    assert tcp.call("fail", "-32009", "too slow") == Completed(1, "", "error -32009: too slow\n")


def test_without_a_timeout_it_waits(tcp: Demo) -> None:
    assert tcp.call("sleep", "0.1", "--timeout", "none") == Completed(0, "null\n")


def test_a_notification_prints_nothing(tcp: Demo, http: Demo) -> None:
    for running in (tcp, http):
        assert running.call("add", "1", "2", "--notify") == Completed(0, "")


def test_a_notification_that_cannot_be_delivered_over_http_is_told(http: Demo) -> None:
    shown = accord("call", http.url.replace("/rpc", "/wrong"), "add", "--notify")
    assert (shown.code, shown.out) == (3, "")
    assert "404" in shown.err


def test_the_wire_is_shown_when_asked_for(tcp: Demo) -> None:
    assert tcp.call("add", "1", "2", "--verbose") == Completed(
        0,
        "3\n",
        '--> {"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}\n'
        '<-- {"jsonrpc":"2.0","id":1,"result":3}\n',
    )


def test_the_other_end_can_call_back(tcp: Demo) -> None:
    called = tcp.call("call_back", "confirm", '["Delete it?"]', "--answer", "confirm=true")
    assert called == Completed(0, "true\n")


def test_headers_are_sent(http: Demo) -> None:
    refused = http.call("add", "1", "2", "--header", "Origin: https://elsewhere.example")
    assert refused.code == 3
    assert "403" in refused.err


BATCH = """\
# three calls
add 1 2
frob
echo {"value": ["a", 1.10]}
"""


def test_a_batch_of_lines_is_answered_in_order(tcp: Demo) -> None:
    assert tcp.call("--batch", "-", stdin=BATCH) == Completed(
        1,
        'add: 3\nfrob: error -32601: Method not found: frob\necho: [\n  "a",\n  1.10\n]\n',
    )


def test_a_batch_as_json_has_the_ids_of_its_file(tcp: Demo, tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    file.write_text(
        '[{"id": "x", "method": "add", "params": [1, 2]},'
        ' {"method": "add", "params": [3, 4]},'
        ' {"id": 7, "method": "fail", "params": [1, "no"]}]'
    )
    assert tcp.call("--batch", str(file), "--json") == Completed(
        1,
        '[{"jsonrpc":"2.0","id":"x","result":3},'
        '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}]\n',
    )


def test_a_batch_of_notifications_prints_nothing(tcp: Demo, http: Demo) -> None:
    for running in (tcp, http):
        assert running.call("--batch", "-", "--notify", stdin=BATCH) == Completed(0, "")
        assert running.call("--batch", "-", "--json", stdin='[{"method": "add"}]') == Completed(
            0, ""
        )


@pytest.mark.req("F-08")
def test_a_batch_that_is_refused_as_a_whole_is_told_at_once() -> None:
    with demo("tcp://127.0.0.1:0", "--max-batch-items", "0") as running:
        shown = running.call("--batch", "-", "--timeout", "none", stdin=BATCH)
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith("error -32600: Invalid Request: batches are turned off\n")


def test_an_answer_over_the_limit_is_told_at_once(tcp: Demo) -> None:
    long = "x" * 5000
    assert tcp.call("echo", long, "--max-message-bytes", "1000", "--timeout", "none").code == 1
    assert tcp.call("echo", long, "--max-message-bytes", "unlimited") == Completed(0, f'"{long}"\n')


@pytest.mark.req("F-17")
@pytest.mark.parametrize(
    ("ours", "theirs"), [("newline", "content-length"), ("content-length", "newline")]
)
def test_the_wrong_framing_is_told_at_once(ours: str, theirs: str) -> None:
    with demo("tcp://127.0.0.1:0", "--framing", theirs) as running:
        assert running.call("add", "1", "2", "--framing", theirs) == Completed(0, "3\n")
        shown = running.call("add", "1", "2", "--framing", ours, "--timeout", "none")
    assert shown.code == 3
    assert shown.err.count("\n") == 1


def test_an_interrupt_is_exit_code_130_and_no_traceback(tcp: Demo) -> None:
    process = subprocess.Popen(
        [*COMMAND, "call", tcp.url, "sleep", "60", "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("--> ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error_of_ours(tcp: Demo) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "call", tcp.url, "add", "1", "2"],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def on_terminal(*arguments: str, TERM: str = "xterm", **env: str) -> str:  # noqa: N803
    """What `accord` shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=environment(TERM=TERM, **env)
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:  # how a terminal says that nobody is left
            pass
        process.wait(PATIENCE)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_is_shown_colours(tcp: Demo) -> None:
    assert on_terminal("call", tcp.url, "echo", 'value={"a": [1, "x", null]}') == (
        "{\n"
        '  \x1b[34m"a"\x1b[0m: [\n'
        "    \x1b[36m1\x1b[0m,\n"
        '    \x1b[32m"x"\x1b[0m,\n'
        "    \x1b[35mnull\x1b[0m\n"
        "  ]\n"
        "}\n"
    )
    assert on_terminal("call", tcp.url, "fail", "1", "no") == "\x1b[1;31merror\x1b[0m 1: no\n"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_is_shown_no_colours_where_they_are_not_wanted(
    tcp: Demo, env: dict[str, str]
) -> None:
    assert on_terminal("call", tcp.url, "echo", "1", **env) == "1\n"
