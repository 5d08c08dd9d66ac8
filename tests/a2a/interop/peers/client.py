# mypy: ignore-errors
"""A client written with the official SDK of Python. Reports what an agent does.

client.py URL VERSION
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import (
    get_artifact_text,
    get_message_text,
    new_data_part,
    new_text_part,
)
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)


def request(skill, id, part, **ids):
    message = Message(role=Role.ROLE_USER, message_id=id, parts=[part], **ids)
    message.metadata["skill"] = skill
    return SendMessageRequest(message=message)


def shown(task):
    text = "|".join(get_artifact_text(each) for each in task.artifacts)
    said = get_message_text(task.status.message) if task.status.HasField("message") else ""
    return [TaskState.Name(task.status.state), text, said]


async def sent(client, *args, **ids):
    """The last thing that a message gave."""
    last = None
    async for event in client.send_message(request(*args, **ids)):
        last = event
    return last


async def main(url, version):
    async with httpx.AsyncClient(timeout=30) as web:
        card = await A2ACardResolver(web, url).get_agent_card()
        kept = [each for each in card.supported_interfaces if each.protocol_version == version]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        plain = ClientFactory(ClientConfig(httpx_client=web, streaming=False)).create(card)
        streaming = ClientFactory(ClientConfig(httpx_client=web, streaming=True)).create(card)
        report = {"name": card.name, "skills": [skill.id for skill in card.skills][:3]}
        done = (await sent(plain, "shout", "1", new_text_part("hello"))).task
        report["shout"] = shown(done)
        report["got"] = shown(await plain.get_task(GetTaskRequest(id=done.id)))
        report["echo"] = get_message_text(
            (await sent(plain, "echo", "2", new_text_part("hi"))).message
        )
        added = (await sent(plain, "add", "3", new_data_part({"a": 1, "b": 2}))).task
        report["sum"] = added.artifacts[0].parts[0].data.struct_value["sum"]
        asking = (await sent(plain, "ask", "4", new_text_part("rain"))).task
        report["asking"] = shown(asking)
        ids = {"task_id": asking.id, "context_id": asking.context_id}
        report["answered"] = shown(
            (await sent(plain, "ask", "5", new_text_part("Oslo"), **ids)).task
        )
        report["rejected"] = shown((await sent(plain, "reject", "6", new_text_part("x"))).task)
        told = streaming.send_message(request("tell", "7", new_text_part("a b")))
        report["stream"] = [event.WhichOneof("payload") async for event in told]
        waiting = streaming.send_message(request("wait", "8", new_text_part("x")))
        begun = (await anext(waiting)).task
        following = streaming.subscribe(SubscribeToTaskRequest(id=begun.id))
        await anext(following)
        report["cancelled"] = shown(await plain.cancel_task(CancelTaskRequest(id=begun.id)))[0]
        report["followed"] = [each.WhichOneof("payload") async for each in following]
        try:
            await plain.get_task(GetTaskRequest(id="nobody-knows"))
        except Exception as error:
            report["unknown"] = type(error).__name__
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
