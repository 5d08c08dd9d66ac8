"""A client on python-lsp-jsonrpc: starts a server, and goes through steps with it.

Each line on stdin is an array of steps, and is answered by a line of what came of them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Future
from threading import Thread
from typing import Any

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter


def outcome(future: Future[Any]) -> dict[str, Any]:
    try:
        return {"result": future.result()}
    except JsonRpcException as error:
        return {"error": error.to_dict()}


def run(endpoint: Endpoint, step: dict[str, Any]) -> Any:
    if "notify" in step:
        return endpoint.notify(step["notify"], step.get("params"))
    if "together" in step:
        calls = [endpoint.request(each["call"], each.get("params")) for each in step["together"]]
        return [outcome(call) for call in calls]
    return outcome(endpoint.request(step["call"], step.get("params")))


def main() -> int:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    # Escaped, text beyond ASCII takes up to six times the bytes.
    writer = JsonRpcStreamWriter(server.stdin, ensure_ascii=False)
    reader = JsonRpcStreamReader(server.stdout)
    endpoint = Endpoint({"double": lambda params: 2 * params[0]}, writer.write)
    listening = Thread(target=reader.listen, args=[endpoint.consume])
    listening.start()
    for line in sys.stdin:
        print(json.dumps([run(endpoint, step) for step in json.loads(line)]), flush=True)
    writer.close()
    listening.join()
    endpoint.shutdown()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
