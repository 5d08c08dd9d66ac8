// The methods at the left: in groups, or as they match what is searched for.
// @ts-check

import { breakable, chip, fill, h } from "./dom.js";
import { hashOf } from "./route.js";
import { places, search } from "./search.js";

/** @typedef {import("./description.js").Description} Description */
/** @typedef {import("./description.js").Method} Method */

export class MethodList {
  /**
   * @param {HTMLElement} root
   * @param {HTMLInputElement} input
   * @param {Description} description
   */
  constructor(root, input, description) {
    this.root = root;
    this.input = input;
    this.description = description;
    /** @type {string | null} */
    this.current = null;
    input.addEventListener("input", () => this.draw());
    this.draw();
  }

  /** @param {string} query */
  searchFor(query) {
    this.input.value = query;
    this.draw();
    this.input.focus();
  }

  /** @param {string | null} name */
  select(name) {
    this.current = name;
    for (const link of this.links()) {
      const is = link.dataset.method === name;
      if (is) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      if (is) link.scrollIntoView({ block: "nearest" });
    }
  }

  /** The link that is so many further than the current one; the first where that is not listed. @param {number} by */
  beside(by) {
    const links = this.links();
    const at = links.findIndex((link) => link.dataset.method === this.current);
    return at < 0 ? links[0] : links[Math.min(links.length - 1, Math.max(0, at + by))];
  }

  /** @returns {HTMLAnchorElement[]} */
  links() {
    return [...this.root.querySelectorAll("a")].filter((link) => link.checkVisibility());
  }

  draw() {
    const query = this.input.value.trim();
    if (this.description.methods.length === 0) {
      fill(this.root, h("p", { class: "empty" }, "The API's description lists no methods."));
    } else if (query === "") {
      fill(this.root, ...this.description.groups.map((group) => h("details", { class: "list-group", open: true },
        h("summary", { title: group.text || null }, group.name, h("span", { class: "count" }, String(group.methods.length))),
        this.items(group.methods, []))));
    } else this.drawMatches(query);
    this.select(this.current);
  }

  /** @param {string} query */
  drawMatches(query) {
    const found = search(this.description.methods, query);
    fill(this.root,
      h("p", { class: "found", role: "status" }, found.length === 0 ? `No method matches “${query}”.` : `${found.length} of ${this.description.methods.length} methods`),
      this.items(found, query.toLowerCase().split(/\s+/)));
  }

  /** @param {Method[]} methods @param {string[]} words */
  items(methods, words) {
    return h("ul", {}, ...methods.map((method) => h("li", {},
      h("a", { href: hashOf(method.name), "data-method": method.name, title: method.summary || null, class: method.deprecated ? "gone" : null },
        h("span", { class: "list-name" }, ...highlighted(method.name, words)),
        words.length > 0 && method.summary !== "" && h("span", { class: "list-summary" }, method.summary),
        method.deprecated && chip("warn", "deprecated")))));
  }
}

/** @param {string} name @param {string[]} words @returns {(Node | string)[]} */
function highlighted(name, words) {
  const marked = new Set(words.flatMap((word) => places(name, word)));
  if (marked.size === 0) return breakable(name);
  return [...name].map((letter, index) => (marked.has(index) ? h("mark", {}, letter) : letter));
}
