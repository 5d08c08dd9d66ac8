// Shows text that is JSON laid out and coloured, and any other text as it is; with a way to copy it.
// @ts-check

import { announce, button, h } from "./dom.js";
import { layOut, tokenize } from "./json.js";

const MAX_COLOURED = 200_000;
const MAX_SHOWN = 1_000_000;

/**
 * @param {string} text
 * @param {string} label
 */
export function jsonView(text, label) {
  const pre = h("pre", { class: "code", tabindex: 0, role: "group", "aria-label": label });
  let laidOut = text;
  try {
    const pieces = layOut(tokenize(text), "  ");
    laidOut = pieces.map((piece) => piece.text).join("");
    if (text.length <= MAX_COLOURED) pre.append(...pieces.map(({ kind, text: part }) =>
      (kind === "space" ? part : h("span", { class: `json-${kind}` }, part))));
    else pre.append(laidOut.slice(0, MAX_SHOWN));
  } catch {
    pre.append(text.slice(0, MAX_SHOWN));
  }
  if (laidOut.length > MAX_SHOWN) pre.append(`\n… ${(laidOut.length - MAX_SHOWN).toLocaleString("en")} more characters: copy to see them`);
  return h("div", { class: "code-box" }, copyButton(() => laidOut, pre, label), pre);
}

/**
 * @param {string} text
 * @param {string} label
 */
export function codeView(text, label) {
  const pre = h("pre", { class: "code", tabindex: 0, role: "group", "aria-label": label }, text);
  return h("div", { class: "code-box" }, copyButton(() => text, pre, label), pre);
}

/** @param {() => string} text @param {HTMLElement} shown @param {string} label */
function copyButton(text, shown, label) {
  const copy = button("Copy", async () => {
    copy.textContent = await copied(text(), shown);
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  }, { class: "button small copy", "aria-label": `Copy ${label}` });
  return copy;
}

/**
 * Copies, or selects what is shown where a page may not copy. Says which.
 * @param {string} text
 * @param {HTMLElement | null} shown
 */
export async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
    return "Copied";
  } catch {
    if (shown === null) return "Not copied";
    getSelection()?.selectAllChildren(shown);
    announce("Selected. Press Ctrl C to copy.");
    return "Selected: Ctrl C";
  }
}
