// The explorer stands in a frame: its place is this page's place, and keys that it does not know are this page's.

const frame = document.querySelector("iframe[data-explorer]");

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target !== null && /^(INPUT|SELECT|TEXTAREA)$/.test(/** @type {Element} */ (target).tagName ?? "");
}

/**
 * Have this page see a key of the explorer; false where it took it.
 * @param {KeyboardEvent} event
 */
function pass({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  const again = new KeyboardEvent("keydown", { key, ctrlKey, metaKey, altKey, shiftKey, bubbles: true, cancelable: true });
  return document.body.dispatchEvent(again);
}

/** @param {Window} inner */
function join(inner) {
  const follow = () => {
    if (window.location.hash.startsWith("#/")) inner.location.hash = window.location.hash;
  };
  follow();
  inner.addEventListener("hashchange", () => window.history.replaceState(null, "", inner.location.hash || "#/"));
  window.addEventListener("hashchange", follow);
  let going = 0;
  inner.addEventListener("keydown", (event) => {
    const isPlace = Date.now() - going < 1500 && /^[a-z]$/.test(event.key) && !event.ctrlKey && !event.metaKey;
    going = event.key === "g" && !isTyping(event.target) ? Date.now() : 0;
    if (!isPlace) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    pass(event);
  }, true);
  inner.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || (isTyping(event.target) && !event.ctrlKey && !event.metaKey)) return;
    if (!pass(event)) event.preventDefault();
  });
  inner.focus();
}

/** @param {HTMLIFrameElement} element */
function begin(element) {
  const inner = element.contentWindow;
  if (inner !== null && inner.document.readyState === "complete" && inner.location.pathname !== "blank") join(inner);
  else element.addEventListener("load", () => element.contentWindow && join(element.contentWindow), { once: true });
}

if (frame instanceof HTMLIFrameElement) begin(frame);
