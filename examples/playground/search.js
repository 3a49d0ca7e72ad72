// Answers formulas by the files of `sit export --onnx`: the same search as ../deployment/answer.py
// with a grammar. Formulas and answers are {tokens, names}, see formulas.js.

import { ARITY, assignments } from "./formulas.js";
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./node_modules/onnxruntime-web/dist/", import.meta.url).href;

const integers = (values, shape) =>
  new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape ?? [values.length]);

/** The rows of a tensor, by number, in the order given. */
function select(tensor, rows) {
  const size = tensor.data.length / tensor.dims[0];
  const data = new Float32Array(rows.length * size);
  rows.forEach((row, place) => data.set(tensor.data.subarray(row * size, (row + 1) * size), place * size));
  return new ort.Tensor("float32", data, [rows.length, ...tensor.dims.slice(1)]);
}

export class ExportedModel {
  /** Reads a folder. */
  static async load(folder) {
    const file = async (name) => {
      const found = await fetch(new URL(`${folder}/${name}`, import.meta.url));
      if (!found.ok) throw new Error(`${folder}/${name} cannot be loaded: ${found.status}`);
      return found;
    };
    const model = new ExportedModel();
    model.vocabulary = await (await file("vocabulary.json")).json();
    const session = async (name) =>
      ort.InferenceSession.create(new Uint8Array(await (await file(name)).arrayBuffer()));
    model.encoder = await session("encoder.onnx");
    model.decoder = await session("decoder.onnx");
    model.tokens = model.vocabulary.tokens;
    model.streams = model.vocabulary.symbol_embedding === "streams";
    model.rows = new Map(model.tokens.map((token, row) => [token, row]).slice(4));
    model.arity = new Map(Object.entries(model.vocabulary.tree?.arity ?? {}));
    return model;
  }

  /** Whether a name is one that a model of one stream has an embedding for. */
  knows(name) {
    return !this.streams && this.rows.has(name) && /^\p{L}/u.test(name) && !ARITY.has(name);
  }

  /** Tokens as columns: base tokens are their rows, symbols V + slot. A model of one stream has rows
   * for the names of training; any other is <unk>, as in fairseq's own transformer. */
  columns({ tokens, names }) {
    return tokens.map((token) => {
      if (typeof token !== "number") {
        if (!this.rows.has(token)) throw new Error(`This model has not learnt “${token}”.`);
        return this.rows.get(token);
      }
      if (this.streams) return this.tokens.length + token;
      return this.knows(names[token]) ? this.rows.get(names[token]) : this.vocabulary.specials.unk;
    });
  }

  /** What a grammar calls a column. */
  token(column) {
    if (column >= this.tokens.length) return column - this.tokens.length;
    return this.knows(this.tokens[column]) ? column : this.tokens[column];
  }

  /** An answer that is given by its columns. */
  spoken(columns, names) {
    const own = [...names];
    const tokens = columns.map((column) => {
      const token = this.token(column);
      if (typeof token !== "number" || this.streams) return token;
      if (!own.includes(this.tokens[column])) own.push(this.tokens[column]);
      return own.indexOf(this.tokens[column]);
    });
    return { tokens, names: own };
  }

  /** The path from each token up to the root: 0 for a step from a first operand, 1 from a second. */
  tree(tokens) {
    const { depth } = this.vocabulary.tree;
    const paths = new Array((tokens.length + 1) * depth).fill(-1);
    const waiting = [];
    tokens.forEach((token, row) => {
      const parent = waiting.at(-1);
      // As when the model was trained, it reads the nearest steps alone.
      const path = parent ? [Math.min(parent.seen++, 1), ...parent.path].slice(0, depth) : [];
      path.forEach((step, place) => (paths[row * depth + place] = step));
      waiting.push({ path, seen: 0, arity: this.arity.get(token) ?? 0 });
      while (waiting.length && waiting.at(-1).seen === waiting.at(-1).arity) waiting.pop();
    });
    return integers(paths, [tokens.length + 1, depth]);
  }

  /** The fewest tokens of an answer that goes on with a column. */
  needed(state, column) {
    if (column === this.vocabulary.specials.eos) return assignments.shortest(state) ? Infinity : 0;
    const after = assignments.next(state, this.token(column));
    return after ? 1 + assignments.shortest(after) : Infinity;
  }

  /** The best answer of a beam search, as {tokens, names, score}; `watch` is told the best unfinished
   * hypothesis after each step. */
  async answer(formula, { beam = 3, longest = 40, watch = async () => {} } = {}) {
    const { eos } = this.vocabulary.specials;
    const slots = this.streams && formula.names.length ? [...formula.names.keys()] : [-1];
    const source = { tokens: integers([...this.columns(formula), eos]), slots: integers(slots) };
    if (this.vocabulary.tree) source.tree = this.tree(formula.tokens);
    const memory = await this.encoder.run(source);
    const cacheNames = Object.keys(this.vocabulary.caches);
    let caches = Object.values(this.vocabulary.caches).map((shape) => {
      const dims = [1, ...shape.map((size) => (size === "S" ? slots.length : size))];
      return new ort.Tensor("float32", new Float32Array(0), dims);
    });
    let hypotheses = [{ columns: [], score: 0, state: assignments.start }];
    let finished = [];
    for (let step = 0; step <= longest; step++) {
      const feeds = { tokens: integers(hypotheses.map(({ columns }) => columns.at(-1) ?? eos)) };
      feeds.slots = source.slots;
      feeds.position = integers([step], []);
      this.vocabulary.cross.forEach((kind) => (feeds[`memory_${kind}`] = memory[`memory_${kind}`]));
      cacheNames.forEach((kind, place) => (feeds[`cache_${kind}`] = caches[place]));
      const output = await this.decoder.run(feeds);
      const { data, dims } = output.log_probabilities;
      let found = [];
      data.forEach((logProbability, place) => {
        const [parent, column] = [Math.floor(place / dims[1]), place % dims[1]];
        const score = Math.fround(hypotheses[parent].score + logProbability);
        const room = this.needed(hypotheses[parent].state, column) <= longest - step;
        if (room && score > -Infinity) found.push({ parent, column, score });
      });
      const ends = ({ column }) => column === eos;
      if (step === 0 && !found.every(ends)) found = found.filter((one) => !ends(one));
      found.sort((one, other) => other.score - one.score); // stable
      found.length = Math.min(found.length, 2 * beam);
      const ended = found.slice(0, beam).filter(ends);
      const alive = found.filter((one) => !ends(one)).slice(0, beam);
      for (const { parent, score } of ended)
        finished.push({ ...hypotheses[parent], score: Math.fround(score / (step + 1)) });
      finished.sort((one, other) => other.score - one.score);
      finished = finished.slice(0, beam);
      if (!alive.length) break;
      if (ended.length && finished.length === beam) {
        const possible = alive[0].score / (longest + 1);
        if (beam === 1 || possible <= finished[0].score) break;
      }
      hypotheses = alive.map(({ parent, column, score }) => ({
        columns: [...hypotheses[parent].columns, column],
        score,
        state: assignments.next(hypotheses[parent].state, this.token(column)),
      }));
      const parents = alive.map(({ parent }) => parent);
      caches = cacheNames.map((kind) => select(output[`new_cache_${kind}`], parents));
      await watch(this.spoken(hypotheses[0].columns, formula.names));
    }
    const best = finished[0];
    return { ...this.spoken(best.columns, formula.names), score: best.score };
  }
}
