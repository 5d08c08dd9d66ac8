// A form made from schemas. Each field reads and writes one place of a value, and draws itself
// again when its structure changes; typing redraws nothing, so that focus stays where it is.
// @ts-check

import { bestOption, escapePart } from "./check.js";
import { button, fill, h } from "./dom.js";
import { clone, emptyObject, isObject, number, read, write } from "./json.js";
import { choices, itemSchema, label, limits, properties, shapeOf, startingValue } from "./schemas.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./references.js").References} References */
/** @typedef {import("./schemas.js").Shape} Shape */
/** @typedef {import("./draft.js").Slot} Slot */
/** @typedef {import("./check.js").Problem} Problem */
/**
 * @typedef {object} FieldOf
 * @property {string} name
 * @property {string} path
 * @property {Json} schema
 * @property {boolean} required
 * @property {Slot} slot
 * @property {boolean} [deprecated]
 * @property {() => void} [remove]
 */
/** @typedef {{references: References, changed: () => void}} Form */

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
let lastId = 0;

/**
 * @param {Form} form
 * @param {FieldOf} of
 * @returns {HTMLElement}
 */
export function field(form, of) {
  const root = h("div", { class: "field", "data-path": of.path });
  draw();
  return root;

  function draw() {
    const id = `field-${++lastId}`;
    const shape = shapeOf(form.references, of.schema);
    const value = of.slot.get();
    const control = controlFor(form, of, shape, id, redraw);
    const isGroup = control.dataset.group === "true";
    root.classList.toggle("group", isGroup);
    root.classList.toggle("absent", value === undefined);
    const title = h(isGroup ? "span" : "label", isGroup ? { id: `${id}-name`, class: "label" } : { for: id, id: `${id}-name`, class: "label" }, of.name);
    if (isGroup) {
      control.setAttribute("role", "group");
      control.setAttribute("aria-labelledby", `${id}-name`);
    }
    fill(root,
      h("div", { class: "field-head" },
        title,
        h("span", { class: "type" }, label(form.references, of.schema)),
        of.required && h("span", { class: "required" }, "required"),
        of.deprecated && h("span", { class: "gone-word" }, "deprecated"),
        h("span", { class: "field-end" },
          shape.nullable && shape.kind !== "union" && nullSwitch(value),
          value !== undefined && !of.required && !of.remove && button("Leave out", () => set(undefined), { class: "link", "aria-label": `Leave out ${of.name}` }),
          of.remove && button("Remove", of.remove, { class: "link", "aria-label": `Remove ${of.name}` }))),
      control,
      h("p", { class: "problem", id: `${id}-problem` }));
    root.querySelector(`#${id}`)?.setAttribute("aria-describedby", `${id}-problem`);
  }

  /** @param {Json | undefined} value */
  function nullSwitch(value) {
    return button("null", () => set(value === null ? startingValue(form.references, of.schema) ?? undefined : null), {
      class: "toggle", "aria-pressed": String(value === null), "aria-label": `Send null as ${of.name}`,
    });
  }

  /** @param {Json | undefined} value */
  function set(value) {
    of.slot.set(value);
    redraw();
  }

  function redraw() {
    draw();
    form.changed();
  }
}

/**
 * @param {Form} form
 * @param {FieldOf} of
 * @param {Shape} shape
 * @param {string} id
 * @param {() => void} redraw
 * @returns {HTMLElement}
 */
function controlFor(form, of, shape, id, redraw) {
  const value = of.slot.get();
  if (value === null && shape.nullable && shape.kind !== "union") {
    return h("p", { class: "null-value mono", id, tabindex: -1 }, "null");
  }
  switch (shape.kind) {
    case "string":
      return value === undefined || typeof value === "string" ? textControl(form, of, shape, id) : jsonControl(form, of, id);
    case "number":
      return numberControl(form, of, shape, id);
    case "boolean":
      return choiceControl(form, of, [true, false], id, redraw);
    case "choice":
      return choiceControl(form, of, choices(shape.schema), id, redraw);
    case "null":
      return choiceControl(form, of, [null], id, redraw);
    case "array":
      if (value === undefined) return addControl(of, shape, id, redraw, []);
      return Array.isArray(value) ? arrayControl(form, of, shape, value, redraw) : jsonControl(form, of, id);
    case "object":
      if (!hasMembers(shape.schema)) return jsonControl(form, of, id);
      if (value === undefined) return addControl(of, shape, id, redraw, startingValue(form.references, shape.schema) ?? emptyObject());
      return isObject(value) ? objectControl(form, of, shape, value, redraw) : jsonControl(form, of, id);
    case "union":
      return unionControl(form, of, shape, id);
    default:
      return jsonControl(form, of, id);
  }
}

/** @param {JsonObject} schema */
function hasMembers(schema) {
  return properties(schema).length > 0 || isObject(schema.additionalProperties);
}

