// Every request of htmx says which session it belongs to; what goes wrong is said, never swallowed.

const token = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";

document.addEventListener("htmx:configRequest", (event) => {
  const { headers } = /** @type {CustomEvent} */ (event).detail;
  if (token) headers["X-CSRF-Token"] = token;
});

document.addEventListener("htmx:sendError", () => say("The server does not answer. What you typed is still here.", "bad"));
document.addEventListener("htmx:timeout", () => say("The server took too long. What you typed is still here.", "bad"));

// An error comes as a box: it is shown beside the page, so that what somebody typed stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  const target = /** @type {HTMLElement} */ (detail.target);
  if (detail.xhr.status >= 400 && !target.hasAttribute("data-errors")) {
    detail.target = document.getElementById("toasts");
    detail.swapOverride = "innerHTML";
  }
});

const BUSY_AFTER = 300;

/** @type {WeakMap<Element, number>} */
const timers = new WeakMap();

/**
 * Mark a part of the page as loading, after a while; or take the mark away.
 * @param {Element | null} part
 * @param {boolean} isBusy
 */
export function setBusy(part, isBusy) {
  if (!part) return;
  clearTimeout(timers.get(part));
  if (isBusy) timers.set(part, setTimeout(() => part.setAttribute("aria-busy", "true"), BUSY_AFTER));
  else part.removeAttribute("aria-busy");
}

/** The newest request for each part with `data-loads`. @type {WeakMap<Element, XMLHttpRequest>} */
const newest = new WeakMap();

document.addEventListener("htmx:beforeRequest", (event) => {
  const { target, xhr } = /** @type {CustomEvent} */ (event).detail;
  if (!target.hasAttribute("data-loads")) return;
  newest.set(target, xhr);
  setBusy(target, true);
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { target, xhr } = /** @type {CustomEvent} */ (event).detail;
  if (target && newest.get(target) === xhr) setBusy(target, false);
});

/**
 * Show a toast for some seconds, for longer where it offers to undo something.
 * @param {string} text
 * @param {string} tone
 * @param {string} [undo] the change to undo
 */
export function say(text, tone = "", undo = "") {
  const box = document.createElement("div");
  box.className = `box ${tone}`;
  box.textContent = text;
  if (undo) box.append(" ", undoForm(undo));
  if (undo) dropNotice();
  document.getElementById("toasts")?.replaceChildren(box);
  setTimeout(() => box.remove(), undo ? 12000 : 6000);
}

/** Remove what the page said when it was loaded: its Undo is for a change before the newest. */
export function dropNotice() {
  document.querySelector(".notice")?.remove();
}

/** @param {string} change */
function undoForm(change) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = `/changes/${encodeURIComponent(change)}/undo`;
  form.className = "inline";
  const button = document.createElement("button");
  button.className = "button link";
  button.textContent = "Undo";
  button.dataset.key = "u";
  form.append(hidden("csrf", token), hidden("back", location.pathname), button);
  return form;
}

/** @param {string} name @param {string} value */
function hidden(name, value) {
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = name;
  field.value = value;
  return field;
}
