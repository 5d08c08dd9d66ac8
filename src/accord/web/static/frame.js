// The menu of narrow windows, questions before what cannot be taken back, and where the eye goes first.

document.querySelector("[data-menu]")?.addEventListener("click", (event) => {
  event.preventDefault();
  const rail = document.getElementById("rail");
  rail?.classList.toggle("open");
  if (rail?.classList.contains("open")) rail.querySelector("a")?.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("rail")?.classList.remove("open");
});

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const question = form.dataset.confirm;
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation(); // or htmx would send it
  }
}, true);

/** @param {ParentNode} within */
function focusFirst(within) {
  const found = within.querySelector("[data-focus]");
  if (found instanceof HTMLElement) found.focus();
}

focusFirst(document);
document.addEventListener("htmx:afterSwap", (event) => focusFirst(/** @type {HTMLElement} */ (event.target)));
