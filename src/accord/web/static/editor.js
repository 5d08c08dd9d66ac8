// The editor of definitions: Tab is two spaces, Escape and then Tab leaves the text, Ctrl-S saves, and the line of a
// problem is one click away.

const area = document.querySelector("[data-editor] textarea");
let leaves = false;

/**
 * Type something where the cursor is, so that it can be undone.
 * @param {HTMLTextAreaElement} text
 * @param {string} typed
 */
function type(text, typed) {
  const { selectionStart: start, selectionEnd: end } = text;
  text.setRangeText(typed, start, end, "end");
  text.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @param {HTMLTextAreaElement} text */
function indentation(text) {
  const before = text.value.slice(0, text.selectionStart);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return /^ *(?:- )?/.exec(line)?.[0].replace("-", " ") ?? "";
}

/**
 * @param {HTMLTextAreaElement} text
 * @param {number} line
 */
function goTo(text, line) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = parseFloat(getComputedStyle(text).lineHeight) || 18;
  text.scrollTop = Math.max(0, (line - 4) * height);
}

if (area instanceof HTMLTextAreaElement) {
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      leaves = true;
    } else if (event.key === "Tab" && !event.shiftKey && !leaves && !event.altKey && !event.ctrlKey) {
      event.preventDefault();
      type(area, "  ");
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      type(area, `\n${indentation(area)}`);
    } else if (event.key !== "Shift") {
      leaves = false;
    }
  });
  area.addEventListener("blur", () => {
    leaves = false;
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("[data-line]") : null;
    if (!(link instanceof HTMLElement)) return;
    event.preventDefault();
    goTo(area, Number(link.dataset.line));
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      const save = document.querySelector('button[form="editor"][value="save"]');
      if (save instanceof HTMLElement) save.click();
    }
  });
}
