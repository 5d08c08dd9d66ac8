// Several calls in one message: gathered, put in order, sent together, answers matched by id.
// @ts-check

import { answerView, verdict } from "./answerview.js";
import { LANGUAGES } from "./callview.js";
import { announce, button, fill, h, segmented } from "./dom.js";
import { write } from "./json.js";
import { codeView } from "./jsonview.js";
import { snippet } from "./snippets.js";

/** @typedef {import("./messages.js").Call} Call */
/** @typedef {import("./app.js").App} App */

export class BatchView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Call[]} */
    this.calls = [];
    /** @type {import("./snippets.js").Language} */
    this.language = "curl";
    this.list = h("div", {});
    this.actions = h("div", { class: "actions" });
    this.answer = h("div", { class: "answer-place" });
    this.code = h("div", { class: "part-body" });
    this.codePart = h("details", { class: "part", on: { toggle: () => this.drawCode() } },
      h("summary", {}, "As code ", h("span", { class: "limit" }, "curl, Python, TypeScript")), this.code);
    this.element = h("div", { class: "call" }, this.list, this.actions, this.answer, this.codePart);
    this.draw();
  }

  attach() {
    this.codePart.before(this.app.settingsElement);
    this.draw();
  }

  /** @param {Call} call */
  add(call) {
    this.calls.push(call);
    this.draw();
    announce(`Added to the batch, which now has ${this.calls.length}.`);
  }

  focus() {
    this.element.querySelector("button")?.focus();
  }

  async send() {
    if (this.calls.length === 0 || this.app.caller.running !== null) return;
    fill(this.answer, h("p", { class: "waiting", role: "status" }, "Waiting for the answers"));
    const { exchange, requests } = await this.app.caller.perform([...this.calls], true);
    fill(this.answer, answerView(exchange, requests, true, this.app.description, this.app.fillIn));
    this.answer.scrollIntoView({ block: "nearest" });
    announce(`${verdict(exchange, requests).word}, after ${Math.round(exchange.milliseconds)} milliseconds.`);
  }

  draw() {
    const { app, calls } = this;
    this.codePart.hidden = calls.length === 0;
    if (calls.length === 0) {
      fill(this.list, h("div", { class: "empty" },
        h("p", {}, h("b", {}, "No calls in the batch")),
        h("p", {}, "A batch sends several calls in one message. Fill in a call and choose “Add to batch”.")));
      fill(this.actions);
      return;
    }
    fill(this.list, h("ol", { class: "batch" }, ...calls.map((call, index) => this.row(call, index))));
    if (app.caller.running !== null) {
      fill(this.actions, button("Cancel", () => app.caller.cancel(), { id: "cancel" }), h("span", { class: "hint" }, "Waiting for the answers"));
    } else {
      fill(this.actions,
        h("button", { type: "button", class: "button main", id: "send-batch", on: { click: () => this.send() } },
          `Send ${calls.length === 1 ? "1 call" : `${calls.length} calls`} `, h("kbd", {}, "Ctrl Enter")),
        button("Remove all", () => { this.calls = []; fill(this.answer); this.changed(); }));
    }
    this.drawCode();
  }

  /** @param {Call} call @param {number} index */
  row(call, index) {
    const said = call.params === undefined ? "" : write(call.params);
    return h("li", { class: "batch-row" },
      h("button", {
        type: "button", class: "batch-open", title: "Open this call",
        on: { click: () => this.app.fillIn(call.method, call.params, call.notification) },
      }, h("code", {}, call.method), call.notification && h("span", { class: "limit" }, "notification"), h("span", { class: "batch-params mono" }, said)),
      h("span", { class: "batch-tools" },
        button("↑", () => this.move(index, -1), { class: "button small", "aria-label": `Move ${call.method} up`, disabled: index === 0 }),
        button("↓", () => this.move(index, 1), { class: "button small", "aria-label": `Move ${call.method} down`, disabled: index === this.calls.length - 1 }),
        button("Remove", () => { this.calls.splice(index, 1); this.changed(); }, { class: "button small", "aria-label": `Remove ${call.method} from the batch` })));
  }

  /** @param {number} index @param {-1 | 1} by */
  move(index, by) {
    const [call] = this.calls.splice(index, 1);
    this.calls.splice(index + by, 0, call);
    this.changed();
    announce(`${call.method} is now number ${index + by + 1}.`);
    const tools = this.list.querySelectorAll(".batch-row")[index + by].querySelectorAll("button");
    const wanted = tools[by < 0 ? 1 : 2];
    (wanted.disabled ? tools[by < 0 ? 2 : 1] : wanted).focus();
  }

  changed() {
    this.draw();
    this.app.batchChanged();
  }

  drawCode() {
    if (!this.codePart.open || this.calls.length === 0) return;
    const { caller } = this.app;
    let id = 0;
    const requests = this.calls.map((call) => ({ ...call, id: call.notification ? null : ++id }));
    fill(this.code,
      segmented("Language", LANGUAGES, this.language, (language) => { this.language = language; this.drawCode(); }),
      codeView(snippet(this.language, { url: caller.url, headers: caller.settings.all(), requests, batch: true }), "code"));
  }
}
