# mypy: ignore-errors
"""Turns of one context with the official SDK of Python. Reports what the agent does.

conversation.py URL VERSION TOKEN
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_artifact_text, get_message_text, new_text_part
from a2a.types import GetTaskRequest, Message, Role, SendMessageRequest, TaskState


def request(id, text, *, skill="", **ids):
    message = Message(role=Role.ROLE_USER, message_id=id, parts=[new_text_part(text)], **ids)
    asked = SendMessageRequest(message=message)
    if skill:
        asked.metadata["skill"] = skill  # as the SDK's request_metadata does
    return asked


def shown(task):
    return [TaskState.Name(task.status.state), *map(get_artifact_text, task.artifacts)]


def said(task):
    return [[Role.Name(each.role), get_message_text(each)] for each in task.history]


async def sent(client, *args, **options):
    """The last thing that a message gave."""
    last = None
    async for event in client.send_message(request(*args, **options)):
        last = event
    return last.task


async def main(url, version, token):
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(timeout=30, headers=headers) as web:
        card = await A2ACardResolver(web, url).get_agent_card()
        kept = [each for each in card.supported_interfaces if each.protocol_version == version]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        client = ClientFactory(ClientConfig(httpx_client=web, streaming=False)).create(card)
        report = {}
        try:
            await sent(client, "0", "Ann")
        except Exception as error:
            report["unchosen"] = str(error)
        first = await sent(client, "1", "Ann", skill="greet")
        report["first"] = shown(first)
        second = await sent(client, "2", "Bob", context_id=first.context_id)
        report["second"] = shown(second)
        report["same"] = second.context_id == first.context_id
        asking = await sent(client, "3", "x", skill="listen", context_id=first.context_id)
        ids = {"task_id": asking.id, "context_id": asking.context_id}
        report["answered"] = shown(await sent(client, "4", "now", **ids))
        for length in (None, 0, 1):
            options = {} if length is None else {"history_length": length}
            got = await client.get_task(GetTaskRequest(id=asking.id, **options))
            report[f"history {length}"] = said(got)
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
