import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as StudioApis from "../support/StudioApis.js"

const { dev, nobody, other } = StudioApis

const KEY = "sk-1234567890abcdef1234567890"

const login = Tool.make("login", {
  description: "Logs in",
  parameters: { name: Schema.String, pin: Schema.String },
  secretParams: ["pin"],
  handler: ({ name }) => Effect.succeed({ hello: name, token: KEY })
})

const helper = Agent.make("helper", { tools: ToolSet.make(login) })

const start = StudioApis.start({
  agents: [helper],
  sessions: Layer.orDie(Sessions.layer()),
  script: ({ messages }) =>
    messages.at(-1)?.role === "tool" || !JSON.stringify(messages.at(-1)).includes("log in")
      ? "done"
      : { calls: [{ name: "login", params: { name: "ann", pin: "4321" } }] }
})

type Server = Effect.Effect.Success<typeof start>

const say = ({ ask }: Server, sessionId: string, input: string) =>
  Effect.map(ask("/v1/runs?wait=10", { user: dev, body: { agent: "helper", input, sessionId } }), ({ status, text }) =>
    assert.strictEqual(status, 200, text)
  )

const update = ({ ask }: Server, id: string, variables: Record<string, unknown>) =>
  Effect.map(ask(`/v1/sessions/${id}`, { user: dev, method: "PATCH", body: { variables } }), ({ status, text }) =>
    assert.strictEqual(status, 200, text)
  )

/** Two branches that changed the same variables. */
const diverged = Effect.gen(function* () {
  const server = yield* start
  const { ask } = server
  yield* say(server, "main", "hello")
  yield* update(server, "main", { tone: "calm", apiKey: KEY })
  yield* ask("/v1/sessions/main/fork", { user: dev, body: { id: "branch" } })
  yield* say(server, "branch", "on the branch")
  yield* update(server, "branch", { tone: "loud", apiKey: `${KEY}b`, extra: "</script>" })
  yield* update(server, "main", { tone: "dry", apiKey: `${KEY}a` })
  return server
})

const preview = ({ ask }: Server, user: string = dev) =>
  ask("/studio/api/sessions/main/merge/preview", { user, body: { from: "branch" } })

const merge = ({ ask }: Server, body: object, user: string = dev) =>
  ask("/studio/api/sessions/main/merge", { user, body: { from: "branch", ...body } })

describe("turns of sessions in the studio", () => {
  it.scopedLive("have their calls with arguments and results, but no secrets", () =>
    Effect.gen(function* () {
      const server = yield* start
      yield* say(server, "s", "log in please")
      const { json, status, text } = yield* server.ask("/studio/api/sessions/s/turns", { user: dev })
      assert.strictEqual(status, 200, text)
      const calls = json.turns.flatMap(({ toolCalls }: any) => toolCalls)
      assert.deepInclude(calls[0], { name: "login", params: { name: "ann", pin: "[REDACTED]" } })
      assert.include(text, "hello")
      for (const secret of [KEY, "4321"]) assert.notInclude(text, secret)
      assert.isString(json.turns.at(-1).runId)
    })
  )

  it.scopedLive("are bounded, page by page", () =>
    Effect.gen(function* () {
      const server = yield* start
      for (const input of ["a", "b"]) yield* say(server, "s", input)
      const manager = Context.get(server.context as Context.Context<any>, SessionManager.SessionManager)
      yield* manager.addTurn(
        SessionId.make("s"),
        NewTurn.make({ id: TurnId.make("long"), role: "user", content: "x".repeat(200_000), timestamp: 1 }),
        { userId: UserId.make(dev) }
      )
      const read = (query: string) => server.ask(`/studio/api/sessions/s/turns?${query}`, { user: dev })
      const first = (yield* read("limit=1")).json
      assert.isBelow(first.turns[0].content.length, 60_000)
      const second = (yield* read(`limit=4&before=${first.next}`)).json
      assert.deepStrictEqual(
        second.turns.map(({ content }: any) => content),
        ["a", "done", "b", "done"]
      )
      assert.notProperty(second, "next")
      for (const query of ["limit=0", "limit=201", "before=rubbish"]) {
        assert.strictEqual((yield* read(query)).status, 400, query)
      }
    })
  )
})

