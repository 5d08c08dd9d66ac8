// What a page offers: controls with keys, and the buttons of its bar. The palette and the sheet of keys are
// made from it, so that they never tell of something that is not there.

/**
 * @typedef {object} Offer
 * @property {string} label
 * @property {string} key
 * @property {HTMLElement} control
 */

/** @returns {Offer[]} */
export function offered() {
  const found = [...document.querySelectorAll("main [data-key]"), ...document.querySelectorAll("[data-key], .bar .acts .button")];
  /** @type {Map<string, Offer>} */
  const offers = new Map();
  for (const control of found) {
    if (!(control instanceof HTMLElement) || !control.checkVisibility() || control.closest("dialog, [inert]")) continue;
    const told = labelOf(control);
    const label = told.slice(0, 1).toUpperCase() + told.slice(1);
    if (label && !offers.has(label)) offers.set(label, { label, key: keyOf(control), control });
  }
  return [...offers.values()];
}

/** @param {HTMLElement} control */
function keyOf(control) {
  return control.dataset.key ?? control.querySelector("kbd")?.textContent?.trim().toLowerCase() ?? "";
}

/** @param {HTMLElement} control */
function labelOf(control) {
  const told = control.getAttribute("aria-label") ?? control.title;
  if (told) return told;
  if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement || control instanceof HTMLTextAreaElement) {
    return control.labels?.[0]?.textContent?.trim() ?? "";
  }
  const copy = /** @type {HTMLElement} */ (control.cloneNode(true));
  for (const key of copy.querySelectorAll("kbd")) key.remove();
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

/**
 * What the foot of the page tells of keys: `J` `K` move.
 * @returns {{ keys: string[], label: string }[]}
 */
export function hinted() {
  const foot = document.querySelector(".foot .keys");
  if (!foot) return [];
  /** @type {{ keys: string[], label: string }[]} */
  const hints = [];
  /** @type {string[]} */
  let keys = [];
  const walker = document.createTreeWalker(foot, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = (node.textContent ?? "").trim();
    if (!text) continue;
    if (node.parentElement?.tagName === "KBD") {
      keys.push(text);
    } else if (keys.length) {
      hints.push({ keys, label: text });
      keys = [];
    }
  }
  return hints;
}
