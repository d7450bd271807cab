import * as Fs from "node:fs"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Bundle from "../support/Bundle.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import type { Input, Sent } from "../support/programs/SessionRunner.js"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"

/** Messages of each client of a session; `npm run test:crash` sets more. */
const MESSAGES = Number(process.env.CLUSTER_MESSAGES ?? 4)
const SESSIONS = ["a", "b", "c"]
const CLIENTS = ["x", "y"]

const server = await PostgresServer.database()

interface Runner extends Programs.Program {
  readonly name: string
  readonly port: number
  /** The answer, or `undefined` if the process ended before. */
  readonly send: (sent: Sent) => Effect.Effect<string | undefined>
}

interface Answer {
  readonly messageId: string
  readonly message?: string
  readonly failed?: string
}

const start = (program: string, given: Omit<Input, "port" | "settings">): Effect.Effect<Runner, never, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* ClusterProcesses.freePort
    const { settings } = ClusterProcesses
    const running = yield* Programs.start(program, { ...given, port, settings } satisfies Input)
    assert.strictEqual(yield* running.hear, "ready")
    const open = new Map<string, Deferred.Deferred<string | undefined>>()
    let isOver = false
    yield* Effect.forkScoped(
      Effect.catchAllDefect(
        Effect.forever(
          Effect.flatMap(running.hear, ({ failed, message, messageId }: Answer) => {
            const waiting = open.get(messageId)
            return waiting === undefined ? Effect.void : Deferred.succeed(waiting, failed ?? message)
          })
        ),
        () =>
          Effect.suspend(() => {
            isOver = true
            return Effect.forEach(open.values(), (one) => Deferred.succeed(one, undefined), { discard: true })
          })
      )
    )
    return {
      ...running,
      name: given.name,
      port,
      send: (sent) =>
        Effect.flatMap(Deferred.make<string | undefined>(), (answered) =>
          Effect.suspend(() => {
            if (isOver) return Effect.succeed(undefined)
            open.set(sent.messageId, answered)
            return Effect.zipRight(running.say(sent), Deferred.await(answered))
          })
        )
    }
  })

/** Calls of the model that began in a session while another one of it went on, in processes that were not disturbed. */
const overlaps = (lines: ReadonlyArray<string>, disturbed: ReadonlyArray<string>): ReadonlyArray<string> => {
  const open = new Map<string, string>()
  return lines.flatMap((line) => {
    const [name = "", what, session = "", message = ""] = line.split(" ")
    if (disturbed.includes(name)) return []
    const before = open.get(session)
    if (what === "end") {
      open.delete(session)
      return []
    }
    open.set(session, message)
    return before === undefined || before === message ? [] : [`${session}: ${before} and ${message}`]
  })
}

TestServers.suite("postgres", server, ({ url }) => {
  const turnsOf = (session: string) =>
    Effect.flatMap(SessionManager.SessionManager, (manager) =>
      manager.turns(SessionId.make(session), { last: 10_000, userId: UserId.make("ann") })
    ).pipe(
      Effect.map((turns) => turns.map(({ content }) => content)),
      Effect.provide(
        Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false }).pipe(
          Layer.provide(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
        )
      )
    )

  it.scopedLive(
    "answers every message once and in order while one process is killed, one is frozen and one drains",
    () =>
      Effect.gen(function* () {
        const program = yield* Bundle.make("SessionRunner")
        const effects = yield* ClusterProcesses.journal
        const runner = (name: string) => start(program, { name, url, effects, thinking: 150 })
        const [one, two, three] = yield* Effect.all([runner("one"), runner("two"), runner("three")], {
          concurrency: "unbounded"
        })
        yield* ClusterProcesses.untilShared(url, 3)
        const living = [one, two, three]
        let answered = 0

        /** One message after another, each by some process, and by another one if that one ends. */
        const client = (session: string, name: string) =>
          Effect.forEach(
            Array.from({ length: MESSAGES }, (_, number) => `${name}${number}`),
            (messageId) =>
              Effect.repeat(
                Effect.suspend(() =>
                  Effect.flatMap(Random.nextIntBetween(0, living.length), (index) =>
                    (living[index] as Runner).send({ sessionId: session, messageId: `${session}${messageId}` })
                  )
                ),
                { until: (answer) => answer !== undefined }
              ).pipe(
                Effect.map((answer) => {
                  answered++
                  return assert.strictEqual(answer, `re: ${session} ${session}${messageId}`)
                })
              ),
            { discard: true }
          )
        const all = SESSIONS.length * CLIENTS.length * MESSAGES
        const clients = yield* Effect.fork(
          Effect.all(
            SESSIONS.flatMap((session) => CLIENTS.map((name) => client(session, name))),
            { concurrency: "unbounded" }
          )
        )
        // A client that fails fails the test, which would wait for its messages otherwise.
        const until = (part: number) =>
          Effect.raceFirst(
            Effect.repeat(Effect.sleep("20 millis"), { until: () => answered >= part * all }),
            Effect.zipRight(Fiber.join(clients), Effect.never)
          )
        const gone = ({ port }: Runner) =>
          ClusterProcesses.until(
            url,
            `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lex_cluster_locks WHERE address = '127.0.0.1:${port}')`
          )
        yield* until(0.2)
        living.splice(living.indexOf(one), 1)
        yield* one.kill("SIGKILL")
        yield* until(0.4)
        living.push(yield* runner("four"))
        process.kill(two.pid, "SIGSTOP")
        yield* gone(two)
        process.kill(two.pid, "SIGCONT")
        yield* until(0.7)
        living.splice(living.indexOf(three), 1)
        yield* three.kill("SIGTERM")
        yield* Fiber.join(clients)

        for (const session of SESSIONS) {
          const turns = yield* turnsOf(session)
          const asked = turns.filter((_, index) => index % 2 === 0)
          assert.deepStrictEqual(
            turns.filter((_, index) => index % 2 === 1),
            asked.map((text) => `re: ${text}`)
          )
          for (const name of CLIENTS) {
            assert.deepStrictEqual(
              asked.filter((text) => text.startsWith(`${session} ${session}${name}`)),
              Array.from({ length: MESSAGES }, (_, number) => `${session} ${session}${name}${number}`)
            )
          }
          assert.strictEqual(asked.length, CLIENTS.length * MESSAGES)
        }
        const lines = Fs.readFileSync(effects, "utf8").trim().split("\n")
        assert.deepStrictEqual(overlaps(lines, ["one", "two", "three"]), [])
        const begun = lines.filter((line) => line.includes(" begin ")).length
        yield* Effect.log(`${all} messages, ${begun - all} calls of the model were made again`)
      }).pipe(Effect.withRandom(Random.make("sessions"))),
    300_000
  )
})
