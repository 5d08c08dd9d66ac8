// Headers and the token that go along with calls: kept in this tab's session, nowhere else.
// @ts-check

import { button, fill, h } from "./dom.js";
import { isObject, read } from "./json.js";
import { recall, keep } from "./storage.js";

/** @typedef {import("./wire.js").Header} Header */

const KEY = "accord-explorer.headers";
const TOKEN = /^[!#$%&'*+\-.^_`|~\w]+$/;
const SECRET = /auth|token|secret|key|cookie|session|password/i;
/** Names that a browser leaves out without a word (Fetch, section 2.2.2). */
const FORBIDDEN = /^(?:accept-charset|accept-encoding|access-control-request-.*|connection|content-length|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/i;

/** @param {string} name */
export function isSecret(name) {
  return SECRET.test(name);
}

export class Settings {
  constructor() {
    this.token = "";
    /** @type {Header[]} */
    this.headers = [];
    this._load();
  }

  /**
   * All headers of a call that are not the browser's own.
   * @returns {Header[]}
   */
  all() {
    /** @type {Header[]} */
    const all = [["Content-Type", "application/json"], ["Accept", "application/json"]];
    if (this.token.trim() !== "") all.push(["Authorization", `Bearer ${this.token.trim()}`]);
    return [...all, ...this.headers.filter(([name, value]) => name !== "" && faultOf(name, value) === "")];
  }

  save() {
    keep("sessionStorage", KEY, JSON.stringify({ token: this.token, headers: this.headers }));
  }

  _load() {
    try {
      const stored = read(recall("sessionStorage", KEY) ?? "null");
      if (!isObject(stored)) return;
      if (typeof stored.token === "string") this.token = stored.token;
      if (Array.isArray(stored.headers)) this.headers = /** @type {Header[]} */ (stored.headers.filter((header) =>
        Array.isArray(header) && header.length === 2 && header.every((part) => typeof part === "string")));
    } catch {
      // Somebody else's words under our name: begin with nothing.
    }
  }
}

/**
 * Why a header cannot be sent, or nothing.
 * @param {string} name
 * @param {string} value
 */
function faultOf(name, value) {
  if (!TOKEN.test(name)) return "A name has letters, digits and dashes.";
  if (FORBIDDEN.test(name)) return "A browser sets this header itself.";
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) return "A value has one line of Latin letters.";
  return "";
}

/**
 * The part of the page where they are entered.
 * @param {Settings} settings
 * @param {() => void} changed
 */
export function settingsView(settings, changed) {
  const summary = h("summary", {});
  const rows = h("div", { class: "header-rows" });
  const update = () => {
    const count = settings.all().length - 2;
    fill(summary, "Headers and token ", h("span", { class: "limit" }, count === 0 ? "none" : String(count)));
    settings.save();
    changed();
  };
  const token = h("input", {
    id: "token", type: "password", autocomplete: "off", spellcheck: "false", value: settings.token,
    on: { input: () => { settings.token = token.value; update(); } },
  });
  const reveal = button("Show", () => {
    token.type = token.type === "password" ? "text" : "password";
    reveal.textContent = token.type === "password" ? "Show" : "Hide";
  }, { "aria-controls": "token" });
  const draw = () => fill(rows, ...settings.headers.map((header, index) => headerRow(header, index, update, () => {
    settings.headers.splice(index, 1);
    draw();
    update();
  })));
  const add = button("Add header", () => {
    settings.headers.push(["", ""]);
    draw();
    rows.lastElementChild?.querySelector("input")?.focus();
  });
  draw();
  update();
  return h("details", { class: "part", id: "settings" }, summary,
    h("div", { class: "part-body" },
      h("div", { class: "field" },
        h("label", { for: "token" }, "Bearer token"),
        h("div", { class: "line" }, token, reveal)),
      rows, add,
      h("p", { class: "hint" }, "Kept until this tab is closed; never in the history or in links.")));
}

/** @param {Header} header @param {number} index @param {() => void} update @param {() => void} remove */
function headerRow(header, index, update, remove) {
  const fault = h("p", { class: "problem" });
  const judge = () => {
    fault.textContent = header[0] === "" ? "" : faultOf(header[0], header[1]);
    update();
  };
  /** @param {0 | 1} part @param {string} label */
  const input = (part, label) => h("input", {
    value: header[part], "aria-label": `${label} of header ${index + 1}`, placeholder: label, spellcheck: "false", autocomplete: "off",
    on: { input: (/** @type {any} */ event) => { header[part] = event.target.value; judge(); } },
  });
  return h("div", {},
    h("div", { class: "line" }, input(0, "Name"), input(1, "Value"),
      button("Remove", remove, { "aria-label": `Remove header ${index + 1}` })),
    fault);
}