/** @param {Form} form @param {FieldOf} of @param {Json | undefined} value */
function put(form, of, value) {
  of.slot.set(value);
  form.changed();
}

/** @param {JsonObject} schema */
function placeholder(schema) {
  if ("default" in schema) return `default ${write(schema.default)}`;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return `such as ${write(schema.examples[0])}`;
  return limits(schema).join(", ");
}

/** @param {Form} form @param {FieldOf} of @param {Shape} shape @param {string} id */
function textControl(form, of, shape, id) {
  const area = h("textarea", {
    id, rows: 1, spellcheck: "false", placeholder: placeholder(shape.schema),
    on: { input: () => { put(form, of, area.value); mark(area); } },
  });
  area.value = String(of.slot.get() ?? "");
  return area;
}

/** @param {Form} form @param {FieldOf} of @param {Shape} shape @param {string} id */
function numberControl(form, of, shape, id) {
  const value = of.slot.get();
  const input = h("input", {
    id, inputmode: "decimal", autocomplete: "off", spellcheck: "false", placeholder: placeholder(shape.schema),
    value: value === undefined ? "" : typeof value === "string" ? value : write(value),
    on: {
      input: () => {
        const text = input.value.trim();
        // What is no number is sent as the text it is, and said to be wrong.
        put(form, of, text === "" ? undefined : NUMBER.test(text) ? number(text) : text);
        mark(input);
      },
    },
  });
  return input;
}

/**
 * Keeps the look of a field in step while its control stays as it is.
 * @param {HTMLElement} control
 */
function mark(control) {
  control.closest(".field")?.classList.remove("absent");
}

/** @param {Form} form @param {FieldOf} of @param {Json[]} values @param {string} id @param {() => void} redraw */
function choiceControl(form, of, values, id, redraw) {
  const value = of.slot.get();
  const texts = values.map((each) => write(each));
  const select = h("select", {
    id,
    on: {
      change: () => {
        const chosen = Number(select.value);
        of.slot.set(chosen < 0 ? undefined : chosen < values.length ? clone(values[chosen]) : value);
        redraw();
        document.getElementById(`field-${lastId}`)?.focus();
      },
    },
  }, h("option", { value: -1 }, of.required ? "Choose" : "Not sent"));
  for (const [index, each] of values.entries()) {
    select.append(h("option", { value: index }, typeof each === "string" ? each : texts[index]));
  }
  const at = value === undefined ? -1 : texts.indexOf(write(value));
  if (value !== undefined && at < 0) select.append(h("option", { value: values.length }, `${write(value)} (not listed)`));
  select.value = String(value !== undefined && at < 0 ? values.length : at);
  return select;
}

/** @param {Form} form @param {FieldOf} of @param {string} id */
function jsonControl(form, of, id) {
  const value = of.slot.get();
  const area = h("textarea", {
    id, rows: 1, class: "mono", spellcheck: "false", placeholder: "JSON, or text",
    on: {
      input: () => {
        put(form, of, area.value.trim() === "" ? undefined : valueOf(area.value));
        mark(area);
      },
    },
  });
  area.value = value === undefined ? "" : write(value, "  ");
  return area;
}

/** @param {string} text @returns {Json} */
function valueOf(text) {
  try {
    return read(text);
  } catch {
    return text;
  }
}

/** @param {FieldOf} of @param {Shape} shape @param {string} id @param {() => void} redraw @param {Json} start */
function addControl(of, shape, id, redraw, start) {
  const add = button(`Add ${shape.name || of.name}`, () => {
    of.slot.set(clone("default" in shape.schema ? shape.schema.default : start));
    redraw();
  }, { id });
  return h("div", { "data-group": "true" }, add);
}

/** @param {Form} form @param {FieldOf} of @param {Shape} shape @param {Json[]} list @param {() => void} redraw */
function arrayControl(form, of, shape, list, redraw) {
  const items = list.map((_, index) => field(form, {
    name: String(index),
    path: `${of.path}/${index}`,
    schema: itemSchema(shape.schema, index),
    required: true,
    slot: {
      get: () => list[index],
      set: (value) => { list[index] = value ?? null; of.slot.set(list); },
    },
    remove: () => { list.splice(index, 1); of.slot.set(list); redraw(); },
  }));
  const group = h("div", { class: "group-body", "data-group": "true" }, ...items, button("Add item", () => {
    const schema = itemSchema(shape.schema, list.length);
    list.push(startingValue(form.references, schema) ?? blank(form.references, schema));
    of.slot.set(list);
    redraw();
    const fields = document.querySelectorAll(`[data-path="${CSS.escape(`${of.path}/${list.length - 1}`)}"] :is(input, textarea, select)`);
    /** @type {HTMLElement | undefined} */ (fields[0])?.focus();
  }));
  return group;
}

