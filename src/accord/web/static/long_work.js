// Work that takes its time says so, and cannot be begun twice.

const LATER = 300;

for (const form of document.querySelectorAll("form[data-works]")) {
  form.addEventListener("submit", (event) => {
    if (!(form instanceof HTMLFormElement)) return;
    if (form.ariaBusy === "true") {
      event.preventDefault();
      return;
    }
    form.ariaBusy = "true";
    const began = Date.now();
    const said = document.createElement("p");
    said.className = "working";
    said.setAttribute("role", "status");
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", form.dataset.works ?? "");
    const text = document.createElement("span");
    said.append(bar, text);
    const tell = () => {
      text.textContent = `${form.dataset.works} for ${Math.round((Date.now() - began) / 1000)} s`;
    };
    setTimeout(() => {
      tell();
      form.append(said);
      setInterval(tell, 1000);
    }, LATER);
  });
}

// Who comes back by the browser's button begins anew.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-works]")) {
    form.ariaBusy = null;
    form.querySelector(".working")?.remove();
  }
});
