// Shows what came of a call: the answer, what its code means, where it leads, and the wire.
// @ts-check

import { button, chip, fill, h, segmented } from "./dom.js";
import { isObject, write } from "./json.js";
import { codeView, jsonView } from "./jsonview.js";
import { answersIn, meaningOf } from "./messages.js";
import { isSecret } from "./settings.js";
import { MAX_BYTES } from "./wire.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./messages.js").Answer} Answer */
/** @typedef {import("./messages.js").Request} Request */
/** @typedef {import("./wire.js").Exchange} Exchange */
/** @typedef {import("./wire.js").Header} Header */
/** @typedef {import("./description.js").Description} Description */
/** @typedef {import("./description.js").Method} Method */
/** @typedef {(method: string, params: Json | undefined) => void} Open */
/** @typedef {{outcome: "ok" | "bad" | "warn", word: string}} Verdict */

/**
 * In one word how a call went.
 * @param {Exchange} exchange
 * @param {Request[]} requests
 * @returns {Verdict}
 */
export function verdict(exchange, requests) {
  const { reply } = exchange;
  if (reply === null) return { outcome: exchange.cancelled ? "warn" : "bad", word: exchange.cancelled ? "Cancelled" : "No answer" };
  const found = answersTo(requests, exchange);
  if (found === null) return { outcome: "bad", word: !reply.whole ? "Too long" : reply.status < 400 ? "Not JSON-RPC" : `HTTP ${reply.status}` };
  const all = [...found.answers, ...found.strays];
  const errors = all.filter(({ kind }) => kind === "error");
  if (requests.length === 1 && errors.length === 1) {
    return { outcome: "bad", word: `Error ${errors[0].kind === "error" ? errors[0].code ?? "" : ""}`.trim() };
  }
  if (errors.length > 0) return { outcome: "bad", word: `${errors.length} of ${requests.length} failed` };
  if (all.some(({ kind }) => kind === "missing")) return { outcome: "bad", word: reply.status < 400 ? "No answer" : `HTTP ${reply.status}` };
  if (reply.status >= 400) return { outcome: "bad", word: `HTTP ${reply.status}` };
  return { outcome: "ok", word: requests.every(({ notification }) => notification) ? "Accepted" : requests.length === 1 ? "Result" : `${found.answers.length} answered` };
}

/** @param {Request[]} requests @param {Exchange} exchange */
function answersTo(requests, { reply }) {
  return reply === null || !reply.whole ? null : answersIn(requests, reply.body);
}

/**
 * @param {Exchange} exchange
 * @param {Request[]} requests
 * @param {boolean} batch
 * @param {Description} description
 * @param {Open} open
 */
export function answerView(exchange, requests, batch, description, open) {
  const { outcome, word } = verdict(exchange, requests);
  const body = h("div", { class: "answer-body" });
  const answer = () => fill(body, ...(batch ? batchAnswers : singleAnswer)(exchange, requests, description, open));
  const wire = () => fill(body, ...wireView(exchange));
  answer();
  return h("section", { class: "answer", "aria-label": "Answer" },
    h("div", { class: "answer-head" },
      chip(outcome, word),
      h("span", { class: "measure" }, measures(exchange)),
      segmented("What to show", [["answer", "Answer"], ["wire", "Wire"]], "answer", (key) => (key === "wire" ? wire() : answer()))),
    body);
}

/** @param {Exchange} exchange */
function measures({ reply, milliseconds }) {
  const time = milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : milliseconds < 10_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
  return reply === null ? time : `HTTP ${reply.status} · ${time} · ${size(reply.bytes)}`;
}

/** @param {number} bytes */
function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** @param {Exchange} exchange @param {Request[]} requests @param {Description} description @param {Open} open @returns {Node[]} */
function singleAnswer(exchange, requests, description, open) {
  const found = answersTo(requests, exchange);
  if (found === null) return [unreadable(exchange)];
  // An answer without a matching id is the answer, when there was one request: -32700 has id null.
  const answer = found.answers[0].kind === "result" || found.answers[0].kind === "error" ? found.answers[0] : found.strays[0] ?? found.answers[0];
  return one(answer, requests[0], exchange, description, open);
}

/** @param {Exchange} exchange @param {Request[]} requests @param {Description} description @param {Open} open @returns {Node[]} */
function batchAnswers(exchange, requests, description, open) {
  const found = answersTo(requests, exchange);
  if (found === null) return [unreadable(exchange)];
  const rows = requests.map((request, index) => {
    const answer = found.answers[index];
    return h("div", { class: "batch-answer" },
      h("p", { class: "batch-answer-head" },
        h("code", {}, request.method),
        h("span", { class: "limit" }, request.id === null ? "notification" : `id ${request.id}`),
        answerChip(answer)),
      ...(answer.kind === "none" ? [] : one(answer, request, exchange, description, open)));
  });
  const strays = found.strays.map((answer) => h("div", { class: "batch-answer" },
    h("p", { class: "batch-answer-head" }, h("span", {}, "An answer to none of the requests"), answerChip(answer)),
    ...one(answer, null, exchange, description, open)));
  return [...rows, ...strays];
}

/** @param {Answer} answer */
function answerChip(answer) {
  switch (answer.kind) {
    case "result":
      return chip("ok", "Result");
    case "error":
      return chip("bad", `Error ${answer.code ?? ""}`.trim());
    case "none":
      return chip("plain", "No answer expected");
    case "missing":
      return chip("bad", "No answer");
  }
}

