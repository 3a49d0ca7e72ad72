// Formulas in prefix notation: their trees, and truth tables.

// A map, as every object has words such as "constructor".
const OPERATORS = new Map([
  ["!", [1, (x) => !x]],
  ["&", [2, (x, y) => x && y]],
  ["|", [2, (x, y) => x || y]],
  ["xor", [2, (x, y) => x !== y]],
  ["<->", [2, (x, y) => x === y]],
]);
const CONSTANTS = ["0", "1"];

const MOST_SYMBOLS = 12;
const MOST_TOKENS = 40;

export const isSymbol = (word) => !OPERATORS.has(word) && !CONSTANTS.includes(word);

/** The different symbols, in order of first appearance: that is their slot. */
export const symbolsOf = (words) => [...new Set(words.filter(isSymbol))];

/** Reads a formula as a tree of {word, place, operands}; throws an Error with a sentence for
 * people. */
export function parse(words) {
  if (!words.length) throw new Error("Type a formula, such as: xor a & b c");
  if (words.length > MOST_TOKENS)
    throw new Error(`${words.length} tokens are too many: ${MOST_TOKENS} at most.`);
  for (const word of words) {
    if (word.startsWith("<") && word.endsWith(">") && word !== "<->")
      throw new Error(`“${word}” is reserved; give the symbol another name.`);
    if (word.length > 1 && /[!&|()]/.test(word))
      throw new Error(`Put spaces between the tokens of “${word}”; there are no brackets.`);
    if (word === "(" || word === ")")
      throw new Error("There are no brackets: an operator stands before its operands.");
  }
  const symbols = symbolsOf(words);
  if (symbols.length > MOST_SYMBOLS)
    throw new Error(`${symbols.length} symbols are too many: ${MOST_SYMBOLS} at most.`);
  let place = 0;
  const read = () => {
    if (place === words.length)
      throw new Error("The formula ends too early: an operator lacks operands.");
    const node = { word: words[place], place: place++, operands: [] };
    for (let left = OPERATORS.get(node.word)?.[0] ?? 0; left; left--) node.operands.push(read());
    return node;
  };
  const root = read();
  if (place < words.length)
    throw new Error(`The formula is complete after token ${place}, but more follow.`);
  return root;
}

function value(node, assignment) {
  if (node.operands.length)
    return OPERATORS.get(node.word)[1](...node.operands.map((operand) => value(operand, assignment)));
  return CONSTANTS.includes(node.word) ? node.word === "1" : assignment.get(node.word);
}

/** Judges an answer, symbols with a 0 or 1 after each: {verdict, rows, reason}. It is right if the
 * formula is true in all rows of the truth table that agree with it. */
export function judge(root, words, answer) {
  if (answer.length % 2) return { verdict: "invalid", reason: "a symbol has no value" };
  const given = new Map();
  for (let place = 0; place < answer.length; place += 2) {
    const [symbol, bit] = answer.slice(place, place + 2);
    if (!isSymbol(symbol) || !CONSTANTS.includes(bit))
      return { verdict: "invalid", reason: "this is no assignment" };
    if (given.has(symbol) && given.get(symbol) !== (bit === "1"))
      return { verdict: "vacuous", reason: `${symbol} is both` };
    given.set(symbol, bit === "1");
  }
  const free = symbolsOf(words).filter((symbol) => !given.has(symbol));
  let right = 0;
  const rows = 2 ** free.length;
  for (let row = 0; row < rows; row++) {
    const assignment = new Map(given);
    free.forEach((symbol, bit) => assignment.set(symbol, Boolean((row >> bit) & 1)));
    right += value(root, assignment);
  }
  const reason = `true in ${right} of the ${rows === 1 ? "1 row" : `${rows} rows`} that agree with it`;
  return { verdict: right === rows ? "satisfied" : "violated", reason };
}
