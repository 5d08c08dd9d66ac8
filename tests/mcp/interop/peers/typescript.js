// Clients of the TypeScript SDKs: `node typescript.js 1 | 2 stdio | http | sse MODE TARGET`.
//
// Prints what came of everything it does. TARGET is a URL, or a command as JSON.
'use strict';

const [major, transport, mode, target] = process.argv.slice(2);

const sdk =
  major === '1'
    ? {
        ...require('@modelcontextprotocol/sdk/client/index.js'),
        ...require('@modelcontextprotocol/sdk/client/stdio.js'),
        ...require('@modelcontextprotocol/sdk/client/sse.js'),
        ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      }
    : { ...require('@modelcontextprotocol/client'), ...require('@modelcontextprotocol/client/stdio') };

const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const client = new sdk.Client(
  { name: 'typescript', version: '1.0' },
  { capabilities, versionNegotiation: { mode } },
);

// The first version names a request by its schema, the second by its method.
function answer(method, schema, handler) {
  const types = major === '1' ? require('@modelcontextprotocol/sdk/types.js') : {};
  client.setRequestHandler(major === '1' ? types[schema] : method, handler);
}

answer('elicitation/create', 'ElicitRequestSchema', async () => ({
  action: 'accept',
  content: { name: 'anna' },
}));
answer('sampling/createMessage', 'CreateMessageRequestSchema', async () => ({
  role: 'assistant',
  content: { type: 'text', text: 'a tale' },
  model: 'm',
}));
answer('roots/list', 'ListRootsRequestSchema', async () => ({ roots: [{ uri: 'file:///work' }] }));

function reached() {
  if (transport === 'stdio') {
    const [command, ...args] = JSON.parse(target);
    return new sdk.StdioClientTransport({ command, args });
  }
  const url = new URL(target);
  return transport === 'sse'
    ? new sdk.SSEClientTransport(url)
    : new sdk.StreamableHTTPClientTransport(url);
}

async function call(name, args, options) {
  // The second argument of version 1 is a schema of the result.
  return major === '1'
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
}

async function text(name, args = {}, options = undefined) {
  return (await call(name, args, options)).content[0].text;
}

async function main() {
  const wire = reached();
  let version;
  const setVersion = wire.setProtocolVersion?.bind(wire);
  wire.setProtocolVersion = (it) => {
    version = it;
    setVersion?.(it);
  };
  await client.connect(wire);
  const progress = [];
  const ref = { type: 'ref/prompt', name: 'greet' };
  const report = {
    version: client.getNegotiatedProtocolVersion?.() ?? version,
    server: client.getServerVersion().name,
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools.map((it) => it.name),
    sum: (await call('add', { a: 1, b: 2 })).structuredContent,
    work: await text('work', { steps: 2 }, { onprogress: (it) => progress.push(it.progress) }),
    failed: (await call('fail', {})).isError,
    asked: await text('ask'),
    told: await text('tell'),
    roots: await text('where'),
    templates: (await client.listResourceTemplates()).resourceTemplates.map((it) => it.uriTemplate),
    read: (await client.readResource({ uri: 'weather://oslo' })).contents[0].text,
    prompts: (await client.listPrompts()).prompts.map((it) => it.name),
    prompt: (await client.getPrompt({ name: 'greet', arguments: { name: 'you' } })).messages[0]
      .content.text,
    completed: (await client.complete({ ref, argument: { name: 'name', value: 'a' } })).completion
      .values,
    missing: await client.readResource({ uri: 'nowhere://' }).catch((error) => error.code),
    progress,
  };
  await client.close();
  console.log(JSON.stringify(report));
}

main();
