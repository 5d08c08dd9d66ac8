// What fills the detail, one request at a time: a newer one replaces an older one, whoever sent it.

import { setBusy } from "./requests.js";

const detail = document.getElementById("detail");

/** @type {{ path: string, shown: () => void, failed?: () => void } | null} */
let wanted = null;

/**
 * Load a page into the detail.
 * @param {string} path
 * @param {() => void} shown called in the moment in which it is shown
 * @param {() => void} [failed] called where it cannot be
 */
export function load(path, shown, failed) {
  const isUnderway = wanted?.path === path;
  wanted = { path, shown, failed };
  if (failed) hold();
  if (isUnderway) return;
  const { htmx } = /** @type {any} */ (window);
  // What goes wrong is said by requests.js.
  htmx.ajax("GET", path, { source: detail, target: "#detail", swap: "innerHTML" }).catch(() => {});
}

/** Make nothing of the detail usable: the browser changed the address by itself, which is that of another one. */
export function hold() {
  if (detail) detail.inert = true;
  setBusy(detail, true);
}

/** @param {Event} event whether it is about a request that fills the detail */
function isOurs(event) {
  return /** @type {CustomEvent} */ (event).detail.target === detail;
}

/** @param {Event} event what `load` asked for, if the event is about that */
function asked(event) {
  return wanted && /** @type {CustomEvent} */ (event).detail.pathInfo?.requestPath === wanted.path ? wanted : null;
}

function rest() {
  setBusy(detail, false);
  if (detail) detail.inert = false;
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (!isOurs(event)) return;
  if (!asked(event)) wanted = null;
  setBusy(detail, true);
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { shouldSwap, xhr } = /** @type {CustomEvent} */ (event).detail;
  const loaded = asked(event);
  if (!isOurs(event) || !loaded || !shouldSwap || xhr.status >= 400) return;
  wanted = null;
  loaded.shown();
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { successful, target } = /** @type {CustomEvent} */ (event).detail;
  const isNewest = target !== detail || !wanted || asked(event);
  if (isNewest) rest();
  const loaded = asked(event);
  if (successful || !loaded) return;
  wanted = null;
  loaded.failed?.();
});
