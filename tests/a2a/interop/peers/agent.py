# mypy: ignore-errors
"""An agent written with the official SDK of Python, in both formats. Prints its URL.

The first word of a message says what happens.
"""

import asyncio
import socket

import uvicorn
from a2a.helpers.proto_helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context, queue):
        said = context.get_user_input()
        word, _, rest = said.partition(" ")
        updater = TaskUpdater(queue, context.task_id, context.context_id)

        def message(text):
            return updater.new_agent_message([new_text_part(text)])

        if word == "direct":
            await queue.enqueue_event(message(rest))
            return
        if context.current_task is None:
            await queue.enqueue_event(new_task_from_user_message(context.message))
        else:
            await updater.complete(message(f"thank you for {said}"))
            return
        await updater.start_work()
        if word == "artifact":
            await updater.add_artifact([new_text_part(rest)])
            await updater.complete()
        elif word == "status":
            await updater.complete(message(rest))
        elif word == "data":
            await updater.add_artifact([new_data_part({"count": 42}), new_text_part("counted")])
            await updater.add_artifact(
                [Part(raw=b"tck", filename="a.txt", media_type="text/plain")]
            )
            await updater.complete()
        elif word == "metadata":
            await updater.complete(message(str(context.message.metadata["lang"])))
        elif word == "ask":
            await updater.requires_input(message("Which city?"))
        elif word == "fail":
            await updater.failed(message("no model"))
        elif word == "reject":
            await updater.reject(message("not today"))
        elif word == "slow":
            await asyncio.sleep(0.3)
            await updater.add_artifact([new_text_part("at last")])
            await updater.complete()
        elif word == "wait":
            await asyncio.sleep(60)
        elif word == "chunks":
            for n in range(3):
                await updater.add_artifact([new_text_part(f"{n} ")], artifact_id="a", append=n > 0)
            await updater.complete()

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = AgentCard(
        name="official",
        description="An agent of the official SDK",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="x", name="x", description="x", tags=["x"])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Executor(), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, rpc_url="/", enable_v0_3_compat=True),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    print(url, flush=True)
    server.run(sockets=[listener])


main()
