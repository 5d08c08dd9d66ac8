// Fields of a filter that open like menus: what is ticked shows in the field, and Escape or a click elsewhere closes it.

/** @param {Element} field */
function show(field) {
  const shown = field.querySelector(".chosen");
  if (!(field instanceof HTMLElement) || !shown) return;
  const texts = [...field.querySelectorAll(".tick:has(:checked)")].map((each) => each.textContent?.trim());
  const typed = field.querySelector("fieldset > input");
  if (typed instanceof HTMLInputElement && typed.value.trim()) texts.push(typed.value.trim());
  shown.textContent = texts.join(", ") || (field.dataset.any ?? "");
}

document.addEventListener("change", (event) => {
  const field = event.target instanceof Element ? event.target.closest("details.several") : null;
  if (field) show(field);
});

document.addEventListener("keydown", (event) => {
  const open = document.querySelector("details.several[open]");
  if (event.key !== "Escape" || !open) return;
  open.removeAttribute("open");
  open.querySelector("summary")?.focus();
});

document.addEventListener("click", (event) => {
  for (const each of document.querySelectorAll("details.several[open]")) {
    if (event.target instanceof Node && !each.contains(event.target)) each.removeAttribute("open");
  }
});

// A browser that goes back keeps what was ticked.
window.addEventListener("pageshow", () => document.querySelectorAll("details.several").forEach(show));
