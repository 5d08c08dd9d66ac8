// Lists whose rows are links: `j` and `k` move in them, arrows too, also from the field before them; `Enter`
// opens what a link opens anyway.

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

document.addEventListener("keydown", (event) => {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const target = event.target;
  if (!step || event.defaultPrevented || !(target instanceof HTMLElement)) return;
  const isBefore = target.hasAttribute("data-before-rows");
  if (!target.hasAttribute("data-row") && !(isBefore && step > 0)) return;
  event.preventDefault();
  const before = document.querySelector("[data-before-rows]");
  if (step < 0 && target === rows()[0] && before instanceof HTMLElement) before.focus();
  else move(step);
});

bind("j", () => move(1));
bind("k", () => move(-1));
