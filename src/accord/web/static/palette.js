// The command palette: a combobox in a dialog. What the page itself offers is found in it; the rest comes
// from the server. Answers that are overtaken by what was typed since are dropped.

import { bind } from "./keys.js";
import { offered } from "./offered.js";
import { recent } from "./recent.js";

const PATIENCE = 60;

const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("palette"));
const words = /** @type {HTMLInputElement | null} */ (document.getElementById("palette-words"));
const list = document.getElementById("palette-options");
const told = document.getElementById("palette-told");
const field = /** @type {HTMLInputElement | null} */ (document.querySelector("[data-palette]"));

/** @type {AbortController | null} */
let asking = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
/** Whether what is shown answers what was typed. */
let isFresh = false;
/** `Enter` that was pressed before the answer came: how it was pressed. */
let entered = { is: false, elsewhere: false };
/** @type {WeakMap<Element, HTMLElement>} */
const controls = new WeakMap();

/** @returns {HTMLElement[]} */
function options() {
  return list ? [...list.querySelectorAll("[role=option]")].filter((each) => each instanceof HTMLElement) : [];
}

/** @param {string} typed */
function open(typed = "") {
  if (!dialog || !words || dialog.open) return;
  words.value = typed;
  list?.replaceChildren();
  dialog.showModal();
  words.focus();
  stale();
  ask();
}

/** @param {HTMLElement | undefined} chosen */
function select(chosen) {
  for (const each of options()) each.setAttribute("aria-selected", String(each === chosen));
  if (chosen) {
    words?.setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  } else {
    words?.removeAttribute("aria-activedescendant");
  }
}

/** @returns {HTMLElement | undefined} */
function selected() {
  return options().find((each) => each.getAttribute("aria-selected") === "true");
}

/** @param {number} step */
function move(step) {
  const all = options();
  if (!all.length) return;
  const here = all.findIndex((each) => each === selected());
  select(all[(here + step + all.length) % all.length]);
}

/** What is shown, and what is still asked for, answers something else than what is typed now. */
function stale() {
  asking?.abort();
  asking = null;
  isFresh = false;
  entered = { is: false, elsewhere: false };
}

/** @param {boolean} elsewhere */
function enter(elsewhere) {
  if (isFresh) act(selected(), elsewhere);
  else entered = { is: true, elsewhere };
}

async function ask() {
  asking?.abort();
  const mine = (asking = new AbortController());
  const query = new URLSearchParams({ q: words?.value ?? "", at: location.pathname + location.search });
  try {
    const answer = await fetch(`/palette?${query}`, { signal: mine.signal });
    if (answer.redirected) return location.reload();
    const text = await answer.text();
    if (asking === mine) show(answer.ok ? text : "");
  } catch (error) {
    if (asking === mine) show("", "The server does not answer");
  }
}

/**
 * @param {string} html
 * @param {string} problem
 */
function show(html, problem = "") {
  if (!list || !told) return;
  const page = new DOMParser().parseFromString(html, "text/html");
  list.replaceChildren(...ofThisPage(), ...seenLast(), ...page.body.children);
  const all = options();
  all.forEach((each, index) => (each.id = `palette-option-${index}`));
  select(all[0]);
  isFresh = true;
  if (entered.is && !problem) act(all[0], entered.elsewhere);
  told.textContent = problem || (all.length === 1 ? "1 result" : `${all.length} results`);
}

/** What the page offers by keys and buttons, as options. */
function ofThisPage() {
  const asked = (words?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = offered().filter(({ label }) => {
    const has = label.toLowerCase().split(/\s+/);
    return asked.every((word) => has.some((each) => each.startsWith(word)));
  });
  return found.length ? [groupOf("On this page", found.map(optionOf))] : [];
}

/** Items that were looked at before, while nothing is typed. */
function seenLast() {
  const others = words?.value ? [] : recent().filter(({ id }) => location.pathname !== `/items/${id}`);
  return others.length ? [groupOf("Recent", others.map(optionOfSeen))] : [];
}

/**
 * @param {string} name
 * @param {HTMLElement[]} members
 */
function groupOf(name, members) {
  const group = document.createElement("div");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", name);
  const title = document.createElement("div");
  title.className = "group";
  title.setAttribute("role", "presentation");
  title.textContent = name;
  group.append(title, ...members);
  return group;
}

/**
 * @param {string} name
 * @param {string} text
 */
function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

/** @param {import("./recent.js").Seen} seen */
function optionOfSeen(seen) {
  const option = document.createElement("div");
  option.setAttribute("role", "option");
  option.dataset.href = `/items/${seen.id}`;
  option.append(span("id", seen.id), span("name", seen.title));
  return option;
}

/** @param {import("./offered.js").Offer} offer */
function optionOf(offer) {
  const option = document.createElement("div");
  option.setAttribute("role", "option");
  option.append(span("name", offer.label));
  if (offer.key) {
    const key = document.createElement("kbd");
    key.textContent = offer.key.toUpperCase();
    const shortcut = span("shortcut", "");
    shortcut.setAttribute("aria-hidden", "true");
    shortcut.append(key);
    option.append(shortcut);
  }
  controls.set(option, offer.control);
  return option;
}

/**
 * @param {HTMLElement | undefined} option
 * @param {boolean} elsewhere
 */
function act(option, elsewhere = false) {
  if (!option) return;
  const { href, post } = option.dataset;
  if (href && elsewhere) {
    window.open(href, "_blank", "noopener");
    return;
  }
  dialog?.close();
  if (href) location.assign(href);
  else if (post) send(post, option);
  else press(controls.get(option));
}

/** @param {HTMLElement | undefined} control */
function press(control) {
  if (!control) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(control.tagName)) control.focus();
  else control.click();
}

/**
 * @param {string} path
 * @param {HTMLElement} option
 */
function send(path, option) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = path;
  const csrf = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";
  const given = [...option.querySelectorAll("data")].map((each) => [each.dataset.field ?? "", each.value]);
  for (const [name, value] of [["csrf", csrf], ...given]) {
    const input = document.createElement("input");
    input.type = "hidden";
    input.name = name ?? "";
    input.value = value ?? "";
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}

if (dialog && words && list) {
  /** @param {Event} event */
  const begin = (event) => {
    event.preventDefault();
    open();
  };
  bind("ctrl+k", begin);
  bind("/", begin);
  field?.addEventListener("click", begin);
  field?.addEventListener("input", () => {
    const typed = field.value;
    field.value = "";
    open(typed);
  });

  words.addEventListener("input", () => {
    clearTimeout(waiting);
    stale();
    waiting = setTimeout(ask, PATIENCE);
  });
  words.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || (event.ctrlKey && event.key === "n")) move(1);
    else if (event.key === "ArrowUp" || (event.ctrlKey && event.key === "p")) move(-1);
    else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  });
  list.addEventListener("pointermove", (event) => {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    if (option instanceof HTMLElement && option.getAttribute("aria-selected") !== "true") select(option);
  });
  list.addEventListener("click", (event) => {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    if (option instanceof HTMLElement) act(option, event.ctrlKey || event.metaKey);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    stale();
    clearTimeout(waiting);
  });
}
