/** Processes that are killed inside a tool of an agent, and what the session has of it afterwards. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { SessionId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Bundle from "../support/Bundle.js"
import * as Layers from "../support/crash/Layers.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const said = (session: string) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    Effect.map(sessions.turns(SessionId.make(session), { last: 10 }), (turns) =>
      turns.map(({ content, unanswered }) => `${content} ${unanswered ?? "-"}`)
    )
  )

/** As a process that begins now, or in a while by its clock. */
const starting = <A, E>(url: string, inMillis: number, effect: Effect.Effect<A, E, SessionManager.SessionManager>) =>
  Effect.gen(function* () {
    const now = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
    return yield* Effect.gen(function* () {
      yield* TestClock.setTime(now + inMillis)
      return yield* Effect.provide(
        Effect.zipRight(
          Effect.flatMap(SessionManager.SessionManager, ({ recover }) => SystemAccess.grant(recover)),
          effect
        ),
        Layers.make(url)
      )
    }).pipe(Effect.provide(TestContext.TestContext))
  })

const survived = (url: string) =>
  Effect.gen(function* () {
    const bundle = yield* Bundle.make("PayingAgent")
    const paying = (session: string) =>
      Effect.tap(Programs.start(bundle, { url, session, input: `Pay for ${session}.` }), ({ hear }) =>
        Effect.map(hear, (word) => assert.strictEqual(word, "paying"))
      )
    const living = yield* paying("living")
    const dead = yield* paying("dead")
    yield* dead.kill()
    // The lease of the dead one still lasts.
    yield* starting(
      url,
      0,
      Effect.map(said("dead"), (turns) => assert.deepStrictEqual(turns, []))
    )
    yield* living.say("go on")
    assert.strictEqual(yield* living.hear, "Paid.")
    assert.deepStrictEqual(yield* living.ended, { code: 0, signal: null })
    yield* starting(
      url,
      61_000,
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* said("dead"), ["Pay for dead. interrupted"])
        assert.deepStrictEqual(yield* said("living"), ["Pay for living. -", "Paid. -"])
      })
    )
  })

describe("a kill inside a tool", () => {
  it.scopedLive(
    "leaves the question in a SQLite session, marked when the lease expires; running runs are unaffected",
    () => Effect.flatMap(SqliteDrivers.file, (file) => survived(`sqlite:${file}`)),
    60_000
  )
})

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ url }) => {
  it.scopedLive(
    "leaves the question in a session, marked when the lease expires; running runs are unaffected",
    () => survived(url),
    60_000
  )
})
