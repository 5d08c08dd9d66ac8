// Clients of the TypeScript SDKs that work with a hub: `node typescript.js 1 | 2 MODE URL TOKEN`.
//
// Prints what came of everything it does.
'use strict';

const [major, mode, target, token] = process.argv.slice(2);

const sdk =
  major === '1'
    ? {
        ...require('@modelcontextprotocol/sdk/client/index.js'),
        ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      }
    : require('@modelcontextprotocol/client');

const client = new sdk.Client(
  { name: 'typescript', version: '1.0' },
  { versionNegotiation: { mode } },
);

async function call(name, args) {
  return client.callTool({ name, arguments: args });
}

async function main() {
  const wire = new sdk.StreamableHTTPClientTransport(new URL(target), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  let version;
  const setVersion = wire.setProtocolVersion?.bind(wire);
  wire.setProtocolVersion = (it) => {
    version = it;
    setVersion?.(it);
  };
  await client.connect(wire);
  // Listed first: clients check results by the output schemas that they know.
  const tools = (await client.listTools()).tools.length;
  const epic = (await call('create_epic', { title: 'Checkout' })).structuredContent;
  await call('create_user_story', { epic_id: epic.reference_id, title: 'Pay by card' });
  const wrong = await call('list_epics', { limit: 0 });
  const ref = { type: 'ref/resource', uri: 'epic://{id}' };
  const report = {
    version: client.getNegotiatedProtocolVersion?.() ?? version,
    instructions: client.getInstructions(),
    tools,
    got: (await call('get_epic', { id: epic.id })).structuredContent.title,
    found: (await call('search_global', { query: 'card' })).structuredContent.total,
    wrong: [wrong.isError, wrong.structuredContent.error.errors],
    templates: (await client.listResourceTemplates()).resourceTemplates.length,
    resources: (await client.listResources()).resources.map((it) => it.uri).slice(-2),
    read: JSON.parse((await client.readResource({ uri: 'epic://EP-001' })).contents[0].text)
      .reference_id,
    prompts: (await client.listPrompts()).prompts.map((it) => it.name),
    prompt: (await client.getPrompt({ name: 'be-kind' })).messages[0].content.text,
    completed: (await client.complete({ ref, argument: { name: 'id', value: 'ep' } })).completion
      .values,
    missing: await client.readResource({ uri: 'epic://EP-404' }).catch((error) => error.code),
  };
  await client.close();
  console.log(JSON.stringify(report));
}

main();
