// One box chooses all suspect links of the page.

const all = document.querySelector("[data-all]");
const boxes = [...document.querySelectorAll('.suspects input[name="id"]')].filter((each) => each instanceof HTMLInputElement);

function tell() {
  if (!(all instanceof HTMLInputElement)) return;
  const chosen = boxes.filter((each) => each.checked).length;
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}

all?.addEventListener("change", () => {
  for (const box of boxes) box.checked = all instanceof HTMLInputElement && all.checked;
});
for (const box of boxes) box.addEventListener("change", tell);
tell();
