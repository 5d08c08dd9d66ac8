// Parts of a page that are kept fresh: `data-refresh` says after how many seconds, and only while somebody
// sees the page, is not in the middle of that part, and did not ask for more of it than it shows at first.

/** @type {WeakMap<Element, number>} */
const shown = new WeakMap();

/** @param {HTMLElement} part */
function isDue(part) {
  const since = Date.now() - (shown.get(part) ?? started);
  const isRead = part.contains(document.activeElement) || part.querySelector("[data-further]");
  return since >= Number(part.dataset.refresh) * 1000 && !isRead;
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
