/** Sessions against a model that is as plain as can be: every session a list, every checkpoint a copy of one. */

import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { type SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as KeyValueSessionStore from "../../../src/session/keyvalue/KeyValueSessionStore.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import type { CheckpointId } from "../../../src/session/turn/Session.js"
import type * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"

type Operation =
  | { readonly _tag: "add"; readonly session: number; readonly turn: number }
  | { readonly _tag: "update"; readonly session: number; readonly value: number }
  | { readonly _tag: "checkpoint"; readonly session: number }
  | { readonly _tag: "restore"; readonly checkpoint: number }
  | { readonly _tag: "fork"; readonly session: number; readonly checkpoint: number | undefined }

const index = FastCheck.nat({ max: 30 })
const operations = FastCheck.array(
  FastCheck.oneof(
    // Few ids, so that sessions and their branches often say the same again.
    {
      weight: 6,
      arbitrary: FastCheck.record({
        _tag: FastCheck.constant("add" as const),
        session: index,
        turn: FastCheck.nat({ max: 11 })
      })
    },
    {
      weight: 1,
      arbitrary: FastCheck.record({ _tag: FastCheck.constant("update" as const), session: index, value: index })
    },
    { weight: 2, arbitrary: FastCheck.record({ _tag: FastCheck.constant("checkpoint" as const), session: index }) },
    { weight: 2, arbitrary: FastCheck.record({ _tag: FastCheck.constant("restore" as const), checkpoint: index }) },
    {
      weight: 1,
      arbitrary: FastCheck.record({
        _tag: FastCheck.constant("fork" as const),
        session: index,
        checkpoint: FastCheck.option(index, { nil: undefined })
      })
    }
  ),
  { maxLength: 40 }
)

interface Said {
  readonly id: string
  readonly by: SessionId
  readonly content: string
}
interface State {
  readonly path: ReadonlyArray<Said>
  readonly value: number
}
interface Modelled {
  readonly id: SessionId
  state: State
  /** All it ever said. */
  readonly own: Map<string, Said>
}

const pick = <A>(from: ReadonlyArray<A>, at: number): A | undefined => from[at % Math.max(1, from.length)]

const compare = (operations: ReadonlyArray<Operation>, store: Layer.Layer<SessionStore.SessionStore>) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const branches = yield* BranchManager.BranchManager
    const root = yield* sessions.create({ variables: { value: 0 } })
    const models: Array<Modelled> = [{ id: root.id, state: { path: [], value: 0 }, own: new Map() }]
    const checkpoints: Array<{ readonly id: CheckpointId; readonly of: Modelled; readonly state: State }> = []
    let count = 0
    const same = Effect.gen(function* () {
      for (const { id, state } of models) {
        assert.deepStrictEqual(
          yield* ManagedSessions.words(id),
          state.path.map(({ content }) => content)
        )
        assert.deepInclude(Option.getOrThrow(yield* sessions.get(id)), {
          depth: state.path.length,
          totalTokens: 2 * state.path.length,
          variables: { value: state.value }
        })
      }
    })
    for (const operation of operations) {
      yield* TestClock.adjust(1)
      switch (operation._tag) {
        case "add": {
          const model = pick(models, operation.session) as Modelled
          const id = `t${operation.turn}`
          // So that an id comes again both with what it said and with something else.
          const content = `${id} #${count++ % 2}`
          const known = model.own.get(id) ?? model.state.path.find((said) => said.id === id)
          const expected = known ?? { id, by: model.id, content }
          if (known === undefined) {
            model.own.set(id, expected)
            model.state = { ...model.state, path: [...model.state.path, expected] }
          }
          const added = yield* Effect.either(
            sessions.addTurn(model.id, ManagedSessions.turn(0, { id: TurnId.make(id), content, tokensUsed: 2 }))
          )
          if (expected.content !== content || !model.state.path.includes(expected)) {
            assert.strictEqual(Either.isLeft(added) && added.left._tag, "SessionConflictError")
            break
          }
          const turn = yield* added
          assert.deepStrictEqual([turn.id, turn.sessionId, turn.content] as ReadonlyArray<string>, [
            expected.id,
            expected.by,
            expected.content
          ])
          break
        }
        case "update": {
          const model = pick(models, operation.session) as Modelled
          model.state = { ...model.state, value: operation.value }
          yield* sessions.update(model.id, { variables: { value: operation.value } })
          break
        }
        case "checkpoint": {
          const of = pick(models, operation.session) as Modelled
          const { id } = yield* sessions.checkpoint(of.id)
          checkpoints.push({ id, of, state: of.state })
          break
        }
        case "restore": {
          const checkpoint = pick(checkpoints, operation.checkpoint)
          if (checkpoint === undefined) break
          checkpoint.of.state = checkpoint.state
          yield* sessions.restore(checkpoint.id)
          break
        }
        case "fork": {
          const from = operation.checkpoint === undefined ? undefined : pick(checkpoints, operation.checkpoint)
          const source = from?.of ?? (pick(models, operation.session) as Modelled)
          const branch = yield* branches.fork(source.id, from === undefined ? {} : { fromCheckpoint: from.id })
          const [fork] = yield* sessions.checkpoints(branch.id)
          const model: Modelled = { id: branch.id, state: from?.state ?? source.state, own: new Map() }
          models.push(model)
          assert.strictEqual(fork?.kind, "fork")
          if (fork !== undefined) checkpoints.push({ id: fork.id, of: model, state: model.state })
          break
        }
      }
      if (count % 4 === 0) yield* same
    }
    yield* same
  }).pipe(
    Effect.provide(
      ManagedSessions.layer(
        { autoCheckpointInterval: null, maxCheckpointsPerSession: Number.POSITIVE_INFINITY, sessionTtl: 0 },
        { store, branches: { maxBranchesPerSession: Number.POSITIVE_INFINITY } }
      )
    )
  )

const stores: ReadonlyArray<readonly [string, Layer.Layer<SessionStore.SessionStore>, number]> = [
  ["in memory", InMemorySessionStore.layer, 25],
  ["in a key-value store", Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory), 10]
]

describe("SessionManager as a tree", () => {
  for (const [name, store, numRuns] of stores) {
    it.effect.prop(
      `${name}: keeps every session equal to a plain list for any adds, checkpoints, restores and forks`,
      [operations],
      ([operations]) => compare(operations, store),
      { fastCheck: { numRuns }, timeout: 30_000 }
    )
  }
})
