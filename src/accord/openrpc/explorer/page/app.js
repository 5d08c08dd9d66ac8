// The page as a whole: which method is shown, which side panel, and what leads from one to another.
// @ts-check

import { BatchView } from "./batchview.js";
import { Caller } from "./caller.js";
import { CallView } from "./callview.js";
import { byId, fill, h } from "./dom.js";
import { History } from "./history.js";
import { HistoryView } from "./historyview.js";
import { write } from "./json.js";
import { MethodList } from "./list.js";
import { methodView, overview, unknownMethod } from "./methodview.js";
import { hashOf, readPlace } from "./route.js";
import { search } from "./search.js";
import { Settings, settingsView } from "./settings.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./messages.js").Call} Call */
/** @typedef {import("./history.js").Entry} Entry */
/** @typedef {import("./description.js").Description} Description */
/** @typedef {"call" | "batch" | "history"} Tab */

const FROM_LINK = "Filled in from a link. Nothing was sent.";

export class App {
  /**
   * @param {Description} description
   * @param {string} endpoint
   */
  constructor(description, endpoint) {
    this.description = description;
    this.caller = new Caller(endpoint, new Settings(), new History(endpoint));
    /** @type {Tab} */
    this.tab = "call";
    /** @type {CallView | null} */
    this.callView = null;
    /** @type {Map<string, CallView>} */
    this._views = new Map();
    this.settingsElement = settingsView(this.caller.settings, () => this._settingsChanged());
    this.batchView = new BatchView(this);
    this.historyView = new HistoryView(this);
    this.list = new MethodList(byId("list"), /** @type {HTMLInputElement} */ (byId("search")), description);
    this.caller.changed = () => this._callerChanged();
    this.fillIn = this.fillIn.bind(this);
    /** @type {string | null} */
    this._routed = null;
    window.addEventListener("hashchange", () => this.route());
    byId("list").addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest("a") !== null) this.closeMenu();
    });
    this._showEndpoint();
    this.route();
  }

  /**
   * Goes to a place at once; the browser's own event would come later.
   * @param {string} hash
   */
  go(hash) {
    window.location.hash = hash;
    this.route();
  }

  /** Shows what the address says. */
  route() {
    const place = readPlace(window.location.hash);
    if (place === null || window.location.hash === this._routed) return;
    this._routed = window.location.hash;
    const method = this.description.methods.find(({ name }) => name === place.method) ?? null;
    this.callView = method === null ? null : this._viewOf(method);
    this.list.select(method?.name ?? null);
    byId("where").textContent = method?.name ?? "";
    const title = this.description.title || "API explorer";
    document.title = method === null ? title : `${method.name} · ${title}`;
    const main = byId("method");
    if (method !== null) fill(main, methodView(this, method));
    else if (place.method === null) fill(main, overview(this.description));
    else fill(main, unknownMethod(place.method, search(this.description.methods, place.method.replaceAll(/[._/-]/g, " ")).slice(0, 5)));
    main.scrollTop = 0;
    this.closeMenu();
    if (place.params !== null || place.notification) this.callView?.fillIn(place.params ?? undefined, place.notification, FROM_LINK);
    this.show(this.tab);
  }

  /**
   * @param {string} method
   * @param {Json | undefined} params
   * @param {boolean} [notification]
   */
  fillIn(method, params, notification = false) {
    this.tab = "call";
    this.go(hashOf(method));
    this.show("call");
    this.callView?.fillIn(params === undefined ? undefined : write(params), notification, "Filled in. Nothing was sent.");
    byId("side").scrollTop = 0;
  }

  /** @param {Call} call */
  addToBatch(call) {
    this.batchView.add(call);
    this.batchChanged();
  }

  batchChanged() {
    this._drawTabs();
  }

  /** @param {Entry} entry */
  reopen(entry) {
    if (entry.batch) {
      this.batchView.calls = [...entry.calls];
      this.show("batch");
    } else this.fillIn(entry.calls[0].method, entry.calls[0].params, entry.calls[0].notification);
  }

  /** @param {Entry} entry */
  async replay(entry) {
    this.reopen(entry);
    await this.send();
  }

  async send() {
    await (this.tab === "batch" ? this.batchView : this.callView)?.send();
  }

  /** @param {string} query */
  searchFor(query) {
    this.openMenu();
    this.list.searchFor(query);
  }

  focusCall() {
    this.show("call");
    this.callView?.focus();
  }

  openMenu() {
    byId("frame").classList.add("menu-open");
    byId("menu").setAttribute("aria-expanded", "true");
  }

  closeMenu() {
    byId("frame").classList.remove("menu-open");
    byId("menu").setAttribute("aria-expanded", "false");
  }

  /** @param {Tab} tab */
  show(tab) {
    this.tab = tab;
    const view = tab === "batch" ? this.batchView : tab === "history" ? this.historyView : this.callView;
    const body = view === null ? h("div", { class: "call" }, h("div", { class: "empty" },
      h("p", {}, h("b", {}, "Choose a method")), h("p", {}, "Its call can be filled in and sent here."))) : view.element;
    fill(byId("side"), this._tabs(), body);
    view?.attach();
  }

  _drawTabs() {
    byId("side").querySelector(".tabs")?.replaceWith(this._tabs());
  }

  _tabs() {
    const count = this.batchView.calls.length;
    /** @type {[Tab, string][]} */
    const tabs = [["call", "Call"], ["batch", count === 0 ? "Batch" : `Batch ${count}`], ["history", "History"]];
    return h("div", { class: "tabs", role: "group", "aria-label": "Panel" }, ...tabs.map(([tab, word]) =>
      h("button", { type: "button", "aria-pressed": String(tab === this.tab), id: `tab-${tab}`, on: { click: () => this.show(tab) } }, word)));
  }

  /** @param {import("./description.js").Method} method */
  _viewOf(method) {
    const view = this._views.get(method.name) ?? new CallView(this, method);
    this._views.set(method.name, view);
    return view;
  }

  _settingsChanged() {
    this.callView?.drawCode();
    this.batchView?.drawCode();
  }

  _callerChanged() {
    this.callView?.drawActions();
    this.batchView.draw();
    if (this.tab === "history") this.historyView.draw();
    this._showEndpoint();
  }

  _showEndpoint() {
    byId("endpoint").textContent = this.caller.url.replace(window.location.origin, "");
  }
}
