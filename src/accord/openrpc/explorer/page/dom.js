// Makes elements. Everything is inserted as text; nothing here or elsewhere parses HTML.
// @ts-check

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {{[event: string]: (event: any) => void}} Listeners */
/** @typedef {{[name: string]: string | number | boolean | null | undefined}} Attributes */
/** @typedef {{[name: string]: string | number | boolean | null | undefined | Listeners}} Everything */

const SAFE = new Set(["http:", "https:", "mailto:"]);

/**
 * An address from outside that may be linked to, or null: only http, https and mailto.
 * @param {unknown} address
 * @returns {string | null}
 */
export function safeAddress(address) {
  if (typeof address !== "string") return null;
  try {
    const url = new URL(address);
    return SAFE.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * An element with attributes, listeners (under `on`) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Everything} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const { on = {}, ...rest } = attributes;
  for (const [name, value] of Object.entries(rest)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [event, listener] of Object.entries(/** @type {Listeners} */ (on))) {
    element.addEventListener(event, listener);
  }
  element.append(...present(children));
  return element;
}

/**
 * A link to another site, or plain text when the address cannot be linked to.
 * @param {unknown} address
 * @param {...Child} children
 */
export function outside(address, ...children) {
  const href = safeAddress(address);
  if (href === null) return h("span", {}, ...children);
  return h("a", { href, rel: "noopener noreferrer", target: "_blank" }, ...children);
}

/**
 * A name that may be broken behind its dots, and not in the middle of a word.
 * @param {string} name
 * @returns {(Node | string)[]}
 */
export function breakable(name) {
  return name.split(/(?<=[._/-])/).flatMap((part, index) => (index === 0 ? [part] : [h("wbr"), part]));
}

/**
 * A button that says what it does.
 * @param {string} label
 * @param {(event: MouseEvent) => void} act
 * @param {Attributes} [attributes]
 */
export function button(label, act, attributes = {}) {
  return h("button", { type: "button", class: "button", ...attributes, on: { click: act } }, label);
}

/**
 * A small shape with a word: state is never colour alone.
 * @param {"ok" | "bad" | "warn" | "info" | "plain"} kind
 * @param {string} word
 */
export function chip(kind, word) {
  return h("span", { class: `chip ${kind}` }, word);
}

/**
 * One of several, as a row of buttons.
 * @template {string} Key
 * @param {string} label
 * @param {[Key, string][]} options
 * @param {Key} chosen
 * @param {(key: Key) => void} choose
 */
export function segmented(label, options, chosen, choose) {
  const buttons = options.map(([key, word]) =>
    h("button", {
      type: "button",
      "aria-pressed": String(key === chosen),
      on: {
        click: () => {
          for (const [index, each] of buttons.entries()) {
            each.setAttribute("aria-pressed", String(options[index][0] === key));
          }
          choose(key);
        },
      },
    }, word));
  return h("div", { class: "segmented", role: "group", "aria-label": label }, ...buttons);
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * Puts new children in place of all that an element has.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/**
 * Tells a screen reader what happened.
 * @param {string} text
 */
export function announce(text) {
  byId("announcer").textContent = text;
}

/**
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function present(children) {
  return /** @type {(Node | string)[]} */ (
    children.filter((child) => child !== null && child !== undefined && child !== false)
  );
}
