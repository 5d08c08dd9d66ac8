// Links to a place in the page: #/method/users.get and #/method/users.get?params={"id":7}.
// @ts-check

/** @typedef {{method: string | null, params: string | null, notification: boolean}} Place */

/**
 * Null for a fragment that is none of ours.
 * @param {string} hash
 * @returns {Place | null}
 */
export function readPlace(hash) {
  if (hash === "" || hash === "#" || hash === "#/") return { method: null, params: null, notification: false };
  const found = /^#\/method\/([^?]*)(?:\?(.*))?$/s.exec(hash);
  if (found === null) return null;
  const query = new URLSearchParams(found[2] ?? "");
  return { method: decode(found[1]), params: query.get("params"), notification: query.has("notification") };
}

/**
 * @param {string} method
 * @param {string} [params]
 * @param {boolean} [notification]
 * @returns {string}
 */
export function hashOf(method, params, notification = false) {
  const query = [params === undefined ? "" : `params=${encodeURIComponent(params)}`, notification ? "notification" : ""];
  const said = query.filter(Boolean).join("&");
  return `#/method/${encodeURIComponent(method)}${said && `?${said}`}`;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