/**
 * What stands in a new item until it is filled in.
 * @param {References} references
 * @param {Json} schema
 * @returns {Json}
 */
function blank(references, schema) {
  const shape = shapeOf(references, schema);
  if (shape.kind === "string") return "";
  if (shape.kind === "number") return 0;
  if (shape.kind === "boolean") return false;
  return shape.kind === "choice" ? clone(choices(shape.schema)[0]) : null;
}

/** @param {Form} form @param {FieldOf} of @param {Shape} shape @param {JsonObject} object @param {() => void} redraw */
function objectControl(form, of, shape, object, redraw) {
  const known = properties(shape.schema);
  const others = Object.keys(object).filter((name) => !known.some((property) => property.name === name));
  const group = h("div", { class: "group-body", "data-group": "true" });
  for (const property of known) {
    group.append(field(form, { ...property, path: `${of.path}/${escapePart(property.name)}`, slot: member(of, object, property.name) }));
  }
  for (const name of others) {
    group.append(field(form, {
      name,
      path: `${of.path}/${escapePart(name)}`,
      schema: isObject(shape.schema.additionalProperties) ? shape.schema.additionalProperties : true,
      required: true,
      slot: member(of, object, name),
      remove: () => { delete object[name]; of.slot.set(object); redraw(); },
    }));
  }
  if (isObject(shape.schema.additionalProperties)) group.append(newMember(form, of, shape.schema.additionalProperties, object, redraw));
  return group;
}

/** @param {FieldOf} of @param {JsonObject} object @param {string} name @returns {Slot} */
function member(of, object, name) {
  return {
    get: () => (Object.hasOwn(object, name) ? object[name] : undefined),
    set: (value) => {
      if (value === undefined) delete object[name];
      else object[name] = value;
      of.slot.set(object);
    },
  };
}

/** @param {Form} form @param {FieldOf} of @param {Json} schema @param {JsonObject} object @param {() => void} redraw */
function newMember(form, of, schema, object, redraw) {
  const add = () => {
    if (Object.hasOwn(object, name.value)) return;
    object[name.value] = startingValue(form.references, schema) ?? blank(form.references, schema);
    of.slot.set(object);
    redraw();
  };
  const name = h("input", {
    "aria-label": `Name of a new member of ${of.name}`, placeholder: "Name", spellcheck: "false", autocomplete: "off",
    on: { keydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) { event.preventDefault(); add(); } } },
  });
  return h("div", { class: "line" }, name, button("Add member", add));
}

/** @param {Form} form @param {FieldOf} of @param {Shape} shape @param {string} id */
function unionControl(form, of, shape, id) {
  const value = of.slot.get();
  const options = shape.nullable ? [...shape.options, Object.assign(emptyObject(), { type: "null" })] : shape.options;
  let chosen = value === undefined ? -1 : bestOption(form.references, options, value);
  const body = h("div", { class: "union-body" });
  const select = h("select", {
    id,
    on: {
      change: () => {
        chosen = Number(select.value);
        of.slot.set(chosen < 0 ? undefined : startingValue(form.references, options[chosen]));
        draw();
        form.changed();
      },
    },
  }, h("option", { value: -1 }, of.required ? "Choose" : "Not sent"));
  for (const [index, option] of options.entries()) select.append(h("option", { value: index }, label(form.references, option)));
  draw();
  return h("div", {}, select, body);

  function draw() {
    select.value = String(chosen);
    if (chosen < 0 || shapeOf(form.references, options[chosen]).kind === "null") {
      if (chosen >= 0) of.slot.set(null);
      fill(body);
      return;
    }
    fill(body, field(form, {
      name: label(form.references, options[chosen]), path: of.path, schema: options[chosen], required: true, slot: of.slot,
    }));
  }
}

/**
 * Puts each problem beside the field it is about, or the nearest one around that.
 * Gives those that are about no field.
 * @param {HTMLElement} root
 * @param {Problem[]} problems
 * @returns {Problem[]}
 */
export function showProblems(root, problems) {
  /** @type {Map<Element, string[]>} */
  const found = new Map();
  const others = problems.filter(({ path, message }) => {
    const element = nearest(root, path);
    if (element !== null) found.set(element, [...(found.get(element) ?? []), message]);
    return element === null;
  });
  for (const element of root.querySelectorAll(".field")) {
    const messages = found.get(element) ?? [];
    const problem = element.querySelector(":scope > .problem");
    if (problem !== null) problem.textContent = messages.join(" ");
    element.querySelector(":scope > :is(input, textarea, select)")?.setAttribute("aria-invalid", String(messages.length > 0));
  }
  return others;
}

/** @param {HTMLElement} root @param {string} path @returns {Element | null} */
function nearest(root, path) {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const found = root.querySelectorAll(`[data-path="${CSS.escape(at)}"]`);
    if (found.length > 0) return found[found.length - 1];
  }
  return null;
}
