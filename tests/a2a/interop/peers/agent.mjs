// An agent written with the official SDK of JavaScript, in both formats. Prints its URL.
// The first word of a message says what happens.

import express from "express";
import { duplicateInterfacesForLegacy } from "@a2a-js/sdk/compat/v0_3";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { Role, TaskState } from "@a2a-js/sdk";
import { randomUUID } from "node:crypto";

const part = (text) => ({
  content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain",
});

class Executor {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const said = userMessage.parts.map((each) => each.content.value).join("");
    const word = said.split(" ")[0];
    const rest = said.slice(word.length + 1);
    const message = (text) => ({
      messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [part(text)],
      metadata: undefined, extensions: [], referenceTaskIds: [],
    });
    const status = (state, text) => bus.publish(AgentEvent.statusUpdate({
      taskId, contextId, metadata: undefined,
      status: { state, message: text ? message(text) : undefined, timestamp: new Date().toISOString() },
    }));
    const artifact = (parts, id = randomUUID(), append = false) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append, lastChunk: false, metadata: undefined,
      artifact: { artifactId: id, name: "", description: "", parts, metadata: undefined, extensions: [] },
    }));
    if (word === "direct") {
      bus.publish(AgentEvent.message({ ...message(rest), taskId: "" }));
      bus.finished();
      return;
    }
    if (context.task) {
      status(TaskState.TASK_STATE_COMPLETED, `thank you for ${said}`);
      bus.finished();
      return;
    }
    bus.publish(AgentEvent.task({
      id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() },
    }));
    status(TaskState.TASK_STATE_WORKING);
    if (word === "artifact") {
      artifact([part(rest)]);
      status(TaskState.TASK_STATE_COMPLETED);
    } else if (word === "status") {
      status(TaskState.TASK_STATE_COMPLETED, rest);
    } else if (word === "data") {
      artifact([{ ...part(""), content: { $case: "data", value: { count: 42 } } }, part("counted")]);
      artifact([{
        ...part(""), content: { $case: "raw", value: Buffer.from("tck") }, filename: "a.txt",
      }]);
      status(TaskState.TASK_STATE_COMPLETED);
    } else if (word === "metadata") {
      status(TaskState.TASK_STATE_COMPLETED, String(userMessage.metadata.lang));
    } else if (word === "ask") {
      status(TaskState.TASK_STATE_INPUT_REQUIRED, "Which city?");
    } else if (word === "fail") {
      status(TaskState.TASK_STATE_FAILED, "no model");
    } else if (word === "reject") {
      status(TaskState.TASK_STATE_REJECTED, "not today");
    } else if (word === "slow") {
      await new Promise((resolve) => setTimeout(resolve, 300));
      artifact([part("at last")]);
      status(TaskState.TASK_STATE_COMPLETED);
    } else if (word === "wait") {
      await new Promise((resolve) => { this.stop = () => { status(TaskState.TASK_STATE_CANCELED); resolve(); }; });
    } else if (word === "chunks") {
      for (let n = 0; n < 3; n++) artifact([part(`${n} `)], "a", n > 0);
      status(TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  }

  async cancelTask() {
    this.stop?.();
  }
}

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const card = {
    name: "javascript", description: "An agent of the official SDK", version: "1", documentationUrl: "",
    supportedInterfaces: duplicateInterfacesForLegacy(
      [{ url, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }], ["JSONRPC"]),
    provider: { organization: "x", url: "https://example.com" },
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {}, securityRequirements: [], signatures: [],
    defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{
      id: "x", name: "x", description: "x", tags: ["x"], examples: [], inputModes: [], outputModes: [],
      securityRequirements: [],
    }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor());
  const legacyCompat = { enabled: true };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  app.use("/", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  console.log(url);
});