describe("long conversations in the studio", () => {
  it.scopedLive("have bounded answers", () =>
    Effect.gen(function* () {
      const server = yield* start
      const { ask, context } = server
      yield* say(server, "main", "hello")
      yield* ask("/v1/sessions/main/fork", { user: dev, body: { id: "branch" } })
      const manager = Context.get(context as Context.Context<any>, SessionManager.SessionManager)
      for (let at = 0; at < 250; at++) {
        yield* manager.addTurn(
          SessionId.make("branch"),
          NewTurn.make({ id: TurnId.make(`t${at}`), role: "user", content: "x".repeat(40_000), timestamp: at + 10 }),
          { userId: UserId.make(dev) }
        )
      }
      const turns = yield* ask("/studio/api/sessions/branch/turns?limit=200", { user: dev })
      assert.lengthOf(turns.json.turns, 200)
      assert.isBelow(turns.text.length, 4_300_000)
      const found = yield* preview(server)
      assert.deepStrictEqual([found.json.turns.length, found.json.turnCount], [200, 250])
      assert.isBelow(found.text.length, 4_300_000)
    })
  )
})

describe("merges in the studio", () => {
  it.scopedLive("show what comes, and both sides of each conflict, and write nothing", () =>
    Effect.gen(function* () {
      const server = yield* diverged
      const { json, status, text } = yield* preview(server)
      assert.strictEqual(status, 200, text)
      assert.deepStrictEqual(
        json.turns.map(({ content }: any) => content),
        ["on the branch", "done"]
      )
      const named = (path: string) => json.conflicts.find((one: any) => one.path === path)
      assert.deepInclude(named("variables/tone"), {
        base: { value: "calm" },
        ours: { value: "dry" },
        theirs: { value: "loud" }
      })
      assert.deepStrictEqual(named("variables/apiKey").ours, { value: "[REDACTED]" })
      assert.deepStrictEqual(json.changes.variables, { set: [{ key: "extra", value: "</script>" }], removed: [] })
      assert.notInclude(text, KEY)
      assert.strictEqual((yield* server.ask("/v1/sessions/main", { user: dev })).json.depth, 2)
    })
  )

  it.scopedLive("are decided conflict by conflict", () =>
    Effect.gen(function* () {
      const server = yield* diverged
      const { fingerprint: seen } = (yield* preview(server)).json
      const open = yield* merge(server, { seen, decisions: [{ path: "variables/tone", take: "theirs" }] })
      assert.strictEqual(open.status, 409, open.text)
      assert.include(open.json.detail, "variables/apiKey")
      const decisions = [
        { path: "variables/tone", take: "theirs" },
        { path: "variables/apiKey", take: "ours" }
      ]
      const merged = yield* merge(server, { seen, decisions })
      assert.strictEqual(merged.status, 200, merged.text)
      assert.deepStrictEqual(merged.json.session.variables, {
        tone: "loud",
        apiKey: "[REDACTED]",
        extra: "</script>"
      })
      assert.strictEqual(merged.json.copied, 2)
      const manager = Context.get(server.context as Context.Context<any>, SessionManager.SessionManager)
      const stored = yield* manager.get(SessionId.make("main"), { userId: UserId.make(dev) })
      assert.strictEqual((stored as any).value.variables.apiKey, `${KEY}a`)
    })
  )

  it.scopedLive("are refused when a session changed since, and for places without a conflict", () =>
    Effect.gen(function* () {
      const server = yield* diverged
      const { conflicts, fingerprint: seen } = (yield* preview(server)).json
      const decisions = conflicts.map(({ path }: any) => ({ path, take: "ours" }))
      const more = [...decisions, { path: "variables/__proto__", take: "ours" }]
      assert.strictEqual((yield* merge(server, { seen, decisions: more })).status, 409)
      yield* update(server, "main", { tone: "flat", apiKey: `${KEY}a` })
      const late = yield* merge(server, { seen, decisions })
      assert.strictEqual(late.status, 409, late.text)
      assert.include(late.json.detail, "no longer")
      for (const body of [{}, { seen }, { seen: "", decisions }, { seen, decisions: [{ path: "a", take: "mine" }] }]) {
        assert.strictEqual((yield* merge(server, body)).status, 400, JSON.stringify(body))
      }
    })
  )
})

