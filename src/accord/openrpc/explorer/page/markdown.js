// A small part of Markdown, as elements: paragraphs, headings, lists, code, emphasis, links.
// HTML in it is text like any other.
// @ts-check

import { h, outside, safeAddress } from "./dom.js";

const LIST_ITEM = /^ {0,3}(?:[-*+]|(\d{1,3})[.)]) +(.*)$/;
const HEADING = /^#{1,6} +(.*?)#*$/;
const INLINE = /(`+)([^`]+)\1|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^[\]\n]+)\]\(([^()\s]+)\)|<?(https?:\/\/[^\s<>()[\]"'`*]+)>?/g;

/**
 * @param {unknown} source
 * @returns {HTMLElement}
 */
export function markdown(source) {
  const root = h("div", { class: "prose" });
  if (typeof source !== "string") return root;
  const lines = source.replaceAll("\r\n", "\n").split("\n");
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const heading = HEADING.exec(line);
    if (line.trim() === "") at += 1;
    else if (line.trimStart().startsWith("```")) at = code(root, lines, at);
    else if (heading !== null) {
      root.append(h("p", { class: "prose-heading" }, ...inline(heading[1].trim())));
      at += 1;
    } else if (LIST_ITEM.test(line)) at = list(root, lines, at);
    else at = paragraph(root, lines, at);
  }
  return root;
}

/**
 * The first line as elements, for places that have room for one.
 * @param {unknown} source
 * @returns {(Node | string)[]}
 */
export function markdownLine(source) {
  return typeof source === "string" ? inline(source.split("\n", 1)[0]) : [];
}

/** @param {HTMLElement} root @param {string[]} lines @param {number} at */
function code(root, lines, at) {
  const end = lines.findIndex((line, index) => index > at && line.trimStart().startsWith("```"));
  const stop = end < 0 ? lines.length : end;
  root.append(h("pre", { class: "code", tabindex: 0 }, lines.slice(at + 1, stop).join("\n")));
  return stop + 1;
}

/** @param {HTMLElement} root @param {string[]} lines @param {number} at */
function list(root, lines, at) {
  const ordered = LIST_ITEM.exec(lines[at])?.[1] !== undefined;
  const element = h(ordered ? "ol" : "ul");
  while (at < lines.length && lines[at].trim() !== "") {
    const item = LIST_ITEM.exec(lines[at]);
    if (item !== null) element.append(h("li", {}, ...inline(item[2])));
    else element.lastElementChild?.append(" ", ...inline(lines[at].trim()));
    at += 1;
  }
  root.append(element);
  return at;
}

/** @param {HTMLElement} root @param {string[]} lines @param {number} at */
function paragraph(root, lines, at) {
  const taken = [];
  while (at < lines.length && lines[at].trim() !== "" && !startsBlock(lines[at])) taken.push(lines[at++].trim());
  root.append(h("p", {}, ...inline(taken.join(" "))));
  return at;
}

/** @param {string} line */
function startsBlock(line) {
  return line.trimStart().startsWith("```") || HEADING.test(line) || LIST_ITEM.test(line);
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, , coded, strong, soft, label, target, bare] = found;
    if (label !== undefined && safeAddress(target) === null) continue;
    nodes.push(text.slice(from, found.index));
    from = found.index + all.length;
    if (coded !== undefined) nodes.push(h("code", {}, coded.trim() || coded));
    else if (strong !== undefined) nodes.push(h("strong", {}, strong));
    else if (soft !== undefined) nodes.push(h("em", {}, soft));
    else if (label !== undefined) nodes.push(outside(target, label));
    else nodes.push(outside(bare, bare));
  }
  nodes.push(text.slice(from));
  return nodes;
}
