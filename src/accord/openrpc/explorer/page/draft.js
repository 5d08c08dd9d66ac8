// A call that is being written: its params as a value and as text, which always agree, unless the
// text is no JSON. Knows no elements.
// @ts-check

import { check, escapePart } from "./check.js";
import { emptyObject, isObject, read, write } from "./json.js";
import { startingValue } from "./schemas.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./description.js").Method} Method */
/** @typedef {import("./references.js").References} References */
/** @typedef {import("./check.js").Problem} Problem */
/** @typedef {{get: () => Json | undefined, set: (value: Json | undefined) => void}} Slot */

const INDENT = "  ";

export class Draft {
  /**
   * @param {Method} method
   * @param {References} references
   */
  constructor(method, references) {
    this.method = method;
    this.references = references;
    this.notification = false;
    /** @type {Json | undefined} */
    this.params = undefined;
    this.text = "";
    /** Why the text is no params, or nothing. */
    this.fault = "";
    this.reset();
  }

  get byPosition() {
    return Array.isArray(this.params);
  }

  /** Begins again, with what is required and can be known. */
  reset() {
    const values = this.method.params.map((param) =>
      (param.required ? startingValue(this.references, param.schema) : undefined));
    this.params = this.method.params.length === 0 ? undefined
      : this.method.structure === "by-position" ? dense(values) : this._named(values);
    this.valueChanged();
  }

  /** To be called after the value was changed in place. */
  valueChanged() {
    this.text = this.params === undefined ? "" : write(this.params, INDENT);
    this.fault = "";
  }

  /** @param {string} text */
  setText(text) {
    this.text = text;
    this.fault = "";
    if (text.trim() === "") {
      this.params = undefined;
      return;
    }
    try {
      const value = read(text);
      if (isObject(value) || Array.isArray(value)) this.params = value;
      else this.fault = "Params are an object or an array.";
    } catch (error) {
      this.fault = `${error instanceof Error ? error.message : error}.`;
    }
  }

  /**
   * Gives the same params by position, or by name.
   * @param {boolean} byPosition
   */
  setByPosition(byPosition) {
    if (this.fault !== "" || byPosition === this.byPosition) return;
    const values = this.method.params.map((_, index) => this.slot(index).get());
    this.params = byPosition ? dense(values) : this._named(values);
    this.valueChanged();
  }

  /**
   * The place of one parameter.
   * @param {number} index
   * @returns {Slot}
   */
  slot(index) {
    const { name } = this.method.params[index];
    return {
      get: () => {
        if (Array.isArray(this.params)) return this.params[index];
        return isObject(this.params) && Object.hasOwn(this.params, name) ? this.params[name] : undefined;
      },
      set: (value) => {
        if (Array.isArray(this.params)) this._setPlace(this.params, index, value);
        else {
          const object = isObject(this.params) ? this.params : emptyObject();
          if (value === undefined) delete object[name];
          else object[name] = value;
          this.params = object;
        }
        this.valueChanged();
      },
    };
  }

  /**
   * By position nothing can be left out before something else: the default stands in, or null.
   * @param {Json[]} list
   * @param {number} index
   * @param {Json | undefined} value
   */
  _setPlace(list, index, value) {
    while (list.length < index) list.push(this._standIn(list.length));
    if (value !== undefined) list[index] = value;
    else if (index === list.length - 1) list.pop();
    else list[index] = this._standIn(index);
  }

  /** @param {number} index @returns {Json} */
  _standIn(index) {
    return startingValue(this.references, this.method.params[index]?.schema) ?? null;
  }

  /** @param {(Json | undefined)[]} values */
  _named(values) {
    const object = emptyObject();
    for (const [index, value] of values.entries()) {
      if (value !== undefined) object[this.method.params[index].name] = value;
    }
    return object;
  }

  /**
   * Where the params do not fit. Paths begin with the parameter's name, also by position.
   * @returns {Problem[]}
   */
  problems() {
    if (this.fault !== "") return [{ path: "", message: this.fault }];
    /** @type {Problem[]} */
    const problems = [];
    const { params } = this.method;
    if (this.byPosition && this.method.structure === "by-name") problems.push({ path: "", message: "This method takes its params by name." });
    if (isObject(this.params) && this.method.structure === "by-position") problems.push({ path: "", message: "This method takes its params by position." });
    for (const [index, param] of params.entries()) {
      const path = `/${escapePart(param.name)}`;
      const value = this.slot(index).get();
      if (value !== undefined) problems.push(...check(this.references, param.schema, value, path));
      else if (param.required) problems.push({ path, message: `“${param.name}” is required.` });
    }
    if (Array.isArray(this.params) && this.params.length > params.length) {
      problems.push({ path: "", message: `There are ${this.params.length} params for ${params.length} places.` });
    } else if (isObject(this.params)) {
      const known = new Set(params.map(({ name }) => name));
      for (const name of Object.keys(this.params)) {
        if (!known.has(name)) problems.push({ path: "", message: `“${name}” is no parameter of this method.` });
      }
    }
    return problems;
  }
}

/**
 * By position, up to the last value that is there.
 * @param {(Json | undefined)[]} values
 * @returns {Json[]}
 */
function dense(values) {
  const last = values.findLastIndex((value) => value !== undefined);
  return values.slice(0, last + 1).map((value) => value ?? null);
}
