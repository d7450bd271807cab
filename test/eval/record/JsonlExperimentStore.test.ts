import * as FileSystem from "@effect/platform/FileSystem"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Entry, Header } from "../../../src/eval/record/ExperimentRecord.js"
import * as JsonlExperimentStore from "../../../src/eval/record/JsonlExperimentStore.js"

const header: Header = {
  id: "../../e",
  name: "sums",
  createdAt: 1,
  fingerprint: "f",
  dataset: { name: "d", version: "v", cases: 1 },
  variants: ["a"],
  scorers: ["exact"],
  repetitions: 1,
  labels: {}
}

const entry = (caseId: string): Entry => ({ _tag: "Began", trial: { caseId, variant: "a", repetition: 1 }, at: 2 })

const setup = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped()}/experiments`
  const store = yield* JsonlExperimentStore.make({ folder })
  const files = Effect.map(fs.readDirectory(folder), (names) => names.map((name) => `${folder}/${name}`))
  const read = Effect.map(Stream.runCollect(store.read(header.id)), (all) =>
    Chunk.toReadonlyArray(all).map(({ entry }) => entry)
  )
  return { fs, folder, store, files, read }
})

const scoped = <A, E>(effect: Effect.Effect<A, E, NodeContext.NodeContext | Scope.Scope>) =>
  effect.pipe(Effect.provide(NodeContext.layer))

describe("JsonlExperimentStore", () => {
  it.scoped("is lines of JSON, in a file that no id can choose", () =>
    scoped(
      Effect.gen(function* () {
        const { files, fs, store } = yield* setup
        yield* store.open(header)
        yield* store.append(header.id, entry("1"))
        const [file, ...others] = yield* files
        assert.deepStrictEqual(others, [])
        assert.match(file ?? "", /\/[0-9a-f]{64}\.jsonl$/)
        const lines = (yield* fs.readFileString(file ?? "")).split("\n")
        assert.deepStrictEqual(
          lines.map((line) => JSON.parse(line)),
          [header, entry("1")]
        )
      })
    )
  )

  it.scoped("passes over a line that a kill cut off, and goes on after it", () =>
    scoped(
      Effect.gen(function* () {
        const { files, fs, read, store } = yield* setup
        yield* store.open(header)
        yield* store.append(header.id, entry("1"))
        const [file = ""] = yield* files
        const whole = yield* fs.readFileString(file)
        for (let cut = whole.indexOf("\n") + 1; cut < whole.length; cut += 7) {
          yield* fs.writeFileString(file, whole.slice(0, cut))
          yield* store.append(header.id, entry("2"))
          assert.deepStrictEqual(yield* read, [entry("2")])
        }
      })
    )
  )

  it.scoped("goes on after a line that another process has not finished, once it is whole", () =>
    scoped(
      Effect.gen(function* () {
        const { files, fs, store } = yield* setup
        const behind = (position: string) =>
          Effect.map(Stream.runCollect(store.read(header.id, { after: position })), Chunk.toReadonlyArray)
        yield* store.open(header)
        yield* store.append(header.id, entry("é\u2028\u{1f600}"))
        const [first] = yield* behind("0")
        const position = first?.position ?? ""
        const [file = ""] = yield* files
        assert.strictEqual(Number(position), (yield* fs.readFile(file)).length)
        const whole = yield* fs.readFile(file)
        const bytes = new TextEncoder().encode(`\n${JSON.stringify(entry("\u{1f600} later"))}`)
        for (let cut = 1; cut < bytes.length; cut++) {
          yield* fs.writeFile(file, Uint8Array.from([...whole, ...bytes.subarray(0, cut)]))
          assert.deepStrictEqual(yield* behind(position), [])
        }
        yield* fs.writeFile(file, Uint8Array.from([...whole, ...bytes]))
        assert.deepStrictEqual(
          (yield* behind(position)).map(({ entry }) => entry),
          [entry("\u{1f600} later")]
        )
        yield* fs.writeFile(file, Uint8Array.from([...whole, 10, 0xff, 0xc3, ...bytes]))
        assert.deepStrictEqual(
          (yield* behind(position)).map(({ entry }) => entry),
          [entry("\u{1f600} later")]
        )
        // A position within a line is none that the store gave: what follows it is read.
        assert.lengthOf(yield* behind(`${Number(position) - 3}`), 1)
      })
    )
  )

  it.scoped("reads no bytes before the position but those of the experiment", () =>
    Effect.gen(function* () {
      const reads: Array<readonly [offset: number, bytes: number]> = []
      const watched = Effect.map(FileSystem.FileSystem, (fs) => ({
        ...fs,
        stream: (path: string, options?: FileSystem.StreamOptions) =>
          Stream.unwrap(
            Effect.sync(() => {
              let bytes = 0
              return fs.stream(path, options).pipe(
                Stream.tap((chunk) => Effect.sync(() => (bytes += chunk.length))),
                Stream.ensuring(Effect.sync(() => reads.push([Number(options?.offset ?? 0), bytes])))
              )
            })
          )
      }))
      yield* Effect.gen(function* () {
        const { store } = yield* setup
        yield* store.open(header)
        yield* Effect.forEach(Array.from({ length: 40 }), (_, index) =>
          store.append(header.id, entry(`${index}${"x".repeat(20_000)}`))
        )
        const last = Option.getOrThrow(yield* Stream.runLast(store.read(header.id)))
        yield* store.append(header.id, entry("new"))
        reads.length = 0
        const found = yield* Stream.runCollect(store.read(header.id, { after: last.position }))
        assert.lengthOf(Chunk.toReadonlyArray(found), 1)
        const [ofHeader, ofEntries, ...others] = reads
        assert.deepStrictEqual(others, [])
        assert.isAtMost(ofHeader?.[1] ?? Number.NaN, 65_536)
        assert.deepStrictEqual(ofEntries, [Number(last.position), 1 + JSON.stringify(entry("new")).length])
      }).pipe(Effect.provideServiceEffect(FileSystem.FileSystem, watched))
    }).pipe(scoped)
  )

  it.scoped("refuses a position behind the end of its file", () =>
    scoped(
      Effect.gen(function* () {
        const { store } = yield* setup
        yield* store.open(header)
        yield* store.append(header.id, entry("1"))
        const { position } = Option.getOrThrow(yield* Stream.runHead(store.read(header.id)))
        yield* store.remove(header.id)
        yield* store.open(header)
        assert.strictEqual(
          (yield* Effect.flip(Stream.runDrain(store.read(header.id, { after: position })))).reason,
          "cursor"
        )
      })
    )
  )

  it.scoped("says that it cannot read what another program wrote, and leaves it", () =>
    scoped(
      Effect.gen(function* () {
        const { files, fs, read, store } = yield* setup
        yield* store.open(header)
        const [file = ""] = yield* files
        const first = yield* fs.readFileString(file)
        for (const [text, what] of [
          ["hello", "no experiment in its first line"],
          ["{}", "no experiment in its first line"],
          [`${first}\n{"_tag":"Later"}`, "an entry of another form"]
        ] as const) {
          yield* fs.writeFileString(file, text)
          const error = yield* Effect.flip(read)
          assert.strictEqual(error.reason, "storage")
          assert.include(error.message, what)
          assert.strictEqual(yield* fs.readFileString(file), text)
        }
        assert.strictEqual((yield* store.open(header)).added, false)
      })
    )
  )

  it.scoped("says which folder failed", () =>
    scoped(
      Effect.gen(function* () {
        const { files, folder, fs, store } = yield* setup
        yield* store.open(header)
        const [file = ""] = yield* files
        const error = yield* Effect.flip(JsonlExperimentStore.make({ folder: `${file}/x` }))
        assert.strictEqual(error.reason, "storage")
        assert.include(error.message, file)
        yield* fs.remove(folder, { recursive: true })
        assert.strictEqual((yield* Effect.flip(store.list())).reason, "storage")
      })
    )
  )

  it.scoped("overlooks other files of its folder", () =>
    scoped(
      Effect.gen(function* () {
        const { folder, fs, store } = yield* setup
        yield* store.open(header)
        yield* fs.writeFileString(`${folder}/notes.jsonl`, "hello")
        yield* fs.makeDirectory(`${folder}/sub`)
        assert.deepStrictEqual((yield* store.list()).experiments, [header])
      })
    )
  )
})
