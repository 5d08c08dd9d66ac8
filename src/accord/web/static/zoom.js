// Drawings that are larger than their box: zoom by buttons, keys and the wheel, drag to move. What is seen is the
// viewBox of the drawing; without this script the box scrolls.

import { bind } from "./keys.js";

const LEAST = 0.2;
const MOST = 4;
const READABLE = 0.8;
const STEP = 1.25;

const printing = matchMedia("print");

class View {
  /** @param {HTMLElement} box @param {SVGSVGElement} drawing */
  constructor(box, drawing) {
    this.box = box;
    this.drawing = drawing;
    const [, , width, height] = (drawing.getAttribute("viewBox") ?? "0 0 1 1").split(" ").map(Number);
    this.whole = { width, height };
    this.scale = 1;
    this.middle = { x: width / 2, y: height / 2 };
    drawing.setAttribute("width", "100%");
    drawing.setAttribute("height", "100%");
    drawing.setAttribute("preserveAspectRatio", "xMidYMid meet");
    box.classList.add("zooming");
    this.fit();
    if (this.scale < READABLE) this.begin();
  }

  /** @returns {{ width: number, height: number }} */
  get room() {
    return { width: this.box.clientWidth || 1, height: this.box.clientHeight || 1 };
  }

  /** All of it, never larger than it was drawn. */
  fit() {
    this.scale = Math.max(LEAST, Math.min(1, this.room.width / this.whole.width, this.room.height / this.whole.height));
    this.middle = { x: this.whole.width / 2, y: this.whole.height / 2 };
    this.show();
  }

  /** What is too large to be read as a whole begins with what is looked at. */
  begin() {
    const [marked, all] = [this.drawing.querySelector(".node.marked"), this.drawing.getBoundingClientRect()];
    if (marked) {
      const place = marked.getBoundingClientRect();
      const shown = this.room.width / this.scale / all.width;
      const corner = { x: this.middle.x - this.room.width / this.scale / 2, y: this.middle.y - this.room.height / this.scale / 2 };
      this.middle = {
        x: corner.x + (place.left - all.left + place.width / 2) * shown,
        y: corner.y + (place.top - all.top + place.height / 2) * shown,
      };
    }
    this.scale = READABLE;
    this.keep();
    this.show();
  }

  /** Nothing is shown beyond the edges of the drawing where it is larger than its box. */
  keep() {
    for (const [at, size] of /** @type {const} */ ([["x", "width"], ["y", "height"]])) {
      const half = this.room[size] / this.scale / 2;
      if (2 * half >= this.whole[size]) this.middle[at] = this.whole[size] / 2;
      else this.middle[at] = Math.min(this.whole[size] - half, Math.max(half, this.middle[at]));
    }
  }

  /** @param {number} factor @param {{ x: number, y: number }} [at] the point of the drawing that stays where it is */
  zoom(factor, at = this.middle) {
    const scale = Math.min(MOST, Math.max(LEAST, this.scale * factor));
    const kept = this.scale / scale;
    this.middle = { x: at.x + (this.middle.x - at.x) * kept, y: at.y + (this.middle.y - at.y) * kept };
    this.scale = scale;
    this.show();
  }

  /** @param {number} x @param {number} y in pixels of the window */
  move(x, y) {
    const { width, height } = this.whole;
    this.middle = {
      x: Math.min(width, Math.max(0, this.middle.x - x / this.scale)),
      y: Math.min(height, Math.max(0, this.middle.y - y / this.scale)),
    };
    this.show();
  }

  /** @param {MouseEvent} event */
  point(event) {
    const { left, top } = this.box.getBoundingClientRect();
    const { width, height } = this.room;
    return {
      x: this.middle.x + (event.clientX - left - width / 2) / this.scale,
      y: this.middle.y + (event.clientY - top - height / 2) / this.scale,
    };
  }

  /** What is chosen; on paper all of it, as nobody can move it there. */
  show() {
    if (printing.matches) {
      this.drawing.setAttribute("viewBox", `0 0 ${this.whole.width} ${this.whole.height}`);
      return;
    }
    const { width, height } = this.room;
    const seen = { width: width / this.scale, height: height / this.scale };
    const corner = { x: this.middle.x - seen.width / 2, y: this.middle.y - seen.height / 2 };
    const numbers = [corner.x, corner.y, seen.width, seen.height].map((each) => each.toFixed(1));
    this.drawing.setAttribute("viewBox", numbers.join(" "));
  }
}

/** @param {HTMLElement} box @param {View} view */
function drag(box, view) {
  let from = /** @type {PointerEvent | null} */ (null);
  let moved = false;
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button"))) return;
    from = event;
    moved = false;
  });
  box.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.clientX, event.clientY - from.clientY];
    if (!moved && Math.hypot(x, y) < 4) return;
    if (!moved) box.setPointerCapture(event.pointerId);
    moved = true;
    view.move(x, y);
    from = event;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    box.addEventListener(end, () => {
      from = null;
    });
  }
  // Who dragged did not mean the box that they happened to hold.
  box.addEventListener("click", (event) => {
    if (moved) event.preventDefault();
    moved = false;
  }, true);
  box.addEventListener("dragstart", (event) => event.preventDefault());
}

const ARROWS = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

/** @param {HTMLElement} box */
function begin(box) {
  const drawing = box.querySelector("svg.graph");
  if (!(drawing instanceof SVGSVGElement)) return;
  const view = new View(box, drawing);
  /** @type {Record<string, () => void>} */
  const acts = { in: () => view.zoom(STEP), out: () => view.zoom(1 / STEP), fit: () => view.fit() };
  const buttons = box.querySelector("[data-zoom-buttons]");
  buttons?.removeAttribute("hidden");
  buttons?.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-zoom-by]") : null;
    acts[button?.getAttribute("data-zoom-by") ?? ""]?.();
  });
  for (const [key, act] of [["+", "in"], ["=", "in"], ["-", "out"], ["0", "fit"]]) bind(key, acts[act]);
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1, view.point(event));
  }, { passive: false });
  box.addEventListener("keydown", (event) => {
    const by = ARROWS[/** @type {keyof typeof ARROWS} */ (event.key)];
    if (!by) return;
    event.preventDefault();
    view.move(by[0], by[1]);
  });
  drag(box, view);
  new ResizeObserver(() => view.show()).observe(box);
  printing.addEventListener("change", () => view.show());
}

for (const box of document.querySelectorAll("[data-zoom]")) {
  if (box instanceof HTMLElement) begin(box);
}

// A choice among few is followed at once; what is typed or ticked waits for the button.
document.querySelector("form[data-at-once]")?.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement) event.target.form?.requestSubmit();
});
