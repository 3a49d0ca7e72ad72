// Formulas and answers as people write them: read into prefix notation as
// sit_fairseq/domains/formulas/reading.py does, and written as sit_fairseq/domains/formulas/infix.py does.
//
// A formula is {tokens, names}: tokens in prefix notation, in which a symbol is its slot, a number
// from 0 by first appearance, and what the symbols are called.

// A map, as every object has words such as "constructor".
export const ARITY = new Map([
  ...["!", "X", "F", "G"].map((operator) => [operator, 1]),
  ...["&", "|", "->", "<->", "xor", "U", "W", "R", "M"].map((operator) => [operator, 2]),
]);
export const CONSTANTS = ["0", "1"];
const TEMPORAL = [..."XFGUWRM"];

const BINDING = new Map([
  ...["U", "W", "R", "M"].map((operator) => [operator, 5]),
  ...[["&", 4], ["xor", 3], ["|", 2], ["->", 1], ["<->", 1]],
]);
const RIGHT_ASSOCIATIVE = ["U", "W", "R", "M", "->", "<->"];

const each = (words, token) => words.split(" ").map((word) => [word, token]);
const SIGNS = [
  ...each("! ~ ¬", "!"),
  ...each("& && /\\ * ∧ ∩ ⋀", "&"),
  ...each("| || \\/ + ∨ ∪ ⋁", "|"),
  ...each("-> => --> → ⟶ ⇒ ⟹", "->"),
  ...each("<-> <=> <--> ↔ ⇔ ⟺ ≡", "<->"),
  ...each("^ ⊕ ⊻", "xor"),
  ...[["⊤", "1"], ["⊥", "0"], ["(", "("], [")", ")"]],
];
const TEMPORAL_SIGNS = [
  ...each("[] □ ⬜ ◻", "G"),
  ...each("<> ◇ ⋄ ♢", "F"),
  ...each("() ○ ◯", "X"),
];
const WORDS = [
  ...[["not", "!"], ["and", "&"], ["or", "|"], ["xor", "xor"], ["implies", "->"], ["iff", "<->"]],
  ...[["true", "1"], ["false", "0"], ["1", "1"], ["0", "0"]],
];
const TEMPORAL_WORDS = [...TEMPORAL.map((letter) => [letter, letter]), ["V", "R"]];

const WORD = "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.]*";
// GFa and Xp0, as Spot prints them; but Grant may be G rant or a name, and FB F B.
const RUN_TOGETHER = /^([XFG]+)([a-z]\p{Nd}*)?$/u;
const PERHAPS_RUN_TOGETHER =
  /^([XFG]+[A-Za-z_][\p{L}\p{N}_.]*|[XFG]{2,}\p{Nd}[\p{L}\p{N}_.]*)$/u;
const PLAIN_NAME = /^[a-z_][a-zA-Z0-9_]*$/;

// What to do about the first character of a text that cannot be read.
const ADVICE = new Map([
  ["[", "; bounds such as X[3] are to be written out: X X X"],
  ["=", "; for a = 1 and a = 0 write a and !a, for a = b write a <-> b"],
]);

// Said of a letter that stands where an operator should.
const CAPITAL = ", as it is read as a name: temporal operators are X F G U W R M, in ltl alone";

/** Reads a formula in infix or prefix notation; throws an Error that names the place in the text. */
export function readFormula(text, temporal) {
  const names = [];
  const slot = (name) => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  };
  const tokens = inPrefix(text, temporal, slot) ?? toPrefix(lexemes(text, temporal, slot));
  return { tokens, names };
}

/** The tokens of a formula in prefix notation; null if the text is none. A name is what the infix
 * notation takes for one, too. */
