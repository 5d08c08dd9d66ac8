// What a JSON Schema says, in the words and the shapes that the page needs. Knows no elements.
// @ts-check

import { clone, emptyObject, isObject, numberOf, write } from "./json.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./references.js").References} References */
/**
 * A schema taken apart. `kind` is what a value is entered as; a union has `options`.
 * @typedef {object} Shape
 * @property {"string" | "number" | "boolean" | "null" | "array" | "object" | "choice" | "union" | "any" | "never"} kind
 * @property {JsonObject} schema
 * @property {string} name
 * @property {boolean} nullable
 * @property {Json[]} options
 * @property {string} missing
 */

const MAX_NESTING = 32;
const MAX_MERGED = 500;
const MAX_LABEL = 3;
const MAX_OPTIONS = 64;
const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

/**
 * @param {References} references
 * @param {Json | undefined} schema
 * @param {number} [nesting]
 * @returns {Shape}
 */
export function shapeOf(references, schema, nesting = 0) {
  const { value, name: referred, missing } = references.follow(schema);
  const name = referred || titleOf(value);
  const none = { schema: emptyObject(), name, nullable: false, options: [], missing };
  if (value === false) return { ...none, kind: "never" };
  if (!isObject(value) || nesting > MAX_NESTING) return { ...none, kind: "any" };
  const merged = merge(references, value, { left: MAX_MERGED });
  const options = optionsOf(merged).slice(0, MAX_OPTIONS);
  if (options.length > 0) return unionOf(references, { ...none, schema: merged, options, kind: "union" }, nesting);
  const shape = { ...none, schema: merged };
  if ("const" in merged || (Array.isArray(merged.enum) && merged.enum.length > 0)) return { ...shape, kind: "choice" };
  return { ...shape, kind: kindOf(merged) };
}

/**
 * A title names a type that is not referred to by a name. Generators also make one of each
 * property's name: that says nothing, and those are on plain types.
 * @param {Json | undefined} schema
 */
function titleOf(schema) {
  if (!isObject(schema) || typeof schema.title !== "string") return "";
  return isObject(schema.properties) || Array.isArray(schema.allOf) ? schema.title : "";
}

/** @param {References} references @param {Shape} union @param {number} nesting @returns {Shape} */
function unionOf(references, union, nesting) {
  const rest = union.options.filter((option) => !isNull(references, option));
  const nullable = rest.length < union.options.length;
  if (rest.length !== 1) return { ...union, kind: rest.length === 0 ? "null" : "union", nullable, options: rest };
  const only = shapeOf(references, rest[0], nesting + 1);
  return {
    ...only,
    nullable: nullable || only.nullable,
    schema: Object.assign(emptyObject(), only.schema, annotations(union.schema)),
    name: union.name || only.name,
  };
}

/** @param {References} references @param {Json} option */
function isNull(references, option) {
  const { value } = references.follow(option);
  return isObject(value) && (value.type === "null" || ("const" in value && value.const === null));
}

/**
 * What a schema says about a value without restricting it.
 * @param {JsonObject} schema
 */
function annotations(schema) {
  return Object.fromEntries(["title", "description", "default", "deprecated"]
    .filter((key) => key in schema).map((key) => [key, schema[key]]));
}

/** @param {JsonObject} schema @returns {Json[]} */
function optionsOf(schema) {
  for (const key of ["oneOf", "anyOf"]) {
    const list = schema[key];
    if (Array.isArray(list) && list.length > 0) return beside(schema, list);
  }
  if (Array.isArray(schema.type) && schema.type.length > 0) {
    const types = schema.type.filter((type) => typeof type === "string" && TYPES.includes(type));
    return types.map((type) => (type === "null" ? nullSchema() : Object.assign(emptyObject(), schema, { type })));
  }
  return [];
}

/**
 * What a schema says beside its union holds for every option of it.
 * @param {JsonObject} schema
 * @param {Json[]} list
 */
function beside(schema, list) {
  if (!isObject(schema.properties)) return list;
  const { oneOf, anyOf, description, title, default: _, ...common } = schema;
  return list.map((option) => ({ allOf: [common, option] }));
}

function nullSchema() {
  return Object.assign(emptyObject(), { type: "null" });
}

/**
 * A schema with its `allOf` laid into it. The budget ends what was made to explode.
 * @param {References} references
 * @param {JsonObject} schema
 * @param {{left: number}} budget
 * @returns {JsonObject}
 */
function merge(references, schema, budget) {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...own } = schema;
  let merged = emptyObject();
  for (const part of [.../** @type {Json[]} */ (allOf), own]) {
    if (budget.left-- <= 0) break;
    const { value } = references.follow(part);
    if (isObject(value)) merged = join(merged, merge(references, value, budget));
  }
  return merged;
}

/** @param {JsonObject} a @param {JsonObject} b */
function join(a, b) {
  const both = Object.assign(emptyObject(), a, b);
  if (isObject(a.properties) && isObject(b.properties)) {
    both.properties = Object.assign(emptyObject(), a.properties, b.properties);
  }
  if (Array.isArray(a.required) && Array.isArray(b.required)) both.required = [...new Set([...a.required, ...b.required])];
  return both;
}

/** @param {JsonObject} schema @returns {Shape["kind"]} */
function kindOf(schema) {
  switch (schema.type) {
    case "integer":
      return "number";
    case "string": case "number": case "boolean": case "null": case "array": case "object":
      return schema.type;
  }
  if (isObject(schema.properties) || isObject(schema.additionalProperties)) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  return "any";
}

