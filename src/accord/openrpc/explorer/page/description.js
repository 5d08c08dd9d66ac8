// An OpenRPC document, read leniently into what the page shows. Knows no elements.
// @ts-check

import { emptyObject, isObject, numberOf } from "./json.js";
import { References } from "./references.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

/**
 * @typedef {object} Descriptor
 * @property {string} name
 * @property {string} summary
 * @property {string} description
 * @property {boolean} required
 * @property {boolean} deprecated
 * @property {Json} schema
 * @property {string} place - where in an HTTP request it goes, and under which name
 */
/** @typedef {{code: number | null, message: string, data: Json | undefined}} ErrorEntry */
/** @typedef {{name: string, summary: string, description: string, params: Json, result: Json | undefined}} Example */
/** @typedef {{name: string, summary: string, description: string, method: string, params: JsonObject}} Link */
/** @typedef {{url: string, description: string}} Elsewhere */
/**
 * @typedef {object} Method
 * @property {string} name
 * @property {string} summary
 * @property {string} description
 * @property {string[]} tags
 * @property {boolean} deprecated
 * @property {"by-name" | "by-position" | "either"} structure
 * @property {Descriptor[]} params
 * @property {Descriptor | null} result
 * @property {ErrorEntry[]} errors
 * @property {Example[]} examples
 * @property {Link[]} links
 * @property {Elsewhere | null} elsewhere
 * @property {string} route - of a web application, such as PUT /items/{id}
 * @property {string[]} credentials - what the route asks for, one phrase for each way
 */
/**
 * @typedef {object} Description
 * @property {string} title
 * @property {string} version
 * @property {string} description
 * @property {{label: string, text: string, address: string}[]} facts
 * @property {Method[]} methods
 * @property {{name: string, text: string, methods: Method[]}[]} groups
 * @property {ErrorEntry[]} errors
 * @property {References} references
 */

/** The document is not what it should be; the message says what is wrong. */
export class DescriptionError extends Error {}

/**
 * Throws DescriptionError when it is no OpenRPC document at all.
 * @param {Json} document
 * @returns {Description}
 */
export function readDescription(document) {
  if (!isObject(document)) throw new DescriptionError("It is not a JSON object.");
  if (typeof document.openrpc !== "string") {
    throw new DescriptionError("It has no member “openrpc” with the version of OpenRPC.");
  }
  const references = new References(document);
  const info = isObject(document.info) ? document.info : emptyObject();
  const tagTexts = new Map();
  const schemes = isObject(document["x-securitySchemes"]) ? document["x-securitySchemes"] : emptyObject();
  const methods = unique(each(references, document.methods).map((value) => readMethod(references, value, tagTexts, schemes)));
  return {
    title: text(info.title),
    version: text(info.version),
    description: text(info.description),
    facts: readFacts(references, document, info),
    methods,
    groups: group(methods, tagTexts),
    errors: readErrors(references, isObject(document.components) && isObject(document.components.errors)
      ? Object.values(document.components.errors) : []),
    references,
  };
}

/** @param {References} references @param {JsonObject} value @param {Map<string, string>} tagTexts @param {JsonObject} schemes @returns {Method} */
function readMethod(references, value, tagTexts, schemes) {
  const params = each(references, value.params).map(readDescriptor);
  const tags = each(references, value.tags).map((tag) => {
    const name = text(tag.name);
    if (!tagTexts.get(name)) tagTexts.set(name, text(tag.summary) || text(tag.description).split("\n", 1)[0]);
    return name;
  }).filter(Boolean);
  const result = references.follow(value.result).value;
  const structure = value.paramStructure;
  return {
    name: text(value.name),
    summary: text(value.summary),
    description: text(value.description),
    tags,
    deprecated: value.deprecated === true,
    structure: structure === "by-name" || structure === "by-position" ? structure : "either",
    params,
    result: isObject(result) ? readDescriptor(result) : null,
    errors: readErrors(references, value.errors),
    examples: each(references, value.examples).map((example) => readExample(references, example, params)),
    links: each(references, value.links).map((link) => ({
      name: text(link.name),
      summary: text(link.summary),
      description: text(link.description),
      method: text(link.method),
      params: isObject(link.params) ? link.params : emptyObject(),
    })),
    elsewhere: readElsewhere(value.externalDocs),
    route: text(value["x-route"]),
    credentials: each(references, value["x-security"]).map((needed) =>
      Object.keys(needed).map((name) => readScheme(name, schemes[name])).join(" and ")),
  };
}

