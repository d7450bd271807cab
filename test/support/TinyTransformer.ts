/**
 * A model of eight words and two dimensions in the files that `@huggingface/transformers` reads, and the same model as
 * the part of that package which the library uses.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import type * as Transformers from "../../src/provider/embedding/Transformers.js"

const words = ["[PAD]", "[UNK]", "dog", "cat", "barks", "sleeps", "violin", "plays"] as const

/** The vector of each word. */
const table: ReadonlyArray<readonly [number, number]> = [
  [0, 0],
  [0.5, 0.5],
  [1, 0],
  [0.8, 0.6],
  [1, 0.2],
  [0.6, 0.8],
  [0, 1],
  [-1, 0]
]

/** What each word adds to the score of a pair. */
const weights: ReadonlyArray<number> = [0, -0.5, 1, 0.5, 0.25, 0.125, -1, -2]

const idsOf = (text: string): ReadonlyArray<number> =>
  text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => Math.max(1, words.indexOf(word as (typeof words)[number])))

export const texts = ["dog barks", "cat", "violin plays violin", "unknown dog"] as const

/** The normalized mean of the vectors of a text's words. */
export const vectorOf = (text: string): readonly [number, number] => {
  const rows = idsOf(text).map((id) => table[id] ?? [0, 0])
  const [x, y] = [0, 1].map((at) => rows.reduce((sum, row) => sum + (row[at] ?? 0), 0) / rows.length) as [
    number,
    number
  ]
  const norm = Math.hypot(x, y)
  return [x / norm, y / norm]
}

export const scoreOf = (query: string, text: string): number =>
  [...idsOf(query), ...idsOf(text)].reduce((sum, id) => sum + (weights[id] ?? 0), 0)

// The wire format of ONNX, as far as these graphs use it.
const varint = (value: number): ReadonlyArray<number> =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
const bytes = (field: number, value: ReadonlyArray<number>) => [
  ...varint(field * 8 + 2),
  ...varint(value.length),
  ...value
]
const text = (field: number, value: string) => bytes(field, Array.from(Buffer.from(value)))
const int = (field: number, value: number) => [...varint(field * 8), ...varint(value)]

const float = 1
const int64 = 7
const initializer = (name: string, kind: number, dims: ReadonlyArray<number>, raw: Uint8Array) =>
  bytes(5, [...dims.flatMap((dim) => int(1, dim)), ...int(2, kind), ...text(8, name), ...bytes(9, Array.from(raw))])
const value = (field: number, name: string, kind: number, dims: ReadonlyArray<string | number>) => {
  const shape = dims.flatMap((dim) => bytes(1, typeof dim === "number" ? int(1, dim) : text(2, dim)))
  return bytes(field, [...text(1, name), ...bytes(2, bytes(1, [...int(1, kind), ...bytes(2, shape)]))])
}
const node = (
  operator: string,
  inputs: ReadonlyArray<string>,
  output: string,
  attributes: ReadonlyArray<number> = []
) => bytes(1, [...inputs.flatMap((name) => text(1, name)), ...text(2, output), ...text(4, operator), ...attributes])
const model = (graph: ReadonlyArray<number>) =>
  Uint8Array.from([
    ...int(1, 8),
    ...bytes(7, [...graph, ...text(2, "tiny")]),
    ...bytes(8, [...text(1, ""), ...int(2, 13)])
  ])

const floats = (values: ReadonlyArray<number>) => new Uint8Array(Float32Array.from(values).buffer)
const ids = ["input_ids", "attention_mask"].flatMap((name) => value(11, name, int64, ["batch", "sequence"]))

const embedding = model([
  ...node("Gather", ["table", "input_ids"], "last_hidden_state"),
  ...initializer("table", float, [words.length, 2], floats(table.flat())),
  ...ids,
  ...value(12, "last_hidden_state", float, ["batch", "sequence", 2])
])