/** @param {Answer} answer @param {Request | null} request @param {Exchange} exchange @param {Description} description @param {Open} open @returns {Node[]} */
function one(answer, request, exchange, description, open) {
  const method = description.methods.find(({ name }) => name === request?.method) ?? null;
  switch (answer.kind) {
    case "result":
      return [jsonView(write(answer.result), "result"), ...followUps(answer.result, request, method, open)];
    case "error":
      return errorParts(answer, method, description, exchange);
    case "none":
      return [h("p", { class: "hint" }, "The server took it. A notification is never answered.")];
    case "missing":
      return [unreadable(exchange)];
  }
}

/** @param {Answer & {kind: "error"}} answer @param {Method | null} method @param {Description} description @param {Exchange} exchange @returns {Node[]} */
function errorParts(answer, method, description, exchange) {
  const listed = (method?.errors ?? []).find(({ code }) => code === answer.code) ?? description.errors.find(({ code }) => code === answer.code);
  const meaning = meaningOf(answer.code);
  return [
    h("div", { class: "box bad" },
      h("p", {}, h("b", {}, `${answer.code ?? "No code"}`), " · ", answer.message || "no message"),
      meaning !== "" && h("p", { class: "box-more" }, meaning),
      listed !== undefined && h("p", { class: "box-more" }, "The API lists this error",
        listed.message === answer.message ? "." : `: ${listed.message}`),
      ...advice(exchange).map((text) => h("p", { class: "box-more" }, text))),
    ...(answer.data === undefined ? [] : [h("p", { class: "small-title" }, "data"), jsonView(write(answer.data), "error data")]),
  ];
}

/** @param {Exchange} exchange */
function unreadable(exchange) {
  const { reply } = exchange;
  if (reply === null) {
    return h("div", { class: exchange.cancelled ? "box warn" : "box bad" },
      h("p", {}, h("b", {}, exchange.cancelled ? "Cancelled" : "No answer")), h("p", { class: "box-more" }, exchange.failure));
  }
  return h("div", {},
    h("div", { class: "box bad" },
      h("p", {}, h("b", {}, `HTTP ${reply.status} ${reply.reason}`.trim())),
      h("p", { class: "box-more" }, !reply.whole ? `The answer is longer than ${size(MAX_BYTES)}; the rest was not read.`
        : reply.body.trim() === "" ? "The answer is empty where one was expected." : "What came back is no JSON-RPC answer."),
      ...advice(exchange).map((text) => h("p", { class: "box-more" }, text))),
    reply.body !== "" && jsonView(reply.body, "body"));
}

/** @param {Exchange} exchange @returns {string[]} */
function advice({ reply }) {
  switch (reply?.status) {
    case 401:
      return ["The server wants to know who you are: set a token under “Headers and token”."];
    case 403:
      return ["The server knows who asks and refuses. Another token, or another page address, may be let in."];
    case 404:
      return ["There is no endpoint at this address."];
    case 413:
      return ["The request is over the server's limit."];
    case 429:
      return ["Too many requests: wait a little."];
  }
  return [];
}

/**
 * Calls that the result leads to, with what is known filled in.
 * @param {Json} result
 * @param {Request | null} request
 * @param {Method | null} method
 * @param {Open} open
 * @returns {Node[]}
 */
function followUps(result, request, method, open) {
  if (method === null || method.links.length === 0) return [];
  return [h("p", { class: "follow" }, "Next: ", ...method.links.map((link) => {
    const params = evaluate(link.params, { result, params: request?.params ?? null });
    return button(link.name || link.method, () => open(link.method || method.name, params), { class: "button small" });
  }))];
}

/**
 * Run-time expressions such as `${result.id}` replaced by what they stand for.
 * @param {Json} value
 * @param {{[name: string]: Json}} known
 * @returns {Json}
 */
function evaluate(value, known) {
  if (typeof value === "string") {
    const whole = /^\$\{([\w.]+)\}$/.exec(value);
    if (whole !== null) return lookUp(whole[1], known) ?? value;
    return value.replace(/\$\{([\w.]+)\}/g, (all, path) => {
      const found = lookUp(path, known);
      return found === undefined ? all : typeof found === "string" ? found : write(found);
    });
  }
  if (Array.isArray(value)) return value.map((item) => evaluate(item, known));
  if (!isObject(value)) return value;
  const object = Object.create(null);
  for (const [key, item] of Object.entries(value)) object[key] = evaluate(item, known);
  return object;
}

/** @param {string} path @param {{[name: string]: Json}} known @returns {Json | undefined} */
function lookUp(path, known) {
  /** @type {Json | undefined} */
  let value = known;
  for (const part of path.split(".")) {
    if (Array.isArray(value)) value = value[Number(part)];
    else value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  }
  return value;
}

/** @param {Exchange} exchange @returns {Node[]} */
function wireView({ url, headers, body, reply, failure }) {
  const sent = [
    h("p", { class: "small-title" }, "Request"),
    codeView(`POST ${url}\n${lines(headers.map(masked))}`, "request headers"),
    jsonView(body, "request body"),
    h("p", { class: "hint" }, "The browser adds headers of its own."),
    h("p", { class: "small-title" }, "Response"),
  ];
  if (reply === null) return [...sent, h("p", { class: "hint" }, failure)];
  return [
    ...sent,
    codeView(`HTTP ${reply.status} ${reply.reason}`.trim() + `\n${lines(reply.headers)}`, "response headers"),
    reply.body === "" ? h("p", { class: "hint" }, "No body.") : jsonView(reply.body, "response body"),
  ];
}

/** @param {Header} header @returns {Header} */
function masked([name, value]) {
  return [name, isSecret(name) ? value.startsWith("Bearer ") ? "Bearer ••••••" : "••••••" : value];
}

/** @param {Header[]} headers */
function lines(headers) {
  return headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`).join("\n");
}
