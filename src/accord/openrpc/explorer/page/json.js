// JSON read and written without loss: numbers keep their digits, objects have no prototype.
// @ts-check

/** @typedef {import("../types.js").Json} Json */
/** @typedef {import("../types.js").JsonObject} JsonObject */
/** @typedef {{kind: "mark" | "string" | "number" | "word", text: string, at: number}} Token */

export const MAX_DEPTH = 256;

/** A number that JavaScript would write differently: 12345678901234567890, 1.0, 1e400. */
export class Exact {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
  }
}

/** Says what is wrong with a text, and where. */
export class JsonError extends Error {
  /**
   * @param {string} message
   * @param {string} text
   * @param {number} at
   */
  constructor(message, text, at) {
    const lines = text.slice(0, at).split("\n");
    super(`${message} at line ${lines.length}, column ${lines[lines.length - 1].length + 1}`);
    this.at = at;
  }
}

/**
 * The value that a text stands for. Throws JsonError.
 * @param {string} text
 * @returns {Json}
 */
export function read(text) {
  const tokens = tokenize(text);
  let next = 0;
  const value = readValue(0);
  if (next < tokens.length) throw unexpected(tokens[next]);
  return value;

  /** @param {number} depth @returns {Json} */
  function readValue(depth) {
    const token = take("a value");
    if (token.kind === "string") return decode(token, text);
    if (token.kind === "number") return number(token.text);
    if (token.kind === "word") return token.text === "null" ? null : token.text === "true";
    if (depth >= MAX_DEPTH) throw new JsonError(`More than ${MAX_DEPTH} levels of nesting`, text, token.at);
    if (token.text === "[") return readArray(depth);
    if (token.text === "{") return readObject(depth);
    throw unexpected(token);
  }

  /** @param {number} depth @returns {Json[]} */
  function readArray(depth) {
    /** @type {Json[]} */
    const items = [];
    if (follows("]")) return items;
    do items.push(readValue(depth + 1)); while (follows(","));
    expect("]");
    return items;
  }

  /** @param {number} depth @returns {JsonObject} */
  function readObject(depth) {
    const object = emptyObject();
    if (follows("}")) return object;
    do {
      const key = take("a name in quotes");
      if (key.kind !== "string") throw unexpected(key);
      expect(":");
      object[decode(key, text)] = readValue(depth + 1);
    } while (follows(","));
    expect("}");
    return object;
  }

  /** @param {string} wanted @returns {Token} */
  function take(wanted) {
    if (next >= tokens.length) throw new JsonError(`The text ends where ${wanted} should be`, text, text.length);
    return tokens[next++];
  }

  /** @param {string} mark */
  function follows(mark) {
    const is = next < tokens.length && tokens[next].kind === "mark" && tokens[next].text === mark;
    if (is) next += 1;
    return is;
  }

  /** @param {string} mark */
  function expect(mark) {
    if (follows(mark)) return;
    const token = take(mark);
    throw new JsonError(`Expected ${mark} but found ${short(token.text)}`, text, token.at);
  }

  /** @param {Token} token */
  function unexpected(token) {
    return new JsonError(`Unexpected ${short(token.text)}`, text, token.at);
  }
}

/**
 * The text of a value, in one line or, with an indent, in many.
 * @param {Json} value
 * @param {string} [indent]
 * @returns {string}
 */
export function write(value, indent = "") {
  return indent === "" ? compact(value) : pretty(compact(value), indent);
}

/**
 * The same text with other white space; numbers, names and their order stay as they are.
 * Throws JsonError.
 * @param {string} text
 * @param {string} [indent]
 * @returns {string}
 */
export function pretty(text, indent = "  ") {
  return layOut(tokenize(text), indent).map((piece) => piece.text).join("");
}

/**
 * Tokens and the white space between them, for those who colour a text.
 * @param {Token[]} tokens
 * @param {string} indent
 * @returns {{kind: Token["kind"] | "space" | "name", text: string}[]}
 */