function inPrefix(text, temporal, slot) {
  const constants = new Map([["true", "1"], ["false", "0"]]);
  const split = text.split(/\s+/u).filter(Boolean);
  const words = split.map((word) => constants.get(word.toLowerCase()) ?? word);
  const operator = (word) => ARITY.has(word) && (temporal || !TEMPORAL.includes(word));
  const fixed = (word) => operator(word) || CONSTANTS.includes(word);
  let missing = 1;
  for (const word of words) {
    if (!missing || !(fixed(word) || isName(word, temporal))) return null;
    missing += (operator(word) ? ARITY.get(word) : 0) - 1;
  }
  return missing ? null : words.map((word) => (fixed(word) ? word : slot(word)));
}

/** Whether a text without white space is a name that needs no quotes. */
function isName(word, temporal) {
  const operators = () =>
    new Map(TEMPORAL_WORDS).has(word) || RUN_TOGETHER.test(word) || PERHAPS_RUN_TOGETHER.test(word);
  return (
    new RegExp(`^(?!\\p{Nd})${WORD}$`, "u").test(word) &&
    !new Map(WORDS).has(word.toLowerCase()) &&
    !(temporal && operators())
  );
}

const said = ({ text, place }) => `“${[...text].slice(0, 20).join("")}” at character ${place + 1}`;

/** The tokens of a text in its order, as {token, text, place}. */
function lexemes(text, temporal, slot) {
  const signs = new Map([...SIGNS, ...(temporal ? TEMPORAL_SIGNS : [])]);
  const words = new Map([...WORDS, ...(temporal ? TEMPORAL_WORDS : [])]);
  const escaped = [...signs.keys()]
    .sort((one, other) => other.length - one.length)
    .map((sign) => sign.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = new RegExp(`\\s*(?:(${escaped.join("|")})|("(?:[^"\\\\]|\\\\.)*"|${WORD}))`, "suy");
  const found = [];
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const start = pattern.lastIndex;
    const match = pattern.exec(text);
    const rest = text.slice(start).trimStart();
    const piece = match ? match[1] ?? match[2] : [...rest.trimEnd()].slice(0, 10).join("");
    const place = [...text.slice(0, text.length - rest.length)].length;
    const lexeme = { text: piece, place };
    if (!match) throw new Error(`${said(lexeme)} cannot be read${ADVICE.get(rest[0]) ?? ""}.`);
    found.push(...tokensOf(lexeme, match[1], match[2]).map((token) => ({ ...lexeme, token })));
  }
  return found;

  function tokensOf(lexeme, sign, word) {
    const token = signs.get(sign) ?? words.get(word) ?? words.get(word?.toLowerCase());
    if (token !== undefined) return [token];
    const together = temporal && RUN_TOGETHER.exec(word);
    if (together) return [...together[1], ...(together[2] ? [slot(together[2])] : [])];
    if (temporal && PERHAPS_RUN_TOGETHER.test(word))
      throw new Error(
        `${said(lexeme)} may be ${word[0]} ${word.slice(1)} or a name: ` +
          "write a space, or the name in double quotes.",
      );
    if (/^\p{Nd}/u.test(word)) throw new Error(`${said(lexeme)} is neither a constant nor a name.`);
    return [slot(word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/gsu, "$1") : word)];
  }
}

/** Dijkstra's shunting yard from right to left, which brings the prefix notation, also from right to
 * left. */
