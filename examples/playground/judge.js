// Judges of answers. Both return {verdict, reason}; reasons are pieces, see reader.js.

import { CONSTANTS, parse, parseTrace } from "./reader.js";

const isSymbol = (token) => typeof token === "number";
const symbolsOf = (tokens) => [...new Set(tokens.filter(isSymbol))];

// Propositional logic, by truth tables.

const VALUES = {
  "!": (x) => !x,
  "&": (x, y) => x && y,
  "|": (x, y) => x || y,
  xor: (x, y) => x !== y,
  "<->": (x, y) => x === y,
  "->": (x, y) => !x || y,
};

function value({ token, operands }, assignment) {
  if (operands.length) return VALUES[token](...operands.map((operand) => value(operand, assignment)));
  return isSymbol(token) ? assignment.get(token) : token === "1";
}

/** In how many rows of the truth table that agree with some values a formula is true. */
function countRows(formula, given) {
  const root = parse(formula);
  const free = symbolsOf(formula).filter((symbol) => !given.has(symbol));
  const rows = 2 ** free.length;
  let right = 0;
  for (let row = 0; row < rows; row++) {
    const assignment = new Map(given);
    free.forEach((symbol, bit) => assignment.set(symbol, Boolean((row >> bit) & 1)));
    right += value(root, assignment);
  }
  return { right, rows };
}

/** Judges a partial assignment, symbols with a 0 or 1 after each: it is right if the formula is true
 * in all rows of the truth table that agree with it. */
export function judgeAssignment(formula, answer) {
  const given = new Map();
  let contradicted;
  for (let place = 0; place < answer.length; place += 2) {
    const [symbol, bit] = answer.slice(place, place + 2);
    if (!isSymbol(symbol) || !CONSTANTS.includes(bit))
      return { verdict: "invalid", reason: ["this is no assignment"] };
    if (!formula.includes(symbol))
      return { verdict: "invalid", reason: [symbol, " is not in the formula"] };
    if (given.has(symbol) && given.get(symbol) !== (bit === "1")) contradicted ??= symbol;
    given.set(symbol, bit === "1");
  }
  if (contradicted !== undefined) return { verdict: "vacuous", reason: [contradicted, " is both"] };
  const { right, rows } = countRows(formula, given);
  if (right < rows && !countRows(formula, new Map()).right)
    return { verdict: "violated", reason: ["no answer exists: the formula is false in all rows"] };
  const which = rows === 1 ? "the 1 row" : `the ${rows} rows`;
  const verdict = right === rows ? "satisfied" : "violated";
  return { verdict, reason: [`true in ${right} of ${which} that agree with it`] };
}

// Temporal logic. A trace leaves symbols open, and is right if no word that agrees with it makes the
// negated formula true. Such a word is searched for in the tableau of the negated formula, whose
// states are a step of the trace and what is to hold from there on; the step itself is to hold, too.

const DUAL = { "&": "|", "|": "&", U: "R", R: "U", W: "M", M: "W" };
const [FALSE, TRUE] = [0, 1];

/** The operand or constant that an operator comes down to, undefined if to none: 0 & a is 0. */
function folded(token, left, right) {
  const [least, most] = "&RM".includes(token) ? [FALSE, TRUE] : [TRUE, FALSE]; // others are dual
  if (token === "literal") return undefined;
  if (token === "X") return left === TRUE || left === FALSE ? left : undefined;
  if (right === least || left === right) return right;
  if (token === "U" || token === "R") return right === most || left === most ? right : undefined;
  if (left === least) return least;
  if (left === most) return right;
  return "&|".includes(token) && right === most ? left : undefined;
}

// Choices and states of one tableau; formulas of the page have some hundreds. A better reason for a
// verdict that is known is worth less.
const MOST = 200_000;
const MOST_FOR_REASON = 20_000;

class TooLarge extends Error {}

/** Formulas whose negations are at their symbols, as numbers; equal ones are one number. */
class Nodes {
  constructor() {
    this.known = new Map();
    this.all = [{ token: "0" }, { token: "1" }];
  }

  /** The node of an operator over nodes, or of a literal: {token: "literal", left: symbol,
   * right: whether it is true}. */
  make(token, left, right) {
    const constant = folded(token, left, right);
    if (constant !== undefined) return constant;
    const key = `${token} ${left} ${right}`;
    if (!this.known.has(key)) {
      this.known.set(key, this.all.length);
      this.all.push({ token, left, right });
    }
    return this.known.get(key);
  }

  /** The nodes of a tree and of its negation. */
  pair({ token, operands }) {
    if (token === "0") return [FALSE, TRUE];
    if (token === "1") return [TRUE, FALSE];
    if (isSymbol(token)) return [true, false].map((positive) => this.make("literal", token, positive));
    const [left, right = [FALSE, TRUE]] = operands.map((operand) => this.pair(operand));
    const both = (operator, one, other) => [
      this.make(operator, one[0], other[0]),
      this.make(DUAL[operator], one[1], other[1]),
    ];
    const not = ([node, negation]) => [negation, node];
    switch (token) {
      case "!":
        return not(left);
      case "X":
        return left.map((node) => this.make("X", node));
      case "F":
        return both("U", [TRUE, FALSE], left);
      case "G":
        return both("R", [FALSE, TRUE], left);
      case "->":
        return both("|", not(left), right);
      case "<->":
        return both("|", both("&", left, right), both("&", not(left), not(right)));
      case "xor":
        return both("|", both("&", left, not(right)), both("&", not(left), right));
      default:
        return both(token, left, right);
    }
  }

