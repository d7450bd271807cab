import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Step from "../../src/observability/Step.js"
import type { ToolInterceptor } from "../../src/tool/ToolRunner.js"
import * as EveryStrategy from "./EveryStrategy.js"

const { cases, succeed } = EveryStrategy

interface Entry {
  readonly name: string
  readonly hash: string
}

/** What a durable layer does: names what it runs by its place, keeps what comes of it as text, and runs nothing whose outcome it has. */
const recorder = (journal: ReadonlyMap<string, string> = new Map()) => {
  const entries: Array<Entry> = []
  const outcomes = new Map<string, string>()
  let ran = 0
  const step: Step.Service = {
    isSuspended: () => false,
    run: (options, effect) =>
      Effect.flatMap(Step.Place, (place) => {
        const name = `${options.kind}:${place.next()}`
        entries.push({ name, hash: options.hash?.() ?? "" })
        const known = journal.get(name)
        if (known !== undefined) return Effect.succeed(JSON.parse(known))
        ran++
        return effect.pipe(
          Effect.tap((value) => Effect.sync(() => outcomes.set(name, JSON.stringify(value)))),
          // What a tool does inside is recorded with it, in a place of its own.
          Effect.provideService(Step.Place, Step.makePlace(name))
        )
      })
  }
  return {
    entries,
    outcomes,
    ran: () => ran,
    around: <A, E, R>(run: Effect.Effect<A, E, R>) =>
      run.pipe(Effect.provideService(Step.Step, step), Effect.provideService(Step.Place, Step.makePlace()))
  }
}

/** As many turns of the scheduler as a text and a seed say: another order of what runs side by side. */
const dawdle = (text: string, seed: number): Effect.Effect<void> => {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  const mixed = Math.imul(hash ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b) >>> 13
  return Effect.repeatN(Effect.yieldNow(), mixed % 40)
}

const slowly = (given: EveryStrategy.Case, seed: number): EveryStrategy.WatchOptions => {
  const model = given.shaped === true ? EveryStrategy.shaping(given.sample.model) : given.sample.model
  const tool: ToolInterceptor = (call, next) =>
    Effect.zipRight(dawdle(JSON.stringify([call.name, call.params]), seed), next(call))
  return {
    model: (request) =>
      Effect.as(dawdle(request.messages.map(EveryStrategy.textOf).join(), seed), undefined).pipe(
        Effect.map(() => model(request))
      ),
    interceptors: [tool]
  }
}

const byName = (entries: ReadonlyArray<Entry>) =>
  entries.slice().sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

describe("recorded steps of every strategy", () => {
  for (const given of cases) {
    it.effect(given.name, () =>
      Effect.gen(function* () {
        const runs: Array<{ readonly recorded: ReturnType<typeof recorder>; readonly answer: string }> = []
        for (const seed of [1, 7, 23]) {
          const recorded = recorder()
          const { answer, requests } = yield* succeed(given, { ...slowly(given, seed), around: recorded.around })
          const names = recorded.entries.map(({ name }) => name)
          assert.strictEqual(new Set(names).size, names.length, "names are unique")
          assert.strictEqual(names.filter((name) => name.startsWith("llm:")).length, requests.length)
          runs.push({ recorded, answer })
        }
        const [first] = runs
        if (first === undefined) return
        for (const { answer, recorded } of runs) {
          assert.deepStrictEqual(
            byName(recorded.entries),
            byName(first.recorded.entries),
            "the same under other delays"
          )
          assert.strictEqual(answer, first.answer)
        }

        const replay = recorder(first.recorded.outcomes)
        const again = yield* succeed(given, {
          model: () => Effect.dieMessage("the model is asked again"),
          around: replay.around
        })
        assert.strictEqual(again.answer, first.answer)
        assert.strictEqual(replay.ran(), 0)

        // A crash in the middle: what stands is taken, the rest is done.
        const all = Array.from(first.recorded.outcomes)
        for (const share of [0.3, 0.6, 0.9]) {
          const half = new Map(all.slice(0, Math.floor(all.length * share)))
          const rest = recorder(half)
          const resumed = yield* succeed(given, { ...slowly(given, 101), around: rest.around })
          assert.strictEqual(resumed.answer, first.answer)
        }
      })
    )
  }

  it.effect("replays with other delays between concurrent steps", () =>
    Effect.gen(function* () {
      const orders = new Map<string, Set<string>>()
      for (const given of cases) {
        for (const seed of [1, 7, 23]) {
          const recorded = recorder()
          yield* succeed(given, { ...slowly(given, seed), around: recorded.around })
          const order = Array.from(recorded.outcomes.keys()).join()
          orders.set(given.name, (orders.get(given.name) ?? new Set()).add(order))
        }
      }
      for (const name of [
        "function_calling",
        "llm-compiler",
        "rewoo",
        "self-discovery",
        "lats",
        "storm",
        "supervisor"
      ]) {
        assert.isAbove(orders.get(name)?.size ?? 0, 1, name)
      }
    })
  )
})
