// Formulas in prefix notation, and the grammar of their answers.
//
// A formula is {tokens, names}: a symbol is its slot, a number from 0 by first appearance, and names
// are what the symbols are called.

// A map, as every object has words such as "constructor".
export const ARITY = new Map([["!", 1], ...["&", "|", "->", "<->", "xor"].map((operator) => [operator, 2])]);
const CONSTANTS = ["0", "1"];

/** Reads words with spaces between them; throws an Error that says what is wrong. */
export function readFormula(text) {
  const words = text.split(/\s+/).filter(Boolean);
  if (!words.length) throw new Error("The formula is empty.");
  const slots = new Map();
  let missing = 1;
  const tokens = words.map((word, place) => {
    if (!missing)
      throw new Error(`“${word}”, word ${place + 1}, comes after the end: operators come first, as in & a b.`);
    missing += (ARITY.get(word) ?? 0) - 1;
    if (ARITY.has(word) || CONSTANTS.includes(word)) return word;
    if (!slots.has(word)) slots.set(word, slots.size);
    return slots.get(word);
  });
  if (missing) throw new Error(`Operands are missing at the end: ${missing}.`);
  return { tokens, names: [...slots.keys()] };
}

/** A formula as a tree of {token, operands}. */
export function parse(tokens) {
  const stack = [];
  for (const token of [...tokens].reverse()) {
    const operands = Array.from({ length: ARITY.get(token) ?? 0 }, () => stack.pop());
    stack.push({ token, operands });
  }
  return stack.pop();
}

/** Which tokens an answer may go on with: partial assignments such as `a 1 c 0`, each symbol at most
 * once, as in sit_fairseq/domains/prop/assignment_grammar.py. */
export const assignments = {
  start: { used: [], waits: false },

  /** The state after another token, null if it cannot follow. */
  next({ used, waits }, token) {
    if (waits) return CONSTANTS.includes(token) ? { used, waits: false } : null;
    if (typeof token !== "number" || used.includes(token)) return null;
    return { used: [...used, token], waits: true };
  },

  /** The fewest tokens with which an answer can end. */
  shortest: ({ waits }) => Number(waits),
};
