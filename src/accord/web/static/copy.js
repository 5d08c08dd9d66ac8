// Buttons that copy what stands beside them. Where a browser does not let pages copy, they select it.

import { say } from "./requests.js";

/** @param {HTMLElement} element */
function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = window.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const source = document.getElementById(button.dataset.copy ?? "");
  if (source === null) return;
  try {
    await navigator.clipboard.writeText(source.textContent ?? "");
    say("Copied.", "ok");
  } catch {
    select(source);
    say("It is selected: press Ctrl-C to copy it.");
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!(button instanceof HTMLButtonElement)) continue;
  button.hidden = false;
  button.addEventListener("click", () => void copy(button));
}
