import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { layerMemory } from "../../src/graph/Checkpointer.js"
import * as StateGraph from "../../src/graph/StateGraph.js"

const State = Schema.Struct({ log: Schema.Array(Schema.String), sum: Schema.Number, last: Schema.String })
type State = typeof State.Type

const initial: State = { log: [], sum: 1, last: "" }

const reducers: StateGraph.Reducers<State> = {
  log: (current, update) => [...current, ...update],
  // Not commutative: the order of the merge shows.
  sum: (current, update) => (current * 31 + update) % 1_000_003,
  last: (_, update) => update
}

/** Targets by number, `-1` is the end; with a seed the state chooses among them. */
interface Plan {
  readonly nodes: ReadonlyArray<{
    readonly to: ReadonlyArray<number>
    readonly seed: number | undefined
    readonly delay: number
  }>
  readonly joins: ReadonlyArray<number>
}

const plans: FastCheck.Arbitrary<Plan> = FastCheck.integer({ min: 1, max: 6 }).chain((size) =>
  FastCheck.record({
    nodes: FastCheck.array(
      FastCheck.record({
        to: FastCheck.uniqueArray(FastCheck.integer({ min: -1, max: size - 1 }), { minLength: 1, maxLength: 3 }),
        seed: FastCheck.option(FastCheck.integer({ min: 0, max: 1000 }), { nil: undefined }),
        delay: FastCheck.integer({ min: 0, max: 3 })
      }),
      { minLength: size, maxLength: size }
    ),
    joins: FastCheck.uniqueArray(FastCheck.integer({ min: 0, max: size - 1 }), { maxLength: 2 })
  })
)

const nameOf = (index: number): string => (index === -1 ? "END" : `n${index}`)

const chosen = (to: ReadonlyArray<number>, seed: number, state: State): ReadonlyArray<number> => {
  const some = to.filter((target) => (state.sum + seed + target) % 3 !== 0)
  return some.length === 0 ? [to[(state.sum + seed) % to.length] as number] : some
}

const sourcesOf = (plan: Plan, join: number): ReadonlyArray<number> =>
  plan.nodes.flatMap(({ to }, index) => (to.includes(join) ? [index] : []))

/** A join needs two sources; the others are ordinary nodes. */
const joinsOf = (plan: Plan): ReadonlyArray<number> => plan.joins.filter((join) => sourcesOf(plan, join).length > 1)

const updateOf = (index: number, state: State, step: number): State => ({
  log: [`${index}@${step}`],
  sum: (state.sum * 7 + index + step) % 1_000_003,
  last: `${index}`
})

const build = (plan: Plan) =>
  StateGraph.compile(
    StateGraph.make({
      name: "random",
      state: State,
      nodes: Object.fromEntries(
        plan.nodes.map(({ delay }, index): [string, StateGraph.Handler<State>] => [
          nameOf(index),
          (state, context) =>
            Effect.zipRight(
              Effect.yieldNow().pipe(Effect.repeatN(delay)),
              Effect.sync(() => updateOf(index, state, context.step))
            )
        ])
      ),
      start: "n0",
      edges: Object.fromEntries(
        plan.nodes.map(({ seed, to }, index) => [
          nameOf(index),
          seed === undefined
            ? to.map(nameOf)
            : { to: to.map(nameOf), when: (state: State) => chosen(to, seed, state).map(nameOf) }
        ])
      ),
      reducers,
      joins: Object.fromEntries(joinsOf(plan).map((join) => [nameOf(join), sourcesOf(plan, join).map(nameOf)]))
    } as any) as StateGraph.StateGraph<string, State, State>
  )

