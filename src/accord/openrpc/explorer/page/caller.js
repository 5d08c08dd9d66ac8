// Sends calls, one exchange at a time, and writes them down in the history.
// @ts-check

import { verdict } from "./answerview.js";
import { bodyOf, numbered } from "./messages.js";
import { exchange } from "./wire.js";

/** @typedef {import("./messages.js").Call} Call */
/** @typedef {import("./messages.js").Request} Request */
/** @typedef {import("./wire.js").Exchange} Exchange */
/** @typedef {import("./settings.js").Settings} Settings */
/** @typedef {import("./history.js").History} History */

/**
 * What calls of somebody need who signed in by a cookie; sent to where the page comes from only.
 * @param {string} url
 * @returns {import("./wire.js").Header[]}
 */
function sessionHeaders(url) {
  const { csrf = "" } = document.documentElement.dataset;
  return csrf !== "" && new URL(url).origin === window.location.origin ? [["X-CSRF-Token", csrf]] : [];
}

export class Caller {
  /**
   * @param {string} url
   * @param {Settings} settings
   * @param {History} history
   */
  constructor(url, settings, history) {
    this.url = url;
    this.settings = settings;
    this.history = history;
    /** @type {AbortController | null} */
    this.running = null;
    /** What to tell when something begins or ends. */
    this.changed = () => {};
  }

  /**
   * @param {Call[]} calls
   * @param {boolean} batch
   * @returns {Promise<{exchange: Exchange, requests: Request[]}>}
   */
  async perform(calls, batch) {
    const requests = calls.map(numbered);
    const controller = new AbortController();
    this.running = controller;
    this.changed();
    const done = await exchange(this.url, [...this.settings.all(), ...sessionHeaders(this.url)], bodyOf(requests, batch), controller.signal);
    this.running = null;
    this._learn(done);
    this.history.add({ at: Date.now(), calls, batch, ...verdict(done, requests), milliseconds: Math.round(done.milliseconds) });
    this.changed();
    return { exchange: done, requests };
  }

  cancel() {
    this.running?.abort();
  }

  /**
   * A server may say that the endpoint is spelled otherwise, as with a slash at its end.
   * @param {Exchange} done
   */
  _learn(done) {
    const isOurs = new URL(done.url).origin === new URL(this.url).origin;
    if (isOurs && done.reply !== null && done.reply.status < 400) this.url = done.url;
  }
}
