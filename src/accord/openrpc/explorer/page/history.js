// The calls that were sent, kept in the browser: bounded, without headers, tokens and answers.
// @ts-check

import { isObject, numberOf, read, write } from "./json.js";
import { keep, recall } from "./storage.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./messages.js").Call} Call */
/**
 * @typedef {object} Entry
 * @property {number} at
 * @property {Call[]} calls
 * @property {boolean} batch
 * @property {"ok" | "bad" | "warn"} outcome
 * @property {string} word
 * @property {number} milliseconds
 */

export const MAX_ENTRIES = 50;
export const MAX_CHARACTERS = 100_000;

export class History {
  /** @param {string} endpoint */
  constructor(endpoint) {
    this._key = `accord-explorer.history ${endpoint}`;
    /** @type {Entry[]} */
    this.entries = this._load();
  }

  /** @param {Entry} entry */
  add(entry) {
    this.entries = [entry, ...this.entries].slice(0, MAX_ENTRIES);
    this._save();
  }

  clear() {
    this.entries = [];
    this._save();
  }

  _save() {
    let text = write(/** @type {any} */ (this.entries.map(plain)));
    while (text.length > MAX_CHARACTERS && this.entries.length > 0) {
      this.entries.pop();
      text = write(/** @type {any} */ (this.entries.map(plain)));
    }
    keep("localStorage", this._key, text);
  }

  /** @returns {Entry[]} */
  _load() {
    try {
      const stored = read(recall("localStorage", this._key) ?? "[]");
      return Array.isArray(stored) ? stored.map(entryOf).filter((entry) => entry !== null) : [];
    } catch {
      return [];
    }
  }
}

/** @param {Entry} entry */
function plain(entry) {
  return {
    ...entry,
    calls: entry.calls.map(({ method, params, notification }) =>
      (params === undefined ? { method, notification } : { method, params, notification })),
  };
}

/** @param {Json} value @returns {Entry | null} */
function entryOf(value) {
  if (!isObject(value) || !Array.isArray(value.calls)) return null;
  const calls = value.calls.filter(isObject).map((call) => ({
    method: String(call.method), params: call.params, notification: call.notification === true,
  }));
  const outcome = value.outcome === "ok" || value.outcome === "bad" ? value.outcome : "warn";
  return calls.length === 0 ? null : {
    at: numberOf(value.at) ?? 0, calls, batch: value.batch === true, outcome, word: String(value.word), milliseconds: numberOf(value.milliseconds) ?? 0,
  };
}
