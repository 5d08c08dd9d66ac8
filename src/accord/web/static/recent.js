// Items that were looked at last in this tab, for as long as somebody is signed in.

const PLACE = "accord-recent";
const MOST = 6;

/**
 * @typedef {object} Seen
 * @property {string} id
 * @property {string} title
 */

/** @returns {Seen[]} */
export function recent() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each?.id === "string" && typeof each.title === "string") : [];
  } catch {
    return [];
  }
}

function remember() {
  const id = /^\/items\/([A-Z]+-[0-9]+)$/.exec(location.pathname)?.[1];
  const title = document.querySelector("#detail h1")?.textContent?.trim();
  if (!id || !title) return;
  const others = recent().filter((each) => each.id !== id);
  sessionStorage.setItem(PLACE, JSON.stringify([{ id, title: title.slice(0, 200) }, ...others].slice(0, MOST)));
}

if (document.querySelector('meta[name="csrf-token"]')) {
  remember();
  document.addEventListener("htmx:afterSettle", remember);
} else {
  sessionStorage.removeItem(PLACE);
}
