// Light, dark, or as the system has it.
// @ts-check

import { h } from "./dom.js";
import { keep, recall } from "./storage.js";

const KEY = "accord-explorer.theme";
const THEMES = ["system", "light", "dark"];

/**
 * Makes a button go through the themes.
 * @param {HTMLElement} button
 */
export function chooseTheme(button) {
  if (document.documentElement.dataset.framed !== undefined) return;
  let theme = THEMES.includes(recall("localStorage", KEY) ?? "") ? /** @type {string} */ (recall("localStorage", KEY)) : "system";
  const apply = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.replaceChildren(h("span", { class: "wide-only" }, "Theme: "), theme);
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    keep("localStorage", KEY, theme);
    apply();
  });
  apply();
}
