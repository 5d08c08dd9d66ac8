// Creating with the keyboard alone: Ctrl and Enter create, and begin the next one.

const creating = document.getElementById("creating");

creating?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  event.preventDefault();
  const next = document.getElementById("next");
  if (creating instanceof HTMLFormElement && next) creating.requestSubmit(next);
});

// What was typed goes along to another kind.
for (const tab of document.querySelectorAll(".tabs a")) {
  tab.addEventListener("click", () => {
    if (!(creating instanceof HTMLFormElement) || !(tab instanceof HTMLAnchorElement)) return;
    const typed = new FormData(creating);
    const url = new URL(tab.href);
    const title = String(typed.get("title") ?? "");
    const text = String(typed.get("description") ?? "");
    if (title) url.searchParams.set("title", title);
    if (text && text.length < 4000) url.searchParams.set("description", text);
    tab.href = url.href;
  });
}