describe("sessions of the studio", () => {
  it.scopedLive("have their prompt, tools and cost, and checkpoints differ in all of it", () =>
    Effect.gen(function* () {
      const server = yield* start
      const { ask, context } = server
      yield* say(server, "s", "hello")
      const before = (yield* ask("/v1/sessions/s/checkpoints", { user: dev, body: {} })).json.id
      const manager = Context.get(context as Context.Context<any>, SessionManager.SessionManager)
      yield* manager.update(SessionId.make("s"), {
        userId: UserId.make(dev),
        systemPrompt: `Be brief. ${KEY}`,
        activeTools: ["login"]
      })
      yield* say(server, "s", "more")
      const after = (yield* ask("/v1/sessions/s/checkpoints", { user: dev, body: {} })).json.id
      const whole = yield* ask("/studio/api/sessions/s", { user: dev })
      assert.deepInclude(whole.json, { activeTools: ["login"], activeSkills: [], totalCost: 0 }, whole.text)
      assert.include(whole.json.systemPrompt, "Be brief.")
      const diff = yield* ask(`/studio/api/checkpoints/${before}/diff/${after}`, { user: dev })
      assert.strictEqual(diff.status, 200, diff.text)
      assert.include(diff.json.systemPrompt.to, "Be brief.")
      assert.deepStrictEqual(diff.json.activeTools.added, ["login"])
      assert.lengthOf(diff.json.turns.added, 2)
      assert.deepInclude(diff.json.turns, { addedCount: 2, removedCount: 0 })
      for (const { text } of [whole, diff]) assert.notInclude(text, KEY)
      assert.strictEqual((yield* ask(`/studio/api/checkpoints/${before}/diff/${after}`, { user: other })).status, 404)
    })
  )

  it.scopedLive("are those of the caller, and for developers alone", () =>
    Effect.gen(function* () {
      const server = yield* diverged
      const requests = [
        ["/studio/api/sessions/main", undefined],
        ["/studio/api/sessions/main/turns", undefined],
        ["/studio/api/sessions/main/merge/preview", { from: "branch" }],
        ["/studio/api/sessions/main/merge", { from: "branch", decisions: [], seen: "x" }]
      ] as const
      for (const [path, body] of requests) {
        assert.strictEqual((yield* server.ask(path, { user: other, body })).status, 404, path)
        assert.strictEqual((yield* server.ask(path, { user: nobody, body })).status, 403, path)
        assert.strictEqual((yield* server.ask(path, { user: "", body })).status, 401, path)
        for (const id of ["none", "__proto__", "%00", "a".repeat(400), "%2e%2e"]) {
          const { status } = yield* server.ask(path.replace("main", id), { user: dev, body })
          assert.include([400, 404], status, `${path} ${id}`)
        }
      }
      const unrelated = yield* server.ask("/studio/api/sessions/main/merge/preview", {
        user: dev,
        body: { from: "main" }
      })
      assert.strictEqual(unrelated.status, 409, unrelated.text)
    })
  )

  it.scopedLive("say which layer a server lacks", () =>
    Effect.gen(function* () {
      const { ask } = yield* StudioApis.start({ agents: [helper] })
      for (const path of ["", "/turns", "/merge/preview", "/merge"]) {
        const body = path.startsWith("/merge") ? { from: "b", decisions: [], seen: "x" } : undefined
        const { json, status } = yield* ask(`/studio/api/sessions/a${path}`, { user: dev, body })
        assert.strictEqual(status, 501, path)
        assert.include(json.detail, "Sessions.layer()")
      }
    })
  )
})
