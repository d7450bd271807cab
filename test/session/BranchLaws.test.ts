import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as MergeStrategy from "../../src/session/branch/MergeStrategy.js"
import type { SessionTurn } from "../../src/session/turn/Session.js"
import * as B from "../support/Branching.js"
import * as SetClock from "../support/SetClock.js"

const { sid } = B

/** What happens in a tree of sessions; numbers name sessions and checkpoints by their place, modulo how many there are. */
type Op =
  | { readonly op: "say" | "fork" | "checkpoint"; readonly at: number }
  | { readonly op: "set"; readonly at: number; readonly key: string; readonly value: number }
  | { readonly op: "unset"; readonly at: number; readonly key: string }
  | { readonly op: "restore" | "fork_from"; readonly at: number; readonly checkpoint: number }
  | { readonly op: "merge"; readonly at: number; readonly from: number; readonly strategy: "append" | "three_way" }

const place = FastCheck.nat(5)
const key = FastCheck.constantFrom("a", "b", "__proto__")
const op: FastCheck.Arbitrary<Op> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ op: FastCheck.constant("say" as const), at: place }), weight: 4 },
  { arbitrary: FastCheck.record({ op: FastCheck.constant("fork" as const), at: place }), weight: 3 },
  { arbitrary: FastCheck.record({ op: FastCheck.constant("checkpoint" as const), at: place }), weight: 2 },
  {
    arbitrary: FastCheck.record({ op: FastCheck.constant("set" as const), at: place, key, value: FastCheck.nat(2) }),
    weight: 4
  },
  { arbitrary: FastCheck.record({ op: FastCheck.constant("unset" as const), at: place, key }), weight: 1 },
  {
    arbitrary: FastCheck.record({
      op: FastCheck.constantFrom("restore" as const, "fork_from" as const),
      at: place,
      checkpoint: place
    }),
    weight: 2
  },
  {
    arbitrary: FastCheck.record({
      op: FastCheck.constant("merge" as const),
      at: place,
      from: place,
      strategy: FastCheck.constantFrom("append" as const, "three_way" as const)
    }),
    weight: 3
  }
)
const history = FastCheck.array(op, { minLength: 3, maxLength: 24 }).map(
  (ops): ReadonlyArray<Op> => [{ op: "say", at: 0 }, { op: "checkpoint", at: 0 }, { op: "fork", at: 0 }, ...ops]
)

/** A state that a session was in, and those it came from: what is in common is what can be reached from both. */
interface Version {
  readonly variables: Readonly<Record<string, unknown>>
  readonly parents: ReadonlyArray<Version>
}

const reach = (version: Version): ReadonlySet<Version> => {
  const seen = new Set<Version>([version])
  for (const one of seen) for (const parent of one.parents) seen.add(parent)
  return seen
}

/** The same answer whichever side is asked. */
const symmetric = MergeStrategy.threeWay({
  conflict: (conflicts) =>
    Effect.succeed(
      conflicts.map(({ ours, theirs }) =>
        JSON.stringify(Option.getOrNull(ours)) > JSON.stringify(Option.getOrNull(theirs)) ? ours : theirs
      )
    )
})

/** The tree after the history, with what is known of it besides. */
const grown = (ops: ReadonlyArray<Op>, time: SetClock.SetClock) =>
  Effect.gen(function* () {
    const branches = yield* BranchManager.BranchManager
    yield* B.create("0")
    const ids = ["0"]
    const versions = new Map<string, Version>([["0", { variables: {}, parents: [] }]])
    const checkpoints = new Map<string, Array<{ readonly id: string; readonly version: Version }>>([["0", []]])
    let count = 0
    const versionOf = (id: string) => versions.get(id) as Version
    const moved = (id: string, ...others: ReadonlyArray<Version>) =>
      Effect.map(B.load(id), ({ variables }) => {
        versions.set(id, { variables, parents: [versionOf(id), ...others] })
      })
    for (const one of ops) {
      time.set(time.now() + 1)
      const id = ids[one.at % ids.length] as string
      const kept = checkpoints.get(id) as Array<{ readonly id: string; readonly version: Version }>
      const name = String(++count)
      switch (one.op) {
        case "say":
          yield* B.say(id, `${id}/${name}`)
          yield* moved(id)
          break
        case "set":
        case "unset": {
          const values = new Map(Object.entries((yield* B.load(id)).variables))
          if (one.op === "set") values.set(one.key, one.value === 0 ? 0 : count)
          else values.delete(one.key)
          yield* B.update(id, { variables: Object.fromEntries(values) })
          yield* moved(id)
          break
        }
        case "checkpoint":
          yield* B.checkpoint(id, `c${name}`)
          kept.push({ id: `c${name}`, version: versionOf(id) })
          break
        case "restore":
        case "fork_from": {
          const checkpoint = kept[one.checkpoint % kept.length]
          if (checkpoint === undefined) break
          if (one.op === "restore") {
            yield* B.restore(checkpoint.id)
            versions.set(id, checkpoint.version)
          } else if (ids.length < 6) {
            yield* branches.fork(sid(id), { id: sid(name), fromCheckpoint: checkpoint.id as never })
            ids.push(name)
            versions.set(name, checkpoint.version)
            checkpoints.set(name, [])
          }
          break
        }
        case "fork":
          if (ids.length === 6) break
          yield* branches.fork(sid(id), { id: sid(name) })
          ids.push(name)
          versions.set(name, versionOf(id))
          checkpoints.set(name, [])
          break
        case "merge": {
          const from = ids[one.from % ids.length] as string
          if (from === id) break
          const { isNew } = yield* branches.merge(sid(id), sid(from), {
            strategy: one.strategy === "append" ? MergeStrategy.append : symmetric
          })
          if (isNew) yield* moved(id, versionOf(from))
        }
      }
    }
    time.set(time.now() + 1)
    return { branches, ids, versionOf }
  })

