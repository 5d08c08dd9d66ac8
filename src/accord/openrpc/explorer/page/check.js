// Says where a value does not fit its schema. What it cannot judge is left to the server.
// @ts-check

import { isObject, numberOf, write } from "./json.js";
import { choices, itemSchema, label, shapeOf } from "./schemas.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./references.js").References} References */
/** @typedef {{path: string, message: string}} Problem */

const MAX_PROBLEMS = 50;
const MAX_VISITS = 5_000;
const MAX_MATCHED = 256;
const MAX_DEPTH = 64;

/**
 * @param {References} references
 * @param {Json | undefined} schema
 * @param {Json} value
 * @param {string} [path]
 * @returns {Problem[]}
 */
export function check(references, schema, value, path = "") {
  /** @type {Problem[]} */
  const problems = [];
  visit({ references, visits: 0, depth: 0 }, schema, value, path, problems);
  return problems;
}

/**
 * One check. Its visits are counted, because a schema can be made to explode.
 * @typedef {{references: References, visits: number, depth: number}} Run
 */

/** @param {Run} run @param {Json | undefined} schema @param {Json} value @param {string} path @param {Problem[]} problems */
function visit(run, schema, value, path, problems) {
  if (run.visits >= MAX_VISITS || run.depth >= MAX_DEPTH || problems.length >= MAX_PROBLEMS) return;
  run.visits += 1;
  run.depth += 1;
  judge(run, schema, value, path, problems);
  run.depth -= 1;
}

/** @param {Run} run @param {Json | undefined} schema @param {Json} value @param {string} path @param {Problem[]} problems */
function judge(run, schema, value, path, problems) {
  const { references } = run;
  const shape = shapeOf(references, schema);
  const say = (/** @type {string} */ message) => problems.push({ path, message });
  if (shape.nullable && value === null) return;
  switch (shape.kind) {
    case "any":
      return;
    case "never":
      say("No value is allowed here.");
      return;
    case "union":
      if (!shape.options.some((option) => fits(run, option, value))) {
        say(`Fits none of: ${label(references, schema)}.`);
      }
      return;
    case "choice":
      if (!choices(shape.schema).some((choice) => same(choice, value))) {
        say(`Must be ${list(choices(shape.schema).map((choice) => write(choice)))}.`);
      }
      return;
  }
  if (!isKind(shape, value)) {
    say(`Must be ${article(label(references, shape.schema))}, not ${article(nameOf(value))}.`);
    return;
  }
  if (typeof value === "string") checkString(shape.schema, value, say);
  const number = numberOf(value);
  if (number !== null) checkNumber(shape.schema, number, say);
  if (Array.isArray(value)) {
    checkCount(shape.schema, value.length, "Items", "item", say);
    if (shape.schema.uniqueItems === true && new Set(value.map((item) => write(item))).size < value.length) {
      say("No item may be there twice.");
    }
    value.forEach((item, index) => visit(run, itemSchema(shape.schema, index), item, `${path}/${index}`, problems));
  } else if (isObject(value)) checkObject(run, shape.schema, value, path, problems);
}

/** @param {Run} run @param {Json} schema @param {Json} value */
function fits(run, schema, value) {
  /** @type {Problem[]} */
  const problems = [];
  visit(run, schema, value, "", problems);
  return problems.length === 0;
}

/**
 * The option of a union that a value fits best.
 * @param {References} references
 * @param {Json[]} options
 * @param {Json} value
 * @returns {number}
 */
export function bestOption(references, options, value) {
  const counts = options.map((option) => {
    const problems = check(references, option, value);
    return problems.length + (problems.some(({ path }) => path === "") ? MAX_PROBLEMS : 0);
  });
  return counts.indexOf(Math.min(...counts));
}

/** @param {Run} run @param {JsonObject} schema @param {JsonObject} value @param {string} path @param {Problem[]} problems */
function checkObject(run, schema, value, path, problems) {
  const known = isObject(schema.properties) ? schema.properties : {};
  checkCount(schema, Object.keys(value).length, "Properties", "member", (message) => problems.push({ path, message }));
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === "string" && !Object.hasOwn(value, name)) {
      problems.push({ path: `${path}/${escapePart(name)}`, message: `“${name}” is required.` });
    }
  }
  for (const [name, item] of Object.entries(value)) {
    const at = `${path}/${escapePart(name)}`;
    if (Object.hasOwn(known, name)) visit(run, known[name], item, at, problems);
    else if (isObject(schema.patternProperties)) continue;
    else if (schema.additionalProperties === false) problems.push({ path: at, message: `“${name}” is not known here.` });
    else visit(run, schema.additionalProperties, item, at, problems);
  }
}

