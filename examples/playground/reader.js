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
const SIGNS = new Map([
  ...each("! ~ ¬ ￢ ∼", "!"),
  ...each("& && /\\ * ∧ ∩ ⋀ ⋂ · ⋅ ∙ ＆", "&"),
  ...each("| || \\/ + ∨ ∪ ⋁ ⋃ ｜", "|"),
  ...each("-> => --> ==> → ⟶ ⇒ ⟹ ⊃", "->"),
  ...each("<-> <=> <--> <==> ↔ ⟷ ⇔ ⟺ ≡", "<->"),
  ...each("^ ⊕ ⨁ ⊻ ↮ ⇎ ≢", "xor"),
  ...[["⊤", "1"], ["⊥", "0"], ["(", "("], [")", ")"]],
]);
const TEMPORAL_SIGNS = new Map([
  ...each("[] □ ⬜ ◻ ◽ ▢ ☐", "G"),
  ...each("<> ◇ ◊ ⋄ ♢ ⬦ ⬨ ⟡", "F"),
  ...each("() ○ ◯ ⚪ ∘", "X"),
]);
// In any case.
const WORDS = new Map([
  ...[["not", "!"], ["and", "&"], ["or", "|"], ["xor", "xor"], ["implies", "->"], ["iff", "<->"]],
  ...[["true", "1"], ["false", "0"], ["1", "1"], ["0", "0"]],
]);
const TEMPORAL_WORDS = new Map([
  ...each("always globally henceforth", "G"),
  ...each("eventually finally sometime sometimes", "F"),
  ...each("next nexttime", "X"),
  ...[["until", "U"], ["weak until", "W"], ["weakuntil", "W"]],
  ...[["release", "R"], ["releases", "R"], ["strong release", "M"]],
]);
// As they are.
const LETTERS = new Map([...TEMPORAL.map((letter) => [letter, letter]), ["V", "R"]]);
// The same in lbt's prefix notation, whose symbols are p0, p1, ... or stand in double quotes.
const LBT = new Map([["i", "->"], ["e", "<->"], ["^", "xor"], ["t", "1"], ["f", "0"], ["V", "R"]]);

// Names that are constants in other notations.
const PERHAPS_CONSTANTS = new Map([["T", "1"], ["tt", "1"], ["ff", "0"]]);

// Words and signs of other notations, and what they are.
const ELSEWHERE = new Map([
  ...each("since once historically previously yesterday triggered", "past LTL"),
  ...each("AG AF AX AU AR AW EG EF EX EU ER EW", "CTL"),
  ...each("never before before_ until_ next_a next_e next_event abort", "PSL"),
  ...each("s_until until_with s_until_with s_always s_eventually", "SVA"),
  ...each("s_nexttime throughout intersect first_match posedge negedge ##", "SVA"),
  ...each("assert assume cover property within |-> |=>", "PSL and SVA"),
  ...[["unless", "W"], ["nand", "!(a & b)"], ["nor", "!(a | b)"], ["xnor", "<->"], ["equiv", "<->"]],
  ...[["ite", "(a & b) | (!a & c)"], ["if", "a -> b"], ["~>", "G (a -> F b)"]],
  ...each(">> <<", "a shift"),
  ...each("exists forall ∃ ∀", "a quantifier"),
]);
// The same beside temporal operators alone.
const ELSEWHERE_TEMPORAL = new Map([
  ...each("S O H Y", "past LTL or a name"),
  ...each("A E", "CTL or a name"),
]);

const LETTER = "[\\p{L}\\p{N}_]";
const WORD = `${LETTER}(?:${LETTER}|\\.|-(?=${LETTER})|\\[${LETTER}+\\])*`;
const TWO_WORDS =
  `(?:[wW][eE][aA][kK]\\s+[uU][nN][tT][iI][lL]|` +
  `[sS][tT][rR][oO][nN][gG]\\s+[rR][eE][lL][eE][aA][sS][eE])(?!${LETTER}|[.\\[\\-])`;
