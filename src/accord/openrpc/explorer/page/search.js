// Finds methods by what somebody half remembers of them.
// @ts-check

/** @typedef {{name: string, summary: string, tags: string[]}} Searchable */

/**
 * Those that match every word, best first; all of them, as they are, without words.
 * @template {Searchable} Method
 * @param {Method[]} methods
 * @param {string} query
 * @returns {Method[]}
 */
export function search(methods, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return methods;
  return methods
    .map((method, place) => ({ method, place, score: scoreAll(method, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ method }) => method);
}

/**
 * The places in `text` that a word matches: as a piece, or else letter by letter.
 * @param {string} text
 * @param {string} word
 * @returns {number[]}
 */
export function places(text, word) {
  const low = text.toLowerCase();
  const start = low.indexOf(word);
  if (start >= 0) return Array.from(word, (_, index) => start + index);
  const found = [];
  let from = 0;
  for (const letter of word) {
    const at = low.indexOf(letter, from);
    if (at < 0) return [];
    found.push(at);
    from = at + 1;
  }
  return found;
}

/** @param {Searchable} method @param {string[]} words */
function scoreAll(method, words) {
  let total = 0;
  for (const word of words) {
    const score = Math.max(
      4 * scoreName(method.name, word),
      ...method.tags.map((tag) => 2 * scoreText(tag, word)),
      scoreText(method.summary, word),
    );
    if (score === 0) return 0;
    total += score;
  }
  return total;
}

/** @param {string} name @param {string} word */
function scoreName(name, word) {
  const exact = scoreText(name, word);
  if (exact > 0) return exact;
  const found = places(name, word);
  if (found.length === 0) return 0;
  const spread = found[found.length - 1] - found[0] + 1;
  return spread <= word.length * 4 ? word.length / spread / 4 : 0;
}

/** @param {string} text @param {string} word */
function scoreText(text, word) {
  const at = text.toLowerCase().indexOf(word);
  if (at < 0) return 0;
  const begins = at === 0 || /[\s._/-]/.test(text[at - 1]);
  return (begins ? 2 : 1) + word.length / (text.length + 1);
}
