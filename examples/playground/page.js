// The page: reads the form, draws the formula, asks both models and compares their answers.

import { isSymbol, judge, parse, symbolsOf } from "./logic.js";
import { ExportedModel } from "./model.js";

const EXAMPLES = [
  "xor a & b c",
  "& ! a <-> b c",
  "<-> a xor b c",
  "| & a ! b & c d",
  "& xor a b <-> c ! d",
  "xor & a | b ! c <-> d e",
];
const NAMES = [
  ..."fghijklmnopqrstuvwxyz",
  ...["p17", "speed_limit", "door", "temp", "x1", "alarm", "yes", "café", "Ω", "λ", "名"],
  ...["🦊", "🌲", "🍋", "🚲", "🐙", "⛵", "🎻", "🌙", "🍄", "🪁", "🧩", "🐝"],
];
const MODELS = [
  { name: "streams", title: "Symbol-Invariant Transformer", about: "a stream for each symbol" },
  { name: "plain", title: "Plain transformer", about: "an embedding for each of the names a to e" },
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

/** A word, coloured by its slot if it is a symbol. */
function spoken(word, symbols) {
  const made = make("span", "", word);
  const slot = symbols.indexOf(word);
  if (slot >= 0) {
    made.className = "symbol";
    made.style.setProperty("--hue", hue(slot));
  }
  return made;
}

function speak(target, words, symbols) {
  target.replaceChildren(...words.flatMap((word) => [spoken(word, symbols), " "]));
}

// The tree: leaves side by side, operators above the middle of their operands.

function drawTree(root, symbols) {
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
  const place = (node, level) => {
    const below = node.operands.map((operand) => place(operand, level + 1));
    depth = Math.max(depth, level);
    const x = below.length ? (below[0] + below.at(-1)) / 2 : 32 + 64 * leaves++;
    const y = 26 + 58 * level;
    below.forEach((end) => add(lines, "line", { x1: x, y1: y, x2: end, y2: y + 58 }));
    const slot = symbols.indexOf(node.word);
    const look = slot < 0 ? {} : { class: "symbol", style: `--hue: ${hue(slot)}` };
    add(nodes, "circle", { cx: x, cy: y, r: 21, ...look });
    const word = [...node.word];
    add(nodes, "text", { x, y, ...look }, word.length > 4 ? `${word.slice(0, 3).join("")}…` : node.word);
    return x;
  };
  place(root, 0);
  svg.setAttribute("viewBox", `0 0 ${64 * leaves} ${52 + 58 * depth}`);
  svg.style.maxWidth = `${64 * leaves}px`;
  svg.style.marginInline = "auto";
  svg.replaceChildren(...lines, ...nodes);
}

function drawStreams(words, symbols) {
  const head = make("tr");
  head.append(make("th"), ...words.map((word) => make("th")));
  [...head.children].slice(1).forEach((cell, place) => cell.append(spoken(words[place], symbols)));
  const rows = symbols.map((symbol, slot) => {
    const row = make("tr");
    row.style.setProperty("--hue", hue(slot));
    const name = make("th");
    name.append(spoken(symbol, symbols));
    row.append(
      name,
      ...words.map((word) => {
        if (word === symbol) return make("td", "own", "●");
        return isSymbol(word) ? make("td", "other", "○") : make("td", "base", word);
      }),
    );
    return row;
  });
  const [top, body] = [make("thead"), make("tbody")];
  top.append(head);
  body.append(...rows);
  element("streams").replaceChildren(top, body);
}

// Answers.

/** Shows one model's answer to one formula as it comes, and returns it. */
async function run(model, card, label, words) {
  const symbols = symbolsOf(words);
  const block = make("div", "run");
  const [formula, answer] = [make("p", "words"), make("p", "words answer")];
  const [score, verdict] = [make("p", "score"), make("p", "verdict")];
  speak(formula, words, symbols);
  answer.append(make("span", "waiting", "…"));
  block.append(make("p", "label", label), formula, answer, score, verdict);
  card.append(block);
  const watch = async (best) => {
    speak(answer, best, symbols);
    if (STEP) await pause(STEP);
  };
  const found = await model.answer(words, { watch });
  speak(answer, found.words, symbols);
  score.textContent = `score ${found.score.toFixed(7)}`;
  const judged = judge(parse(words), words, found.words);
  verdict.append(make("strong", judged.verdict === "satisfied" ? "good" : "bad", judged.verdict));
  verdict.append(`: ${judged.reason}`);
  block.dataset.answer = found.words.join(" ");
  block.dataset.score = found.score;
  block.dataset.verdict = judged.verdict;
  const unknown = symbols.filter((symbol) => !model.rows.has(symbol));
  if (model.vocabulary.symbol_embedding === "fixed" && unknown.length)
    block.append(make("p", "label", `It has no embedding for ${unknown.join(", ")}.`));
  return found;
}

/** Says whether the second answer is the first one renamed, with the same score. */
function compare(card, first, second, renaming) {
  const expected = first.words.map((word) => renaming.get(word) ?? word).join(" ");
  const same = expected === second.words.join(" ");
  const equal = first.score === second.score;
  const text = same
    ? `The answer is renamed; the score is ${equal ? "equal, bit for bit" : "another"}.`
    : `The answer is another one${equal ? "" : ", and so is the score"}.`;
  const made = make("p", `compared ${same && equal ? "good" : "bad"}`, text);
  made.dataset.renamed = same;
  made.dataset.equal = equal;
  card.append(made);
}

const loading = Promise.all([ExportedModel.load("models/prop"), ExportedModel.load("models/baseline")]);
let turn = 0; // what is asked last; what was asked before gives up its place

async function ask(words, renaming) {
  const mine = ++turn;
  const models = element("models");
  models.dataset.state = "busy";
  const root = parse(words);
  const renamed = renaming && words.map((word) => renaming.get(word) ?? word);
  const shown = renamed ?? words;
  drawTree(renamed ? parse(renamed) : root, symbolsOf(shown));
  drawStreams(shown, symbolsOf(shown));
  const cards = MODELS.map(({ name, title, about }) => {
    const card = make("article", "model");
    card.dataset.model = name;
    card.append(make("h3", "", title), make("p", "about", about));
    return card;
  });
  models.replaceChildren(...cards);
  const loaded = await loading;
  if (mine !== turn) return;
  for (const [place, model] of loaded.entries()) {
    const first = await run(model, cards[place], "the formula", words);
    if (mine !== turn) return;
    if (renamed) {
      const second = await run(model, cards[place], "renamed", renamed);
      if (mine !== turn) return;
      compare(cards[place], first, second, renaming);
    }
  }
  models.dataset.state = "done";
}

/** Draws another name for each symbol. */
function drawNames(symbols) {
  const left = NAMES.filter((name) => !symbols.includes(name));
  const draw = () => left.splice(Math.floor(Math.random() * left.length), 1)[0];
  return new Map(symbols.map((symbol) => [symbol, draw()]));
}

/** Reads the field; if it holds no formula, says why beside it and returns null. */
function readField() {
  const [field, fault] = [element("formula"), element("fault")];
  const words = field.value.trim().split(/\s+/).filter(Boolean);
  try {
    parse(words);
  } catch (error) {
    fault.textContent = error.message;
    field.setAttribute("aria-invalid", "true");
    return null;
  }
  fault.textContent = "";
  field.removeAttribute("aria-invalid");
  return words;
}

async function answer(rename) {
  const words = readField();
  if (!words) return;
  try {
    await ask(words, rename ? drawNames(symbolsOf(words)) : null);
  } catch (error) {
    element("fault").textContent = error.message;
    element("models").dataset.state = "failed";
  }
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(false);
});
element("rename").addEventListener("click", () => answer(true));
element("examples").append(
  ...EXAMPLES.map((formula) => {
    const button = make("button", "", formula);
    button.type = "button";
    button.addEventListener("click", () => {
      element("formula").value = formula;
      answer(false);
    });
    return button;
  }),
);
answer(false);
