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

/**
 * Targets by number, `-1` is the end; with a seed the state chooses among them, in the branch or (`own`) in the node, and
 * sends to nodes whose sum with the seed is a multiple of three, twice to those of twelve.
 */
interface Plan {
  readonly nodes: ReadonlyArray<{
    readonly to: ReadonlyArray<number>
    readonly seed: number | undefined
    readonly own: boolean
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
        own: FastCheck.boolean(),
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
  log: [`${index}@${step} after ${state.last}`],
  sum: (state.sum * 7 + index + step) % 1_000_003,
  last: `${index}`
})

/** What is sent to a target; nothing for one that runs as it is. */
const sentTo = (plan: Plan, target: number, seed: number): ReadonlyArray<Pick<State, "last">> => {
  if (target === -1 || joinsOf(plan).includes(target) || (target + seed) % 3 !== 0) return []
  return [{ last: `sent ${seed}` }, { last: "again" }].slice(0, (target + seed) % 12 === 0 ? 2 : 1)
}

type Target = string | StateGraph.Send<string, Pick<State, "last">>

const choice = (plan: Plan, to: ReadonlyArray<number>, seed: number, state: State): ReadonlyArray<Target> =>
  chosen(to, seed, state).flatMap((target): ReadonlyArray<Target> => {
    const sent = sentTo(plan, target, seed)
    return sent.length === 0 ? [nameOf(target)] : sent.map((update) => StateGraph.send(nameOf(target), update))
  })

const build = (plan: Plan) =>
  StateGraph.compile(
    StateGraph.make({
      name: "random",
      state: State,
      nodes: Object.fromEntries(
        plan.nodes.map(({ delay, own, seed, to }, index): [string, StateGraph.Handler<State>] => [
          nameOf(index),
          (state, context) =>
            Effect.zipRight(
              Effect.yieldNow().pipe(Effect.repeatN(delay)),
              Effect.sync(() => {
                const update = updateOf(index, state, context.step)
                return own && seed !== undefined ? StateGraph.goto(choice(plan, to, seed, state), update) : update
              })
            )
        ])
      ),
      start: "n0",
      edges: Object.fromEntries(
        plan.nodes.map(({ own, seed, to }, index) => [
          nameOf(index),
          seed === undefined
            ? to.map(nameOf)
            : own
              ? { to: to.map(nameOf) }
              : { to: to.map(nameOf), when: (state: State) => choice(plan, to, seed, state) }
        ])
      ),
      reducers,
      joins: Object.fromEntries(joinsOf(plan).map((join) => [nameOf(join), sourcesOf(plan, join).map(nameOf)]))
    } as any) as StateGraph.StateGraph<string, State, State>
  )

interface Active {
  readonly index: number
  readonly sent?: Pick<State, "last">
}

/** What a run is, said once more: one node after another, by the rules alone. `undefined`: it does not end in time. */
const reference = (plan: Plan, maxSteps: number): State | undefined => {
  const joins = new Map(joinsOf(plan).map((join) => [join, sourcesOf(plan, join)]))
  const arrived = new Map<number, Set<number>>()
  let state = initial
  let active: ReadonlyArray<Active> = [{ index: 0 }]
  for (let step = 1; active.length > 0; step++) {
    if (step > maxSteps) return undefined
    const before = state
    for (const { index, sent } of active) {
      const update = updateOf(index, { ...before, ...sent }, step)
      state = {
        log: reducers.log?.(state.log, update.log) as State["log"],
        sum: reducers.sum?.(state.sum, update.sum) as number,
        last: update.last
      }
    }
    const next = new Set<number>()
    const due: Array<Active> = []
    const add = (index: number): void => {
      if (!next.has(index)) due.push({ index })
      next.add(index)
    }
    for (const { index, sent } of active) {
      const { own, seed, to } = plan.nodes[index] as Plan["nodes"][number]
      const decides = own ? { ...before, ...sent } : state
      for (const target of seed === undefined ? to : chosen(to, seed, decides)) {
        if (target === -1) continue
        const given = seed === undefined ? [] : sentTo(plan, target, seed)
        if (joins.has(target)) arrived.set(target, new Set(arrived.get(target)).add(index))
        else if (given.length > 0) for (const sent of given) due.push({ index: target, sent })
        else add(target)
      }
    }
    for (const [join, sources] of arrived) {
      if (sources.size === joins.get(join)?.length) {
        add(join)
        arrived.delete(join)
      }
    }
    if (due.length === 0) {
      for (const join of arrived.keys()) add(join)
      arrived.clear()
    }
    // Sorting is stable: the runs of one node stay in the order in which they came to be due.
    active = due.sort((a, b) => a.index - b.index)
  }
  return state
}

const maxSteps = 25
/** Resumed runs write their checkpoints twice. */
const few = 12

describe("any graph", () => {
  it("ends as the rules say or at the limit, with and without a thread, in any interleaving", async () => {
    const seen = { ended: 0, limited: 0, parallel: 0, joined: 0, sent: 0, own: 0 }
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
            if (expected.log.some((line) => line.includes("sent"))) seen.sent++
            if (plan.nodes.some(({ own, seed }) => own && seed !== undefined)) seen.own++
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
        const expected = reference(plan, few)
        FastCheck.pre(expected !== undefined)
        const end = await Effect.runPromise(
          Effect.gen(function* () {
            yield* StateGraph.invokeThread(graph, { threadId: "t", initial, maxSteps: few })
            const history = yield* StateGraph.history(graph, "t")
            const checkpointId = history[pick % history.length]?.id
            return yield* StateGraph.resume(graph, { threadId: "t", checkpointId, maxSteps: few })
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