const STRONG = "(?:[nN][eE][xX][tT]|[uU][nN][tT][iI][lL]|[eE][vV][eE][nN][tT][uU][aA][lL][lL][yY])!(?!=)";
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
const WHOLE_WORD = new RegExp(`^(?:${WORD}|${QUOTED})$`, "su");
const PREFIX_WORD = new RegExp(`${QUOTED}(?!\\S)|\\S+`, "gsu");
const LBT_NAME = new RegExp(`^(?:p\\p{Nd}+|${QUOTED})$`, "su");
// GFa and Xp0, as Spot prints them; but Grant may be G rant or a name, and FB F B.
const RUN_TOGETHER = /^([XFG]+)([a-z]\p{Nd}*)?$/u;
const PERHAPS_RUN_TOGETHER = /^([XFG]+[A-Za-z_.].*|[XFG]{2,}\p{Nd}.*)$/u;
const PRODUCT = /^[A-Za-z]\p{Nd}*(\.[A-Za-z]\p{Nd}*)+$/u;
const escaped = (signs) => signs.map((sign) => sign.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
const ALL_SIGNS = [...SIGNS, ...TEMPORAL_SIGNS].filter(([, token]) => ARITY.has(token));
const SIGN = new RegExp(escaped(ALL_SIGNS.map(([sign]) => sign)), "u");
// With these a name could end its line, or show as what it is not.
const CONTROL =
  /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/u;
const PLAIN_NAME = /^[a-z_][a-zA-Z0-9_]*$/;

const OPERATORS = "; operators are ! & | xor -> <->";
const NAME = "; a name that holds it stands in double quotes";
const COMPARISON = '; put a comparison in double quotes, as "x <= 3"';
const COMMENT = "; comments stand in files alone, after a space, and /* ends with */";
const BOUNDS =
  " is an operator with brackets or bounds: write bounds such as X[3] a out, X X X a; other " +
  "brackets are ( ); a name or a comparison stands in double quotes";
const EQUAL = `; write <-> between formulas${COMPARISON}`;
const UNEQUAL = `; write xor between formulas${COMPARISON}`;
const DEFINITION = "; leave out what is defined, or write <->";
const FUNCTION = "; functions are written a & b, an operator between operands";
// What to say of a sign; the operators are said where this is nothing.
const ADVICE = new Map([
  ...[...TEMPORAL_SIGNS.keys()].map((sign) => [sign, ""]),
  ...[...ELSEWHERE.keys()].filter((sign) => !/^\p{L}/u.test(sign)).map((sign) => [sign, ""]),
  ...each("->> =>> <~> !-> !<->", ""),
  ...each("= == === ＝ ≈ ≃ ≅", EQUAL),
  ...each("!= !== ~= /= ≠ <>", UNEQUAL),
  ...each("< > <= >= =<", COMPARISON),
  ...[..."≤≥⩽⩾≦≧≨≩≮≯≰≱≲≳≪≫∈∉∋＜＞"].map((sign) => [sign, COMPARISON]),
  ...each(":= ::= *= += -= &= |= ^= ≔ ≝ ≜", DEFINITION),
  ...each("<- <-- <== ← ⇐ ⟵ ⟸", `; turn a <- b into b -> a${COMPARISON}`),
  ...each("[ ] { }", "; brackets are ( ), and a name with others stands in double quotes"),
  ...each("“ ” „", "; write straight double quotes"),
  ['"', "; its double quotes are never closed"],
  ...each("// /* */ # --", COMMENT + NAME),
  [",", "; give each formula by itself, without the commas and quotes of a list"],
  ...each("' ` ‘ ’", "; leave out quotes around a formula"),
  ["-", '; not is !; leave out the dash of a list; a name with - stands in double quotes, as "a-"'],
  [".", "; leave the full stop out; a product is written a & b"],
  [";", "; give each formula by itself"],
]);

/** Reads a formula in infix or prefix notation; throws an Error that names the place in the text. */
export function readFormula(text, temporal) {
  const slots = new Map();
  const slot = (name) => {
    if (!slots.has(name)) slots.set(name, slots.size);
    return slots.get(name);
  };
  let tokens = inPrefix(text, temporal, slot);
  if (!tokens) {
    const found = lexemes(text, temporal, slot);
    if (!temporal) refuseProducts(found);
    tokens = toPrefix(found, temporal);
  }
  const names = [...slots.keys()];
  if (tokens.length === 1 && names.length && text.includes('"')) refuseFormula(names[0], temporal);
  return { tokens, names };
}

function refuseProducts(found) {
  const algebra = found.some(({ text }) => text === "+");
  for (const lexeme of found) {
    const dotted = lexeme.text.includes(".") && !lexeme.text.startsWith('"');
    if (dotted && (algebra || PRODUCT.test(lexeme.text)))
      throw new Error(
        `${said(lexeme)} is one name or a product: put the name in double quotes, or write a & b.`,
      );
  }
}

function refuseFormula(name, temporal) {
  for (const either of [temporal, !temporal]) {
    try {
      if (readFormula(name, either).tokens.length === 1) return;
    } catch {
      continue;
    }
    throw new Error("The double quotes hold a formula, not a name: leave them out.");
  }
}

/** The tokens of a formula in prefix notation, ours or lbt's; null if the text is none. A name is
 * what the infix notation takes for one, too. */
function inPrefix(text, temporal, slot) {
  const words = text.match(PREFIX_WORD) ?? [];
  const lowered = words.map((word) => (/^(true|false)$/i.test(word) ? word.toLowerCase() : word));
  const constants = new Map([["true", "1"], ["false", "0"]]);
  const own = formula(lowered, temporal, constants, (word) => isName(word, temporal));
  const lbt = formula(words, temporal, LBT, (word) => LBT_NAME.test(word));
  if (own && lbt && own.join(" ") !== lbt.join(" "))
    throw new Error("t and f are lbt's 1 and 0, or names: write 1 and 0, or the names in double quotes.");
  const tokens = own ?? lbt;
  const read = (token) => {
    return isFixed(token, temporal) ? [token] : tokensOf({ text: token, place: 0, whole: token }, temporal, slot);
  };
  return tokens?.flatMap(read) ?? null;
}

function formula(words, temporal, meanings, named) {
  const tokens = words.map((word) => meanings.get(word) ?? word);
  let missing = 1;
  for (const token of tokens) {
    if (!missing) return null;
    missing += (isFixed(token, temporal) ? (ARITY.get(token) ?? 0) : 0) - 1;
  }
  const known = (token) => isFixed(token, temporal) || named(token);
  return missing || !tokens.every(known) ? null : tokens;
}

/** Whether a token is an operator or a constant. */
const isFixed = (token, temporal) =>
  CONSTANTS.includes(token) || (ARITY.has(token) && (temporal || !TEMPORAL.includes(token)));

/** Whether a word is a name, in quotes or without need of them. */
function isName(word, temporal) {
  if (!WHOLE_WORD.test(word)) return false;
  try {
    const [token] = tokensOf({ text: word, place: 0, whole: word }, temporal, () => 0);
    return token === 0 && (temporal || !PRODUCT.test(word));
  } catch {
    return false;
  }
}

/** A lexeme and its place, which counts characters, not units of UTF-16. */
function said({ text, place, whole }) {
  const letters = [...text];
  const shown = letters.length > 20 ? `${letters.slice(0, 17).join("")}...` : text;
  return `“${shown}” at character ${[...whole.slice(0, place)].length + 1}`;
}

/** The tokens of a text in its order, as {token, text, place, whole}. */
function lexemes(whole, temporal, slot) {
  const signs = new Map([...SIGNS, ...(temporal ? TEMPORAL_SIGNS : [])]);
  const known = [...new Set([...ADVICE.keys(), ...signs.keys()])];
  const longest = escaped(known.sort((one, other) => other.length - one.length));
  const words = temporal ? `${STRONG}|${TWO_WORDS}|${WORD}` : WORD;
  const pattern = new RegExp(`(${QUOTED}|${words})|(${longest})|(\\S)`, "gsu");
  const found = [];
  for (const match of whole.matchAll(pattern)) {
    const [text, word, sign] = match;
    const lexeme = { text, place: match.index, whole };
    const last = found.at(-1);
    if (word !== undefined)
      found.push(...tokensOf(lexeme, temporal, slot).map((token) => ({ ...lexeme, token })));
    else if (last && hasBounds(last, sign)) throw new Error(`${said(last)}${BOUNDS}.`);
    else if (signs.has(sign) && !isCall(lexeme, found)) found.push({ ...lexeme, token: signs.get(sign) });
    else throw new Error(`${said(lexeme)} cannot be read${advice(lexeme, found, temporal)}.`);
  }
  return found;
}

const isCall = (lexeme, found) => lexeme.text === "()" && followsName(lexeme, found);

/** Whether a sign stands right behind a name. */
function followsName({ place }, found) {
  const last = found.at(-1);
  return typeof last?.token === "number" && last.place + last.text.length === place;
}

/** What to do about a sign that cannot be read, behind what was found. */
function advice(lexeme, found, temporal) {
  const { text: sign, place, whole } = lexeme;
  const rest = whole.trimEnd().slice(place + sign.length);
  const count = (bracket) => found.filter(({ token }) => token === bracket).length;
  if (/\p{C}/u.test(sign)) return "; leave out what is invisible";
  if (isCall(lexeme, found)) return "; leave it out behind a name, as it is X in ltl";
  if (sign === "," && count("(") > count(")")) return FUNCTION + operators(found, temporal);
  if ("'’".includes(sign) && followsName(lexeme, found))
    return `; write a negation as !x${temporal ? ", a next value as X x" : ""}, or another name`;
  if (sign === "=" && (!found.length || (found.length === 1 && isDefinition(rest))))
    return DEFINITION + (rest.includes(",") ? FUNCTION : "");
  const name = !ADVICE.has(sign) && /^[\p{L}\p{N}_]/u.test(rest) ? NAME : "";
  const known = ADVICE.get(sign) || "";
  return operators([lexeme, ...found], temporal, !known) + (known || name);
}

/** Whether what follows `a =` is a formula, and no number or further comparison. */
const isDefinition = (value) => hasOperator(value) && !/^\s*\p{Nd}|[^-<>=!]=[^=>]/su.test(value);

/** Whether a text has an operator of some logic, as far as signs and words show. */
function hasOperator(text) {
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const meaning = (word) => WORDS.get(word) ?? TEMPORAL_WORDS.get(word);
  return (
    SIGN.test(text) ||
    words.some(
      (word) =>
        LETTERS.has(word) ||
        LBT.has(word) ||
        elsewhere(word, true) ||
        RUN_TOGETHER.test(word) ||
        ARITY.has(meaning(word.toLowerCase())),
    )
  );
}

/** The operators, and what the first word or sign of another notation is; if there is none, and not
 * `always`, nothing. */
function operators(found, temporal, always = true) {
  const other = found.map(({ text }) => text).find((text) => elsewhere(text, temporal));
  if (!other && !always) return "";
  const is = other ? `; '${other}' is ${elsewhere(other, temporal)}` : "";
  const ones = temporal ? " X F G U W R M" : "; temporal ones are X F G U W R M, in ltl alone";
  return is + OPERATORS + ones;
}

const elsewhere = (word, temporal) =>
  ELSEWHERE.get(word) ??
  ELSEWHERE.get(word.toLowerCase()) ??
  (temporal ? ELSEWHERE_TEMPORAL.get(word) : undefined);

/** Whether `X[3]`, `X^3` or `F<=3` begins: a sign that follows an operator in letters. */
const hasBounds = ({ token, text }, sign) =>
  ARITY.has(token) &&
  /^\p{L}+$/u.test(text) &&
  (sign === "[" || (["^", "<", "<=", ">", ">=", "≤", "≥"].includes(sign) && /^[a-zA-Z]+$/.test(token)));

/** The tokens of a word or of a name in quotes. */
function tokensOf(lexeme, temporal, slot) {
  const word = lexeme.text;
  if (word.startsWith('"')) {
    const name = word.slice(1, -1).replace(/\\(.)/gsu, "$1");
    if (CONTROL.test(name))
      throw new Error(`${said(lexeme)}: a name holds no line ends and no control characters.`);
    return [slot(name)];
  }
  if (word.endsWith("!"))
    throw new Error(
      `${said(lexeme)} is an operator of PSL or a negation: write U, X or F, or a space before !.`,
    );
  const [head] = word.split("[");
  const constant = PERHAPS_CONSTANTS.get(word);
  if (constant)
    throw new Error(
      `${said(lexeme)} may be ${constant} or a name: write ${constant}, or the name in double quotes.`,
    );
  const lowered = head.toLowerCase().split(/\s+/u).join(" ");
  const token =
    WORDS.get(lowered) ?? (temporal ? (TEMPORAL_WORDS.get(lowered) ?? LETTERS.get(head)) : undefined);
  const together = temporal ? RUN_TOGETHER.exec(head) : null;
  if (head !== word && (token || (together && !together[2]))) throw new Error(`${said(lexeme)}${BOUNDS}.`);
  if (token) return [token];
  if (together && head === word) return [...together[1], ...(together[2] ? [slot(together[2])] : [])];
  if (temporal && PERHAPS_RUN_TOGETHER.test(word))
    throw new Error(
      `${said(lexeme)} may be ${word[0]} ${[...word].slice(1, 20).join("")} or a name: ` +
        "write a space, or the name in double quotes.",
    );
  if (/^\p{Nd}/u.test(word))
    throw new Error(
      `${said(lexeme)} is neither a constant nor a name; leave out a line's number, or put ` +
        "a name or a comparison in double quotes.",
    );
  if (word.endsWith("."))
    throw new Error(`${said(lexeme)} ends in a dot: leave it out, or put the name in double quotes.`);
  return [slot(word)];
}

/** Dijkstra's shunting yard from right to left, which brings the prefix notation, also from right to
 * left. */
function toPrefix(found, temporal) {
  const output = [];
  const waiting = []; // binary operators and closing brackets, the latest on top
  let complete = false; // whether an operand begins right after the token
  let after; // the token to the right
  for (const lexeme of [...found].reverse()) {
    const { token } = lexeme;
    if (complete === (token === ")" || (!ARITY.has(token) && token !== "(")))
      throw new Error(`${complete ? unjoined(lexeme, after, found, temporal) : lacking(lexeme, after)}.`);
    after = lexeme;
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
  if (!complete) throw new Error(`${said(found[0])}: an operand is missing before it${advised(found[0])}.`);
  for (const lexeme of waiting)
    if (lexeme.token === ")") throw new Error(`${said(lexeme)} closes nothing.`);
  return [...output, ...waiting.reverse().map(({ token }) => token)].reverse();
}

/** Says that an operator is missing between two tokens. */
function unjoined(lexeme, after, found, temporal) {
  if (after?.text === "<>")
    return `${said(after)} is F, and an operator is missing before it${UNEQUAL}`;
  let reason = "";
  if (after && lexeme.text[0] === '"' && after.text[0] === '"')
    reason = "; of doubled quotes, as CSV has them, write one";
  else if (typeof lexeme.token === "number") reason = ", as it is read as a name";
  const known = operators([lexeme, ...found], temporal);
  return `${said(lexeme)}: an operator is missing after it${reason}${known}`;
}

/** Says that an operand is missing between two tokens. */
function lacking(lexeme, after) {
  if (after && BINDING.has(after.token) && advised(after) && !advised(lexeme))
    return `${said(after)}: an operand is missing before it${advised(after)}`;
  return `${said(lexeme)}: an operand is missing after it${advised(lexeme)}`;
}

/** Advice on an operator that may have been meant as a name. */
function advised({ text }) {
  if (!/^\p{L}/u.test(text)) return "";
  return `; it is an operator: write "${text}" in double quotes to use it as a name`;
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

// Words with a meaning: the last one stands for the answer that demands nothing.
const MEANT = new Set([...WORDS.keys(), ...TEMPORAL_WORDS.keys(), ...PERHAPS_CONSTANTS.keys(), "t", "f", "anything"]);

/** A symbol, in double quotes if its name could be taken for something else. */
export const quoted = (name) =>
  PLAIN_NAME.test(name) && !MEANT.has(name.toLowerCase())
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
