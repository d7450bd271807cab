/**
 * Adds turns to a session and books in an account together with other processes; or takes a lock and holds it until
 * told to continue.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../../src/session/turn/Session.js"
import * as Layers from "../crash/Layers.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly url: string
  readonly name: string
}

export type Round =
  | ({ readonly _tag: "Write"; readonly session: string; readonly account: string; readonly fibers: number } & Sizes)
  /** Statements of a transaction that stays open until the next message, which ends it. */
  | { readonly _tag: "Lock"; readonly statements: ReadonlyArray<string> }

interface Sizes {
  readonly turns: number
  readonly limit: number
}

export interface Done {
  readonly held: number
  readonly refused: number
}

/** Cost of each turn and each settlement. */
const COST = 3
const HELD = 10

const one = (name: string, fiber: number, { account, limit, session, turns }: Extract<Round, { _tag: "Write" }>) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const ledger = yield* CostLedger.CostLedger
    const id = SessionId.make(session)
    let held = 0
    for (let n = 0; n < turns; n++) {
      const key = `${session} ${name} ${fiber} ${n}`
      const turn = NewTurn.make({ id: TurnId.make(key), role: "user", content: key, timestamp: n, tokensUsed: COST })
      const hold = {
        id: key,
        amount: { nanoUsd: HELD, tokens: HELD },
        accounts: [{ account, limit: { nanoUsd: limit } }]
      }
      const isHeld = (yield* ledger.hold(hold))._tag === "Held"
      const added = yield* sessions.addTurn(id, turn)
      // Repeats the call, as after a lost response.
      const again = yield* sessions.addTurn(id, turn)
      if (again.depth !== added.depth) return yield* Effect.fail(`${key} was added twice`)
      if (!isHeld) continue
      const { reserved, spent } = yield* ledger.read(account)
      if (reserved.nanoUsd + spent.nanoUsd > limit) return yield* Effect.fail("past the limit")
      if ((yield* ledger.settle(key, { nanoUsd: COST, tokens: COST })) === undefined) {
        return yield* Effect.fail("the hold was lost")
      }
      held++
    }
    return { held, refused: turns - held } satisfies Done
  })

const write = (name: string, round: Extract<Round, { _tag: "Write" }>) =>
  Effect.map(
    Effect.forEach(
      Array.from({ length: round.fibers }, (_, fiber) => fiber),
      (fiber) => one(name, fiber, round),
      { concurrency: "unbounded" }
    ),
    (all): Done => ({
      held: all.reduce((sum, { held }) => sum + held, 0),
      refused: all.reduce((sum, { refused }) => sum + refused, 0)
    })
  )

Programs.main<Input>(({ hear, input, say }) =>
  Effect.gen(function* () {
    yield* say("ready")
    for (;;) {
      const round: Round | "end" = yield* hear
      if (round === "end") return
      if (round._tag === "Write") {
        yield* say(yield* write(input.name, round))
        continue
      }
      const sql = yield* SqlClient.SqlClient
      yield* Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* sql.reserve
          const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
          yield* Effect.forEach(round.statements, run)
          yield* say("locked")
          yield* run(yield* hear)
        })
      )
      yield* say("unlocked")
    }
  }).pipe(Effect.provide(Layers.make(input.url)))
)
