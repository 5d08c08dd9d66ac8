// An agent in the A2A format (0.3), with the standard library alone: it says things louder.
//
// node agent.mjs 9000

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const tasks = new Map(); // an agent that must not forget them has a database
const card = {
  name: "shouter",
  description: "Says things louder.",
  version: "1.0.0",
  protocolVersion: "0.3.0",
  preferredTransport: "JSONRPC",
  capabilities: { streaming: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "shout", name: "Shout", description: "In capitals.", tags: ["text"] }],
};

class Fault extends Error { // an error of JSON-RPC
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function work(text) { // what this agent does: put your own here
  if (text.startsWith("slow")) await new Promise((done) => setTimeout(done, 2000));
  return text.toUpperCase();
}

async function run(task, text) {
  let state = "completed";
  const output = await work(text).catch((error) => { state = "failed"; return String(error); });
  if (task.status.state !== "working") return; // it was cancelled meanwhile
  const parts = [{ kind: "text", text: output }];
  if (state === "completed") task.artifacts = [{ artifactId: randomUUID(), parts }];
  const message = { kind: "message", messageId: randomUUID(), role: "agent", parts };
  task.status = { state, message };
}

async function send({ message, configuration }) {
  if (!message?.messageId || !message.parts?.length) {
    throw new Fault(-32602, "params.message needs a messageId and parts");
  }
  // This agent never asks back, so that no task can go on.
  if (message.taskId) throw new Fault(-32001, "there is no such task");
  const text = message.parts.filter((part) => part.kind === "text").map((part) => part.text).join("\n");
  // The id follows from that of the message: one that comes again finds its task.
  const id = createHash("sha256").update(message.messageId).digest("hex").slice(0, 32);
  if (!tasks.has(id)) {
    const contextId = message.contextId ?? randomUUID();
    const task = { kind: "task", id, contextId, status: { state: "working" } };
    tasks.set(id, task);
    Object.defineProperty(task, "running", { value: run(task, text), enumerable: false });
  }
  if (configuration?.blocking !== false) await tasks.get(id).running;
  return tasks.get(id);
}

async function get({ id }) {
  if (!tasks.has(id)) throw new Fault(-32001, "there is no such task");
  return tasks.get(id);
}

async function cancel(params) {
  const task = await get(params);
  if (task.status.state !== "working") throw new Fault(-32002, "the task is over");
  task.status = { state: "canceled" };
  return task;
}

const methods = new Map([["message/send", send], ["tasks/get", get], ["tasks/cancel", cancel]]);

async function answer(body) {
  let id = null;
  try {
    const request = JSON.parse(body);
    id = request?.id ?? null;
    if (request?.jsonrpc !== "2.0" || typeof request.method !== "string") {
      throw new Fault(-32600, "this is no request of JSON-RPC 2.0");
    }
    const method = methods.get(request.method);
    if (!method) throw new Fault(-32601, `there is no method ${request.method}`);
    return { jsonrpc: "2.0", id, result: await method(request.params ?? {}) };
  } catch (error) {
    const code = error.code ?? (error instanceof SyntaxError ? -32700 : -32603);
    return { jsonrpc: "2.0", id, error: { code, message: error.message } };
  }
}

const server = createServer(async (request, response) => {
  const reply = (value, status = 200) => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  };
  if (request.method !== "POST") {
    const found = request.url === "/.well-known/agent-card.json";
    return reply(found ? { ...card, url: `http://${request.headers.host}/` } : {}, found ? 200 : 404);
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  reply(await answer(Buffer.concat(chunks).toString()));
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
