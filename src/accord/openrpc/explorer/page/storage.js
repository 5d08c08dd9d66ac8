// The browser's storage, which may be forbidden, full, or hold what somebody else wrote.
// @ts-check

/** @typedef {"sessionStorage" | "localStorage"} Where */

/**
 * @param {Where} where
 * @param {string} key
 * @returns {string | null}
 */
export function recall(where, key) {
  try {
    return window[where].getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {Where} where
 * @param {string} key
 * @param {string} value
 */
export function keep(where, key, value) {
  try {
    window[where].setItem(key, value);
  } catch {
    // What cannot be kept is forgotten.
  }
}
