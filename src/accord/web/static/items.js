// The detail of an item: menus that close, text that is edited by clicking on it, quotes, and nothing lost by leaving.

const detail = document.getElementById("detail");

/** The field that is to be edited first, by its name. */
let wanted = "";

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
  const cancel = event.target.closest(".editing, .linking, .replying")?.querySelector("[data-cancel]");
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
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(event.target instanceof Element)) return;
  const form = event.target.closest("form");
  if (form && detail?.contains(form) && event.target instanceof HTMLTextAreaElement) form.requestSubmit(form.querySelector("button:not([type=button])"));
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

// What was typed is not left behind without a question.
/** @param {Element} form */
function isDirty(form) {
  return [...form.querySelectorAll("input, textarea")].some((each) => (each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement) && each.type !== "hidden" && each.value !== each.defaultValue);
}

document.addEventListener("htmx:confirm", (event) => {
  const { detail: asked } = /** @type {CustomEvent} */ (event);
  const form = detail?.querySelector("form.editing");
  if (!form || form.contains(asked.elt) && asked.verb !== "get" || asked.target !== detail || !isDirty(form)) return;
  event.preventDefault();
  if (window.confirm("Leave without saving what you typed?")) asked.issueRequest(true);
});

window.addEventListener("beforeunload", (event) => {
  const form = detail?.querySelector("form.editing:not([data-saving])");
  if (form && isDirty(form)) event.preventDefault();
});

document.addEventListener("submit", (event) => {
  if (event.target instanceof Element && event.target.matches("form.editing")) event.target.setAttribute("data-saving", "");
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
