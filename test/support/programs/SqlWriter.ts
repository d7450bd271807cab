/** Works on the stores of a database together with other processes, round by round, and reports its work. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { EntryId } from "../../../src/domain/Ids.js"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import { RateLimitStore } from "../../../src/governance/store/RateLimitStore.js"
import { FactStore } from "../../../src/memory/facts/FactStore.js"
import * as SqlCostLedger from "../../../src/persistence/governance/SqlCostLedger.js"
import * as SqlRateLimitStore from "../../../src/persistence/governance/SqlRateLimitStore.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly name: string
  readonly sqlite: string
  readonly postgres: string | undefined
}

export type Round = { readonly database: "sqlite" | "postgres"; readonly count: number } & (
  | {
      /** Holds, then settles or releases; reports `Done`. */
      readonly store: "ledger"
      readonly account: string
      readonly limit: number
      /** Makes a last hold that is never given back. */
      readonly leaves: boolean
    }
  /** Takes 3; reports how often it was allowed. */
  | { readonly store: "rates"; readonly limit: number }
  /** Asserts facts of one owner; reports how many. */
  | { readonly store: "facts" }
)

export interface Done {
  readonly held: number
  readonly refused: number
  readonly spent: number
}

type Stores = CostLedger.CostLedger | RateLimitStore | FactStore

const amount = { nanoUsd: 7, tokens: 1 }

const times = <A, E, R>(count: number, one: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    one,
    { concurrency: 4 }
  )

const hold = ({ account, count, leaves, limit }: Extract<Round, { store: "ledger" }>, name: string) =>
  Effect.gen(function* () {
    const ledger = yield* CostLedger.CostLedger
    const holds = (id: string) =>
      ledger.hold({ id, amount, accounts: [{ account: `run:${name}` }, { account, limit: { nanoUsd: limit } }] })
    const done = yield* times(
      count,
      (index): Effect.Effect<Done, unknown> =>
        Effect.gen(function* () {
          const id = `${account} ${name} ${index}`
          if ((yield* holds(id))._tag === "Refused") return { held: 0, refused: 1, spent: 0 }
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
    )
    if (leaves) yield* holds(`${account} ${name} left`)
    const total = (key: keyof Done) => done.reduce((sum, each) => sum + each[key], 0)
    return { held: total("held"), refused: total("refused"), spent: total("spent") } satisfies Done
  })

const take = ({ count, limit }: Extract<Round, { store: "rates" }>) =>
  Effect.gen(function* () {
    const store = yield* RateLimitStore
    const taken = yield* times(count, () => store.take({ key: "shared", amount: 3, limit, windowMs: 60_000 }))
    return taken.filter(({ allowed }) => allowed).length
  })

const tell = ({ count }: Extract<Round, { store: "facts" }>, name: string) =>
  Effect.gen(function* () {
    const store = yield* FactStore
    const told = yield* times(count, (index) =>
      store.assert("ann", [
        { subject: "Anna", predicate: "likes", object: `thing ${index} of ${name}`, validFrom: 1 },
        { subject: "Anna", predicate: "is", object: "here", validFrom: 1, sources: [EntryId.make(`${name}-${index}`)] }
      ])
    )
    return told.length
  })

const play = (round: Round, name: string): Effect.Effect<unknown, unknown, Stores> => {
  switch (round.store) {
    case "ledger":
      return hold(round, name)
    case "rates":
      return take(round)
    case "facts":
      return tell(round, name)
  }
}

Programs.main<Input>(({ hear, input, say }) =>
  Effect.gen(function* () {
    const stores = Layer.mergeAll(SqlCostLedger.layer(), SqlFactStore.layer(), SqlRateLimitStore.layer)
    const over = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) => ManagedRuntime.make(Layer.provide(stores, client))
    const runtimes = {
      sqlite: over(SqliteClient.layer({ file: input.sqlite })),
      postgres: over(PgClient.layer({ url: Redacted.make(input.postgres ?? ""), maxConnections: 4 }))
    }
    yield* say("ready")
    for (;;) {
      const round: Round | "end" = yield* hear
      if (round === "end") break
      const done =
        round.database === "sqlite"
          ? Effect.provide(play(round, input.name), runtimes.sqlite)
          : Effect.provide(play(round, input.name), runtimes.postgres)
      yield* say(yield* done)
    }
    yield* runtimes.sqlite.disposeEffect
    yield* runtimes.postgres.disposeEffect
  })
)