/** @param {string} name @param {Json | undefined} scheme */
function readScheme(name, scheme) {
  if (!isObject(scheme)) return name;
  if (scheme.type === "apiKey") return `${name} (${text(scheme.in)} ${text(scheme.name)})`;
  return `${name} (${[text(scheme.type), text(scheme.scheme)].filter(Boolean).join(" ")})`;
}

/** @param {JsonObject} value @returns {Descriptor} */
function readDescriptor(value) {
  return {
    name: text(value.name),
    summary: text(value.summary),
    description: text(value.description) || text(value.summary),
    required: value.required === true,
    deprecated: value.deprecated === true,
    schema: value.schema ?? true,
    place: readPlace(value),
  };
}

/** @param {JsonObject} value */
function readPlace(value) {
  const place = text(value["x-in"]);
  if (place === "") return "";
  return text(value["x-name"]) === "" ? `in ${place}` : `in ${place} as ${text(value["x-name"])}`;
}

/** @param {References} references @param {Json | undefined} list @returns {ErrorEntry[]} */
function readErrors(references, list) {
  return each(references, list).map((error) => ({
    code: numberOf(error.code),
    message: text(error.message),
    data: error.data,
  }));
}

/** @param {References} references @param {JsonObject} value @param {Descriptor[]} params @returns {Example} */
function readExample(references, value, params) {
  const given = each(references, value.params);
  const named = given.every((one) => params.some(({ name }) => name === one.name));
  const byName = emptyObject();
  for (const one of given) byName[text(one.name)] = one.value ?? null;
  const result = references.follow(value.result).value;
  return {
    name: text(value.name),
    summary: text(value.summary),
    description: text(value.description),
    params: named ? byName : given.map((one) => one.value ?? null),
    result: isObject(result) && "value" in result ? result.value : undefined,
  };
}

/** @param {References} references @param {JsonObject} document @param {JsonObject} info */
function readFacts(references, document, info) {
  /** @type {Description["facts"]} */
  const facts = [{ label: "OpenRPC", text: text(document.openrpc), address: "" }];
  const add = (/** @type {string} */ label, /** @type {string} */ words, address = "") => {
    if (words || address) facts.push({ label, text: words || address, address });
  };
  const licence = isObject(info.license) ? info.license : emptyObject();
  const contact = isObject(info.contact) ? info.contact : emptyObject();
  add("Licence", text(licence.name), text(licence.url));
  add("Contact", text(contact.name), text(contact.url));
  add("Mail", text(contact.email), contact.email ? `mailto:${text(contact.email)}` : "");
  add("Terms", "", text(info.termsOfService));
  for (const server of each(references, document.servers)) add("Server", text(server.name), text(server.url));
  const elsewhere = readElsewhere(document.externalDocs);
  if (elsewhere) add("More", elsewhere.description, elsewhere.url);
  return facts;
}

/** @param {Json | undefined} value @returns {Elsewhere | null} */
function readElsewhere(value) {
  return isObject(value) && text(value.url) ? { url: text(value.url), description: text(value.description) } : null;
}

/**
 * Methods under their first tag, or else under the part of their name before the last dot.
 * @param {Method[]} methods
 * @param {Map<string, string>} tagTexts
 */
function group(methods, tagTexts) {
  /** @type {Map<string, Method[]>} */
  const groups = new Map();
  for (const method of methods) {
    const name = method.tags[0] ?? method.name.slice(0, Math.max(0, method.name.lastIndexOf(".")));
    groups.set(name, [...(groups.get(name) ?? []), method]);
  }
  return [...groups].map(([name, members]) => ({ name: name || "Methods", text: tagTexts.get(name) ?? "", methods: members }));
}

/** @param {Method[]} methods */
function unique(methods) {
  const seen = new Set();
  return methods.filter(({ name }) => name !== "" && !seen.has(name) && seen.add(name));
}

/**
 * The objects of a list, references followed; whatever is no object is left out.
 * @param {References} references
 * @param {Json | undefined} list
 * @returns {JsonObject[]}
 */
function each(references, list) {
  if (!Array.isArray(list)) return [];
  return list.map((item) => references.follow(item).value).filter(isObject);
}

/** @param {Json | undefined} value @returns {string} */
function text(value) {
  return typeof value === "string" ? value : "";
}
