// Servers of the TypeScript SDKs: `node typescript_server.js 1 | 2 stdio | http`; prints its URL.
'use strict';

const { randomUUID } = require('node:crypto');
const http = require('node:http');
const z = require('zod');

const [major, transport] = process.argv.slice(2);
const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const FORM = { message: 'Who are you?', requestedSchema: NAME };

const sdk =
  major === '1'
    ? {
        ...require('@modelcontextprotocol/sdk/server/mcp.js'),
        ...require('@modelcontextprotocol/sdk/server/stdio.js'),
        ...require('@modelcontextprotocol/sdk/server/streamableHttp.js'),
      }
    : {
        ...require('@modelcontextprotocol/server'),
        ...require('@modelcontextprotocol/server/stdio'),
        ...require('@modelcontextprotocol/node'),
      };

const text = (it) => ({ content: [{ type: 'text', text: it }] });

function makeServer() {
  const server = new sdk.McpServer({ name: 'typescript', version: '1.0' });
  server.registerTool(
    'add',
    {
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ total: z.number() }),
    },
    async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { total: a + b } }),
  );
  server.registerTool('work', { inputSchema: z.object({ steps: z.number() }) }, async (args, extra) => {
    const request = extra.mcpReq ?? extra;
    const send = request.notify ?? extra.sendNotification;
    for (let step = 1; step <= args.steps; step++) {
      const params = { progressToken: request._meta.progressToken, progress: step };
      await send({ method: 'notifications/progress', params });
    }
    return text('done');
  });
  server.registerTool('fail', {}, async () => {
    throw new Error('broken');
  });
  server.registerTool('ask', {}, async (first, second) => {
    const name = await askName(server, second ?? first);
    return typeof name === 'string' ? text(`hello ${name}`) : name;
  });
  const template = new sdk.ResourceTemplate('weather://{city}', { list: undefined });
  server.registerResource('weather', template, {}, async (uri, { city }) => ({
    contents: [{ uri: uri.href, text: `rain in ${city}` }],
  }));
  const shape = { name: z.string() };
  const argsSchema = major === '1' ? shape : z.object(shape);
  server.registerPrompt('greet', { argsSchema }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `hello ${name}` } }],
  }));
  return server;
}

// The name, or in version 2 what asks for it.
async function askName(server, extra) {
  if (major === '1') return (await server.server.elicitInput(FORM)).content.name;
  const found = sdk.acceptedContent(extra.mcpReq.inputResponses, 'who');
  return found?.name ?? sdk.inputRequired({ inputRequests: { who: sdk.inputRequired.elicit(FORM) } });
}

// Version 1 keeps sessions, each with a server of its own; version 2 knows the stateless era too.
function handlerOf() {
  if (major === '2') return sdk.toNodeHandler(sdk.createMcpHandler(makeServer));
  const sessions = new Map();
  return async (request, response) => {
    let session = sessions.get(request.headers['mcp-session-id']);
    if (session === undefined) {
      session = new sdk.StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, session),
      });
      await makeServer().connect(session);
    }
    await session.handleRequest(request, response);
  };
}

if (transport === 'http') {
  const listening = http.createServer(handlerOf());
  listening.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${listening.address().port}/mcp`);
  });
} else if (major === '1') {
  makeServer().connect(new sdk.StdioServerTransport());
} else {
  sdk.serveStdio(makeServer);
}