/** What a run is, said once more: one node after another, by the rules alone. `undefined`: it does not end in time. */
const reference = (plan: Plan, maxSteps: number): State | undefined => {
  const joins = new Map(joinsOf(plan).map((join) => [join, sourcesOf(plan, join)]))
  const arrived = new Map<number, Set<number>>()
  let state = initial
  let active: ReadonlyArray<number> = [0]
  for (let step = 1; active.length > 0; step++) {
    if (step > maxSteps) return undefined
    const before = state
    for (const index of active) {
      const update = updateOf(index, before, step)
      state = {
        log: reducers.log?.(state.log, update.log) as State["log"],
        sum: reducers.sum?.(state.sum, update.sum) as number,
        last: update.last
      }
    }
    const next = new Set<number>()
    for (const index of active) {
      const { seed, to } = plan.nodes[index] as Plan["nodes"][number]
      for (const target of seed === undefined ? to : chosen(to, seed, state)) {
        if (target === -1) continue
        if (joins.has(target)) arrived.set(target, new Set(arrived.get(target)).add(index))
        else next.add(target)
      }
    }
    for (const [join, sources] of arrived) {
      if (sources.size === joins.get(join)?.length) {
        next.add(join)
        arrived.delete(join)
      }
    }
    if (next.size === 0) {
      for (const join of arrived.keys()) next.add(join)
      arrived.clear()
    }
    active = [...next].sort((a, b) => a - b)
  }
  return state
}

const maxSteps = 25

describe("any graph", () => {
  it("ends as the rules say or at the limit, with and without a thread, in any interleaving", async () => {
    const seen = { ended: 0, limited: 0, parallel: 0, joined: 0 }
    await FastCheck.assert(
      FastCheck.asyncProperty(
        plans,
        FastCheck.option(FastCheck.integer({ min: 1, max: 3 })),
        async (plan, concurrency) => {
          const compiled = build(plan)
          FastCheck.pre(Either.isRight(compiled))
          const graph = Either.getOrThrow(compiled)
          const expected = reference(plan, maxSteps)
          const options = { maxSteps, concurrency: concurrency ?? undefined }
          const run = await Effect.runPromise(Effect.either(StateGraph.invoke(graph, initial, options)))
          const kept = await Effect.runPromise(
            StateGraph.invokeThread(graph, { threadId: "t", initial, ...options }).pipe(
              Effect.either,
              Effect.provide(layerMemory())
            )
          )
          assert.deepStrictEqual(kept, run)
          if (expected === undefined) {
            seen.limited++
            assert.strictEqual(Either.getOrThrow(Either.flip(run))._tag, "GraphStepLimitError")
          } else {
            seen.ended++
            if (joinsOf(plan).length > 0) seen.joined++
            if (new Set(expected.log.map((line) => line.split("@")[1])).size < expected.log.length) seen.parallel++
            assert.deepStrictEqual(Either.getOrThrow(run), expected)
          }
        }
      ),
      { numRuns: 300, seed: 7 }
    )
    for (const count of Object.values(seen)) assert.isAbove(count, 15, JSON.stringify(seen))
  })

  it("reaches the same end when resumed from any of its checkpoints", async () => {
    await FastCheck.assert(
      FastCheck.asyncProperty(plans, FastCheck.nat(), async (plan, pick) => {
        const compiled = build(plan)
        FastCheck.pre(Either.isRight(compiled))
        const graph = Either.getOrThrow(compiled)
        const expected = reference(plan, maxSteps)
        FastCheck.pre(expected !== undefined)
        const end = await Effect.runPromise(
          Effect.gen(function* () {
            yield* StateGraph.invokeThread(graph, { threadId: "t", initial, maxSteps })
            const history = yield* StateGraph.history(graph, "t")
            const checkpointId = history[pick % history.length]?.id
            return yield* StateGraph.resume(graph, { threadId: "t", checkpointId, maxSteps })
          }).pipe(Effect.provide(layerMemory()))
        )
        assert.deepStrictEqual(end, expected)
      }),
      { numRuns: 100, seed: 11 }
    )
  })

  it("draws each of its nodes and edges once", () => {
    FastCheck.assert(
      FastCheck.property(plans, (plan) => {
        const compiled = build(plan)
        FastCheck.pre(Either.isRight(compiled))
        const lines = StateGraph.toMermaid(Either.getOrThrow(compiled)).split("\n")
        const edges = lines.filter((line) => line.includes("-->"))
        assert.strictEqual(new Set(edges).size, edges.length)
        assert.strictEqual(edges.length, 1 + plan.nodes.reduce((sum, { to }) => sum + to.length, 0))
        assert.strictEqual(lines.length - 1 - edges.length, plan.nodes.length + 2)
      }),
      { numRuns: 100, seed: 3 }
    )
  })
})
