// A peer on vscode-jsonrpc.
//   serve stdio | tcp | unix PATH       offers methods, prints its address unless over stdio
//   call stdio COMMAND … | tcp HOST PORT | unix PATH
//                                       each line on stdin is an array of steps, and is answered
//                                       by a line of what came of them
'use strict';

const { spawn } = require('child_process');
const net = require('net');
const readline = require('readline');
const rpc = require('vscode-jsonrpc/node');

const REQUEST_CANCELLED = -32800;  // the Language Server Protocol's code

const notes = new Map();
const noted = (key) => notes.get(key) ?? notes.set(key, []).get(key);

function connect(input, output) {
  // Header and body are two writes; Nagle's algorithm would hold the second back for 40 ms.
  output.setNoDelay?.(true);
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(input),
    new rpc.StreamMessageWriter(output),
  );
  // A single object as params arrives as the only argument: params by name.
  connection.onRequest('add', (a, b) => (typeof a === 'object' ? a.a + a.b : a + b));
  connection.onRequest('echo', (value) => value);
  connection.onRequest('sleep', (seconds) =>
    new Promise((resolve) => setTimeout(resolve, 1000 * seconds, seconds)));
  connection.onRequest('fail', (code, message, data) => {
    throw new rpc.ResponseError(code, message, rpc.CancellationToken.is(data) ? undefined : data);
  });
  connection.onRequest('crash', () => { throw new Error('crash() was called'); });
  connection.onNotification('note', (key, text) => { noted(key).push(text); });
  connection.onRequest('notes', (key) => noted(key));
  connection.onRequest('call_back', (method, params) => send(connection, method, params));
  connection.onRequest('double', (number) => 2 * number);
  connection.onRequest('wait_for_cancellation', (key, token) =>
    new Promise((_, reject) => token.onCancellationRequested(() => {
      noted(key).push('cancelled');
      reject(new rpc.ResponseError(REQUEST_CANCELLED, 'cancelled'));
    })));
  connection.listen();
  return connection;
}

function send(connection, method, params, token) {
  const structure = Array.isArray(params)
    ? [rpc.ParameterStructures.byPosition, ...params]
    : params === undefined ? [] : [rpc.ParameterStructures.byName, params];
  return connection.sendRequest(method, ...structure, ...(token ? [token] : []));
}

async function outcome(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    if (!(error instanceof rpc.ResponseError)) throw error;
    return { error: error.toJson() };
  }
}

async function run(connection, step) {
  if (step.notify) {
    await connection.sendNotification(step.notify, rpc.ParameterStructures.byPosition, ...step.params);
    return null;
  }
  if (step.together) return Promise.all(step.together.map((each) => run(connection, each)));
  if (step.cancel) {
    const source = new rpc.CancellationTokenSource();
    const call = outcome(send(connection, step.cancel, step.params, source.token));
    await outcome(send(connection, 'add', [0, 0]));  // by now the other end has begun
    source.cancel();
    return call;
  }
  return outcome(send(connection, step.call, step.params));
}

function serve([kind, path]) {
  if (kind === 'stdio') return connect(process.stdin, process.stdout);
  const server = net.createServer((socket) => connect(socket, socket));
  const where = kind === 'unix' ? { path } : { host: '127.0.0.1', port: 0 };
  return server.listen(where, () => console.log(
    kind === 'unix' ? `unix://${path}` : `tcp://127.0.0.1:${server.address().port}`,
  ));
}

async function call([kind, ...where]) {
  let connection, end;
  if (kind === 'stdio') {
    const child = spawn(where[0], where.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    child.on('exit', (status) => { process.exitCode = status ?? 1; });
    connection = connect(child.stdout, child.stdin);
    end = () => child.stdin.end();
  } else {
    const socket = net.connect(kind === 'unix' ? { path: where[0] } : { host: where[0], port: Number(where[1]) });
    connection = connect(socket, socket);
    end = () => socket.end();
  }
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const came = [];
    for (const step of JSON.parse(line)) came.push(await run(connection, step));
    console.log(JSON.stringify(came));
  }
  end();
}

const [what, ...how] = process.argv.slice(2);
({ serve, call })[what](how);
