// Moving in the tree: Alt and arrows, or dragging. Whether something may go somewhere, the server says.

import { fetchPiece, show } from "./pieces.js";
import { showWay } from "./tree.js";
import { focusRow, idOf, listUnder, reload, rowAbove, rowAt, setOpen } from "./tree_rows.js";

/** @typedef {{ to: "before" | "after" | "parent_id", row: HTMLElement }} Place */

const tree = document.getElementById("tree");
const OPENS_AFTER = 600;
let queue = Promise.resolve();

/** @param {HTMLElement} row */
const kindOf = (row) => idOf(row).split("-")[0];

/**
 * The next sibling of the same kind, or the next of its parents, where it would be the last.
 * @param {HTMLElement} row
 * @param {"previousElementSibling" | "nextElementSibling"} way
 * @returns {Place | null}
 */
function nextPlace(row, way) {
  const sibling = beside(row, way);
  if (sibling) return { to: way === "previousElementSibling" ? "before" : "after", row: sibling };
  const above = rowAbove(row);
  const parent = above && beside(above, way);
  return parent ? { to: "parent_id", row: parent } : null;
}

/** @param {HTMLElement} row @param {"previousElementSibling" | "nextElementSibling"} way */
function beside(row, way) {
  const found = row.parentElement?.[way]?.querySelector(":scope > .row");
  return found instanceof HTMLElement && kindOf(found) === kindOf(row) ? found : null;
}

/** @param {HTMLElement} row @param {Place} place */
async function move(row, place) {
  if (row === place.row) return;
  const said = await fetchPiece("/requirements/move", { id: idOf(row), [place.to]: idOf(place.row) });
  if (said === null) return;
  show(said);
  const item = row.parentElement;
  if (item && place.to !== "parent_id") place.row.parentElement?.[place.to](item);
  else if (listUnder(place.row)) {
    item?.remove();
    await reload(place.row);
  } else {
    item?.remove();
    await becomeParent(place.row);
  }
  const moved = document.getElementById(row.id);
  if (moved) focusRow(moved);
}

/** @param {HTMLElement} row */
async function becomeParent(row) {
  const nothing = row.querySelector("span.twisty");
  if (nothing) {
    const twisty = document.createElement("a");
    twisty.className = "twisty";
    twisty.href = `/requirements?open=${idOf(row)}`;
    twisty.setAttribute("aria-label", `What is under ${idOf(row)}`);
    twisty.setAttribute("aria-expanded", "false");
    nothing.replaceWith(twisty);
  }
  await setOpen(row, true);
}

// What was moved beside the tree, by the item's own page, is moved in it as well.
document.addEventListener("htmx:oobAfterSwap", async () => {
  for (const row of document.querySelectorAll("#tree .row[data-under]")) {
    if (!(row instanceof HTMLElement)) continue;
    const under = row.dataset.under ?? "";
    delete row.dataset.under;
    const above = rowAbove(row);
    const parent = document.getElementById(`row-${under}`);
    if (!above || idOf(above) === under) continue;
    row.parentElement?.remove();
    if (parent) await (listUnder(parent) ? reload(parent) : becomeParent(parent));
    const moved = document.getElementById(row.id);
    if (!moved) continue;
    showWay(moved);
    moved.scrollIntoView({ block: "nearest" });
  }
});

// Dragging

/** @type {HTMLElement | null} */
let dragged = null;
/** @type {Place | null} */
let target = null;
let hovering = 0;

/** @param {Place | null} place */
function mark(place) {
  if (place?.row === target?.row && place?.to === target?.to) return;
  clearTimeout(hovering);
  target?.row.classList.remove("drop-before", "drop-after", "drop-parent_id");
  target = place;
  place?.row.classList.add(`drop-${place.to}`);
  if (place?.to === "parent_id") hovering = setTimeout(() => void setOpen(place.row, true), OPENS_AFTER);
}

/** @param {DragEvent} event @returns {Place | null} */
function placeAt(event) {
  const row = rowAt(event.target);
  if (!row || !dragged || row === dragged) return null;
  if (kindOf(row) !== kindOf(dragged)) return { to: "parent_id", row };
  const box = row.getBoundingClientRect();
  return { to: event.clientY < box.top + box.height / 2 ? "before" : "after", row };
}

if (tree?.hasAttribute("data-may-write")) {
  tree.addEventListener("keydown", (event) => {
    const row = rowAt(event.target);
    const way = event.key === "ArrowUp" ? "previousElementSibling" : event.key === "ArrowDown" ? "nextElementSibling" : null;
    if (!row || !way || !event.altKey) return;
    event.preventDefault();
    queue = queue.then(async () => {
      const place = nextPlace(row, way);
      if (place) await move(document.getElementById(row.id) ?? row, place);
    });
  });
  tree.addEventListener("dragstart", (event) => {
    dragged = rowAt(event.target);
    if (!dragged || !event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", idOf(dragged));
    dragged.classList.add("dragged");
  });
  tree.addEventListener("dragover", (event) => {
    if (!dragged) return;
    event.preventDefault();
    mark(placeAt(event));
  });
  tree.addEventListener("drop", (event) => {
    const row = dragged;
    const place = placeAt(event);
    event.preventDefault();
    if (row && place) queue = queue.then(() => move(row, place));
  });
  tree.addEventListener("dragend", () => {
    mark(null);
    dragged?.classList.remove("dragged");
    dragged = null;
  });
}
