/**
 * The contract of `ExperimentStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { YieldWrap } from "effect/Utils"
import type { Entry, Header, TrialResult } from "../../eval/record/ExperimentRecord.js"
import * as ExperimentStore from "../../eval/record/ExperimentStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<ExperimentStore.ExperimentStore>

/**
 * The outcome of a case.
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = PortSuite.Outcome

const epoch = 1_750_000_000_000

const make = (
  name: string,
  body: (store: ExperimentStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({
  name,
  test: Effect.flatMap(ExperimentStore.ExperimentStore, (store) => Effect.gen(() => body(store)))
})

const header = (id: string, fields: Partial<Header> = {}): Header => ({
  id,
  name: "sums",
  createdAt: epoch,
  fingerprint: "f",
  dataset: { name: "d", version: "v", cases: 2 },
  variants: ["a"],
  scorers: ["exact"],
  repetitions: 1,
  labels: {},
  ...fields
})

const result = (value: number): TrialResult => ({ scores: [{ scorer: "exact", value }], durationMs: 1 })

const began = (caseId: string, repetition = 1): Entry => ({
  _tag: "Began",
  trial: { caseId, variant: "a", repetition },
  at: epoch
})

const ended = (caseId: string, value: number, repetition = 1): Entry => ({
  _tag: "Ended",
  trial: { caseId, variant: "a", repetition },
  at: epoch + 1,
  result: result(value)
})

const labelled = (caseId: string, value: number, by: string): Entry => ({
  _tag: "Labelled",
  trial: { caseId, variant: "a", repetition: 1 },
  scorer: "exact",
  value,
  by,
  at: epoch + 2
})

const placed = (store: ExperimentStore.Service, id: string, after?: string) =>
  Effect.map(Stream.runCollect(store.read(id, { after })), Chunk.toReadonlyArray)

const entries = (store: ExperimentStore.Service, id: string, after?: string) =>
  Effect.map(placed(store, id, after), (all) => all.map(({ entry }) => entry))

const ids = (page: ExperimentStore.Page): ReadonlyArray<string> => page.experiments.map(({ id }) => id)

const strange = "e ü\ud83d\ude00 \u0000 \ud83d \u2028 ../../etc/passwd"

const keeping: ReadonlyArray<Case> = [
  make("keeps every field of an experiment and of its entries", function* (store) {
    const full = header(strange, {
      name: strange,
      labels: { [strange]: strange, commit: "abc" },
      variants: ["a", strange],
      repetitions: 3
    })
    equal(yield* store.open(full), { header: full, added: true }, "what is added")
    equal(yield* store.get(strange), Option.some(full), "what is kept")
    const whole: Entry = {
      _tag: "Ended",
      trial: { caseId: strange, variant: strange, repetition: 2 },
      at: epoch + 5,
      result: {
        output: { text: strange, list: [1.5, null, true], [strange]: {} },
        isCut: false,
        error: { tag: "LlmError", code: "LEX_ERR_LLM_001", message: strange, hint: "again" },
        scores: [
          { scorer: "judge", value: 0.25, reason: strange },
          { scorer: "exact", error: { tag: "ScorerError", message: "none" } }
        ],
        durationMs: 12.5,
        modelCalls: 3,
        usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
        costUsd: 0.000123,
        scoring: { usage: { inputTokens: 5 }, costUsd: 0.01 },
        runId: "run"
      }
    }
    const begin: Entry = { _tag: "Began", trial: whole.trial, at: epoch, by: strange }
    yield* store.append(strange, begin)
    yield* store.append(strange, whole)
    equal(yield* entries(store, strange), [begin, whole], "the entries")
  }),
  make("gives the known experiment to the same one, and a conflict to another", function* (store) {
    const first = header("e")
    yield* store.open(first)
    const again = yield* store.open(header("e", { createdAt: epoch + 9 }))
    equal(again, { header: first, added: false }, "the same again")
    const error = yield* failure(store.open(header("e", { fingerprint: "g" })), "another one with its id")
    equal((error as { readonly reason?: unknown }).reason, "conflict", "the reason")
    equal(yield* store.get("e"), Option.some(first), "what is kept")
  }),
  make("adds one of many at once", function* (store) {
    const all = yield* Effect.forEach(Array.from({ length: 16 }), () => store.open(header("e")), {
      concurrency: "unbounded"
    })
    equal(all.filter(({ added }) => added).length, 1, "how many are added")
  }),
  make("keeps the first end of a trial, and each beginning", function* (store) {
    yield* store.open(header("e"))
    for (const entry of [began("1"), ended("1", 1), began("1"), ended("1", 0), ended("1", 0.5, 2), ended("2", 0)]) {
      yield* store.append("e", entry)
    }
    equal(
      yield* entries(store, "e"),
      [began("1"), ended("1", 1), began("1"), ended("1", 0.5, 2), ended("2", 0)],
      "the entries"
    )
  }),
  make("keeps all labels of a trial in their order, also several of one person", function* (store) {
    yield* store.open(header("e"))
    const labels: ReadonlyArray<Entry> = [
      labelled("1", 1, "ada"),
      { ...labelled("1", 0.25, strange), comment: strange } as Entry,
      labelled("1", 0.5, "ada"),
      labelled("1", 0.5, "ada")
    ]
    yield* store.append("e", ended("1", 1))
    yield* Effect.forEach(labels, (label) => store.append("e", label))
    yield* store.append("e", ended("2", 0))
    equal(yield* entries(store, "e"), [ended("1", 1), ...labels, ended("2", 0)], "the entries")
  }),
  make("loses nothing of what is appended at once", function* (store) {
    yield* store.open(header("e"))
    const cases = Array.from({ length: 1200 }, (_, index) => `${index}`)
    yield* Effect.forEach(cases, (id) => store.append("e", ended(id, 1)), { concurrency: 32, discard: true })
    const kept = yield* entries(store, "e")
    equal(kept.length, cases.length, "how many entries there are")
    equal(new Set(kept.map(({ trial }) => trial.caseId)).size, cases.length, "how many cases there are")
  })
]

const finding: ReadonlyArray<Case> = [
  make("keeps experiments apart", function* (store) {
    yield* store.open(header("e"))
    yield* store.open(header("f"))
    yield* store.append("e", ended("1", 1))
    yield* store.append("f", ended("1", 0))
    equal(yield* entries(store, "e"), [ended("1", 1)], "the entries of one")
    equal(yield* entries(store, "f"), [ended("1", 0)], "the entries of the other")
  }),
  make("fails for experiments that are not there", function* (store) {
    equal(yield* store.get("e"), Option.none(), "what is not there")
    equal(yield* store.remove("e"), false, "what is removed")
    for (const attempt of [store.append("e", began("1")), entries(store, "e")]) {
      const error = yield* failure<unknown, unknown, never>(attempt, "an experiment that is not there")
      equal((error as { readonly reason?: unknown }).reason, "unknown", "the reason")
    }
  }),
  make("removes an experiment with its entries", function* (store) {
    yield* store.open(header("e"))
    yield* store.append("e", ended("1", 1))
    equal(yield* store.remove("e"), true, "what is removed")
    equal(yield* store.get("e"), Option.none(), "what is left")
    yield* store.open(header("e", { fingerprint: "other" }))
    equal(yield* entries(store, "e"), [], "the entries of the next one")
  }),
  make("lists the newest first, by pages and by name", function* (store) {
    const added = Array.from({ length: 7 }, (_, index) =>
      header(`e${index}`, { createdAt: epoch + Math.floor(index / 2), name: index % 3 === 0 ? "third" : "sums" })
    )
    yield* Effect.forEach(added, store.open)
    equal(ids(yield* store.list()), ["e6", "e5", "e4", "e3", "e2", "e1", "e0"], "all")
    equal(ids(yield* store.list({ name: "third" })), ["e6", "e3", "e0"], "those of a name")
    equal(ids(yield* store.list({ name: "none" })), [], "those of another name")
    const seen: Array<string> = []
    let cursor: string | undefined
    do {
      const page: ExperimentStore.Page = yield* store.list({ limit: 3, cursor })
      holds(page.experiments.length <= 3, "a page is larger than its limit")
      seen.push(...ids(page))
      cursor = page.next
    } while (cursor !== undefined)
    equal(seen, ["e6", "e5", "e4", "e3", "e2", "e1", "e0"], "the pages")
    for (const none of ["", "x", "{}", '["1","2"]']) {
      const error = yield* failure(store.list({ cursor: none }), "a cursor that no page gave")
      equal((error as { readonly reason?: unknown }).reason, "cursor", "the reason")
    }
  })
]

const goingOn: ReadonlyArray<Case> = [
  make("goes on after each position, also with what was appended since", function* (store) {
    yield* store.open(header("e"))
    yield* store.open(header("f"))
    equal(yield* placed(store, "e"), [], "what nothing was appended to")
    const all: Array<Entry> = [began(strange), ended(strange, 1), labelled(strange, 0.5, strange), began("2")]
    for (const entry of all) {
      yield* store.append("f", began("other"))
      yield* store.append("e", entry)
    }
    const positions = (yield* placed(store, "e")).map(({ position }) => position)
    equal(new Set(positions).size, all.length, "how many positions there are")
    for (const [index, after] of positions.entries()) {
      equal(yield* entries(store, "e", after), all.slice(index + 1), `what is behind entry ${index}`)
    }
    const more = [ended("2", 0), began("3")]
    for (const entry of more) yield* store.append("e", entry)
    equal(yield* entries(store, "e", positions.at(-1)), more, "what was appended since")
    equal(
      (yield* placed(store, "e")).slice(0, 4).map(({ position }) => position),
      positions,
      "the same positions"
    )
  }),
  make("shows an entry of many that are appended at once to who goes on meanwhile", function* (store) {
    yield* store.open(header("e"))
    const cases = Array.from({ length: 300 }, (_, index) => `${index}`)
    const seen: Array<string> = []
    let after: string | undefined
    const read = Effect.map(
      Effect.suspend(() => placed(store, "e", after)),
      (found) => {
        after = found.at(-1)?.position ?? after
        seen.push(...found.map(({ entry }) => entry.trial.caseId))
      }
    )
    let isOver = false
    const appending = Effect.forEach(cases, (id) => store.append("e", began(id)), { concurrency: 16, discard: true })
    const ending = Effect.ensuring(
      appending,
      Effect.sync(() => {
        isOver = true
      })
    )
    const reading = Effect.repeat(Effect.zipRight(Effect.yieldNow(), read), { until: () => isOver })
    yield* Effect.all([ending, reading], { concurrency: "unbounded", discard: true })
    yield* read
    equal(seen.length, cases.length, "how many entries were seen")
    equal(new Set(seen).size, cases.length, "how many cases were seen")
  }),
  make("fails for positions that no entry has", function* (store) {
    yield* store.open(header("e"))
    yield* store.append("e", began("1"))
    for (const none of ["", "x", "-1", "1.5", "1e3", " 1", "{}", "9".repeat(400), strange]) {
      const error = yield* failure(placed(store, "e", none), "a position that no entry has")
      equal((error as { readonly reason?: unknown }).reason, "cursor", "the reason")
    }
    const error = yield* failure(placed(store, "absent", "1"), "an experiment that is not there")
    equal((error as { readonly reason?: unknown }).reason, "unknown", "the reason")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...keeping, ...finding, ...goingOn]

const { check, run } = PortSuite.make(cases, { epoch })

export {
  /**
   * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. It must
   * build an empty store.
   *
   * @example
   * ```ts
   * import type { ExperimentStore } from "effect-lexigram/eval"
   * import { ExperimentStoreSuite } from "effect-lexigram/testing"
   * import * as Effect from "effect/Effect"
   * import type * as Layer from "effect/Layer"
   *
   * declare const test: (name: string, run: () => Promise<void>) => void
   * declare const mine: Layer.Layer<ExperimentStore.ExperimentStore>
   *
   * for (const one of ExperimentStoreSuite.cases) {
   *   test(one.name, () => Effect.runPromise(ExperimentStoreSuite.check(one, mine)))
   * }
   * ```
   *
   * @since 0.1.0
   * @category combinators
   */
  check,
  /**
   * Runs every case in sequence. A broken promise is an outcome, not a failure.
   *
   * @since 0.1.0
   * @category combinators
   */
  run
}