const keepNoDimension = bytes(5, [...text(1, "keepdims"), ...int(3, 0), ...int(20, 2)])
const scoring = model([
  ...node("Gather", ["weights", "input_ids"], "weighed"),
  ...node("ReduceSum", ["weighed", "axes"], "logits", keepNoDimension),
  ...initializer("weights", float, [words.length, 1], floats(weights)),
  ...initializer("axes", int64, [1], new Uint8Array(BigInt64Array.from([1n]).buffer)),
  ...ids,
  ...value(12, "logits", float, ["batch", 1])
])

const tokenizer = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [0, 1].map((id) => ({
    id,
    content: words[id],
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true
  })),
  normalizer: null,
  pre_tokenizer: { type: "WhitespaceSplit" },
  post_processor: null,
  decoder: null,
  model: { type: "WordLevel", vocab: Object.fromEntries(words.map((word, id) => [word, id])), unk_token: "[UNK]" }
}

/** Writes the folders `embedding` and `scoring`, and returns their paths. */
export const write = (folder: string): { readonly embedding: string; readonly scoring: string } => {
  const one = (name: string, graph: Uint8Array, architecture: string) => {
    const path = Path.join(folder, name)
    Fs.mkdirSync(Path.join(path, "onnx"), { recursive: true })
    Fs.writeFileSync(Path.join(path, "onnx", "model.onnx"), graph)
    const config = { model_type: "bert", architectures: [architecture], hidden_size: 2, vocab_size: words.length }
    const special = { tokenizer_class: "BertTokenizer", pad_token: "[PAD]", unk_token: "[UNK]", model_max_length: 64 }
    for (const [file, value] of Object.entries({ config, tokenizer, tokenizer_config: special })) {
      Fs.writeFileSync(Path.join(path, `${file}.json`), JSON.stringify(value))
    }
    return path
  }
  return {
    embedding: one("embedding", embedding, "BertModel"),
    scoring: one("scoring", scoring, "BertForSequenceClassification")
  }
}

export interface Watched {
  readonly module: Transformers.Module
  /** What was loaded and called, in order. */
  readonly calls: Array<readonly [string, unknown]>
  /** How many calls ran at the same time, at most. */
  readonly most: () => number
}

/** The package, as far as it is used, with this model under every name but `missing`. */
export const watched = (): Watched => {
  const calls: Array<readonly [string, unknown]> = []
  let running = 0
  let most = 0
  const busy = async <A>(name: string, given: unknown, result: () => A): Promise<A> => {
    calls.push([name, given])
    most = Math.max(most, ++running)
    await new Promise<void>((resolve) => setImmediate(resolve))
    running--
    return result()
  }
  const loaded = <A extends object>(kind: string, name: string, options: unknown, part: A): Promise<A> => {
    calls.push([kind, { name, ...(options as object) }])
    if (name === "missing") return Promise.reject(new Error("Could not locate file: onnx/model.onnx"))
    return Promise.resolve(Object.assign(part, { dispose: () => busy(`dispose ${kind}`, undefined, () => undefined) }))
  }
  const tensor = (rows: ReadonlyArray<ReadonlyArray<number>>) => ({
    dims: [rows.length, rows[0]?.length ?? 0],
    data: Float32Array.from(rows.flat())
  })
  return {
    calls,
    most: () => most,
    module: {
      pipeline: (task, name = "", options) =>
        loaded(
          String(task),
          name,
          options,
          Object.assign(
            (given: ReadonlyArray<string>, how: unknown) =>
              busy("embed", { given, how }, () => {
                if (given.includes("broken")) throw new Error("out of memory")
                return tensor(given.map(vectorOf))
              }),
            { model: { config: name === "sizeless" ? {} : { hidden_size: 2 } } }
          )
        ),
      AutoTokenizer: {
        from_pretrained: (name, options) =>
          loaded("tokenizer", name, options, (queries: ReadonlyArray<string>, { text_pair }: any) =>
            queries.map((query, at) => [query, text_pair[at]])
          )
      },
      AutoModelForSequenceClassification: {
        from_pretrained: (name, options) =>
          loaded("classifier", name, options, (pairs: ReadonlyArray<readonly [string, string]>) =>
            busy("score", pairs, () => ({
              logits: name === "scoreless" ? undefined : tensor(pairs.map(([query, one]) => [scoreOf(query, one)]))
            }))
          )
      }
    }
  }
}
