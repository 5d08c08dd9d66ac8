// A client written with the official SDK of JavaScript. Reports what an agent does.
//
//     client.mjs URL VERSION

import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { Role, taskStateToJSON } from "@a2a-js/sdk";

const [url, version] = process.argv.slice(2);

const text = (value) => ({
  content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "",
});
const data = (value) => ({ ...text(""), content: { $case: "data", value } });

const request = (skill, messageId, part, ids = {}) => ({
  tenant: "", metadata: undefined, configuration: undefined,
  message: {
    messageId, role: Role.ROLE_USER, parts: [part], contextId: "", taskId: "", metadata: { skill },
    extensions: [], referenceTaskIds: [], ...ids,
  },
});

const said = (parts) => parts.map((part) => part.content.value).join("\n");
const shown = (task) => [
  taskStateToJSON(task.status.state),
  task.artifacts.map((artifact) => said(artifact.parts)).join("|"),
  task.status.message ? said(task.status.message.parts) : "",
];
const names = { task: "task", message: "message", statusUpdate: "status_update", artifactUpdate: "artifact_update" };
const kind = (event) => names[event.payload.$case];

const legacyCompat = { enabled: true };
const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
card.supportedInterfaces = card.supportedInterfaces.filter((each) => each.protocolVersion === version);
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ legacyCompat })] });
const client = await factory.createFromAgentCard(card);

const report = { name: card.name, skills: card.skills.map((skill) => skill.id).slice(0, 3) };
const done = await client.sendMessage(request("shout", "1", text("hello")));
report.shout = shown(done);
report.got = shown(await client.getTask({ tenant: "", id: done.id }));
report.echo = said((await client.sendMessage(request("echo", "2", text("hi")))).parts);
const added = await client.sendMessage(request("add", "3", data({ a: 1, b: 2 })));
report.sum = added.artifacts[0].parts[0].content.value.sum;
const asking = await client.sendMessage(request("ask", "4", text("rain")));
report.asking = shown(asking);
const ids = { taskId: asking.id, contextId: asking.contextId };
report.answered = shown(await client.sendMessage(request("ask", "5", text("Oslo"), ids)));
report.rejected = shown(await client.sendMessage(request("reject", "6", text("x"))));
report.stream = [];
for await (const event of client.sendMessageStream(request("tell", "7", text("a b")))) {
  report.stream.push(kind(event));
}
const waiting = client.sendMessageStream(request("wait", "8", text("x")));
const begun = (await waiting.next()).value.payload.value;
const following = client.resubscribeTask({ tenant: "", id: begun.id });
await following.next();
report.cancelled = shown(await client.cancelTask({ tenant: "", id: begun.id, metadata: undefined }))[0];
report.followed = [];
for await (const event of following) report.followed.push(kind(event));
try {
  await client.getTask({ tenant: "", id: "nobody-knows" });
} catch (error) {
  report.unknown = error.constructor.name;
}
console.log(JSON.stringify(report));
process.exit(0);
