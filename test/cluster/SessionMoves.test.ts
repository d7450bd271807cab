import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as AgentParticipant from "../../src/agent/AgentParticipant.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RemoteAgent from "../../src/agent/runs/RemoteAgent.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import { type AgentEvent, isTerminal } from "../../src/domain/AgentEvent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"
import * as SessionProcesses from "./SessionProcesses.js"

const server = await PostgresServer.database()
/** All shards are held, by two processes. */
const spread = "SELECT 1 FROM lex_cluster_locks HAVING count(*) = 24 AND count(DISTINCT address) = 2"

const agents = [Agent.make("helper", { limits: { llmTimeout: "1 day" } })]

TestServers.suite("postgres", server, ({ empty, url }) => {
  /** A process of its own port, whose model waits with texts that begin with "hold" if it is given nothing to open. */
  const runner = (model: SessionProcesses.Given["model"], more: Partial<SessionProcesses.Given> = {}) =>
    Effect.flatMap(ClusterProcesses.freePort, (port) =>
      SessionProcesses.start({
        client: Layer.orDie(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 6 })),
        ports: DurableCluster.layer({ host: "127.0.0.1", port, ...ClusterProcesses.settings }),
        agents,
        model,
        ...more
      })
    )

  it.scopedLive(
    "a session moves while it answers, with the messages that wait and their readers",
    () =>
      Effect.gen(function* () {
        yield* Effect.orDie(empty)
        const asked: Array<string> = []
        const isHeld = yield* Deferred.make<void>()
        const holding = SessionProcesses.model((said) =>
          Effect.zipRight(
            Effect.zipRight(
              Effect.sync(() => asked.push(said)),
              Deferred.succeed(isHeld, undefined)
            ),
            Effect.never
          )
        )
        const one = yield* runner(holding)
        const two = yield* runner(
          SessionProcesses.model((said) =>
            Effect.as(
              Effect.sync(() => asked.push(said)),
              `re: ${said}`
            )
          )
        )
        yield* ClusterProcesses.until(url, spread)
        const session = yield* SessionProcesses.sessionIn(one, "0")
        const message = (number: number) => ({
          ...session,
          agent: "helper",
          input: `message ${number}`,
          messageId: String(number)
        })
        const events: Array<AgentEvent> = []
        const reader = yield* Effect.fork(
          Stream.runForEach(two.sessions.stream(message(0)), (event) => Effect.sync(() => events.push(event)))
        )
        yield* Deferred.await(isHeld)
        const sent: Array<Fiber.RuntimeFiber<string, unknown>> = []
        for (const number of [1, 2, 3]) {
          const answer = Effect.map(two.sessions.send(message(number)), ({ message }) => message)
          sent.push(yield* Effect.fork(answer))
          yield* SessionProcesses.until(Effect.map(two.sessions.status(session), ({ waiting }) => waiting === number))
        }
        const ending = yield* Effect.fork(one.end)
        assert.deepStrictEqual(yield* Effect.forEach(sent, Fiber.join), [
          "re: message 1",
          "re: message 2",
          "re: message 3"
        ])
        yield* Fiber.join(reader)
        yield* Fiber.join(ending)
        assert.deepStrictEqual(events.map(isTerminal).indexOf(true), events.length - 1)
        assert.deepStrictEqual(
          yield* two.turns(session),
          [0, 1, 2, 3].flatMap((number) => [`message ${number}`, `re: message ${number}`])
        )
        // The call that was under way is made again, and no other one.
        assert.deepStrictEqual(asked, ["message 0", "message 0", "message 1", "message 2", "message 3"])
      }),
    60_000
  )

  it.scopedLive(
    "the participants of a group and the members of a crew speak in all processes",
    () =>
      Effect.gen(function* () {
        yield* Effect.orDie(empty)
        const speakers = ["writer", "critic"]
        const more = { agents: speakers.map((name) => Agent.make(name, { system: name })) }
        const speaking = (place: string) => TestModel.layer(({ messages }) => `${messages[0]?.content} in ${place}`)
        const here = Layer.provide(Agents.layer(), speaking("here"))
        const one = yield* runner(speaking("one"), more)
        const two = yield* runner(speaking("two"), more)
        yield* ClusterProcesses.until(url, spread)
        const sessionId = SessionId.make("group")
        const owner = { userId: UserId.make("ann") }
        yield* one.within(
          Effect.gen(function* () {
            const manager = yield* SessionManager.SessionManager
            yield* manager.create({ id: sessionId, ...owner })
            const group = yield* GroupSession.make({
              participants: speakers.map((name) => AgentParticipant.make(RemoteAgent.make(name))),
              maxRounds: 6
            })
            yield* GroupSession.run(group, sessionId, "Talk", owner)
          }).pipe(Effect.provide(here))
        )
        const turns = (yield* two.turns({ sessionId, userId: "ann" })).slice(1)
        assert.strictEqual(turns.length, 12)
        const places = (texts: ReadonlyArray<string>) => Array.from(new Set(texts.map((text) => text.slice(-3)))).sort()
        assert.deepStrictEqual(places(turns), ["one", "two"])

        const crew = Crew.make("press", {
          agents: speakers.map((name) => RemoteAgent.make(name)),
          tasks: Array.from({ length: 12 }, (_, number) =>
            Crew.task(`task ${number}`, { description: "Work", agent: speakers[number % 2] as string, context: [] })
          ),
          process: "parallel"
        })
        const { tasks } = yield* one.within(
          Crew.run(crew, { input: "All of it", userId: "ann" }).pipe(Effect.provide(here))
        )
        assert.deepStrictEqual(places(tasks.map(({ output }) => output)), ["one", "two"])
      }),
    60_000
  )
})
