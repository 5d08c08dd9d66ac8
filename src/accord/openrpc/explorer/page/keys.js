// The keyboard. Every key does what a visible control does too.
// @ts-check

import { byId } from "./dom.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app */
export function listenToKeys(app) {
  const search = byId("search");
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return act(event, () => void app.send());
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (sheet().open) return;
    if (event.key === "Escape") return leave(app);
    if (event.target === search) return inSearch(app, event);
    if (isTyping(event.target)) return;
    switch (event.key) {
      case "/":
        return act(event, () => { app.openMenu(); search.focus(); });
      case "j":
        return act(event, () => step(app, 1));
      case "k":
        return act(event, () => step(app, -1));
      case "?":
        return act(event, () => sheet().showModal());
      case "Enter":
        if (!isControl(event.target)) act(event, () => app.focusCall());
    }
  });
}

export function listenToSheet() {
  byId("keys").addEventListener("click", () => sheet().showModal());
  byId("sheet-close").addEventListener("click", () => sheet().close());
}

function sheet() {
  return /** @type {HTMLDialogElement} */ (byId("sheet"));
}

/** @param {App} app @param {KeyboardEvent} event */
function inSearch(app, event) {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by !== 0) act(event, () => step(app, by));
  else if (event.key === "Enter") {
    act(event, () => {
      step(app, 0);
      byId("search").blur();
    });
  }
}

/** @param {App} app @param {number} by */
function step(app, by) {
  const link = app.list.beside(by);
  if (link !== undefined) app.go(link.hash);
}

/** @param {App} app */
function leave(app) {
  if (app.caller.running !== null) app.caller.cancel();
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  app.closeMenu();
}

/** @param {Event} event @param {() => void} what */
function act(event, what) {
  event.preventDefault();
  what();
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof Element && target.matches("input:not([type=checkbox]), textarea, select");
}

/** @param {EventTarget | null} target */
function isControl(target) {
  return target instanceof Element && target.matches("a, button, summary, input");
}
