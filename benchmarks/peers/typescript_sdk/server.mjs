// The official TypeScript SDK over Streamable HTTP, with sessions; prints the port it listens on.
//
// As it comes, answers are streams of events. With "tuned" they are JSON.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const [tools, option] = process.argv.slice(2);
const transports = new Map();

function make() {
  const server = new McpServer({ name: "benchmark", version: "1" });
  for (let number = 0; number < Number(tools); number++) {
    server.registerTool(
      number ? `tool_${number}` : "echo",
      { description: "Give a text back.", inputSchema: { text: z.string() } },
      async ({ text }) => ({ content: [{ type: "text", text }] }),
    );
  }
  return server;
}

async function transportOf(request) {
  const known = transports.get(request.headers["mcp-session-id"]);
  if (known) return known;
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: option === "tuned",
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await make().connect(transport);
  return transport;
}

const server = createServer(async (request, response) => {
  const transport = await transportOf(request);
  await transport.handleRequest(request, response);
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
