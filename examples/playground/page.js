// The page: reads the form, draws the formula, asks the models and compares their answers.

import { parse, readFormula } from "./formulas.js";
import { ExportedModel } from "./search.js";

const MODELS = [
  { folder: "prop", title: "Symbol-Invariant Transformer", about: "a stream for each symbol" },
  { folder: "baseline", title: "Plain transformer", about: "an embedding for each of the names a to e" },
];
const EXAMPLES = [
  "xor a & b c",
  "& ! a <-> b c",
  "| & door ! alarm speed_limit",
  "& & | a b | ! b c | ! c ! a",
  "<-> a xor b & c ! d",
];
const MOST_TOKENS = 100;
const MOST_SYMBOLS = 16;
const NAMES = [
  ..."fghijklmnopqrstuvwxyz",
  ...["p17", "speed_limit", "door", "temp", "x1", "alarm", "yes", "café", "Ω", "λ", "名"],
  ...["🦊", "🌲", "🍋", "🚲", "🐙", "⛵", "🎻", "🌙", "🍄", "🪁", "🧩", "🐝"],
];
const STEP = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 120; // milliseconds

const element = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const pause = (time) => new Promise((done) => setTimeout(done, time));
const hue = (slot) => String((25 + slot * 137.5) % 360); // neighbours far apart
const isSymbol = (token) => typeof token === "number";
/** A symbol as its name in a list, so that it equals no base token. */
const named = ({ tokens, names }) => tokens.map((token) => (isSymbol(token) ? [names[token]] : token));
const words = ({ tokens, names }) => tokens.map((token) => (isSymbol(token) ? names[token] : token));

/** A text, coloured by its slot if it stands for a symbol. */
function coloured(token, shown) {
  const made = make("span", "", shown);
  if (isSymbol(token)) {
    made.className = "symbol";
    made.style.setProperty("--hue", hue(token));
  }
  return made;
}

/** Shows a formula or an answer. */
function speak(target, { tokens, names }) {
  const spans = tokens.map((token) => coloured(token, isSymbol(token) ? names[token] : token));
  target.replaceChildren(...spans.flatMap((span) => [span, " "]));
}

// The tree: leaves side by side, operators above the middle of their operands.

