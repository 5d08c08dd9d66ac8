// JSON-RPC messages: written to be sent, and answers told apart and matched with what was asked.
// @ts-check

import { isObject, numberOf, read, write } from "./json.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {{method: string, params: Json | undefined, notification: boolean}} Call */
/** @typedef {Call & {id: number | null}} Request */
/**
 * @typedef {{kind: "result", result: Json}
 *   | {kind: "error", code: number | null, message: string, data: Json | undefined}
 *   | {kind: "none"}
 *   | {kind: "missing"}} Answer
 */

let lastId = 0;

/**
 * The call with an id of its own, unless it is a notification.
 * @param {Call} call
 * @returns {Request}
 */
export function numbered(call) {
  return { ...call, id: call.notification ? null : ++lastId };
}

/**
 * The text of a request.
 * @param {Request} request
 * @returns {string}
 */
export function messageOf(request) {
  const id = request.id === null ? "" : `,"id":${request.id}`;
  const params = request.params === undefined ? "" : `,"params":${write(request.params)}`;
  return `{"jsonrpc":"2.0"${id},"method":${JSON.stringify(request.method)}${params}}`;
}

/**
 * @param {Request[]} requests
 * @param {boolean} batch
 * @returns {string}
 */
export function bodyOf(requests, batch) {
  return batch ? `[${requests.map(messageOf).join(",")}]` : messageOf(requests[0]);
}

/**
 * An answer for each request, and those that belong to none. Null when the body is no answer.
 * @param {Request[]} requests
 * @param {string} body
 * @returns {{answers: Answer[], strays: Answer[]} | null}
 */
export function answersIn(requests, body) {
  const found = objectsIn(body);
  if (found === null) return null;
  const left = new Set(found);
  const answers = requests.map(({ id }) => {
    if (id === null) return /** @type {Answer} */ ({ kind: "none" });
    const object = found.find((each) => numberOf(each.id) === id);
    if (object === undefined) return /** @type {Answer} */ ({ kind: "missing" });
    left.delete(object);
    return answerOf(object);
  });
  return { answers, strays: [...left].map(answerOf) };
}

/** @param {string} body @returns {JsonObject[] | null} */
function objectsIn(body) {
  if (body.trim() === "") return [];
  try {
    const value = read(body);
    const objects = (Array.isArray(value) ? value : [value]).filter(isObject);
    return objects.length > 0 && objects.every((object) => "result" in object || "error" in object) ? objects : null;
  } catch {
    return null;
  }
}

/** @param {JsonObject} object @returns {Answer} */
function answerOf(object) {
  if (!("error" in object)) return { kind: "result", result: object.result };
  const error = isObject(object.error) ? object.error : Object.create(null);
  return {
    kind: "error",
    code: numberOf(error.code),
    message: typeof error.message === "string" ? error.message : "",
    data: error.data,
  };
}

/**
 * What the codes of JSON-RPC 2.0 mean, section 5.1.
 * @param {number | null} code
 * @returns {string}
 */
export function meaningOf(code) {
  switch (code) {
    case -32700:
      return "The server could not read the message as JSON.";
    case -32600:
      return "The message is JSON, but no valid request.";
    case -32601:
      return "The server has no method of this name.";
    case -32602:
      return "The params do not fit the method.";
    case -32603:
      return "Something failed inside the server.";
  }
  if (code !== null && code >= -32099 && code <= -32000) return "An error of the server, in the range kept for them.";
  if (code !== null && code >= -32768 && code < -32099) return "A code that JSON-RPC keeps for itself.";
  return "";
}