/** Two different ones. */
const pair = (ids: ReadonlyArray<string>, a: number, b: number): readonly [string, string] => {
  const one = a % ids.length
  const other = (one + 1 + (b % (ids.length - 1))) % ids.length
  return [ids[one] as string, ids[other] as string]
}

/** In a store and at a time of its own. */
const run = <A, E>(
  program: (time: SetClock.SetClock) => Effect.Effect<A, E, Effect.Effect.Context<ReturnType<typeof grown>>>
): Promise<A> => {
  const time = SetClock.make(1000)
  return Effect.runPromise(
    program(time).pipe(Effect.provide(B.layer()), SystemAccess.grant, Effect.withClock(time.clock))
  )
}

const identity = ({ id, origin, sessionId }: SessionTurn): string =>
  JSON.stringify(origin === undefined ? [sessionId, id] : [origin.sessionId, origin.turnId])

const identities = (id: string) => Effect.map(B.said(id), (turns) => turns.map(identity))

/** Holds for every history and every pair of its sessions. */
const holds = (
  law: (
    tree: Effect.Effect.Success<ReturnType<typeof grown>>,
    into: string,
    from: string
  ) => Effect.Effect<void, unknown, Effect.Effect.Context<ReturnType<typeof grown>>>,
  numRuns = 25
) =>
  FastCheck.assert(
    FastCheck.asyncProperty(history, place, place, (ops, a, b) =>
      run((time) =>
        Effect.gen(function* () {
          const tree = yield* grown(ops, time)
          const [into, from] = pair(tree.ids, a, b)
          yield* law(tree, into, from)
        })
      )
    ),
    { numRuns }
  )

describe("laws of merging", () => {
  it("append adds the missing turns of the branch after the head, in order, and loses nothing", () =>
    holds(({ branches }, into, from) =>
      Effect.gen(function* () {
        const ours = yield* identities(into)
        const theirs = yield* identities(from)
        const { session } = yield* branches.merge(sid(into), sid(from))
        const here = new Set(ours)
        assert.deepStrictEqual(yield* identities(into), [...ours, ...theirs.filter((turn) => !here.has(turn))])
        assert.strictEqual(session.depth, (yield* B.said(into)).length)
        assert.deepStrictEqual(yield* identities(from), theirs)
        const said = yield* B.said(into)
        for (let at = 1; at < said.length; at++) {
          assert.strictEqual(said[at]?.parent?.turnId, said[at - 1]?.id)
          assert.strictEqual(said[at]?.depth, at + 1)
        }
      })
    ))

  it.each([
    ["append", MergeStrategy.append],
    ["three-way", symmetric]
  ] as const)("merging twice equals merging once: %s", (_, strategy) =>
    holds(({ branches }, into, from) =>
      Effect.gen(function* () {
        yield* branches.merge(sid(into), sid(from), { strategy })
        const once = yield* B.load(into)
        const again = yield* branches.merge(sid(into), sid(from), { strategy })
        assert.isFalse(again.isNew)
        assert.deepStrictEqual(yield* B.load(into), once)
      })
    )
  )

  it("merging a branch without changes changes nothing", () =>
    holds(({ branches }, into) =>
      Effect.gen(function* () {
        yield* branches.fork(sid(into), { id: sid("fresh") })
        yield* B.say(into, "goes on")
        const before = yield* B.load(into)
        for (const strategy of [MergeStrategy.append, MergeStrategy.threeWay()]) {
          const { isNew, session } = yield* branches.merge(sid(into), sid("fresh"), { strategy })
          assert.isFalse(isNew)
          assert.deepStrictEqual(session, before)
        }
      })
    ))

  it("merging in either direction gives the same variables", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(history, place, place, async (ops, a, b) => {
        const merged = (isTurned: boolean) =>
          run((time) =>
            Effect.gen(function* () {
              const { branches, ids } = yield* grown(ops, time)
              const [one, other] = pair(ids, a, b)
              const [into, from] = isTurned ? [other, one] : [one, other]
              const { session } = yield* branches.merge(sid(into), sid(from), { strategy: symmetric })
              return session.variables
            })
          )
        assert.deepStrictEqual(await merged(false), await merged(true))
      }),
      { numRuns: 25 }
    ))

  it("keeps one-sided changes since a common state of both sessions", () =>
    holds(({ branches, versionOf }, into, from) =>
      Effect.gen(function* () {
        const seen: Array<MergeStrategy.Merging> = []
        const strategy = MergeStrategy.make("watched", (merging) => {
          seen.push(merging)
          return symmetric.merge(merging)
        })
        const { session } = yield* branches.merge(sid(into), sid(from), { strategy })
        const { base, from: theirs, into: ours } = seen[0] as MergeStrategy.Merging
        for (const key of ["a", "b", "__proto__"]) {
          const value = (of: Readonly<Record<string, unknown>>) => (Object.hasOwn(of, key) ? of[key] : undefined)
          const [was, here, there] = [value(base.variables), value(ours.variables), value(theirs.variables)]
          if (was === here) assert.strictEqual(value(session.variables), there)
          if (was === there) assert.strictEqual(value(session.variables), here)
        }
        const others = reach(versionOf(from))
        const common = Array.from(reach(versionOf(into))).filter((version) => others.has(version))
        const isLike = ({ variables }: Version) =>
          JSON.stringify(Object.entries(variables).sort()) === JSON.stringify(Object.entries(base.variables).sort())
        assert.isTrue(common.some(isLike))
      })
    ))
})
