import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as AgentClient from "../../../src/http/api/AgentClient.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as OwnerData from "../../../src/persistence/OwnerData.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper")

const clientOf = (baseUrl: string, user = "ann") =>
  Effect.provide(AgentClient.make({ baseUrl, token: Redacted.make(`token-${user}`) }), FetchHttpClient.layer)

const contents = (turns: ReadonlyArray<{ readonly content: string }>) => turns.map(({ content }) => content)

describe("AgentClient with the sessions of its caller", () => {
  const start = AgentServers.start({
    agents: [helper],
    sessions: Layer.orDie(Sessions.layer()),
    script: ({ messages }) => `re: ${String(messages.at(-1)?.content)}`
  })

  it.scopedLive("creates, lists, changes and deletes them, and reads their turns page by page", () =>
    Effect.gen(function* () {
      const { url } = yield* start
      const client = yield* clientOf(url)
      const { sessions } = client.api
      const id = SessionId.make("one")
      const path = { sessionId: id }
      const created = yield* sessions.createSession({ payload: { id, metadata: { title: "First" } } })
      assert.deepInclude(created, { id, status: "active", metadata: { title: "First" } })
      yield* sessions.createSession({ payload: { id: SessionId.make("two") } })
      for (const input of ["a", "b", "c"]) yield* client.run({ agent: "helper", input, sessionId: id })
      const seen: Array<string> = []
      let before: typeof newest.next
      const newest = yield* sessions.sessionTurns({ path, urlParams: { limit: 2 } })
      for (let page = newest; ; page = yield* sessions.sessionTurns({ path, urlParams: { limit: 2, before } })) {
        seen.unshift(...contents(page.turns))
        before = page.next
        if (before === undefined) break
      }
      assert.deepStrictEqual(seen, ["a", "re: a", "b", "re: b", "c", "re: c"])
      const first = yield* sessions.listSessions({ urlParams: { limit: 1, order: "created" } })
      const second = yield* sessions.listSessions({ urlParams: { limit: 1, order: "created", cursor: first.next } })
      assert.deepStrictEqual(
        [...first.sessions, ...second.sessions].map((session) => session.id),
        ["two", "one"]
      )
      const changed = yield* sessions.updateSession({ path, payload: { variables: { city: "Rome" } } })
      assert.deepStrictEqual(changed.variables, { city: "Rome" })
      const closed = yield* sessions.changeSession({ path, payload: { status: "closed" } })
      assert.strictEqual(closed.status, "closed")
      const bob = yield* clientOf(url, "bob")
      assert.propertyVal(yield* Effect.flip(bob.api.sessions.getSession({ path })), "reason", "unknown")
      yield* sessions.deleteSession({ path })
      assert.propertyVal(yield* Effect.flip(sessions.getSession({ path })), "reason", "unknown")
    })
  )

  it.scopedLive("keeps checkpoints, forks, shows the tree and what differs, merges, and restores", () =>
    Effect.gen(function* () {
      const { url } = yield* start
      const client = yield* clientOf(url)
      const { sessions } = client.api
      const main = SessionId.make("main")
      const path = { sessionId: main }
      const branch = SessionId.make("branch")
      yield* sessions.createSession({ payload: { id: main } })
      yield* client.run({ agent: "helper", input: "a", sessionId: main })
      const kept = yield* sessions.createCheckpoint({ path, payload: { name: "start" } })
      const forked = yield* sessions.forkSession({
        path,
        payload: { id: branch, branchName: "other", fromCheckpoint: kept.id }
      })
      assert.deepInclude(forked, { id: branch, parentSessionId: main, branchName: "other" })
      yield* client.run({ agent: "helper", input: "b", sessionId: branch })
      const tree = yield* sessions.sessionTree({ path })
      assert.deepStrictEqual(
        [tree.root.sessionId, tree.root.children.map(({ branchName, sessionId }) => [sessionId, branchName])],
        [main, [[branch, "other"]]]
      )
      const later = yield* sessions.createCheckpoint({ path: { sessionId: branch }, payload: {} })
      const diff = yield* sessions.diffCheckpoints({ path: { checkpointId: kept.id, to: later.id } })
      assert.deepStrictEqual(contents(diff.turns?.added ?? []), ["b", "re: b"])
      const merged = yield* sessions.mergeSession({ path, payload: { from: branch } })
      assert.deepStrictEqual(contents(merged.turns), ["b", "re: b"])
      assert.strictEqual(merged.session.depth, 4)
      const { checkpoints } = yield* sessions.listCheckpoints({ path, urlParams: {} })
      assert.include(
        checkpoints.map((checkpoint) => checkpoint.id),
        kept.id
      )
      const restored = yield* sessions.restoreCheckpoint({ path: { checkpointId: kept.id }, payload: {} })
      assert.strictEqual(restored.depth, 2)
    })
  )
})

describe("AgentClient with what is kept of its caller", () => {
  const entries = Layer.effectDiscard(
    Effect.flatMap(MemoryStore.MemoryStore, (store) =>
      store.storeMany(
        ["Ann likes tea", "Ann lives in Rome"].map((content, timestamp) =>
          MemoryEntry.make({
            id: EntryId.make(`a${timestamp}`),
            ownerId: "ann" as never,
            role: "user",
            content,
            timestamp
          })
        )
      )
    )
  ).pipe(Layer.provideMerge(DefaultMemory.layer()), Layer.orDie)

  it.scopedLive("lists, searches and erases memory", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [helper], others: entries })
      const { memory } = (yield* clientOf(url)).api
      const first = yield* memory.listMemory({ urlParams: { limit: 1 } })
      const second = yield* memory.listMemory({ urlParams: { limit: 1, cursor: first.next } })
      assert.deepStrictEqual(contents([...first.entries, ...second.entries]), ["Ann lives in Rome", "Ann likes tea"])
      const found = yield* memory.searchMemory({ urlParams: { query: "who likes tea", limit: 1 } })
      assert.deepStrictEqual(
        found.results.map(({ entry }) => entry.id),
        ["a0"]
      )
      const one = yield* memory.forgetEntry({ path: { entryId: EntryId.make("a0") } })
      assert.deepStrictEqual(one, { entries: 1, facts: 0, procedures: 0 })
      assert.strictEqual((yield* memory.forgetMemory({})).entries, 1)
      assert.isEmpty((yield* memory.listMemory({ urlParams: {} })).entries)
    })
  )

  it.scopedLive("exports and erases all data", () =>
    Effect.gen(function* () {
      const erased: Array<string> = []
      const others = Layer.succeed(OwnerData.OwnerData, {
        export: (subject) => Stream.make(`{"user":"${String(subject)}"}`, '{"kind":"end"}'),
        import: () => Effect.dieMessage("not over HTTP"),
        erase: (subject) =>
          Effect.as(
            Effect.sync(() => erased.push(String(subject))),
            { sessions: 2 }
          )
      })
      const { url } = yield* AgentServers.start({ agents: [helper], others })
      const { owner } = (yield* clientOf(url)).api
      assert.strictEqual(yield* owner.exportOwner({}), '{"user":"ann"}\n{"kind":"end"}\n')
      assert.deepStrictEqual(yield* owner.eraseOwner({}), { erased: { sessions: 2 } })
      assert.deepStrictEqual(erased, ["ann"])
      const { url: without } = yield* AgentServers.start({ agents: [helper] })
      const { api } = yield* clientOf(without)
      assert.propertyVal(yield* Effect.flip(api.owner.exportOwner({})), "reason", "unsupported")
    })
  )
})
