// Follows `$ref`s inside one document. Nothing is fetched, and circles end.
// @ts-check

import { isObject } from "./json.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const MAX_STEPS = 32;

export class References {
  /** @param {JsonObject} root */
  constructor(root) {
    this.root = root;
  }

  /**
   * What a value refers to, and the last name on the way; `missing` when it leads nowhere.
   * Members beside a `$ref` are laid over what it refers to.
   * @param {Json | undefined} value
   * @returns {{value: Json | undefined, name: string, missing: string}}
   */
  follow(value) {
    let name = "";
    let over = /** @type {JsonObject | null} */ (null);
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if (!isObject(value) || typeof value.$ref !== "string") {
        return { value: over !== null && isObject(value) ? Object.assign(Object.create(null), value, over) : value, name, missing: "" };
      }
      const { $ref, ...beside } = value;
      if (Object.keys(beside).length > 0) over = Object.assign(Object.create(null), beside, over);
      const found = this.at(/** @type {string} */ ($ref));
      if (found === undefined) return { value: undefined, name, missing: /** @type {string} */ ($ref) };
      name = lastName(/** @type {string} */ ($ref));
      value = found;
    }
    return { value: undefined, name, missing: "a circle of references" };
  }

  /**
   * What stands at a JSON pointer of the document.
   * @param {string} reference
   * @returns {Json | undefined}
   */
  at(reference) {
    if (reference === "#") return this.root;
    if (!reference.startsWith("#/")) return undefined;
    /** @type {Json | undefined} */
    let value = this.root;
    for (const part of reference.slice(2).split("/").map(unescapePart)) {
      if (Array.isArray(value)) value = /^\d+$/.test(part) ? value[Number(part)] : undefined;
      else if (isObject(value)) value = Object.hasOwn(value, part) ? value[part] : undefined;
      else return undefined;
    }
    return value;
  }
}

/** @param {string} reference */
function lastName(reference) {
  return unescapePart(reference.slice(reference.lastIndexOf("/") + 1));
}

/** @param {string} part */
function unescapePart(part) {
  let plain = part;
  try {
    plain = decodeURIComponent(part);
  } catch {
    // A stray % stands for itself.
  }
  return plain.replaceAll("~1", "/").replaceAll("~0", "~");
}