export function layOut(tokens, indent) {
  /** @type {{kind: Token["kind"] | "space" | "name", text: string}[]} */
  const pieces = [];
  let depth = 0;
  const newline = () => pieces.push({ kind: "space", text: `\n${indent.repeat(Math.min(depth, MAX_DEPTH))}` });
  for (const [index, { kind, text }] of tokens.entries()) {
    const before = index > 0 ? tokens[index - 1] : null;
    const after = index + 1 < tokens.length ? tokens[index + 1] : null;
    const closes = kind === "mark" && (text === "}" || text === "]");
    if (closes) {
      depth = Math.max(0, depth - 1);
      if (before !== null && !opens(before)) newline();
    }
    const isName = kind === "string" && after !== null && after.kind === "mark" && after.text === ":";
    pieces.push({ kind: isName ? "name" : kind, text });
    if (kind !== "mark") continue;
    if (text === ":") pieces.push({ kind: "space", text: " " });
    if (text === ",") newline();
    if (text === "{" || text === "[") {
      depth += 1;
      if (after !== null && !(after.kind === "mark" && (after.text === "}" || after.text === "]"))) newline();
    }
  }
  return pieces;
}

/**
 * @param {string} text
 * @returns {Token[]}
 */
export function tokenize(text) {
  const rules = /[ \t\n\r]+|([{}[\]:,])|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])|(true|false|null)(?!\w)|"/y;
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  while (at < text.length) {
    rules.lastIndex = at;
    const found = rules.exec(text);
    if (found === null) throw new JsonError(`Unexpected ${short(text.slice(at, at + 16))}`, text, at);
    const [all, mark, digits, word] = found;
    if (all === '"') {
      const end = endOfString(text, at);
      tokens.push({ kind: "string", text: text.slice(at, end), at });
      at = end;
      continue;
    }
    if (mark !== undefined) tokens.push({ kind: "mark", text: mark, at });
    else if (digits !== undefined) tokens.push({ kind: "number", text: digits, at });
    else if (word !== undefined) tokens.push({ kind: "word", text: word, at });
    at = rules.lastIndex;
  }
  return tokens;
}

/** @returns {JsonObject} */
export function emptyObject() {
  return Object.create(null);
}

/**
 * A value that shares nothing with the one it was made from.
 * @param {Json} value
 * @returns {Json}
 */
export function clone(value) {
  return read(compact(value));
}

/**
 * @param {unknown} value
 * @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

/**
 * The number that a value is, rounded if it must be, or null.
 * @param {unknown} value
 * @returns {number | null}
 */
export function numberOf(value) {
  if (typeof value === "number") return value;
  return value instanceof Exact ? Number(value.source) : null;
}

/**
 * The number that digits stand for.
 * @param {string} digits
 * @returns {number | Exact}
 */
export function number(digits) {
  return String(Number(digits)) === digits ? Number(digits) : new Exact(digits);
}

/**
 * @param {Json} value
 * @returns {string}
 */
function compact(value) {
  if (value instanceof Exact) return value.source;
  if (Array.isArray(value)) return `[${value.map(compact).join(",")}]`;
  if (isObject(value)) {
    return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${compact(item)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/**
 * @param {Token} token
 * @param {string} text
 * @returns {string}
 */
function decode(token, text) {
  try {
    return JSON.parse(token.text);
  } catch {
    throw new JsonError("A string with an escape or a character that JSON does not allow", text, token.at);
  }
}

/**
 * @param {string} text
 * @param {number} start
 */
function endOfString(text, start) {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === "\\") at += 1;
    else if (character === '"') return at + 1;
  }
  throw new JsonError("A string without an end", text, start);
}

/** @param {Token} token */
function opens(token) {
  return token.kind === "mark" && (token.text === "{" || token.text === "[");
}

/** @param {string} text */
function short(text) {
  const line = text.split(/\s/, 1)[0];
  return line.length > 16 ? `${line.slice(0, 16)}…` : line;
}
