// Lists whose rows are links: `j` and `k` move in them, `Enter` opens what a link opens anyway.

import { bind } from "./keys.js";

/** @returns {HTMLElement[]} */
function rows() {
  return [...document.querySelectorAll("[data-rows] [data-row]")].filter((each) => each instanceof HTMLElement);
}

/** @param {number} step */
function move(step) {
  const all = rows();
  const here = all.findIndex((each) => each === document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + step, 0), all.length - 1);
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: "nearest" });
}

bind("j", () => move(1));
bind("k", () => move(-1));
