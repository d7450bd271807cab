import * as FileSystem from "@effect/platform/FileSystem"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Dataset from "../../../src/eval/dataset/Dataset.js"
import { DatasetError } from "../../../src/eval/dataset/DatasetError.js"

const options = { name: "d", input: Schema.String, expected: Schema.Number }
const csv = { name: "d", input: Schema.String, expected: Schema.NumberFromString }

const failure = <A>(effect: Effect.Effect<A, DatasetError>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, DatasetError)
    assert.isNotEmpty(error.hint)
    return error
  })

describe("Dataset", () => {
  it.effect("has ids by place, tags, and a version that says the cases", () =>
    Effect.gen(function* () {
      const cases = [
        { input: "a", expected: 1 },
        { id: "x", input: "b", expected: 2, tags: ["t"] }
      ]
      const dataset = yield* Dataset.make("d", cases)
      assert.deepStrictEqual(dataset.cases, [
        { id: "1", input: "a", expected: 1, tags: [] },
        { id: "x", input: "b", expected: 2, tags: ["t"] }
      ])
      assert.match(dataset.version, /^[0-9a-f]{16}$/)
      assert.strictEqual((yield* Dataset.make("other name", cases)).version, dataset.version)
      const changed = yield* Dataset.make("d", [{ input: "a", expected: 3 }, ...cases.slice(1)])
      assert.notStrictEqual(changed.version, dataset.version)
      const turned = yield* Dataset.make("d", [{ expected: 1, input: "a" }, ...cases.slice(1)])
      assert.strictEqual(turned.version, dataset.version)
    })
  )

  it.effect("reads JSON lines, and the same cases out of CSV", () =>
    Effect.gen(function* () {
      const jsonl = yield* Dataset.fromJsonl(
        '\ufeff{"input":"a","expected":1}\r\n\n{"id":7,"input":"b","expected":2,"tags":["t","u"]}\n',
        options
      )
      const table = yield* Dataset.fromCsv("id,input,expected,tags\n,a,1,\n7,b,2,t|u\n", csv)
      assert.deepStrictEqual(jsonl.cases, [
        { id: "1", input: "a", expected: 1, tags: [] },
        { id: "7", input: "b", expected: 2, tags: ["t", "u"] }
      ])
      assert.deepStrictEqual(table, jsonl)
      const semicolons = yield* Dataset.fromCsv("input;expected\na;1", { ...csv, delimiter: ";" })
      assert.strictEqual(semicolons.cases[0]?.expected, 1)
    })
  )

  it.effect("takes foreign rows by `pick`", () =>
    Effect.gen(function* () {
      const dataset = yield* Dataset.fromJsonl('{"question":"q","answer":"... #### 18"}', {
        ...options,
        pick: ({ answer, question }) => ({ input: question, expected: Number(/#### (\d+)/.exec(String(answer))?.[1]) })
      })
      assert.deepStrictEqual(dataset.cases, [{ id: "1", input: "q", expected: 18, tags: [] }])
      const error = yield* failure(
        Dataset.fromJsonl('{"question":"q"}', {
          ...options,
          pick: () => {
            throw new Error("no answer")
          }
        })
      )
      assert.deepStrictEqual([error.reason, error.line], ["case", 1])
      assert.include(error.message, "no answer")
    })
  )

  it.effect("says which line is wrong, and why", () =>
    Effect.gen(function* () {
      const of = (text: string) => failure(Dataset.fromJsonl(text, options))
      const ok = '{"input":"a","expected":1}\n'
      for (const [text, reason, line, message] of [
        [`${ok}{`, "syntax", 2, "not JSON"],
        [`${ok}\n[1]`, "syntax", 3, "no JSON object"],
        [`${ok}{"input":1,"expected":1}`, "case", 2, "its input is not what the schema says"],
        [`${ok}{"input":"a"}`, "case", 2, "its expected value is not"],
        [`${ok}{"id":"1","input":"a","expected":1}`, "duplicate", 2, "another case has this id"],
        [`{"id":"${"x".repeat(257)}","input":"a","expected":1}`, "case", 1, "its id is not valid"],
        [`{"id":{},"input":"a","expected":1}`, "case", 1, "its id is not valid"]
      ] as const) {
        const error = yield* of(text)
        assert.deepStrictEqual([error.reason, error.line, error.dataset], [reason, line, "d"], text.slice(0, 60))
        assert.include(error.message, message)
      }
      const ragged = yield* failure(Dataset.fromCsv("input,expected\na", csv))
      assert.deepStrictEqual([ragged.reason, ragged.line], ["syntax", 2])
      let deep: unknown = 1
      for (let level = 0; level < 100_000; level++) deep = [deep]
      assert.include((yield* failure(Dataset.make("d", [{ input: deep }]))).message, "nests too deep")
      const huge = yield* of(`{"input":${JSON.stringify(Array.from({ length: 50_000 }, () => "x"))},"expected":1}`)
      assert.isBelow(huge.message.length, 3000)
    })
  )

  it.effect("keeps the version of a subset apart, and draws by a seed", () =>
    Effect.gen(function* () {
      const all = yield* Dataset.make(
        "d",
        Array.from({ length: 100 }, (_, index) => ({ input: index, expected: index % 2 }))
      )
      const odd = Dataset.filter(all, ({ expected }) => expected === 1)
      assert.lengthOf(odd.cases, 50)
      assert.notStrictEqual(odd.version, all.version)
      const drawn = yield* Dataset.sample(all, 10, "seed")
      assert.deepStrictEqual(yield* Dataset.sample(all, 10, "seed"), drawn)
      assert.notDeepEqual((yield* Dataset.sample(all, 10, "other")).version, drawn.version)
      const places = drawn.cases.map(({ input }) => input)
      assert.deepStrictEqual(
        places,
        [...places].sort((a, b) => a - b)
      )
      assert.lengthOf(places, 10)
      assert.strictEqual((yield* Dataset.sample(all, 1000, 1)).version, all.version)
      assert.lengthOf((yield* Dataset.sample(all, -1, 1)).cases, 0)
    })
  )

  it.scoped("reads files by their endings, within a bound", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = (name: string, text: string) =>
        Effect.as(fs.writeFileString(`${folder}/${name}`, text), `${folder}/${name}`)
      const jsonl = yield* file("a.jsonl", '{"input":"a","expected":1}')
      const one = yield* Dataset.fromFile(jsonl, options)
      assert.strictEqual(
        (yield* Dataset.fromFile(yield* file("a.csv", "input,expected\na,1"), csv)).version,
        one.version
      )
      assert.strictEqual(
        (yield* Dataset.fromFile(yield* file("a.TSV", "input\texpected\na\t1"), csv)).version,
        one.version
      )
      for (const [path, more, message] of [
        [`${folder}/a.xlsx`, {}, "is not known"],
        [`${folder}/absent.csv`, {}, "cannot be read"],
        [jsonl, { maxBytes: 10 }, "at most 10 are read"]
      ] as const) {
        const error = yield* Effect.flip(Dataset.fromFile(path, { ...options, ...more }))
        assert.strictEqual(error.reason, "file")
        assert.include(error.message, message)
      }
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
