// A run as it happens. Its events are a stream; with each of them the pieces of the page that changed are put in
// place, without moving what one reads: what has the focus keeps it, what is selected or being filled in stays.

import { bind } from "./keys.js";
import { say, setBusy } from "./requests.js";

const EVENTS = [
  "run_started", "run_finished", "step_started", "step_failed", "step_settled", "round_started",
  "task_succeeded", "task_failed", "task_asked", "task_continued", "signal_received", "approval_given",
  "timer_fired", "pause_requested", "resume_requested", "cancel_requested", "retry_requested",
];
const GATHER = 120; // milliseconds that events are gathered for
const TICK = 3000; // after which durations and attempts are asked for again
const FIRST = 1000; // after which a stream that broke is opened again; then twice as long each time
const LONGEST = 30000;

const root = document.querySelector("[data-live]");
const foot = document.getElementById("live");

/** @param {string} text */
function tell(text) {
  if (foot && foot.textContent !== text) foot.textContent = text;
}

/**
 * Whether somebody is in the middle of a piece: marks text in it, or fills something in.
 * @param {HTMLElement} piece
 */
function isInUse(piece) {
  const marked = window.getSelection();
  if (marked && !marked.isCollapsed && piece.contains(marked.anchorNode)) return true;
  if (piece.querySelector("details.pop[open]")) return true;
  return [...piece.querySelectorAll("input:not([type=hidden]), textarea")].some(
    (each) => each === document.activeElement ||
      (/** @type {HTMLInputElement} */ (each).value !== /** @type {HTMLInputElement} */ (each).defaultValue),
  );
}

/** @param {Element} element */
function nameOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  if (href) return `a[href="${CSS.escape(href)}"]`;
  return element.tagName.toLowerCase();
}

/**
 * Put a piece where the one of the same name is.
 * @param {HTMLElement} fresh
 */
function put(fresh) {
  const piece = document.getElementById(fresh.id);
  const isOther = piece?.dataset.step !== fresh.dataset.step; // another step was chosen
  if (!piece || (!isOther && (piece.innerHTML === fresh.innerHTML || isInUse(piece)))) return;
  const active = document.activeElement;
  const focused = active && piece.contains(active) ? nameOf(active) : "";
  const scrolled = [...piece.querySelectorAll("pre")].map((each) => [each.scrollTop, each.scrollLeft]);
  piece.replaceChildren(...fresh.childNodes);
  if (isOther) piece.dataset.step = fresh.dataset.step;
  [...piece.querySelectorAll("pre")].forEach((each, at) => {
    if (scrolled[at]) [each.scrollTop, each.scrollLeft] = scrolled[at];
  });
  if (focused) {
    const again = piece.querySelector(focused);
    if (again instanceof HTMLElement || again instanceof SVGElement) again.focus({ preventScroll: true });
  }
}

/**
 * A step that was chosen and is not shown yet: until then the address is that of the step that is shown.
 * @typedef {{ step: string, href: string, push: boolean }} Choice
 */

/** @param {string} href */
function stepAt(href) {
  return new URL(href, location.href).searchParams.get("step") ?? "";
}

