// Rows of the tree: a list item has a row, and below it the list of what is under it, which comes in pieces.

import { fetchPiece } from "./pieces.js";

const left = document.getElementById("left");
const narrow = matchMedia("(max-width: 900px)");
// Over https a name that no other host can set a cookie of.
const IS_SECURE = location.protocol === "https:";
const COOKIE = IS_SECURE ? "__Host-accord_open" : "accord_open";
const MOST_OPEN = 60;
const isFiltered = /[?&](status|assignee)=./.test(location.search);

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
export function isOpen(row) {
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
  document.cookie = `${COOKIE}=${kept}; path=/; samesite=lax${IS_SECURE ? "; secure" : ""}`;
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
export async function showMore(link) {
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
export function watch(within) {
  for (const twisty of within.querySelectorAll("a.twisty")) twisty.setAttribute("tabindex", "-1");
  for (const link of within.querySelectorAll("a[data-more]")) {
    // Rows that are left out before one that is shown would push it away from who looks at it.
    if (!link.parentElement?.nextElementSibling) observer.observe(link);
  }
}

/** Show that a row is the one that is read. @param {HTMLElement} row */
export function mark(row) {
  for (const each of document.querySelectorAll("#tree .row.selected")) {
    each.classList.remove("selected");
    each.querySelector(".to")?.removeAttribute("aria-current");
  }
  row.classList.add("selected");
  row.querySelector(".to")?.setAttribute("aria-current", "true");
}

/** Keep open on other pages what is open here. @param {Element} tree */
export function rememberAll(tree) {
  const names = opened();
  for (const each of tree.querySelectorAll('a.twisty[aria-expanded="true"]')) {
    const row = rowAt(each);
    if (row) names.add(idOf(row));
  }
  remember(names);
}
