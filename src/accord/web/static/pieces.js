// Pieces of pages, for scripts that put them in place by themselves. What goes wrong is said.

import { dropNotice, say } from "./requests.js";

const token = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";

/**
 * The HTML of a piece; null where there is none, which was said then.
 * @param {string} url
 * @param {Record<string, string>} [form] what is sent, where something shall change
 * @returns {Promise<string | null>}
 */
export async function fetchPiece(url, form) {
  /** @type {RequestInit} */
  const asked = { headers: { "HX-Request": "true", "X-CSRF-Token": token } };
  if (form) Object.assign(asked, { method: "POST", body: new URLSearchParams(form) });
  let response;
  try {
    response = await fetch(url, asked);
  } catch {
    say("The server does not answer. Nothing was changed.", "bad");
    return null;
  }
  const elsewhere = response.headers.get("hx-redirect");
  if (elsewhere) {
    location.assign(elsewhere);
    return null;
  }
  const html = await response.text();
  if (response.ok) return html;
  show(html);
  return null;
}

/** Show a box in the corner. @param {string} html */
export function show(html) {
  const toasts = document.getElementById("toasts");
  if (!toasts) return;
  toasts.innerHTML = html;
  if (toasts.querySelector('[data-key="u"]')) dropNotice();
  const box = toasts.firstElementChild;
  setTimeout(() => box?.remove(), 10000);
}