function toPrefix(found) {
  const output = [];
  const waiting = []; // binary operators and closing brackets, the latest on top
  let complete = false; // whether an operand begins right after the token
  for (const lexeme of [...found].reverse()) {
    const { token } = lexeme;
    if (complete === (token === ")" || (!ARITY.has(token) && token !== "(")))
      throw new Error(
        `${said(lexeme)}: an ${complete ? "operator" : "operand"} is missing after it` +
          `${complete && /^[A-Z]$/.test(lexeme.text) ? CAPITAL : ""}.`,
      );
    if (token === ")") waiting.push(lexeme);
    else if (token === "(") {
      while (waiting.length && waiting.at(-1).token !== ")") output.push(waiting.pop().token);
      if (!waiting.length) throw new Error(`${said(lexeme)} is never closed.`);
      waiting.pop();
    } else if (BINDING.has(token)) {
      const limit = BINDING.get(token) + !RIGHT_ASSOCIATIVE.includes(token);
      while (waiting.length && (BINDING.get(waiting.at(-1).token) ?? -1) >= limit)
        output.push(waiting.pop().token);
      waiting.push(lexeme);
      complete = false;
    } else {
      output.push(token);
      complete = true;
    }
  }
  if (!found.length) throw new Error("The formula is empty.");
  if (!complete) throw new Error(`${said(found[0])}: an operand is missing before it.`);
  for (const lexeme of waiting)
    if (lexeme.token === ")") throw new Error(`${said(lexeme)} closes nothing.`);
  return [...output, ...waiting.reverse().map(({ token }) => token)].reverse();
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

/** A trace as {prefix, cycle}, each a list of steps, which are lists of tokens; null if it is none. */
export function parseTrace(tokens) {
  const start = tokens.indexOf("{");
  if (start < 0 || start !== tokens.lastIndexOf("{") || tokens.indexOf("}") !== tokens.length - 1)
    return null;
  const split = (part) =>
    part.reduce(
      (steps, token) => (token === ";" ? [...steps, []] : [...steps.slice(0, -1), [...steps.at(-1), token]]),
      [[]],
    );
  const before = split(tokens.slice(0, start));
  if (before.pop().length) return null; // there is no ";" before the "{"
  const trace = { prefix: before, cycle: split(tokens.slice(start + 1, -1)) };
  return [...trace.prefix, ...trace.cycle].every(isPropositional) ? trace : null;
}

function isPropositional(tokens) {
  let missing = 1;
  for (const token of tokens) {
    if (!missing || TEMPORAL.includes(token)) return false;
    missing += (ARITY.get(token) ?? 0) - 1;
  }
  return missing === 0;
}

// For people. Everything is written in pieces, texts and slots, which a page may colour.

/** A symbol, in double quotes if its name could be taken for something else. */
export const quoted = (name) =>
  PLAIN_NAME.test(name) && !new Map(WORDS).has(name.toLowerCase())
    ? name
    : `"${name.replace(/[\\"]/g, "\\$&")}"`;

/** The pieces of a formula in infix notation. */
export const infix = (tokens) => write(parse(tokens));

const write = ({ token, operands: [left, right] }) => {
  if (!left) return [token];
  if (!right) return [token === "!" ? token : `${token} `, ...bracketed(left)];
  return [...bracketed(left), ` ${token} `, ...bracketed(right)];
};

const bracketed = (formula) =>
  formula.operands.length === 2 ? ["(", ...write(formula), ")"] : write(formula);

/** What holds at one moment, its conjuncts side by side. */
function moment(tokens) {
  if (tokens.length === 1 && tokens[0] === "1") return ["anything"];
  const conjuncts = (formula) =>
    formula.token === "&" ? formula.operands.flatMap(conjuncts) : [formula];
  const parts = conjuncts(parse(tokens));
  if (parts.length === 1) return write(parts[0]);
  return parts.flatMap((part, place) => [place ? " & " : "", ...bracketed(part)]);
}

/** The pieces of a well-formed answer: `a & !c`, or `req & !grant; then for ever: grant`. */
export function answerForPeople(tokens, temporal) {
  if (!tokens.length) return ["anything"];
  if (!temporal)
    return tokens.flatMap((token, place) => {
      if (place % 2) return [];
      return [place ? " & " : "", tokens[place + 1] === "1" ? "" : "!", token];
    });
  const { prefix, cycle } = parseTrace(tokens);
  const steps = (part) =>
    part.flatMap((step, place) => [place ? "; " : "", ...moment(step)]);
  const again = cycle.length === 1 ? "for ever: " : "again and again: ";
  return [...steps(prefix), prefix.length ? "; then " : "", again, ...steps(cycle)];
}

/** Pieces as one text. */
export const text = (pieces, names) =>
  pieces.map((piece) => (typeof piece === "number" ? quoted(names[piece]) : piece)).join("");
