// Where a call is filled in, as a form or as JSON, and sent; its answer is shown below.
// @ts-check

import { answerView, verdict } from "./answerview.js";
import { announce, button, fill, h, segmented } from "./dom.js";
import { Draft } from "./draft.js";
import { field, showProblems } from "./form.js";
import { clone, write } from "./json.js";
import { codeView, copied } from "./jsonview.js";
import { escapePart } from "./check.js";
import { hashOf } from "./route.js";
import { snippet } from "./snippets.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./messages.js").Call} Call */
/** @typedef {import("./description.js").Method} Method */
/** @typedef {import("./snippets.js").Language} Language */
/** @typedef {import("./app.js").App} App */

export class CallView {
  /**
   * @param {App} app
   * @param {Method} method
   */
  constructor(app, method) {
    this.app = app;
    this.draft = new Draft(method, app.description.references);
    /** @type {"form" | "json"} */
    this.mode = "form";
    /** @type {Language} */
    this.language = "curl";
    this.touched = false;
    this.note = h("p", { class: "hint", role: "status" });
    this.controls = h("div", { class: "controls" });
    this.editor = h("div", { class: "editor" });
    this.general = h("div", { class: "general" });
    this.actions = h("div", { class: "actions" });
    this.answer = h("div", { class: "answer-place" });
    this.code = h("div", { class: "part-body" });
    this.codePart = h("details", { class: "part", on: { toggle: () => this.drawCode() } },
      h("summary", {}, "As code ", h("span", { class: "limit" }, "curl, Python, TypeScript")), this.code);
    this.element = h("div", { class: "call" }, this.note, this.controls, this.editor, this.general,
      this.actions, this.answer, app.settingsElement, this.codePart);
    this.drawAll();
  }

  /** The settings are one element for all methods: it moves to the view that is shown. */
  attach() {
    this.codePart.before(this.app.settingsElement);
    this.drawCode();
    this.drawActions();
  }

  /**
   * Fills the call in; nothing is sent.
   * @param {string | undefined} params
   * @param {boolean} notification
   * @param {string} note
   */
  fillIn(params, notification, note) {
    this.draft.notification = notification;
    this.draft.setText(params ?? "");
    if (this.draft.fault === "" && this.draft.params !== undefined) this.draft.valueChanged();
    if (this.draft.fault !== "") this.mode = "json";
    this.touched = true;
    this.drawAll();
    this.note.textContent = note;
  }

  /** @returns {Call} */
  call() {
    const { method, params, notification } = this.draft;
    return { method: method.name, params: params === undefined ? undefined : clone(params), notification };
  }

  focus() {
    const first = this.editor.querySelector("input, textarea, select, button");
    /** @type {HTMLElement} */ (first ?? this.actions.querySelector("button"))?.focus();
  }

  async send() {
    this.touched = true;
    this.drawProblems();
    if (this.draft.fault !== "" || this.app.caller.running !== null) return;
    fill(this.answer, h("p", { class: "waiting", role: "status" }, "Waiting for the answer"));
    const { exchange, requests } = await this.app.caller.perform([this.call()], false);
    fill(this.answer, answerView(exchange, requests, false, this.app.description, this.app.fillIn));
    this.answer.scrollIntoView({ block: "nearest" });
    announce(`${verdict(exchange, requests).word}, after ${Math.round(exchange.milliseconds)} milliseconds.`);
  }

  drawAll() {
    this.note.textContent = "";
    this.drawControls();
    this.drawEditor();
    this.drawActions();
    this.drawCode();
  }

  drawControls() {
    const { draft } = this;
    fill(this.controls,
      segmented("How to fill in", [["form", "Form"], ["json", "JSON"]], this.mode, (mode) => {
        this.mode = mode;
        this.drawEditor();
      }),
      draft.method.structure === "either" && draft.method.params.length > 0 && segmented("How params are sent", [["name", "By name"], ["position", "By position"]],
        draft.byPosition ? "position" : "name", (how) => {
          draft.setByPosition(how === "position");
          this.drawControls();
          this.drawEditor();
          this.drawCode();
        }),
      h("label", { class: "check" }, this.notificationBox(), "Notification"));
  }

