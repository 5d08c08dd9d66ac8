// Shows schemas as rows that open on demand, so that recursive ones never end and never hang.
// @ts-check

import { chip, h } from "./dom.js";
import { isObject, write } from "./json.js";
import { markdown } from "./markdown.js";
import { choices, itemSchema, label, limits, properties, shapeOf } from "./schemas.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./references.js").References} References */
/** @typedef {{name: string, schema: Json, required?: boolean, deprecated?: boolean, description?: string, place?: string}} Entry */

const MAX_CHOICES = 40;
const PLAIN = new Set(["string", "number", "boolean", "null", "any"]);

/**
 * One row for each entry: name, type, what it means, and what is inside.
 * @param {References} references
 * @param {Entry[]} entries
 */
export function schemaRows(references, entries) {
  return h("div", { class: "rows" }, ...entries.map((entry) => row(references, entry, false)));
}

/**
 * The same for a single entry, whose inside is shown at once.
 * @param {References} references
 * @param {Entry} entry
 */
export function openRow(references, entry) {
  return h("div", { class: "rows" }, row(references, entry, true));
}

/** @param {References} references @param {Entry} entry @param {boolean} open */
function row(references, entry, open) {
  const shape = shapeOf(references, entry.schema);
  const description = entry.description || shape.schema.description;
  const deprecated = entry.deprecated || shape.schema.deprecated === true;
  return h("div", { class: "row" },
    h("div", { class: "row-name" }, h("code", { class: deprecated ? "gone" : null }, entry.name)),
    h("div", { class: "row-body" },
      h("p", { class: "row-type" },
        h("span", { class: "type" }, label(references, entry.schema)),
        entry.required && h("span", { class: "required" }, "required"),
        deprecated && chip("warn", "deprecated"),
        entry.place && h("span", { class: "limit" }, entry.place),
        ...facts(shape.schema)),
      typeof description === "string" && description !== "" && markdown(description),
      shape.kind === "choice" && choiceList(shape.schema)),
    inside(references, entry.schema, open));
}

/** @param {import("./json.js").JsonObject} schema */
function facts(schema) {
  const words = limits(schema);
  if ("default" in schema) words.push(`default ${write(schema.default)}`);
  return words.map((word) => h("span", { class: "limit" }, word));
}

/** @param {import("./json.js").JsonObject} schema */
function choiceList(schema) {
  const values = choices(schema);
  if (values.length < 2) return null;
  const shown = values.slice(0, MAX_CHOICES).map((value) => h("code", {}, write(value)));
  const more = values.length > MAX_CHOICES && h("span", { class: "limit" }, `and ${values.length - MAX_CHOICES} more`);
  return h("p", { class: "choices" }, ...shown, more);
}

/**
 * What is inside a value of this type, behind a line to open, or nothing.
 * @param {References} references
 * @param {Json} schema
 * @param {boolean} open
 * @returns {Node | null}
 */
function inside(references, schema, open) {
  const shape = shapeOf(references, schema);
  if (shape.kind === "union") {
    return opening(`${shape.options.length} forms`, open, () => schemaRows(references, shape.options.map((option, index) =>
      ({ name: String(index + 1), schema: option }))));
  }
  if (shape.kind === "array") return insideArray(references, shape.schema, open);
  if (shape.kind === "object") {
    const entries = members(references, shape.schema);
    const what = entries.length === 1 ? "1 member" : `${entries.length} members`;
    return entries.length === 0 ? null : opening(what, open, () => schemaRows(references, entries));
  }
  return null;
}

/** @param {References} references @param {import("./json.js").JsonObject} schema @param {boolean} open */
function insideArray(references, schema, open) {
  const places = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : null;
  if (places !== null) {
    return opening(`${places.length} places`, open, () => schemaRows(references, places.map((item, index) => ({ name: String(index), schema: item }))));
  }
  const item = itemSchema(schema, 0);
  const nested = shapeOf(references, item);
  if (nested.kind === "choice") return choiceList(nested.schema);
  if (nested.kind === "array") return opening("items", false, () => schemaRows(references, [{ name: "item", schema: item }]));
  return inside(references, item, open);
}

/** @param {References} references @param {import("./json.js").JsonObject} schema @returns {Entry[]} */
function members(references, schema) {
  const entries = properties(schema);
  const { additionalProperties: rest } = schema;
  // Of names that can be any, the type of the whole says already what a plain value is.
  if (!isObject(rest) || (entries.length === 0 && PLAIN.has(shapeOf(references, rest).kind))) return entries;
  return [...entries, { name: "any other name", schema: rest, required: false }];
}

/**
 * @param {string} what
 * @param {boolean} open
 * @param {() => Node} make
 */
function opening(what, open, make) {
  const details = h("details", { class: "opening", open }, h("summary", {}, what), open && make());
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}
