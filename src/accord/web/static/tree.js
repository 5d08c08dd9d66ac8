// The tree: what is selected is shown beside it, keys walk it, boxes select rows for a change of many.

import { bind } from "./keys.js";
import { hold, load } from "./detail.js";
import { focusRow, idOf, isOpen, mark, rememberAll, rowAbove, rowAt, setOpen, showMore, watch } from "./tree_rows.js";

const tree = document.getElementById("tree");
const left = document.getElementById("left");
const bulk = document.getElementById("bulk");
const narrow = matchMedia("(max-width: 900px)");
const SCROLL = "accord.tree.scroll";

// What is selected

/**
 * Show an item. Address, way, title and tree change when its detail is here: until then all of them
 * are those of the item that is still shown.
 * @param {HTMLElement} row @param {boolean} push
 */
function select(row, push) {
  if (!document.dispatchEvent(new CustomEvent("accord:leave", { cancelable: true }))) return;
  load(`/items/${idOf(row)}`, () => selected(row, push), push ? undefined : () => location.reload());
}

/** Change everything beside the detail, which was shown in the same moment. @param {HTMLElement} row @param {boolean} push */
function selected(row, push) {
  const id = idOf(row);
  mark(row);
  document.querySelector("main")?.classList.add("has-item");
  document.title = `${id} ${row.querySelector(".name")?.textContent} · Accord`;
  document.getElementById("create")?.setAttribute("href", `/new?parent=${id}`);
  document.getElementById("move")?.setAttribute("href", `/requirements/move?id=${id}`);
  showWay(row);
  if (push) history.pushState({}, "", `/items/${id}${location.search}`);
  document.getElementById("detail")?.scrollTo(0, 0);
}

/** Tell the way to a row in the bar. @param {HTMLElement} row */
export function showWay(row) {
  const last = document.createElement("strong");
  last.textContent = idOf(row);
  /** @type {(Node | string)[]} */
  const parts = [last];
  for (let above = rowAbove(row); above; above = rowAbove(above)) {
    const link = document.createElement("a");
    link.href = `/items/${idOf(above)}`;
    link.textContent = idOf(above);
    parts.unshift(link, " / ");
  }
  document.getElementById("way")?.replaceChildren(...parts);
}

window.addEventListener("popstate", (event) => {
  if (event.state?.htmx) return hold(); // htmx loads the page again
  const row = document.getElementById(`row-${location.pathname.replace("/items/", "")}`);
  if (row) select(row, false);
  else location.reload();
});

// Boxes to tick

function ticked() {
  return [...document.querySelectorAll('#tree input[type="checkbox"]:checked')];
}

function countTicked() {
  const count = document.getElementById("ticked");
  if (count) count.textContent = `${ticked().length} selected`;
}

/** @param {boolean} on */
function setSelecting(on) {
  tree?.classList.toggle("selecting", on);
  bulk?.toggleAttribute("hidden", !on);
  if (!on) for (const box of ticked()) /** @type {HTMLInputElement} */ (box).checked = false;
  countTicked();
}

/** @param {HTMLElement} row @param {boolean} [on] */
function tick(row, on) {
  const box = row.querySelector("input");
  if (!box) return;
  setSelecting(true);
  box.checked = on ?? !box.checked;
  countTicked();
}

document.getElementById("select")?.addEventListener("click", (event) => {
  event.preventDefault();
  setSelecting(!tree?.classList.contains("selecting"));
});
document.getElementById("unselect")?.addEventListener("click", (event) => {
  event.preventDefault();
  setSelecting(false);
});

// The filter: one begins to choose at once, and whoever looks elsewhere closes it.

const filter = document.querySelector("details.filter");
if (filter instanceof HTMLDetailsElement) {
  filter.addEventListener("toggle", () => filter.open && filter.querySelector("input")?.focus());
  document.addEventListener("click", (event) => {
    if (event.target instanceof Node && !filter.contains(event.target)) filter.open = false;
  });
}

// Keys

/** @param {HTMLElement} row @param {number} way */
function neighbour(row, way) {
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#tree .row"))];
  for (let at = rows.indexOf(row) + way; at >= 0 && at < rows.length; at += way) {
    if (rows[at].offsetParent !== null) return rows[at];
  }
  return null;
}

/** @param {HTMLElement} row @param {number} way */
function walk(row, way) {
  const next = neighbour(row, way);
  if (next) focusRow(next);
}

/** @type {Record<string, (row: HTMLElement) => void>} */
const ACTS = {
  ArrowDown: (row) => walk(row, 1),
  ArrowUp: (row) => walk(row, -1),
  j: (row) => walk(row, 1),
  k: (row) => walk(row, -1),
  ArrowRight: (row) => (isOpen(row) ? walk(row, 1) : void setOpen(row, true)),
  ArrowLeft: (row) => {
    const above = rowAbove(row);
    if (isOpen(row)) void setOpen(row, false);
    else if (above) focusRow(above);
  },
};
/** @type {Record<string, (row: HTMLElement) => void>} */
const WRITING = {
  x: (row) => tick(row),
  c: (row) => location.assign(`/new?parent=${idOf(row)}`),
  m: (row) => location.assign(`/requirements/move?id=${idOf(row)}`),
  s: (row) => {
    tick(row, true);
    document.getElementById("field-status-bulk")?.focus();
  },
};

/** @param {HTMLElement} row @param {string} key */
function act(row, key) {
  // What is selected has its own control for the status, beside it.
  if (key === "s" && row.classList.contains("selected") && !ticked().length && document.querySelector('#detail [data-key="s"]')) return null;
  return ACTS[key] ?? (tree?.hasAttribute("data-may-write") ? WRITING[key] : null);
}

if (tree && left) {
  watch(tree);
  const here = new URL(location.href);
  if (here.searchParams.has("open")) {
    here.searchParams.delete("open"); // the cookie knows from here on
    history.replaceState(history.state, "", here);
  }
  rememberAll(tree);
  left.scrollTop = Number(sessionStorage.getItem(SCROLL) ?? 0);
  tree.querySelector(".row.selected")?.scrollIntoView({ block: "nearest" });
  window.addEventListener("pagehide", () => sessionStorage.setItem(SCROLL, String(left.scrollTop)));

  tree.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const row = rowAt(link);
    if (link?.matches("[data-more]")) {
      event.preventDefault();
      void showMore(link);
    } else if (row && link?.matches(".twisty")) {
      event.preventDefault();
      void setOpen(row, !isOpen(row));
    } else if (row && /** @type {any} */ (window).htmx && !narrow.matches) {
      event.preventDefault();
      select(row, true);
    }
  });
  tree.addEventListener("change", countTicked);
  tree.addEventListener("pointerover", (event) => {
    const name = rowAt(event.target)?.querySelector(".name");
    if (!name?.parentElement || name.scrollWidth <= name.clientWidth) return;
    name.parentElement.title = name.textContent ?? "";
  });
  document.addEventListener("htmx:oobAfterSwap", () => watch(tree));
  tree.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rowAt(event.target);
    const doing = row && act(row, event.key);
    if (!row || !doing) return;
    event.preventDefault();
    doing(row);
  });
  const begin = () => {
    const row = /** @type {HTMLElement | null} */ (tree.querySelector(".row.selected") ?? tree.querySelector(".row"));
    if (row) focusRow(row);
    return row;
  };
  bind("j", begin);
  bind("k", begin);
  bind("x", () => {
    const row = begin();
    if (row) tick(row);
  });
  bind("Escape", () => setSelecting(false));
}
