// A peer on jayson.
//   serve http | tcp | websocket        offers methods, prints its address
//   call URL [CERTIFICATE]              each line on stdin is an array of steps, and is answered
//                                       by a line of what came of them
'use strict';

const { once } = require('events');
const fs = require('fs');
const readline = require('readline');
const jayson = require('jayson');

const notes = new Map();
const noted = (key) => notes.get(key) ?? notes.set(key, []).get(key);

const methods = {
  add: (params, done) => {
    const [a, b] = Array.isArray(params) ? params : [params.a, params.b];
    done(null, a + b);
  },
  echo: ([value], done) => done(null, value),
  sleep: ([seconds], done) => setTimeout(done, 1000 * seconds, null, seconds),
  fail: ([code, message, data], done) => done({ code, message, data }),
  crash: (params, done) => done(new Error('crash() was called')),
  note: ([key, text], done) => { noted(key).push(text); done(); },
  notes: ([key], done) => done(null, noted(key)),
};

async function serve([kind]) {
  const server = new jayson.Server(methods);
  const listening = kind === 'websocket'
    ? server.websocket({ host: '127.0.0.1', port: 0 })
    : server[kind]().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const scheme = kind === 'websocket' ? 'ws' : kind;
  console.log(`${scheme}://127.0.0.1:${listening.address().port}${kind === 'tcp' ? '' : '/'}`);
}

async function connect(url, certificate) {
  const { protocol, hostname: host, port, pathname: path } = new URL(url);
  switch (protocol) {
    case 'http:': return jayson.Client.http({ host, port, path });
    case 'https:': return jayson.Client.https({ host, port, path, ca: fs.readFileSync(certificate) });
    case 'tcp:': return jayson.Client.tcp({ host, port });
    case 'unix:': return jayson.Client.tcp({ path });
    case 'ws:': {
      const client = jayson.Client.websocket({ url });
      await once(client.ws, 'open');
      return client;
    }
  }
}

function request(client, ...what) {
  return new Promise((resolve, reject) => {
    client.request(...what, (error, response) => (error ? reject(error) : resolve(response)));
  });
}

const outcome = ({ result, error }) => (error ? { error } : { result });

async function run(client, step) {
  if (step.notify) return (await request(client, step.notify, step.params, null)) ?? null;
  if (step.batch) {
    const messages = step.batch.map(({ call, notify, params }) =>
      client.request(call ?? notify, params, notify ? null : undefined));
    const answers = await request(client, messages);
    return answers === undefined ? null : answers.map(outcome);
  }
  if (step.together) return Promise.all(step.together.map((each) => run(client, each)));
  return outcome(await request(client, step.call, step.params));
}

async function call([url, certificate]) {
  const client = await connect(url, certificate);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const came = [];
    for (const step of JSON.parse(line)) came.push(await run(client, step));
    console.log(JSON.stringify(came));
  }
  client.ws?.close();
}

const [what, ...how] = process.argv.slice(2);
({ serve, call })[what](how);
