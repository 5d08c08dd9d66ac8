// The detail of an item: menus that close, text that is edited by clicking on it, quotes, and nothing lost by leaving.

import { say } from "./requests.js";

const detail = document.getElementById("detail");

/** The field that is to be edited first, by its name. */
let wanted = "";

/** Where the focus goes when what had it is gone, as a selector. */
let returnTo = "";

/** @param {Element} menu */
function closeMenu(menu) {
  const opener = menu.previousElementSibling;
  menu.replaceChildren();
  if (opener instanceof HTMLElement) opener.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !(event.target instanceof Element)) return;
  const menu = event.target.closest(".pop");
  const details = event.target.closest("details[open]");
  if (document.querySelector("dialog[open]")) return;
  const within = event.target.closest(".editing, .linking, .replying") ?? detail;
  const cancel = within?.querySelector("[data-cancel]");
  if (menu) closeMenu(menu);
  else if (details instanceof HTMLDetailsElement) {
    details.open = false;
    details.querySelector("summary")?.focus();
  } else if (cancel instanceof HTMLElement) cancel.click();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const target = event.target;
  for (const menu of document.querySelectorAll(".pop:not(:empty)")) {
    if (!menu.contains(target) && !menu.previousElementSibling?.contains(target)) menu.replaceChildren();
  }
  for (const each of document.querySelectorAll("details.more-acts[open]")) {
    if (each instanceof HTMLDetailsElement && !each.contains(target)) each.open = false;
  }
  const selected = String(document.getSelection() ?? "");
  const edited = target.closest("[data-edits]");
  if (edited instanceof HTMLElement && !target.closest("a") && !selected) {
    const edit = detail?.querySelector('[data-key="e"]');
    wanted = edited.dataset.edits ?? "";
    if (edit instanceof HTMLElement) edit.click();
  }
});

// Whoever clicked on the title goes on there.
document.addEventListener("htmx:afterSettle", () => {
  const field = wanted && document.getElementById(`field-${wanted}`);
  if (field instanceof HTMLElement) {
    field.focus();
    wanted = "";
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement)) return;
  const { form } = event.target;
  const button = form?.querySelector("button:not([type=button])");
  if (detail?.contains(event.target) && button instanceof HTMLElement) form?.requestSubmit(button);
});

document.addEventListener("accord:said", (event) => {
  const { text, undo } = /** @type {CustomEvent} */ (event).detail;
  say(text, "ok", undo);
});

// Who uses keys goes on where they were.
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, target } = /** @type {CustomEvent} */ (event).detail;
  if (target !== detail) return;
  const opener = elt.closest(".pop")?.previousElementSibling?.getAttribute("href");
  returnTo = opener ? `a[href="${opener}"]` : elt.closest("form.editing") ? '[data-key="e"]' : "article, h1";
});

document.addEventListener("htmx:afterSettle", () => {
  if (document.activeElement !== document.body || !returnTo) return;
  const found = detail?.querySelector(returnTo);
  if (found instanceof HTMLElement) found.focus({ preventScroll: true });
});

// Arrows go through the choices of a menu.
document.addEventListener("keydown", (event) => {
  if (!(event.target instanceof Element) || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const choices = [...(event.target.closest(".choices")?.querySelectorAll("button") ?? [])];
  if (!choices.length) return;
  const at = choices.findIndex((each) => each === event.target) + (event.key === "ArrowDown" ? 1 : -1);
  choices[(at + choices.length) % choices.length]?.focus();
  event.preventDefault();
});

// What was typed is not left behind without a question: in the fields, or beside what somebody else wrote.
const TYPED = "form.editing:not([data-left]), .conflict:not([data-left])";

/** @returns {Element | null} what would be lost by leaving */
function unsaved() {
  const typed = detail?.querySelector(TYPED) ?? null;
  return typed && (typed.matches(".conflict") || isDirty(typed)) ? typed : null;
}

/** @param {Element} form */
function isDirty(form) {
  return [...form.querySelectorAll("input, textarea")].some((each) => (each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement) && each.type !== "hidden" && each.value !== each.defaultValue);
}

/** Whether nothing is lost by leaving; asks, if something is. */
function mayLeave() {
  const typed = unsaved();
  if (!typed) return true;
  if (!window.confirm("Leave without saving what you typed?")) return false;
  typed.setAttribute("data-left", "");
  return true;
}

document.addEventListener("accord:leave", (event) => {
  if (!mayLeave()) event.preventDefault();
});

document.addEventListener("htmx:confirm", (event) => {
  const { detail: asked } = /** @type {CustomEvent} */ (event);
  const isOurs = asked.elt.closest(".conflict") || (asked.verb !== "get" && asked.elt.closest("form.editing"));
  if (asked.target === detail && !isOurs && !mayLeave()) event.preventDefault();
});

window.addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (event.target instanceof Element) event.target.closest(".conflict a, .conflict button")?.closest(".conflict")?.setAttribute("data-left", "");
});

document.addEventListener("submit", (event) => {
  if (event.target instanceof Element && event.target.matches("form.editing")) event.target.setAttribute("data-left", "");
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { detail: asked } = /** @type {CustomEvent} */ (event);
  if (!asked.successful) for (const each of document.querySelectorAll("[data-left]")) each.removeAttribute("data-left");
});

// A piece of the text is quoted by selecting it.
function selection() {
  const chosen = document.getSelection();
  const text = document.getElementById("item-text");
  if (!chosen || chosen.isCollapsed || !text?.contains(chosen.anchorNode) || !text.contains(chosen.focusNode)) return "";
  return String(chosen).trim().slice(0, 2000);
}

document.addEventListener("selectionchange", () => {
  const button = document.querySelector("[data-quote]");
  if (button instanceof HTMLElement && selection()) button.hidden = false;
});

document.addEventListener("mousedown", (event) => {
  if (event.target instanceof Element && event.target.closest("[data-quote]")) event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const form = event.target.closest("form");
  if (event.target.closest("[data-quote]") && form) quote(form, selection());
  if (event.target.closest("[data-unquote]") && form) quote(form, "");
});

/**
 * @param {HTMLFormElement} form
 * @param {string} text
 */
function quote(form, text) {
  const shown = form.querySelector("[data-quoted]");
  if (!(shown instanceof HTMLElement)) return;
  let field = form.querySelector('input[name="quote"]');
  if (!field) {
    field = document.createElement("input");
    field.setAttribute("type", "hidden");
    field.setAttribute("name", "quote");
    form.append(field);
  }
  field.setAttribute("value", text);
  shown.hidden = !text;
  const block = shown.querySelector("blockquote");
  if (block) block.textContent = text;
  form.querySelector("textarea")?.focus();
}