  /** The two ways to make a node true: what is to hold now, and whether the node is to hold again
   * from the next step on. */
  ways(node) {
    const { token, left, right } = this.all[node];
    if (token === "|") return [{ now: [left] }, { now: [right] }];
    if (token === "U" || token === "W") return [{ now: [right] }, { now: [left], again: true }];
    return [{ now: [left, right] }, { now: [right], again: true }]; // M and R
  }
}

/** What may follow a step in which some nodes are true: {next, late}, the nodes that are to hold in
 * the next one, and those of U and M among them, which were put off. */
function successors(nodes, wanted, spend) {
  const found = new Map();
  const explore = (todo, seen, values, next) => {
    spend();
    const open = []; // nodes with a choice come last
    while (todo.length) {
      const node = todo.pop();
      if (seen.has(node)) continue;
      seen.add(node);
      const { token, left, right } = nodes.all[node];
      if (node === FALSE) return;
      if (token === "literal") {
        if ((values.get(left) ?? right) !== right) return;
        values.set(left, right);
      } else if (token === "X") next.set(left, next.get(left) ?? false);
      else if (token === "&") todo.push(left, right);
      else if (node !== TRUE) open.push(node);
    }
    const holds = (node) => node === TRUE || seen.has(node);
    const done = ({ now, again }) => !again && now.every(holds);
    const left = open.filter((node) => !nodes.ways(node).some(done));
    if (!left.length) {
      const states = [...next.keys()].sort((one, other) => one - other);
      const late = states.filter((node) => next.get(node));
      found.set(`${states}/${late}`, { next: states, late });
      return;
    }
    const node = left.pop();
    left.forEach((other) => seen.delete(other)); // they are met again
    for (const { now, again } of nodes.ways(node)) {
      const after = new Map(next);
      if (again) after.set(node, "UM".includes(nodes.all[node].token));
      explore([...left, ...now], new Set(seen), new Map(values), after);
    }
  };
  explore([...wanted], new Set(), new Map(), new Map());
  return [...found.values()];
}

/** Whether some word of a trace makes a node true: Tarjan's search for a strongly connected part of
 * the tableau in which nothing is put off for ever. */
function someWord(nodes, root, trace, spend) {
  const steps = [...trace.prefix, ...trace.cycle].map((step) => nodes.pair(parse(step))[0]);
  const known = new Map(); // states by key
  const stack = [];
  let found = false;
  const visit = (key, place, wanted) => {
    const state = { number: known.size, low: known.size, open: true, edges: [] };
    known.set(key, state);
    stack.push(state);
    const after = place + 1 < steps.length ? place + 1 : trace.prefix.length;
    for (const { next, late } of successors(nodes, [steps[place], ...wanted], spend)) {
      const target = `${after}:${next}`;
      if (!known.has(target)) visit(target, after, next);
      if (found) return;
      const other = known.get(target);
      state.edges.push({ other, late });
      if (other.open) state.low = Math.min(state.low, other.low);
    }
    if (state.low < state.number) return;
    const part = new Set(stack.splice(stack.indexOf(state)));
    const inside = [...part].flatMap(({ edges }) => edges.filter(({ other }) => part.has(other)));
    const common = (nodes, { late }) => nodes.filter((node) => late.includes(node));
    found = inside.length > 0 && !inside.reduce(common, inside[0].late).length;
    part.forEach((member) => (member.open = false));
  };
  visit(`0:${root}`, 0, [root]);
  return found;
}

/** The same; undefined if that takes more than so many choices and states. */
function attempt(nodes, root, trace, most) {
  let spent = 0;
  const spend = () => {
    if (++spent > most) throw new TooLarge();
  };
  try {
    return someWord(nodes, root, trace, spend);
  } catch (error) {
    if (error instanceof TooLarge || error instanceof RangeError) return undefined;
    throw error;
  }
}

const ANY_WORD = { prefix: [], cycle: [["1"]] };

/** Judges a trace: it is right if all its words make the formula true. */
export function judgeTrace(formula, answer) {
  const trace = parseTrace(answer);
  if (!trace) return { verdict: "invalid", reason: ["this is no trace"] };
  const nodes = new Nodes();
  const [root, negation] = nodes.pair(parse(formula));
  const possible = attempt(nodes, TRUE, trace, MOST);
  if (possible === false) return { verdict: "vacuous", reason: ["a step contradicts itself"] };
  const wrong = possible && attempt(nodes, negation, trace, MOST);
  if (wrong === undefined)
    return { verdict: "not checked", reason: ["the formula is too large for the judge of this page"] };
  if (!wrong) return { verdict: "satisfied", reason: ["true whatever else happens"] };
  if (attempt(nodes, root, ANY_WORD, MOST_FOR_REASON) === false)
    return { verdict: "violated", reason: ["no answer exists: nothing makes the formula true"] };
  return { verdict: "violated", reason: ["false in some future that agrees with it"] };
}
