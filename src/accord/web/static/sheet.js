// The sheet of keys behind `?`: those of this page first, as it offers them, then those of all pages.

import { hinted, offered } from "./offered.js";

const sheet = /** @type {HTMLDialogElement | null} */ (document.getElementById("keys"));

/** @returns {[string[], string][]} */
function here() {
  /** @type {[string[], string][]} */
  const found = hinted()
    .filter(({ keys }) => !keys.includes("?"))
    .map(({ keys, label }) => [keys, label]);
  const told = new Set(found.flatMap(([keys]) => keys.map((key) => key.toLowerCase())));
  for (const { key, label } of offered()) {
    if (key && !told.has(key)) found.push([[key], label]);
  }
  return found;
}

/** @param {[string[], string][]} found */
function table(found) {
  const section = document.createElement("section");
  const title = document.createElement("h3");
  title.textContent = "On this page";
  const rows = document.createElement("dl");
  for (const [keys, label] of found) {
    const row = document.createElement("div");
    const term = document.createElement("dt");
    for (const key of keys) {
      const cap = document.createElement("kbd");
      cap.textContent = key.length === 1 ? key.toUpperCase() : key;
      term.append(cap);
    }
    const meaning = document.createElement("dd");
    meaning.textContent = label.slice(0, 1).toUpperCase() + label.slice(1);
    row.append(term, meaning);
    rows.append(row);
  }
  section.append(title, rows);
  return section;
}

/** @param {string} path */
async function open(path) {
  if (!sheet || sheet.open) return;
  const found = here();
  try {
    const answer = await fetch(path, { headers: { "HX-Request": "true" } });
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    sheet.replaceChildren(...page.body.children);
  } catch {
    location.assign(path);
    return;
  }
  if (found.length) sheet.querySelector(".key-groups")?.prepend(table(found));
  sheet.showModal();
}

document.querySelector("[data-keys]")?.addEventListener("click", (event) => {
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  if (!sheet || !(event instanceof MouseEvent) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  open(link.getAttribute("href") ?? "/keys");
});

sheet?.addEventListener("click", (event) => {
  const target = event.target;
  if (target === sheet || (target instanceof Element && target.closest("[data-close]"))) {
    event.preventDefault();
    sheet.close();
  }
});
