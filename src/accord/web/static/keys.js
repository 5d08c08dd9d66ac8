// Keys: `data-key` on a control that does the same, `data-go` on a link of the rail for `g` and a letter,
// `data-row-key` on a control of the row that has the focus. What was just announced comes first.

let going = 0;

/** @type {Map<string, (event: KeyboardEvent) => void>} */
const bound = new Map();

/**
 * Have a key do something on this page; a later binding of the same key wins.
 * @param {string} key
 * @param {(event: KeyboardEvent) => void} act
 */
export function bind(key, act) {
  bound.set(key, act);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (target instanceof HTMLInputElement && isTicked(target)) return false;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}

/** @param {HTMLElement} control */
function isTicked(control) {
  return control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio");
}

/** @param {string} key */
function pressKey(key) {
  const announced = `:is(#toasts, .notice) [data-key="${key}"]`;
  const row = document.activeElement?.closest("[data-rows] :is(tr, li)");
  return press(announced) || (row ? press(`[data-row-key="${key}"]`, row) : false) || press(`[data-key="${key}"]`);
}

/**
 * @param {string} selector
 * @param {ParentNode} [where]
 */
function press(selector, where = document) {
  const found = [...where.querySelectorAll(selector)].find((each) => each instanceof HTMLElement && each.offsetParent !== null && !each.closest("[inert]"));
  if (!(found instanceof HTMLElement)) return false;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(found.tagName) && !isTicked(found)) found.focus();
  else found.click();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    bound.get("ctrl+k")?.(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") && event.key !== "Escape") return;
  const key = event.key;
  if (Date.now() - going < 1500 && /^[a-z]$/.test(key)) {
    going = 0;
    if (press(`[data-go="${key}"]`)) event.preventDefault();
    return;
  }
  if (key === "g") {
    going = Date.now();
    return;
  }
  const act = bound.get(key);
  if (act) {
    act(event);
  } else if (key === "?" ? press("[data-keys]") : /^[a-z]$/.test(key) && pressKey(key)) {
    event.preventDefault();
  }
});
