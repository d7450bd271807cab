/** Holds, settles and releases in an account with a limit, together with other processes, round by round, and says what it did. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as CostLedger from "../../../src/governance/CostLedger.js"
import * as SqlCostLedger from "../../../src/persistence/SqlCostLedger.js"
import * as SqliteClient from "../../../src/persistence/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly name: string
  readonly sqlite: string
  readonly postgres: string | undefined
}

export interface Round {
  readonly database: "sqlite" | "postgres"
  readonly account: string
  readonly holds: number
  readonly limit: number
  /** Holds once more in the end, and does not give it back. */
  readonly leaves: boolean
}

export interface Done {
  readonly held: number
  readonly refused: number
  readonly spent: number
}

const amount = { nanoUsd: 7, tokens: 1 }

const play = ({ account, holds, leaves, limit }: Round, name: string) =>
  Effect.gen(function* () {
    const ledger = yield* CostLedger.CostLedger
    const hold = (id: string) =>
      ledger.hold({ id, amount, accounts: [{ account: `run:${name}` }, { account, limit: { nanoUsd: limit } }] })
    const one = (index: number): Effect.Effect<Done, unknown> =>
      Effect.gen(function* () {
        const id = `${account} ${name} ${index}`
        if ((yield* hold(id))._tag === "Refused") return { held: 0, refused: 1, spent: 0 }
        const { reserved, spent } = yield* ledger.read(account)
        if (spent.nanoUsd + reserved.nanoUsd > limit) return yield* Effect.fail("past the limit")
        if (index % 3 === 0) {
          if (!(yield* ledger.release(id))) return yield* Effect.fail("the hold was lost")
          return { held: 1, refused: 0, spent: 0 }
        }
        const used = index % 5
        if ((yield* ledger.settle(id, { nanoUsd: used, tokens: 1 })) === undefined) {
          return yield* Effect.fail("the hold was lost")
        }
        return { held: 1, refused: 0, spent: used }
      })
    const done = yield* Effect.forEach(
      Array.from({ length: holds }, (_, index) => index),
      one,
      { concurrency: 4 }
    )
    if (leaves) yield* hold(`${account} ${name} left`)
    const total = (key: keyof Done) => done.reduce((sum, each) => sum + each[key], 0)
    return { held: total("held"), refused: total("refused"), spent: total("spent") } satisfies Done
  })

Programs.main<Input>(({ hear, input, say }) =>
  Effect.gen(function* () {
    const over = <E>(client: Layer.Layer<any, E>) => ManagedRuntime.make(Layer.provide(SqlCostLedger.layer(), client))
    const runtimes = {
      sqlite: over(SqliteClient.layer({ file: input.sqlite })),
      postgres:
        input.postgres === undefined
          ? undefined
          : over(PgClient.layer({ url: Redacted.make(input.postgres), maxConnections: 4 }))
    }
    yield* say("ready")
    for (;;) {
      const round: Round | "end" = yield* hear
      if (round === "end") break
      yield* say(yield* Effect.provide(play(round, input.name), runtimes[round.database]!))
    }
    yield* runtimes.sqlite.disposeEffect
    if (runtimes.postgres !== undefined) yield* runtimes.postgres.disposeEffect
  })
)
