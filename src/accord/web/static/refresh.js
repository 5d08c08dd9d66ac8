// Parts of a page that are kept fresh: `data-refresh` says after how many seconds, and only while somebody
// sees the page and is not in the middle of that part.

/** @type {WeakMap<Element, number>} */
const shown = new WeakMap();

/** @param {HTMLElement} part */
function isDue(part) {
  const since = Date.now() - (shown.get(part) ?? started);
  return since >= Number(part.dataset.refresh) * 1000 && !part.contains(document.activeElement);
}

function look() {
  if (document.visibilityState !== "visible") return;
  for (const part of document.querySelectorAll("[data-refresh]")) {
    if (part instanceof HTMLElement && isDue(part)) {
      shown.set(part, Date.now());
      part.dispatchEvent(new Event("refresh"));
    }
  }
}

const started = Date.now();
setInterval(look, 1000);
document.addEventListener("visibilitychange", look);
