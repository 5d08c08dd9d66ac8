// Sends one body to the endpoint, and reports all that went over the wire. Knows no JSON-RPC.
// @ts-check

/** @typedef {[name: string, value: string]} Header */
/**
 * @typedef {object} Reply
 * @property {number} status
 * @property {string} reason
 * @property {Header[]} headers
 * @property {string} body
 * @property {number} bytes
 * @property {boolean} whole
 */
/**
 * @typedef {object} Exchange
 * @property {string} url
 * @property {Header[]} headers
 * @property {string} body
 * @property {Reply | null} reply
 * @property {string} failure
 * @property {boolean} cancelled
 * @property {number} milliseconds
 */

export const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Never throws: what goes wrong is in `failure`.
 * @param {string} url
 * @param {Header[]} headers
 * @param {string} body
 * @param {AbortSignal} signal
 * @returns {Promise<Exchange>}
 */
export async function exchange(url, headers, body, signal) {
  const began = performance.now();
  /** @type {string[]} */
  const forbidden = [];
  const note = (/** @type {SecurityPolicyViolationEvent} */ event) => forbidden.push(event.effectiveDirective);
  document.addEventListener("securitypolicyviolation", note);
  /** @type {Exchange} */
  const done = { url, headers, body, reply: null, failure: "", cancelled: false, milliseconds: 0 };
  try {
    const response = await fetch(url, { method: "POST", headers, body, signal, cache: "no-store" });
    done.url = response.url || url;
    done.reply = { ...head(response), ...(await take(response)) };
  } catch (error) {
    done.cancelled = signal.aborted;
    await new Promise((resolve) => { setTimeout(resolve, 0); }); // a breach is reported a little later
    done.failure = signal.aborted ? "You cancelled it; the server may still have done what was asked."
      : forbidden.length > 0 ? `The page's content security policy does not allow it (${forbidden[0]}).`
      : !navigator.onLine ? "This computer is offline."
      : error instanceof TypeError && /header|ByteString/i.test(error.message) ? `The browser refuses the request: ${error.message}`
      : "Nothing answered: the server is down, out of reach, or broke off.";
  } finally {
    document.removeEventListener("securitypolicyviolation", note);
  }
  done.milliseconds = performance.now() - began;
  return done;
}

/** @param {Response} response */
function head(response) {
  return { status: response.status, reason: response.statusText, headers: /** @type {Header[]} */ ([...response.headers]) };
}

/** @param {Response} response */
async function take(response) {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let body = "";
  let bytes = 0;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    body += decoder.decode(value, { stream: true });
    if (bytes > MAX_BYTES) {
      await reader.cancel();
      return { body, bytes, whole: false };
    }
  }
  return { body: body + decoder.decode(), bytes, whole: true };
}