/**
 * A type in few words: `array of User`, `string or null`.
 * @param {References} references
 * @param {Json | undefined} schema
 * @param {number} [depth]
 * @returns {string}
 */
export function label(references, schema, depth = 0) {
  const shape = shapeOf(references, schema);
  const or = shape.nullable ? " or null" : "";
  if (shape.missing) return `unknown type (${shape.missing})`;
  if (shape.kind === "union") {
    if (shape.name) return shape.name + or;
    if (depth >= MAX_LABEL) return `one of ${shape.options.length}${or}`;
    const words = [...new Set(shape.options.map((option) => label(references, option, depth + 1)))];
    return (words.length > 4 ? `one of ${words.length}` : words.join(" or ")) + or;
  }
  if (shape.kind === "array") {
    if (depth >= MAX_LABEL) return `array${or}`;
    return (shape.name || `array of ${label(references, itemSchema(shape.schema, 0), depth + 1)}`) + or;
  }
  if (shape.name) return shape.name + or;
  if (shape.kind === "choice") return choiceLabel(shape.schema) + or;
  if (shape.kind === "number") return (shape.schema.type === "integer" ? "integer" : "number") + or;
  if (shape.kind === "object" && depth < MAX_LABEL && isObject(shape.schema.additionalProperties) && properties(shape.schema).length === 0) {
    return `object of ${label(references, shape.schema.additionalProperties, depth + 1)}${or}`;
  }
  if (shape.kind === "any") return "any value";
  if (shape.kind === "never") return "no value";
  return shape.kind + or;
}

/** @param {JsonObject} schema */
function choiceLabel(schema) {
  const values = choices(schema);
  if (values.length === 1) return write(values[0]);
  const kinds = [...new Set(values.map((value) => (value === null ? "null" : typeof value === "object" ? "value" : typeof value)))];
  return kinds.join(" or ");
}

/**
 * The values that an enum or a const allows.
 * @param {JsonObject} schema
 * @returns {Json[]}
 */
export function choices(schema) {
  return "const" in schema ? [schema.const] : /** @type {Json[]} */ (schema.enum);
}

/**
 * What the item at a place of an array has to be.
 * @param {JsonObject} schema
 * @param {number} index
 * @returns {Json}
 */
export function itemSchema(schema, index) {
  const places = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : [];
  if (index < places.length) return places[index];
  const rest = places === schema.items ? schema.additionalItems : schema.items;
  return rest === undefined || Array.isArray(rest) ? true : rest;
}

/**
 * What each property has to be, and whether it has to be there, in order.
 * @param {JsonObject} schema
 * @returns {{name: string, schema: Json, required: boolean}[]}
 */
export function properties(schema) {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([name, value]) => ({
    name, schema: value, required: required.includes(name),
  }));
}

/**
 * The bounds of a value, one phrase each.
 * @param {JsonObject} schema
 * @returns {string[]}
 */
export function limits(schema) {
  /** @type {string[]} */
  const found = [];
  const say = (/** @type {string} */ key, /** @type {(value: string) => string} */ phrase) => {
    if (numberOf(schema[key]) !== null) found.push(phrase(write(schema[key])));
  };
  const format = schema.format ?? schema["x-format"];
  if (typeof format === "string") found.push(format);
  if (schema.contentEncoding === "base64") found.push("base64");
  say("minimum", (value) => `at least ${value}`);
  say("exclusiveMinimum", (value) => `more than ${value}`);
  say("maximum", (value) => `at most ${value}`);
  say("exclusiveMaximum", (value) => `less than ${value}`);
  say("multipleOf", (value) => `a multiple of ${value}`);
  say("minLength", (value) => `at least ${counted(value, "character")}`);
  say("maxLength", (value) => `at most ${counted(value, "character")}`);
  say("minItems", (value) => `at least ${counted(value, "item")}`);
  say("maxItems", (value) => `at most ${counted(value, "item")}`);
  say("minProperties", (value) => `at least ${counted(value, "member")}`);
  say("maxProperties", (value) => `at most ${counted(value, "member")}`);
  if (schema.uniqueItems === true) found.push("no item twice");
  if (typeof schema.pattern === "string") found.push(`matches ${schema.pattern}`);
  if (schema.readOnly === true) found.push("read only");
  if (schema.writeOnly === true) found.push("write only");
  return found;
}

/** @param {string} value @param {string} noun */
function counted(value, noun) {
  return `${value} ${noun}${value === "1" ? "" : "s"}`;
}

/**
 * The value to begin with: what must be there and can be known.
 * @param {References} references
 * @param {Json | undefined} schema
 * @param {number} [depth]
 * @returns {Json | undefined}
 */
export function startingValue(references, schema, depth = 0) {
  const shape = shapeOf(references, schema);
  if ("default" in shape.schema) return clone(shape.schema.default);
  if (shape.kind === "choice" && choices(shape.schema).length === 1) return clone(choices(shape.schema)[0]);
  if (shape.kind === "array") return [];
  if (shape.kind === "null") return null;
  if (shape.kind !== "object") return undefined;
  const object = emptyObject();
  if (depth > 4) return object;
  for (const property of properties(shape.schema)) {
    const value = property.required ? startingValue(references, property.schema, depth + 1) : undefined;
    if (value !== undefined) object[property.name] = value;
  }
  return object;
}
