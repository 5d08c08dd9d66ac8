// Starts the page: loads the description and hands it over, or says why there is none.
// @ts-check

import { App } from "./app.js";
import { DescriptionError, readDescription } from "./description.js";
import { button, byId, fill, h } from "./dom.js";
import { JsonError, read } from "./json.js";
import { listenToKeys, listenToSheet } from "./keys.js";
import { chooseTheme } from "./theme.js";

const { document: source = "", endpoint = "" } = document.documentElement.dataset;

/**
 * The address of the endpoint. `.` is the folder that this page is in, without its last slash.
 * @returns {string}
 */
function endpointUrl() {
  const url = new URL(endpoint, window.location.href);
  if (!endpoint.endsWith("/") && url.pathname.length > 1) url.pathname = url.pathname.replace(/\/$/, "");
  url.hash = "";
  return url.href;
}

async function start() {
  const notice = byId("boot");
  fill(notice, h("p", { class: "boot-wait", role: "status" }, "Loading the API's description"));
  try {
    const description = readDescription(await load());
    byId("title").textContent = description.title || document.title;
    byId("version").textContent = description.version;
    byId("frame").hidden = false;
    notice.hidden = true;
    const app = new App(description, endpointUrl());
    listenToKeys(app);
    byId("menu").addEventListener("click", () =>
      (byId("menu").getAttribute("aria-expanded") === "true" ? app.closeMenu() : app.openMenu()));
  } catch (error) {
    if (!(error instanceof LoadError || error instanceof DescriptionError || error instanceof JsonError)) throw error;
    fill(notice, ...failure(error));
  }
}

class LoadError extends Error {}

async function load() {
  let response;
  try {
    response = await fetch(source, { headers: { Accept: "application/json" } });
  } catch {
    throw new LoadError(navigator.onLine ? "Nothing answered: the server is down or out of reach." : "This computer is offline.");
  }
  if (!response.ok) {
    throw new LoadError(response.status === 401 || response.status === 403
      ? `The server does not hand it out (HTTP ${response.status}). Log in, and try again.`
      : `The server answered HTTP ${response.status}.`);
  }
  return read(await response.text());
}

/** @param {Error} error */
function failure(error) {
  const what = error instanceof LoadError ? "could not be loaded" : "cannot be read";
  return [
    h("h1", {}, `The API's description ${what}`),
    h("p", { role: "alert" }, error instanceof JsonError ? `It is no JSON. ${error.message}.` : error.message),
    h("p", {}, "It should be an OpenRPC document at ", h("a", { href: source }, source), "."),
    button("Try again", () => void start()),
  ];
}

chooseTheme(byId("theme"));
listenToSheet();
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("method").focus();
});
await start();