/** @param {JsonObject} schema @param {string} value @param {(message: string) => void} say */
function checkString(schema, value, say) {
  checkCount(schema, [...value].length, "Length", "character", say);
  if (typeof schema.pattern === "string" && value.length <= MAX_MATCHED && isCheap(schema.pattern)) {
    const pattern = compile(schema.pattern);
    if (pattern !== null && !pattern.test(value)) say(`Must match ${schema.pattern}.`);
  }
  const format = typeof schema.format === "string" ? FORMATS[schema.format] : undefined;
  if (format !== undefined && !format.pattern.test(value)) say(`Must be ${format.words}.`);
}

/** @type {{[name: string]: {pattern: RegExp, words: string}}} */
const FORMATS = Object.assign(Object.create(null), {
  "date": { pattern: /^\d{4}-\d\d-\d\d$/, words: "a date such as 2026-01-31" },
  "date-time": { pattern: /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/, words: "a date and time such as 2026-01-31T12:00:00Z" },
  "uuid": { pattern: /^[\da-f]{8}-?(?:[\da-f]{4}-?){3}[\da-f]{12}$/i, words: "a UUID" },
  "email": { pattern: /^[^@\s]+@[^@\s]+$/, words: "an e-mail address" },
});

/** @param {JsonObject} schema @param {number} value @param {(message: string) => void} say */
function checkNumber(schema, value, say) {
  const bound = (/** @type {string} */ key) => numberOf(schema[key]);
  const least = bound("minimum");
  const most = bound("maximum");
  const over = bound("exclusiveMinimum");
  const under = bound("exclusiveMaximum");
  const step = bound("multipleOf");
  if (least !== null && value < least) say(`Must be at least ${least}.`);
  if (most !== null && value > most) say(`Must be at most ${most}.`);
  if (over !== null && value <= over) say(`Must be more than ${over}.`);
  if (under !== null && value >= under) say(`Must be less than ${under}.`);
  if (step !== null && step > 0 && Math.abs(value / step - Math.round(value / step)) > 1e-9) say(`Must be a multiple of ${step}.`);
}

/** @param {JsonObject} schema @param {number} count @param {string} key @param {string} noun @param {(message: string) => void} say */
function checkCount(schema, count, key, noun, say) {
  const least = numberOf(schema[`min${key}`]);
  const most = numberOf(schema[`max${key}`]);
  if (least !== null && count < least) say(`Must have at least ${least} ${noun}${least === 1 ? "" : "s"}.`);
  if (most !== null && count > most) say(`Must have at most ${most} ${noun}${most === 1 ? "" : "s"}.`);
}

/** @param {import("./schemas.js").Shape} shape @param {Json} value */
function isKind(shape, value) {
  const number = numberOf(value);
  switch (shape.kind) {
    case "number":
      return number !== null && (shape.schema.type !== "integer" || Number.isInteger(number));
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === shape.kind;
  }
}

/** A pattern from outside must not stall the page: none that repeats a group, few open repeats. */
function isCheap(/** @type {string} */ pattern) {
  return !/\)[*+{]/.test(pattern) && (pattern.match(/[*+]|,\}/g) ?? []).length <= 3;
}

/** @param {string} pattern */
function compile(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return null; // another dialect
  }
}

/** @param {Json} a @param {Json} b @returns {boolean} */
function same(a, b) {
  const [left, right] = [numberOf(a), numberOf(b)];
  return left !== null && right !== null ? left === right : write(a) === write(b);
}

/** @param {Json} value */
function nameOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return numberOf(value) === null ? typeof value : "number";
}

/** @param {string} words */
function article(words) {
  if (words === "null") return words;
  return /^[aeio]/.test(words) ? `an ${words}` : `a ${words}`;
}

/** @param {string[]} words */
function list(words) {
  const few = words.slice(0, 8);
  return few.length < words.length ? `${few.join(", ")} or one of ${words.length - few.length} more` : few.join(" or ");
}

/** @param {string} name */
export function escapePart(name) {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
