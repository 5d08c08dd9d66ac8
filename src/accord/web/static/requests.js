// Every request of htmx says which session it belongs to; what goes wrong is said, never swallowed.

const token = document.querySelector('meta[name="csrf-token"]')?.getAttribute("content") ?? "";

document.addEventListener("htmx:configRequest", (event) => {
  const { headers } = /** @type {CustomEvent} */ (event).detail;
  if (token) headers["X-CSRF-Token"] = token;
});

document.addEventListener("htmx:sendError", () => say("The server does not answer. What you typed is still here.", "bad"));
document.addEventListener("htmx:timeout", () => say("The server took too long. What you typed is still here.", "bad"));

// An error comes as a box: it is shown beside the page, so that what somebody typed stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  const target = /** @type {HTMLElement} */ (detail.target);
  if (detail.xhr.status >= 400 && !target.hasAttribute("data-errors")) {
    detail.target = document.getElementById("toasts");
    detail.swapOverride = "innerHTML";
  }
});

/**
 * Say something in a corner for some seconds.
 * @param {string} text
 * @param {string} tone
 */
export function say(text, tone = "") {
  const box = document.createElement("div");
  box.className = `box ${tone}`;
  box.textContent = text;
  document.getElementById("toasts")?.replaceChildren(box);
  setTimeout(() => box.remove(), 6000);
}
