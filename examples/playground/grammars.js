// Grammars of answers, as in sit_fairseq/search/grammar.py: which tokens an answer may go on with.
// A symbol is a number, any other token a text.

import { ARITY, CONSTANTS } from "./reader.js";

/** Partial assignments such as `a 1 c 0`, each symbol at most once. */
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

const IN_STEPS = ["!", "&", "|", "<->", "xor", "->", ...CONSTANTS];

/** Traces such as `a ; & b c ; { 1 }`. A state is whether the cycle has begun, how many operands the
 * step waits for, whether it has no token so far, and whether the cycle has ended. */
export const traces = {
  start: { cycle: false, operands: 1, fresh: true, ended: false },

  /** The state after another token, null if it cannot follow. */
  next(state, token) {
    const { cycle, operands, fresh, ended } = state;
    if (typeof token === "number" || IN_STEPS.includes(token)) {
      if (ended || !operands) return null;
      return { ...state, operands: operands - 1 + (ARITY.get(token) ?? 0), fresh: false };
    }
    if (token === "{") return fresh && !cycle ? { ...state, cycle: true } : null;
    if (operands || ended) return null;
    if (token === ";") return { ...state, operands: 1, fresh: true };
    return token === "}" && cycle ? { ...state, ended: true } : null;
  },

  /** The fewest tokens with which an answer can end. */
  shortest({ cycle, operands, fresh, ended }) {
    if (ended) return 0;
    if (cycle) return operands + 1;
    return fresh ? 3 : operands + 4; // "{ 1 }", or "; { 1 }" after the operands
  },
};