  notificationBox() {
    const box = h("input", { type: "checkbox", on: { change: () => { this.draft.notification = box.checked; this.changed(); } } });
    box.checked = this.draft.notification;
    return box;
  }

  drawEditor() {
    fill(this.editor, ...(this.mode === "json" ? this.jsonEditor() : this.formEditor()));
    this.drawProblems();
  }

  /** @returns {Node[]} */
  jsonEditor() {
    const area = h("textarea", {
      id: "params", class: "mono params", rows: 8, spellcheck: "false", "aria-describedby": "params-problems",
      on: { input: () => { this.draft.setText(area.value); this.touched = true; this.drawControls(); this.changed(); } },
    });
    area.value = this.draft.text;
    return [h("label", { for: "params", class: "label" }, "params"), area];
  }

  /** @returns {Node[]} */
  formEditor() {
    const { draft } = this;
    if (draft.fault !== "") {
      return [h("div", { class: "box warn" }, h("p", {}, h("b", {}, "The JSON cannot be shown as a form")),
        h("p", { class: "box-more" }, draft.fault))];
    }
    if (draft.method.params.length === 0) return [h("p", { class: "hint" }, "This method takes no params.")];
    const form = { references: draft.references, changed: () => { this.touched = true; this.changed(); } };
    return draft.method.params.map((param, index) => field(form, {
      ...param, path: `/${escapePart(param.name)}`, slot: draft.slot(index),
    }));
  }

  changed() {
    this.drawProblems();
    this.drawCode();
  }

  drawProblems() {
    const problems = this.touched ? this.draft.problems() : [];
    const general = this.mode === "form" && this.draft.fault === "" ? showProblems(this.editor, problems) : problems;
    const shown = this.mode === "form" && this.draft.fault !== "" ? [] : general;
    this.editor.querySelector("#params")?.setAttribute("aria-invalid", String(this.draft.fault !== ""));
    fill(this.general, h("ul", { class: "problems", id: "params-problems" }, ...shown.map(({ path, message }) =>
      h("li", { class: "problem" }, path !== "" && h("code", {}, path.slice(1)), path !== "" && " ", message))));
    const send = this.actions.querySelector("#send");
    if (send instanceof HTMLButtonElement) send.disabled = this.draft.fault !== "";
  }

  drawActions() {
    const { app } = this;
    if (app.caller.running !== null) {
      fill(this.actions, button("Cancel", () => app.caller.cancel(), { id: "cancel" }), h("span", { class: "hint" }, "Waiting for the answer"));
      return;
    }
    const send = h("button", { type: "button", class: "button main", id: "send", on: { click: () => this.send() } }, "Send ", h("kbd", {}, "Ctrl Enter"));
    send.disabled = this.draft.fault !== "";
    const link = button("Copy link", async () => {
      const hash = hashOf(this.draft.method.name, this.draft.params === undefined ? undefined : write(this.draft.params), this.draft.notification);
      window.history.replaceState(null, "", hash);
      const said = await copied(window.location.href, null);
      link.textContent = said === "Copied" ? said : "It is in the address bar";
      setTimeout(() => { link.textContent = "Copy link"; }, 2000);
    });
    const startOver = button("Start over", () => {
      this.draft.reset();
      this.touched = false;
      this.drawAll();
    }, { class: "link" });
    fill(this.actions, send, button("Add to batch", () => app.addToBatch(this.call()), { id: "add-to-batch" }), link, startOver);
  }

  drawCode() {
    if (!this.codePart.open) return;
    const { caller } = this.app;
    const id = this.draft.notification ? null : 1;
    const sending = { url: caller.url, headers: caller.settings.all(), requests: [{ ...this.call(), id }], batch: false };
    fill(this.code,
      segmented("Language", LANGUAGES, this.language, (language) => { this.language = language; this.drawCode(); }),
      codeView(snippet(this.language, sending), "code"));
  }
}

/** @type {[Language, string][]} */
export const LANGUAGES = [["curl", "curl"], ["python", "Python"], ["typescript", "TypeScript"], ["json", "Message"]];
