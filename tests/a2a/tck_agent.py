"""The agent that the public test suite of A2A (repository a2aproject/a2a-tck) talks to.

    python -m tests.a2a.tck_agent http://127.0.0.1:9999/ [1.0] [--webhooks]

It prefers 0.3, in which the suite's branch `0.3.x` reads its card, and with `1.0` that format. The
beginning of a message's id says what the suite wants to happen.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from accord.a2a import (
    AddressPolicy,
    Agent,
    FilePart,
    Message,
    RejectedError,
    TaskContext,
    Wire,
)

DIRECT = ("tck-message-response", "tck-stream-002")
QUICK = ("tck-complete", "tck-stream", "tck-artifact", "tck-send", "tck-push", "tck-history")


def make_agent(wires: Sequence[Wire] = (Wire.V03, Wire.V10), *, webhooks: bool = False) -> Agent:
    agent = Agent(
        "Accord",
        description="An agent for the test suite.",
        choose=lambda message: "direct" if message.message_id.startswith(DIRECT) else None,
        once=False,  # the suite sends the same message twice, and wants two tasks
        wires=wires,
        # The suite takes the error that it asks for as a failure (CORE-SEND-003).
        input_modes=("text/plain", "application/json", "*/*"),
        webhooks=AddressPolicy(allow_private=True) if webhooks else None,
    )

    @agent.skill(tags=["tck"])
    async def work(message: Message, task: TaskContext) -> object:
        """Does what the suite expects."""
        id = message.message_id
        if id.startswith("tck-reject-task"):
            raise RejectedError("rejected")
        if id.startswith("tck-input-required"):
            await task.ask("What else?")
        elif not id.startswith(QUICK):  # the older suite cancels it, goes on with it, or follows it
            while True:
                await task.ask("What else?")
        if "artifact-file-url" in id:
            return FilePart(
                url="https://example.com/output.txt", media_type="text/plain", name="output.txt"
            )
        if "artifact-file" in id:
            return FilePart.of(b"tck", media_type="text/plain", name="output.txt")
        if "artifact-data" in id:
            return {"key": "value", "count": 42}
        if "artifact-chunked" in id:
            made = task.add("chunk-1 ")
            task.add("chunk-2", artifact_id=made, append=True, last=True)
            return None
        return "Generated text content"

    @agent.skill(tags=["tck"], direct=True)
    async def direct(text: str) -> str:
        """Answers directly."""
        return "Direct message response"

    return agent


if __name__ == "__main__":
    make_agent(
        (Wire.V10, Wire.V03) if "1.0" in sys.argv else (Wire.V03, Wire.V10),
        webhooks="--webhooks" in sys.argv,
    ).run(sys.argv[1], on_listen=lambda serving: print(serving.url, flush=True))
