// The tree: opens in place and in pieces, is walked by keys, and stays as it was from page to page.

import { bind } from "./keys.js";
import { fetchPiece } from "./pieces.js";

const tree = document.getElementById("tree");
const left = document.getElementById("left");
const bulk = document.getElementById("bulk");
const narrow = matchMedia("(max-width: 900px)");
const COOKIE = "accord_open";
const MOST_OPEN = 60;
const SCROLL = "accord.tree.scroll";
const isFiltered = /[?&](status|assignee)=./.test(location.search);

// Rows: a list item has a row, and below it the list of what is under it.

/** @param {EventTarget | null} target @returns {HTMLElement | null} */
export function rowAt(target) {
  return target instanceof Element ? target.closest(".row") : null;
}

/** @param {HTMLElement} row */
export function idOf(row) {
  return row.dataset.id ?? "";
}

/** @param {HTMLElement} row @returns {HTMLUListElement | null} */
export function listUnder(row) {
  return row.parentElement?.querySelector(":scope > ul") ?? null;
}

/** @param {HTMLElement} row @returns {HTMLElement | null} */
export function rowAbove(row) {
  const item = row.parentElement?.parentElement?.closest("li");
  return item?.querySelector(":scope > .row") ?? null;
}

/** @param {HTMLElement} row */
export function focusRow(row) {
  const link = /** @type {HTMLElement | null} */ (row.querySelector(".to"));
  link?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** @param {HTMLElement} row */
function isOpen(row) {
  return row.querySelector("a.twisty")?.getAttribute("aria-expanded") === "true";
}

// Open and closed

/** @returns {Set<string>} */
function opened() {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${COOKIE}=`));
  return new Set((found?.slice(COOKIE.length + 1) ?? "").split(",").filter(Boolean));
}

/** @param {Set<string>} names */
function remember(names) {
  if (isFiltered) return;
  const kept = [...names].slice(-MOST_OPEN).join(",");
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${COOKIE}=${kept}; path=/; samesite=lax${secure}`;
}

/**
 * Show what is under a row, or hide it; it comes from the server the first time.
 * @param {HTMLElement} row
 * @param {boolean} open
 */
export async function setOpen(row, open) {
  const twisty = row.querySelector("a.twisty");
  if (!twisty || isOpen(row) === open) return;
  twisty.setAttribute("aria-expanded", String(open));
  const names = opened();
  names.delete(idOf(row));
  if (open) names.add(idOf(row));
  remember(names);
  const list = listUnder(row);
  if (list) list.hidden = !open;
  else if (open) await load(row);
}

/** @param {HTMLElement} row */
async function load(row) {
  const list = document.createElement("ul");
  list.setAttribute("aria-label", `Under ${idOf(row)}`);
  list.setAttribute("aria-busy", "true");
  row.after(list);
  const html = await fetchPiece(`/requirements/children/${idOf(row)}${location.search}`);
  if (html === null) {
    list.remove();
    row.querySelector("a.twisty")?.setAttribute("aria-expanded", "false");
    return;
  }
  list.append(fragment(html));
  list.removeAttribute("aria-busy");
  watch(list);
  const selected = document.getElementById(`row-${location.pathname.split("/")[2]}`);
  if (selected) mark(selected);
}

/** Have what is under a row come anew. @param {HTMLElement} row */
export async function reload(row) {
  listUnder(row)?.remove();
  row.querySelector("a.twisty")?.setAttribute("aria-expanded", "false");
  await setOpen(row, true);
}

/** @param {string} html */
function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const row of template.content.querySelectorAll(".row")) {
    const there = document.getElementById(row.id);
    if (there?.parentElement && row.parentElement) row.parentElement.replaceWith(there.parentElement);
  }
  return template.content;
}

// The rest of long lists comes when somebody gets there.

const observer = new IntersectionObserver(
  (entries) => {
    for (const each of entries) if (each.isIntersecting) showMore(/** @type {HTMLAnchorElement} */ (each.target));
  },
  { root: narrow.matches ? null : left, rootMargin: "320px" },
);

/** @param {HTMLAnchorElement} link */
async function showMore(link) {
  observer.unobserve(link);
  const rest = link.parentElement;
  if (!rest || rest.ariaBusy === "true") return;
  rest.ariaBusy = "true";
  const html = await fetchPiece(link.href);
  rest.ariaBusy = "false";
  if (html === null) return;
  const hadFocus = document.activeElement === link;
  const list = rest.parentElement;
  const added = fragment(html);
  const first = /** @type {HTMLElement | null} */ (added.querySelector(".row"));
  rest.replaceWith(added);
  if (hadFocus && first) focusRow(first);
  if (list) watch(list);
}

/** @param {Element} within */
function watch(within) {
  for (const twisty of within.querySelectorAll("a.twisty")) twisty.setAttribute("tabindex", "-1");
  for (const link of within.querySelectorAll("a[data-more]")) {
    // Rows that are left out before one that is shown would push it away from who looks at it.
    if (!link.parentElement?.nextElementSibling) observer.observe(link);
  }
}

// What is selected

/** @param {HTMLElement} row */
function mark(row) {
  for (const each of document.querySelectorAll("#tree .row.selected")) {
    each.classList.remove("selected");
    each.querySelector(".to")?.removeAttribute("aria-current");
  }
  row.classList.add("selected");
  row.querySelector(".to")?.setAttribute("aria-current", "true");
}

/** @param {HTMLElement} row @param {boolean} push */
function select(row, push) {
  if (!document.dispatchEvent(new CustomEvent("accord:leave", { cancelable: true }))) return;
  const htmx = /** @type {any} */ (window).htmx;
  const id = idOf(row);
  mark(row);
  document.querySelector("main")?.classList.add("has-item");
  document.title = `${id} ${row.querySelector(".name")?.textContent} · Accord`;
  document.getElementById("create")?.setAttribute("href", `/new?parent=${id}`);
  document.getElementById("move")?.setAttribute("href", `/requirements/move?id=${id}`);
  showWay(row);
  if (push) history.pushState({}, "", `/items/${id}${location.search}`);
  htmx.ajax("GET", `/items/${id}`, { target: "#detail", swap: "innerHTML" });
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
  if (event.state?.htmx) return;
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
  remember(new Set([...opened(), ...[...tree.querySelectorAll('a.twisty[aria-expanded="true"]')].map((each) => idOf(/** @type {HTMLElement} */ (rowAt(each))))]));
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
