// The same call as a program: curl, Python, TypeScript. Values may be hostile: each is written so
// that it stays a value. Tokens are not written at all, but read from the environment.
// @ts-check

import { Exact, isObject, pretty, write } from "./json.js";
import { bodyOf } from "./messages.js";
import { isSecret } from "./settings.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./wire.js").Header} Header */
/** @typedef {import("./messages.js").Request} Request */
/** @typedef {{url: string, headers: Header[], requests: Request[], batch: boolean}} Sending */
/** @typedef {"curl" | "python" | "typescript" | "json"} Language */

const WIDE = 72;
/** Characters that do not show, or that change the order in which others show. */
const UNSEEN = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * @param {Language} language
 * @param {Sending} sending
 * @returns {string}
 */
export function snippet(language, sending) {
  switch (language) {
    case "curl":
      return curl(sending);
    case "python":
      return python(sending);
    case "typescript":
      return typescript(sending);
    case "json":
      return pretty(seen(bodyOf(sending.requests, sending.batch)));
  }
}

/** @param {Sending} sending */
function curl({ url, headers, requests, batch }) {
  const lines = [`curl ${/[[\]{}]/.test(url) ? "--globoff " : ""}${shell(url)}`];
  for (const header of headers) lines.push(`  -H ${shellHeader(header)}`);
  // --data-raw, not --data: that would read a file where a value begins with @.
  lines.push(`  --data-raw ${shell(seen(bodyOf(requests, batch)))}`);
  return lines.join(" \\\n");
}

/** @param {Header} header */
function shellHeader([name, value]) {
  const secret = secretIn(name, value);
  return secret === null ? shell(`${name}: ${value}`) : `${shell(`${name}: ${secret.before}`)}"$${secret.variable}"`;
}

/**
 * A word of a POSIX shell that stands for exactly this text.
 * @param {string} text
 */
function shell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** @param {Sending} sending */
function python({ url, headers, requests, batch }) {
  const own = headers.filter(([name]) => !/^(?:content-type|accept)$/i.test(name));
  const secret = own.some(([name, value]) => secretIn(name, value) !== null);
  return [
    "import asyncio",
    ...(secret ? ["import os"] : []),
    "",
    "from accord import connect",
    "",
    "",
    "async def main() -> None:",
    ...(own.length > 0 ? [`    headers = {${own.map(pythonHeader).join(", ")}}`] : []),
    `    async with connect(${quoted(url)}${own.length > 0 ? ", headers=headers" : ""}) as peer:`,
    ...(batch ? pythonBatch(requests) : pythonCall(requests[0])),
    "",
    "",
    "asyncio.run(main())",
    "",
  ].join("\n");
}

/** @param {Header} header */
function pythonHeader([name, value]) {
  const secret = secretIn(name, value);
  if (secret === null) return `${quoted(name)}: ${quoted(value)}`;
  return `${quoted(name)}: ${quoted(secret.before)} + os.environ[${quoted(secret.variable)}]`;
}

/** @param {Request} request */
function pythonCall(request) {
  const words = pythonArguments(request, 8);
  return [request.notification ? `        await peer.notify(${words})` : `        print(await peer.call(${words}))`];
}

/** @param {Request[]} requests */
function pythonBatch(requests) {
  return [
    "        calls = []",
    "        async with peer.batch() as batch:",
    ...requests.map((request) => {
      const words = pythonArguments(request, 12);
      return request.notification ? `            batch.notify(${words})` : `            calls.append(batch.call(${words}))`;
    }),
    "        for call in calls:",
    "            print(await call)",
  ];
}

/** @param {Request} request @param {number} indent */
function pythonArguments({ method, params }, indent) {
  return params === undefined ? quoted(method) : `${quoted(method)}, ${literal(params, " ".repeat(indent))}`;
}

/**
 * @param {Json} value
 * @param {string} indent
 * @returns {string}
 */
function literal(value, indent) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (value instanceof Exact) return value.source;
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return write(value);
  const deeper = `${indent}    `;
  const parts = Array.isArray(value) ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(([key, item]) => `${quoted(key)}: ${literal(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const line = parts.join(", ");
  if (line.length <= WIDE && !line.includes("\n")) return `${open}${line}${close}`;
  return `${open}\n${parts.map((part) => `${deeper}${part},\n`).join("")}${indent}${close}`;
}

/** @param {Sending} sending */
function typescript({ url, headers, requests, batch }) {
  const body = seen(bodyOf(requests, batch));
  const value = isPlain(requests.map(({ params }) => params ?? null)) ? `JSON.stringify(${indented(pretty(body))})`
    : quoted(body); // JavaScript would round a number, or take __proto__ for a prototype
  const own = headers.map((header) => `    ${typescriptHeader(header)},`);
  const answered = requests.some(({ notification }) => !notification);
  return [
    `const response = await fetch(${quoted(url)}, {`,
    '  method: "POST",',
    "  headers: {",
    ...own,
    "  },",
    `  body: ${value},`,
    "});",
    answered ? "console.log(await response.json());" : "console.log(response.status);",
    "",
  ].join("\n");
}

/** @param {Header} header */
function typescriptHeader([name, value]) {
  const secret = secretIn(name, value);
  if (secret === null) return `${quoted(name)}: ${quoted(value)}`;
  return `${quoted(name)}: ${quoted(secret.before)} + process.env.${secret.variable}`;
}

/** @param {string} text */
function indented(text) {
  return text.replaceAll("\n", "\n  ");
}

/** @param {Json} value @returns {boolean} */
function isPlain(value) {
  if (value instanceof Exact) return false;
  if (Array.isArray(value)) return value.every(isPlain);
  if (isObject(value)) return !Object.hasOwn(value, "__proto__") && Object.values(value).every(isPlain);
  return true;
}

/**
 * The variable that a secret is read from, or null for what is none.
 * @param {string} name
 * @param {string} value
 */
function secretIn(name, value) {
  if (!isSecret(name)) return null;
  if (/^authorization$/i.test(name) && /^Bearer /.test(value)) return { before: "Bearer ", variable: "TOKEN" };
  return { before: "", variable: name.toUpperCase().replace(/[^A-Z0-9]/g, "_").replace(/^(?=\d)/, "_") };
}

/**
 * A string in quotes, as JSON, Python and TypeScript all read it.
 * @param {string} text
 */
function quoted(text) {
  return seen(JSON.stringify(text));
}

/** @param {string} json */
function seen(json) {
  return json.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