function drawTree({ tokens, names }) {
  const space = "http://www.w3.org/2000/svg";
  const svg = element("tree");
  const [lines, nodes] = [[], []];
  const add = (list, tag, attributes, text) => {
    const made = document.createElementNS(space, tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    if (text) made.textContent = text;
    list.push(made);
  };
  let [leaves, depth] = [0, 0];
  const place = ({ token, operands }, level) => {
    const below = operands.map((operand) => place(operand, level + 1));
    depth = Math.max(depth, level);
    const x = below.length ? (below[0] + below.at(-1)) / 2 : 32 + 64 * leaves++;
    const y = 26 + 58 * level;
    below.forEach((end) => add(lines, "line", { x1: x, y1: y, x2: end, y2: y + 58 }));
    const look = isSymbol(token) ? { class: "symbol", style: `--hue: ${hue(token)}` } : {};
    add(nodes, "circle", { cx: x, cy: y, r: 21, ...look });
    const word = isSymbol(token) ? names[token] : token;
    const letters = [...word];
    add(nodes, "text", { x, y, ...look }, letters.length > 4 ? `${letters.slice(0, 3).join("")}…` : word);
    return x;
  };
  place(parse(tokens), 0);
  svg.setAttribute("viewBox", `0 0 ${64 * leaves} ${52 + 58 * depth}`);
  svg.style.maxWidth = `${64 * leaves}px`;
  svg.style.minWidth = `${44 * leaves}px`; // it scrolls before it cannot be read
  svg.style.marginInline = "auto";
  svg.replaceChildren(...lines, ...nodes);
}

function drawStreams({ tokens, names }) {
  const heading = (token, scope) => {
    const made = make("th");
    made.scope = scope;
    made.append(coloured(token, isSymbol(token) ? names[token] : token));
    return made;
  };
  const [top, body, head] = [make("thead"), make("tbody"), make("tr")];
  head.append(make("td", "", "stream"), ...tokens.map((token) => heading(token, "col")));
  top.append(head);
  names.forEach((name, slot) => {
    const row = make("tr");
    row.style.setProperty("--hue", hue(slot));
    const cells = tokens.map((token) => {
      if (token === slot) return make("td", "own", "●");
      return isSymbol(token) ? make("td", "other", "○") : make("td", "base", token);
    });
    row.append(heading(slot, "row"), ...cells);
    body.append(row);
  });
  element("streams").replaceChildren(top, body);
}

// Answers.

/** Shows one model's answer to one formula as it comes, and returns it; gives up if something else
 * is asked meanwhile. */
async function run(model, card, label, formula) {
  const mine = turn;
  const block = make("div", "run");
  const [question, answer] = [make("p", "words"), make("p", "words answer")];
  const score = make("p", "score");
  speak(question, formula);
  answer.append(make("span", "waiting", "…"));
  block.append(make("p", "label", label), question, answer, score);
  block.dataset.formula = words(formula).join(" ");
  card.append(block);
  const watch = async (begun) => {
    speak(answer, begun);
    if (STEP) await pause(STEP);
    if (mine !== turn) throw new Error("something else was asked");
  };
  let found;
  try {
    found = await model.answer(formula, { watch });
  } catch (error) {
    answer.replaceChildren();
    score.append(make("strong", "bad", "no answer"), `: ${error.message}`);
    return null;
  }
  speak(answer, found);
  score.textContent = `score ${found.score.toFixed(7)}`;
  block.dataset.answer = words(found).join(" ");
  block.dataset.score = found.score;
  const unknown = model.streams ? [] : formula.names.filter((name) => !model.knows(name));
  if (unknown.length)
    block.append(make("p", "label", `It has no embedding for ${unknown.join(", ")}.`));
  return found;
}

/** Says whether the second answer is the first one renamed, with the same score. */
function compare(card, first, second, renaming) {
  const expected = named(first).map((word) => (Array.isArray(word) ? [renaming.get(word[0])] : word));
  const same = JSON.stringify(expected) === JSON.stringify(named(second));
  const equal = first.score === second.score;
  const said = same
    ? `The answer is renamed; the score is ${equal ? "equal, bit for bit" : "another"}.`
    : `The answer is another one${equal ? "" : ", and so is the score"}.`;
  const made = make("p", `compared ${same && equal ? "good" : "bad"}`, said);
  made.dataset.renamed = same;
  made.dataset.equal = equal;
  card.append(made);
}

const loading = {}; // models by folder
const load = (folder) =>
  (loading[folder] ??= ExportedModel.load(`models/${folder}`).catch((error) => {
    delete loading[folder]; // the next question tries again
    throw error;
  }));
let turn = 0; // what is asked last; what was asked before gives up its place

async function ask(formula, renaming) {
  const mine = ++turn;
  const models = element("models");
  show("busy");
  const renamed = renaming && { ...formula, names: formula.names.map((name) => renaming.get(name)) };
  drawTree(renamed ?? formula);
  drawStreams(renamed ?? formula);
  const cards = MODELS.map(({ folder, title, about }) => {
    const card = make("article", "model");
    card.dataset.model = folder;
    card.append(make("h3", "", title), make("p", "about", about));
    return card;
  });
  models.replaceChildren(...cards);
  for (const [place, { folder }] of MODELS.entries()) {
    const model = await load(folder);
    if (mine !== turn) return;
    const first = await run(model, cards[place], "the formula", formula);
    if (mine !== turn) return;
    if (renamed && first) {
      const second = await run(model, cards[place], "renamed", renamed);
      if (mine !== turn) return;
      compare(cards[place], first, second, renaming);
    }
  }
  show("done");
}

/** Notes how far the answers are; what changes while they are busy is not read aloud. */
function show(state) {
  element("models").dataset.state = state;
  element("models").ariaBusy = state === "busy";
}

/** Draws another name for each symbol. */
function drawNames(names) {
  const left = NAMES.filter((name) => !names.includes(name));
  const draw = () => left.splice(Math.floor(Math.random() * left.length), 1)[0];
  return new Map(names.map((name) => [name, draw()]));
}

/** Reads the field; if it holds no formula, says why beside it and returns null. */
function readField() {
  const [field, fault] = [element("formula"), element("fault")];
  try {
    const formula = readFormula(field.value);
    for (const [number, most, what] of [
      [formula.tokens.length, MOST_TOKENS, "tokens"],
      [formula.names.length, MOST_SYMBOLS, "symbols"],
    ])
      if (number > most) throw new Error(`${number} ${what} are too many: ${most} at most.`);
    fault.textContent = "";
    field.removeAttribute("aria-invalid");
    return formula;
  } catch (error) {
    fault.textContent = error.message;
    field.setAttribute("aria-invalid", "true");
    turn++; // answers to what stood there before are no longer asked for
    element("models").replaceChildren();
    show("failed");
    return null;
  }
}

async function answer(rename) {
  const formula = readField();
  if (!formula) return;
  const asked = turn + 1;
  try {
    await ask(formula, rename ? drawNames(formula.names) : null);
  } catch (error) {
    if (asked !== turn) return;
    element("fault").textContent = error.message;
    show("failed");
  }
}

const buttons = EXAMPLES.map((formula) => {
  const button = make("button", "", formula);
  button.type = "button";
  button.addEventListener("click", () => {
    element("formula").value = formula;
    answer(false);
  });
  return button;
});
element("examples").replaceChildren(...buttons);
element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(false);
});
element("rename").addEventListener("click", () => answer(true));
element("formula").value = EXAMPLES[0];
answer(false);
