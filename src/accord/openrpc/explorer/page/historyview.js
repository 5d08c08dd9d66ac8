// The calls that were sent, newest first, to open or to send again.
// @ts-check

import { button, chip, fill, h } from "./dom.js";
import { write } from "./json.js";

/** @typedef {import("./history.js").Entry} Entry */
/** @typedef {import("./app.js").App} App */

export class HistoryView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "call" });
  }

  attach() {
    this.draw();
  }

  focus() {
    this.element.querySelector("button")?.focus();
  }

  async send() {}

  draw() {
    const { entries } = this.app.caller.history;
    if (entries.length === 0) {
      fill(this.element, h("div", { class: "empty" },
        h("p", {}, h("b", {}, "Nothing sent yet")),
        h("p", {}, "Calls that you send are listed here, in this browser only, without headers and tokens.")));
      return;
    }
    fill(this.element,
      h("div", { class: "history-head" },
        h("p", { class: "hint" }, "Kept in this browser, params included; without headers, tokens and answers."),
        button("Clear history", () => { this.app.caller.history.clear(); this.draw(); })),
      h("ol", { class: "history" }, ...entries.map((entry) => this.row(entry))));
  }

  /** @param {Entry} entry */
  row(entry) {
    const [first] = entry.calls;
    const name = entry.batch ? `Batch of ${entry.calls.length}` : first.method;
    const said = entry.batch ? entry.calls.map(({ method }) => method).join(", ") : first.params === undefined ? "" : write(first.params);
    return h("li", { class: "history-row" },
      h("button", { type: "button", class: "batch-open", title: "Open this call", on: { click: () => this.app.reopen(entry) } },
        h("code", {}, name), !entry.batch && first.notification && h("span", { class: "limit" }, "notification"), h("span", { class: "batch-params mono" }, said)),
      h("span", { class: "batch-tools" },
        chip(entry.outcome, entry.word),
        h("time", { class: "limit", datetime: new Date(entry.at).toISOString(), title: new Date(entry.at).toLocaleString() }, ago(entry.at)),
        button("Send again", () => this.app.replay(entry), { class: "button small", "aria-label": `Send ${name} again` })));
  }
}

/** @param {number} at */
function ago(at) {
  const seconds = Math.max(0, (Date.now() - at) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}
