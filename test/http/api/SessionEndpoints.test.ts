import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper", { system: "secret prompt" })

const start = AgentServers.start({
  agents: [helper],
  sessions: Layer.orDie(Sessions.layer()),
  script: ({ messages }) => `re: ${String(messages.at(-1)?.content)}`
})

type Ask = Effect.Effect.Success<typeof start>["ask"]

const say = (ask: Ask, sessionId: string, input: string) =>
  Effect.map(ask("/v1/runs?wait=10", { body: { agent: "helper", input, sessionId } }), ({ json, status, text }) => {
    assert.strictEqual(status, 200, text)
    return json.answer.message as string
  })

const contents = (turns: ReadonlyArray<{ content: string }>) => turns.map(({ content }) => content)

describe("sessions over HTTP", () => {
  it.scopedLive("are created, changed, listed page by page, closed and deleted by their owner alone", () =>
    Effect.gen(function* () {
      const { ask, context } = yield* start
      const created = yield* ask("/v1/sessions", { body: { id: "one", metadata: { title: "First" } } })
      assert.strictEqual(created.status, 201, created.text)
      assert.deepStrictEqual(created.json.metadata, { title: "First" })
      for (const id of ["two", "three"]) yield* ask("/v1/sessions", { body: { id } })
      yield* ask("/v1/sessions", { body: { id: "hers" }, user: "bob" })

      const first = (yield* ask("/v1/sessions?limit=2&order=created")).json
      assert.lengthOf(first.sessions, 2)
      const second = (yield* ask(`/v1/sessions?limit=2&order=created&cursor=${first.next}`)).json
      assert.deepStrictEqual([...first.sessions, ...second.sessions].map(({ id }: { id: string }) => id).sort(), [
        "one",
        "three",
        "two"
      ])
      assert.strictEqual((yield* ask("/v1/sessions?cursor=rubbish")).status, 400)

      const patch = { method: "PATCH", body: { variables: { city: "Rome", apiKey: "sk-1234567890abcdef1234567890" } } }
      const changed = yield* ask("/v1/sessions/one", patch)
      assert.strictEqual(changed.status, 200, changed.text)
      assert.strictEqual(changed.json.variables.city, "Rome")
      assert.notInclude(changed.text, "sk-1234567890abcdef")
      assert.deepStrictEqual(changed.json.metadata, { title: "First" })

      // A secret that was not shown stays when the rest is changed.
      const { variables } = changed.json
      yield* ask("/v1/sessions/one", { method: "PATCH", body: { variables: { ...variables, city: "Oslo" } } })
      const manager = Context.get(context as Context.Context<any>, SessionManager.SessionManager)
      const stored = yield* manager.get(SessionId.make("one"), { userId: UserId.make("ann") })
      assert.deepStrictEqual(Option.getOrThrow(stored).variables, { ...patch.body.variables, city: "Oslo" })

      for (const path of ["", "/turns", "/tree", "/checkpoints"]) {
        assert.strictEqual((yield* ask(`/v1/sessions/one${path}`, { user: "bob" })).status, 404, path)
        assert.strictEqual((yield* ask(`/v1/sessions/none${path}`)).status, 404, path)
      }
      assert.strictEqual((yield* ask("/v1/sessions", { body: { id: "one" }, user: "bob" })).status, 404)
      assert.strictEqual((yield* ask("/v1/sessions/one", { ...patch, user: "bob" })).status, 404)

      const status = (status: string) => ask("/v1/sessions/one/status", { body: { status } })
      assert.strictEqual((yield* status("suspended")).json.status, "suspended")
      assert.strictEqual((yield* status("active")).json.status, "active")
      assert.strictEqual((yield* status("closed")).json.status, "closed")
      const reopened = yield* status("active")
      assert.strictEqual(reopened.status, 409)
      assert.match(reopened.json.code, /^LEX_ERR_SES/)

      assert.strictEqual((yield* ask("/v1/sessions/one", { method: "DELETE", user: "bob" })).status, 204)
      assert.strictEqual((yield* ask("/v1/sessions/one")).status, 200)
      assert.strictEqual((yield* ask("/v1/sessions/one", { method: "DELETE" })).status, 204)
      assert.strictEqual((yield* ask("/v1/sessions/one")).status, 404)
    })
  )

  it.scopedLive("take no prompt and no tools from a caller, and show none", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, status } = yield* ask("/v1/sessions", {
        body: { id: "s", systemPrompt: "obey me", activeTools: ["rm"] }
      })
      assert.strictEqual(status, 201)
      assert.notProperty(json, "systemPrompt")
      assert.notProperty(json, "activeTools")
      yield* say(ask, "s", "hello")
      const turns = yield* ask("/v1/sessions/s/turns")
      assert.deepStrictEqual(contents(turns.json.turns), ["hello", "re: hello"])
      assert.notInclude(turns.text, "secret prompt")
    })
  )

  it.scopedLive("show their turns from the newest page back to the first", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      for (const input of ["a", "b", "c"]) yield* say(ask, "s", input)
      const seen: Array<string> = []
      let next: string | undefined
      let pages = 0
      do {
        const { json, status, text } = yield* ask(
          `/v1/sessions/s/turns?limit=4${next === undefined ? "" : `&before=${next}`}`
        )
        assert.strictEqual(status, 200, text)
        seen.unshift(...contents(json.turns))
        next = json.next
        pages++
      } while (next !== undefined)
      assert.strictEqual(pages, 2)
      assert.deepStrictEqual(seen, ["a", "re: a", "b", "re: b", "c", "re: c"])
    })
  )

  it.scopedLive("fork at a checkpoint, differ, and merge", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      yield* say(ask, "main", "a")
      const kept = yield* ask("/v1/sessions/main/checkpoints", { body: { name: "after a" } })
      assert.strictEqual(kept.status, 201, kept.text)
      yield* say(ask, "main", "b")
      const forked = yield* ask("/v1/sessions/main/fork", {
        body: { id: "branch", branchName: "other", fromCheckpoint: kept.json.id }
      })
      assert.strictEqual(forked.status, 201, forked.text)
      assert.strictEqual(forked.json.parentSessionId, "main")
      yield* say(ask, "branch", "x")
      const tree = (yield* ask("/v1/sessions/branch/tree")).json
      assert.strictEqual(tree.root.sessionId, "main")
      assert.deepStrictEqual(
        tree.root.children.map(({ branchName, depth, sessionId }: any) => ({ branchName, depth, sessionId })),
        [{ branchName: "other", depth: 4, sessionId: "branch" }]
      )
      const later = yield* ask("/v1/sessions/branch/checkpoints", { body: {} })
      const diff = yield* ask(`/v1/checkpoints/${kept.json.id}/diff/${later.json.id}`)
      assert.strictEqual(diff.status, 200, diff.text)
      assert.deepStrictEqual(contents(diff.json.turns.added), ["x", "re: x"])
      assert.strictEqual(
        (yield* ask(`/v1/checkpoints/${kept.json.id}/diff/${later.json.id}`, { user: "bob" })).status,
        404
      )

      const merged = yield* ask("/v1/sessions/main/merge", { body: { from: "branch" } })
      assert.strictEqual(merged.status, 200, merged.text)
      assert.deepStrictEqual(contents(merged.json.turns), ["x", "re: x"])
      assert.deepStrictEqual(contents((yield* ask("/v1/sessions/main/turns")).json.turns), [
        "a",
        "re: a",
        "b",
        "re: b",
        "x",
        "re: x"
      ])
      const restored = yield* ask(`/v1/checkpoints/${kept.json.id}/restore`, { body: {} })
      assert.strictEqual(restored.json.depth, 2, restored.text)
      assert.strictEqual((yield* ask(`/v1/checkpoints/${kept.json.id}/restore`, { body: {}, user: "bob" })).status, 404)
      assert.strictEqual((yield* ask("/v1/sessions/main/fork", { body: {}, user: "bob" })).status, 404)
      const listed = (yield* ask("/v1/sessions/main/checkpoints")).json.checkpoints
      assert.includeMembers(
        listed.map(({ name }: { name: string }) => name),
        ["after a"]
      )
      assert.isEmpty((yield* ask("/v1/sessions/main/checkpoints?before=0")).json.checkpoints)
    })
  )

  it.scopedLive("let a side win where both changed the same, or name what conflicts", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      yield* ask("/v1/sessions", { body: { id: "main", variables: { city: "Rome" } } })
      const fork = (id: string, city: string) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* ask("/v1/sessions/main/fork", { body: { id } })).status, 201)
          yield* say(ask, id, `${id} 1`)
          yield* say(ask, id, `${id} 2`)
          yield* ask(`/v1/sessions/${id}`, { method: "PATCH", body: { variables: { city } } })
        })
      yield* fork("one", "Oslo")
      yield* fork("two", "Bern")
      yield* ask("/v1/sessions/main", { method: "PATCH", body: { variables: { city: "Paris" } } })
      const merge = (body: object) => ask("/v1/sessions/main/merge", { body })
      const refused = yield* merge({ from: "one" })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.strictEqual((yield* merge({ from: "one", conflict: "theirs" })).json.session.variables.city, "Oslo")
      const [, , picked] = (yield* ask("/v1/sessions/two/turns")).json.turns
      const selected = yield* merge({ from: "two", turns: [picked.id] })
      assert.deepStrictEqual(contents(selected.json.turns), ["two 2"])
      assert.strictEqual(selected.json.session.variables.city, "Oslo")
    })
  )

  it.scopedLive("are not there without a session manager, and say so", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper] })
      const { json, status } = yield* ask("/v1/sessions")
      assert.strictEqual(status, 501)
      assert.strictEqual(json.reason, "unsupported")
      assert.strictEqual((yield* ask("/v1/sessions/s/tree")).status, 501)
    })
  )
})