/** @param {HTMLElement} page */
function follow(page) {
  const panel = document.getElementById("run-step");
  let after = Number(page.dataset.after ?? 0);
  let chosen = page.dataset.chosen ?? "";
  let isOver = !page.dataset.events;
  let patience = page.hasAttribute("data-patient") ? 20 : 0; // it was asked to go on, and is about to
  let isWanted = false;
  let delay = FIRST;
  let gathering = 0;
  /** @type {AbortController | null} */
  let asking = null;
  /** @type {Choice | null} */
  let choice = null;

  async function renew() {
    if (asking) {
      isWanted = true;
      return;
    }
    asking = new AbortController();
    isWanted = false;
    const asked = choice;
    try {
      const url = `${page.dataset.live}?step=${encodeURIComponent(asked?.step ?? chosen)}`;
      const answer = await fetch(url, { headers: { "HX-Request": "true" }, signal: asking.signal });
      if (answer.redirected || answer.headers.has("hx-redirect")) location.reload(); // the session ended
      if (!answer.ok) {
        if (asked) location.assign(asked.href); // which says what is wrong
        return;
      }
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (asked) shown(asked);
      for (const fresh of made.querySelectorAll("[data-piece]")) put(/** @type {HTMLElement} */ (fresh));
      if (asked && window.innerWidth <= 900) panel?.scrollIntoView({ block: "start" });
      if (made.querySelector("[data-final]") && !patience) isOver = true;
    } catch {
      // Without a choice the stream breaks as well, and says so; an aborted choice has a newer one.
      if (asked && asked === choice) failed(asked);
    } finally {
      asking = null;
      if (isWanted || choice) renew();
    }
  }

  function rest() {
    choice = null;
    setBusy(panel, false);
    if (panel) panel.inert = false;
  }

  /** Change the address in the moment in which its step is shown. @param {Choice} asked */
  function shown(asked) {
    rest();
    chosen = asked.step;
    page.dataset.chosen = asked.step;
    if (asked.push) history.pushState(null, "", asked.href);
  }

  /** @param {Choice} asked */
  function failed(asked) {
    rest();
    if (asked.push) say("The server does not answer.", "bad");
    else location.reload();
  }

  function listen() {
    const stream = new EventSource(`${page.dataset.events}?after=${after}`);
    stream.onopen = () => {
      delay = FIRST;
      tell("");
    };
    stream.onerror = async () => {
      stream.close();
      if (patience) {
        patience -= 1;
        setTimeout(listen, 500);
        return;
      }
      await renew();
      if (isOver) return tell("");
      tell(`Not connected. Trying again in ${delay / 1000} s.`);
      setTimeout(listen, delay);
      delay = Math.min(delay * 2, LONGEST);
    };
    for (const type of EVENTS) {
      stream.addEventListener(type, (event) => {
        after = Math.max(after, Number(/** @type {MessageEvent} */ (event).lastEventId));
        patience = 0;
        clearTimeout(gathering);
        gathering = setTimeout(renew, GATHER);
        if (type === "run_finished") stream.close();
      });
    }
  }

  /** @param {string} href @param {boolean} push */
  function choose(href, push) {
    choice = { step: stepAt(href), href, push };
    // The browser has changed the address by itself: what is still shown belongs to another one.
    if (!push && panel) panel.inert = true;
    setBusy(panel, true);
    if (asking) asking.abort(); // and then asks for the choice
    else renew();
  }

  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-step], #run-graph a") : null;
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const isTyped = [...(panel?.querySelectorAll("textarea") ?? [])].some((each) => each.value !== each.defaultValue);
    if (isTyped && !window.confirm("Leave without sending what you typed?")) return;
    choose(link.getAttribute("href") ?? "", true);
  });
  window.addEventListener("popstate", () => choose(location.href, false));

  /** @param {number} step */
  function move(step) {
    const links = [...document.querySelectorAll("#run-timeline a[data-step]")];
    const here = links.findIndex((each) => (choice ? stepAt(each.getAttribute("href") ?? "") === choice.step : each.hasAttribute("aria-current")));
    const next = links[Math.min(Math.max(here + step, 0), links.length - 1)];
    if (!(next instanceof HTMLElement)) return;
    next.focus();
    next.click();
  }
  bind("j", () => move(1));
  bind("k", () => move(-1));

  if (isOver) return;
  listen();
  setInterval(() => {
    if (!isOver && document.visibilityState === "visible") renew();
  }, TICK);
}

// What a button opens begins with the field to fill in, and closes with Escape or by a click elsewhere.
document.addEventListener("toggle", (event) => {
  const pop = event.target;
  if (pop instanceof HTMLDetailsElement && pop.open && pop.matches(".pop")) {
    const field = pop.querySelector("textarea, input:not([type=hidden])");
    if (field instanceof HTMLElement) field.focus();
  }
}, true);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const pop of document.querySelectorAll("details.pop[open]")) {
    pop.removeAttribute("open");
    pop.querySelector("summary")?.focus();
  }
});
document.addEventListener("click", (event) => {
  for (const pop of document.querySelectorAll("details.pop[open]")) {
    if (event.target instanceof Node && !pop.contains(event.target)) pop.removeAttribute("open");
  }
});

document.querySelector("#run-graph .marked")?.scrollIntoView({ block: "nearest", inline: "center" });
if (root instanceof HTMLElement) follow(root);
