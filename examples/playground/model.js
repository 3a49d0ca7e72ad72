// Answers formulas by the files of `sit export --onnx`: the same search as ../deployment/answer.py.

import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./node_modules/onnxruntime-web/dist/", import.meta.url).href;

/** A sentence that the model cannot read; the message says why. */
export class CannotAnswer extends Error {}

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
  static async load(folder) {
    const model = new ExportedModel();
    const file = (name) => fetch(new URL(`${folder}/${name}`, import.meta.url));
    model.vocabulary = await (await file("vocabulary.json")).json();
    const session = async (name) =>
      ort.InferenceSession.create(new Uint8Array(await (await file(name)).arrayBuffer()));
    model.encoder = await session("encoder.onnx");
    model.decoder = await session("decoder.onnx");
    model.tokens = model.vocabulary.tokens;
    model.rows = new Map(model.tokens.map((token, row) => [token, row]).slice(4));
    model.arity = new Map(Object.entries(model.vocabulary.tree?.arity ?? {}));
    return model;
  }

  /** Takes the names away: base tokens become their rows, symbols V + slot. A model of one stream
   * has rows for the names of training; any other is <unk>, as in fairseq's own transformer. */
  read(words) {
    const { eos, unk } = this.vocabulary.specials;
    const named = this.vocabulary.symbol_embedding === "streams";
    const names = [];
    const ids = words.map((word) => {
      if (this.rows.has(word)) return this.rows.get(word);
      if (!named) return unk;
      if (!names.includes(word)) names.push(word);
      return this.tokens.length + names.indexOf(word);
    });
    const slots = names.length ? names.map((_, slot) => slot) : [-1];
    const source = { tokens: integers([...ids, eos]), slots: integers(slots) };
    if (this.vocabulary.tree) source.tree = this.tree(words);
    return { source, slots, names };
  }

  /** The path from each token up to the root: 0 for a step from a first operand, 1 from a second. */
  tree(words) {
    const { depth } = this.vocabulary.tree;
    const paths = new Array((words.length + 1) * depth).fill(-1);
    const waiting = [];
    words.forEach((word, row) => {
      const parent = waiting.at(-1);
      // As when the model was trained, it reads the nearest steps alone.
      const path = parent ? [Math.min(parent.seen++, 1), ...parent.path].slice(0, depth) : [];
      path.forEach((step, place) => (paths[row * depth + place] = step));
      waiting.push({ path, seen: 0, arity: this.arity.get(word) ?? 0 });
      while (waiting.length && waiting.at(-1).seen === waiting.at(-1).arity) waiting.pop();
    });
    return integers(paths, [words.length + 1, depth]);
  }

  /** The best answer of a beam search, as {words, score}; `watch` is told the words of the best
   * unfinished hypothesis after each step. */
  async answer(words, { beam = 3, longest = 40, watch = async () => {} } = {}) {
    const { pad, eos } = this.vocabulary.specials;
    const { source, slots, names } = this.read(words);
    const spoken = [...this.tokens, ...names];
    const memory = await this.encoder.run(source);
    const cacheNames = Object.keys(this.vocabulary.caches);
    let caches = Object.values(this.vocabulary.caches).map((shape) => {
      const dims = [1, ...shape.map((size) => (size === "S" ? slots.length : size))];
      return new ort.Tensor("float32", new Float32Array(0), dims);
    });
    let hypotheses = [{ ids: [], score: 0 }];
    let finished = [];
    for (let step = 0; step <= longest; step++) {
      const feeds = { tokens: integers(hypotheses.map(({ ids }) => ids.at(-1) ?? eos)) };
      feeds.slots = source.slots;
      feeds.position = integers([step], []);
      this.vocabulary.cross.forEach((kind) => (feeds[`memory_${kind}`] = memory[`memory_${kind}`]));
      cacheNames.forEach((kind, place) => (feeds[`cache_${kind}`] = caches[place]));
      const output = await this.decoder.run(feeds);
      const { data, dims } = output.log_probabilities;
      const found = [];
      data.forEach((logProbability, place) => {
        const [parent, token] = [Math.floor(place / dims[1]), place % dims[1]];
        const closed = token === pad || (token === eos ? step === 0 : step === longest);
        const score = Math.fround(hypotheses[parent].score + logProbability);
        if (!closed && score > -Infinity) found.push({ parent, token, score });
      });
      found.sort((one, other) => other.score - one.score); // stable
      found.length = Math.min(found.length, 2 * beam);
      const ended = found.slice(0, beam).filter(({ token }) => token === eos);
      const alive = found.filter(({ token }) => token !== eos).slice(0, beam);
      for (const { parent, score } of ended)
        finished.push({ ids: hypotheses[parent].ids, score: Math.fround(score / (step + 1)) });
      finished.sort((one, other) => other.score - one.score);
      finished = finished.slice(0, beam);
      if (!alive.length) break;
      if (ended.length && finished.length === beam) {
        const possible = alive[0].score / (longest + 1);
        if (beam === 1 || possible <= finished[0].score) break;
      }
      hypotheses = alive.map(({ parent, token, score }) => ({
        ids: [...hypotheses[parent].ids, token],
        score,
      }));
      caches = cacheNames.map((kind) =>
        select(output[`new_cache_${kind}`], alive.map(({ parent }) => parent)),
      );
      await watch(hypotheses[0].ids.map((id) => spoken[id]));
    }
    const best = finished[0];
    return { words: best.ids.map((id) => spoken[id]), score: best.score };
  }
}
