// Reads like a page of documentation: what a method is for, takes, gives, and how it fails.
// @ts-check

import { breakable, button, chip, h, outside } from "./dom.js";
import { write } from "./json.js";
import { jsonView } from "./jsonview.js";
import { markdown, markdownLine } from "./markdown.js";
import { meaningOf } from "./messages.js";
import { hashOf } from "./route.js";
import { openRow, schemaRows } from "./schemaview.js";

/** @typedef {import("./description.js").Description} Description */
/** @typedef {import("./description.js").Method} Method */
/** @typedef {import("./app.js").App} App */

/**
 * @param {App} app
 * @param {Method} method
 */
export function methodView(app, method) {
  const { references } = app.description;
  return h("article", {},
    h("p", { class: "kind" }, ...method.tags.flatMap((tag) => [button(tag, () => app.searchFor(tag), { class: "link", title: `Search for ${tag}` }), " · "]), structure(method)),
    h("h1", {}, h("span", {}, ...breakable(method.name)), method.deprecated && chip("warn", "deprecated"),
      button("Fill in the call", () => app.focusCall(), { class: "button small narrow-only" })),
    method.route !== "" && h("p", { class: "route" }, h("code", {}, method.route),
      method.credentials.length > 0 && h("span", { class: "limit" }, ` needs ${method.credentials.map((one) => one || "nothing").join(", or ")}`)),
    method.summary !== "" && h("p", { class: "lead" }, ...markdownLine(method.summary)),
    method.description !== "" && markdown(method.description),
    method.elsewhere && h("p", {}, outside(method.elsewhere.url, method.elsewhere.description || "More about this method")),
    section("Params", method.params.length === 0 ? h("p", { class: "hint" }, "None.")
      : method.params.length === 1 ? openRow(references, method.params[0]) : schemaRows(references, method.params)),
    section("Result", method.result === null ? h("p", { class: "hint" }, "None: this method is a notification.")
      : openRow(references, { ...method.result, required: false })),
    method.errors.length > 0 && section("Errors", errorTable(method)),
    method.examples.length > 0 && section("Examples", ...method.examples.map((example) => exampleBox(app, method, example))),
    method.links.length > 0 && section("Leads to", linkTable(app, method)));
}

/** @param {Method} method */
function structure(method) {
  if (method.params.length === 0) return "no params";
  return method.structure === "either" ? "params by name or by position" : `params ${method.structure.replace("-", " ")}`;
}

/** @param {string} title @param {...Node} children */
function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), ...children);
}

/** @param {Method} method */
function errorTable(method) {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Errors" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Code"), h("th", { scope: "col" }, "Message"))),
    h("tbody", {}, ...method.errors.map(({ code, message, data }) => h("tr", {},
      h("td", { class: "mono" }, code === null ? "" : String(code)),
      h("td", {}, ...markdownLine(message),
        meaningOf(code) !== "" && h("span", { class: "limit" }, ` ${meaningOf(code)}`),
        data !== undefined && h("code", { class: "error-data" }, write(data))))))));
}

/** @param {App} app @param {Method} method @param {import("./description.js").Example} example */
function exampleBox(app, method, example) {
  return h("div", { class: "example" },
    h("div", { class: "example-head" },
      h("b", {}, example.name || "Example"),
      h("span", { class: "limit" }, example.summary),
      button("Use this example", () => app.fillIn(method.name, example.params, example.result === undefined), { class: "button small" })),
    example.description !== "" && markdown(example.description),
    h("div", { class: "example-pair" },
      h("div", {}, h("p", { class: "small-title" }, "params"), jsonView(write(example.params), "example params")),
      example.result !== undefined && h("div", {}, h("p", { class: "small-title" }, "result"), jsonView(write(example.result), "example result"))));
}

/** @param {App} app @param {Method} method */
function linkTable(app, method) {
  return h("div", { class: "rows" }, ...method.links.map((link) => {
    const known = app.description.methods.some(({ name }) => name === link.method);
    return h("div", { class: "row" },
      h("div", { class: "row-name" }, link.name),
      h("div", { class: "row-body" },
        h("p", { class: "row-type" }, known ? h("a", { href: hashOf(link.method) }, h("code", {}, link.method)) : h("code", {}, link.method)),
        (link.summary || link.description) !== "" && markdown(link.summary || link.description),
        Object.keys(link.params).length > 0 && h("p", { class: "choices" }, "with ", h("code", {}, write(link.params)))));
  }));
}

/**
 * What the API is about, and all its methods, for when none is chosen.
 * @param {Description} description
 */
export function overview(description) {
  return h("article", { class: "overview" },
    h("p", { class: "kind" }, [description.version && `version ${description.version}`, description.methods.length === 1 ? "1 method" : `${description.methods.length} methods`].filter(Boolean).join(" · ")),
    h("h1", {}, description.title || "API"),
    description.description !== "" && markdown(description.description),
    h("dl", { class: "facts" }, ...description.facts.map(({ label, text, address }) =>
      h("div", {}, h("dt", {}, label), h("dd", {}, address === "" ? text : outside(address, text))))),
    description.methods.length === 0 && h("div", { class: "empty" },
      h("p", {}, h("b", {}, "No methods yet")),
      h("p", {}, "The API's description lists none. Register a method with the router, and load this page again.")),
    ...description.groups.map((group) => h("section", {},
      h("h2", {}, group.name),
      group.text !== "" && h("p", { class: "hint" }, group.text),
      h("div", { class: "rows" }, ...group.methods.map((method) => h("a", { class: "row index", href: hashOf(method.name) },
        h("code", { class: method.deprecated ? "gone" : null }, ...breakable(method.name)),
        h("span", { class: "index-summary" }, method.summary, method.deprecated && " (deprecated)")))))));
}

/**
 * For a link to a method that is not there.
 * @param {string} name
 * @param {Method[]} near
 */
export function unknownMethod(name, near) {
  return h("article", {},
    h("h1", {}, "No such method"),
    h("p", {}, "The API's description has no method called ", h("code", {}, name), "."),
    near.length > 0 && h("p", {}, "Close to it: ", ...near.flatMap((method, index) =>
      [index > 0 && ", ", h("a", { href: hashOf(method.name) }, h("code", {}, method.name))])),
    h("p", {}, h("a", { href: "#/" }, "See all methods")));
}
