/** Files of turns: kept with their session, shared by its branches, removed with it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as BlobStore from "../../src/content/BlobStore.js"
import type * as Content from "../../src/content/Content.js"
import { BlobStoreError } from "../../src/content/ContentError.js"
import * as InMemoryBlobStore from "../../src/content/InMemoryBlobStore.js"
import * as ToolContent from "../../src/content/ToolContent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as LengthGuard from "../../src/guard/LengthGuard.js"
import type { LlmRequest } from "../../src/llm/model/LlmClient.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as CompactedSessionHistory from "../../src/session/history/CompactedSessionHistory.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionMemory from "../../src/session/manager/SessionMemory.js"
import * as Sessions from "../../src/session/Sessions.js"
import type { SessionTurn } from "../../src/session/turn/Session.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const jpeg = (size: number, fill: number) => Uint8Array.from({ length: size }, (_, i) => [0xff, 0xd8, 0xff][i] ?? fill)
const image = (fileName: string, fill = 7, size = 40): Content.ResolvedFile => ({
  type: "file",
  mediaType: "image/jpeg",
  data: jpeg(size, fill),
  fileName
})
const page: Content.ResolvedFile = {
  type: "file",
  mediaType: "application/pdf",
  data: new URL("https://example.com/report.pdf")
}

const id = SessionId.make("album")
const ada = { userId: UserId.make("ada") }

type Input = AgentExecutor.AgentRequest["input"]

const run = (input: Input, request: Omit<AgentExecutor.AgentRequest, "input"> = {}) =>
  AgentExecutor.run(Agent.make("viewer"), { input, sessionId: id, ...ada, ...request })

/** Of each message of the user: its texts, and the names or media types of its files. */
const asked = Effect.map(TestModel.requests, (requests) =>
  (requests.at(-1)?.messages ?? [])
    .filter(({ role }) => role === "user")
    .map(({ content }) =>
      typeof content === "string"
        ? content
        : content.map((part) => (part.type === "file" ? (part.fileName ?? part.mediaType) : (part as any).text))
    )
)

const given = (
  options: Agents.Replaceable & { readonly config?: object } = {},
  store: Layer.Layer<BlobStore.BlobStore> | undefined = InMemoryBlobStore.layer(),
  answers: (request: LlmRequest) => TestModel.Turn = () => ({ text: "Nice" })
) => {
  const sessions = Layer.provideMerge(Sessions.layer({ cleanup: false }), store)
  return Agents.layerWith({ sessions, ...options }).pipe(
    Layer.provideMerge(sessions),
    Layer.provideMerge(TestModel.layer(answers))
  ) as Layer.Layer<AgentExecutor.AgentExecutor | Sessions.Out | TestModel.TestModel | BlobStore.BlobStore>
}

/** Returns a picture twice, and one by its URL. */
const paint = Tool.make("paint", {
  description: "Paints",
  success: ToolContent.ToolContent,
  handler: () => {
    const one = image("sea.jpg", 5)
    const address = new URL("https://example.com/sea.png")
    return Effect.succeed(
      ToolContent.make([one, one, { type: "file", mediaType: "image/png", data: address }], "Here it is")
    )
  }
})

/** Paints once in answer to the word. */
const paints = ({ messages }: LlmRequest) =>
  messages.at(-1)?.content === "Paint" ? { calls: [{ name: "paint", params: {} }] } : { text: "Nice" }

const sessions = SessionManager.SessionManager
const turns = (of = id) => Effect.flatMap(sessions, (manager) => manager.turns(of, { ...ada, last: 100 }))
const listed = Effect.flatMap(BlobStore.BlobStore, (store) =>
  Effect.map(Stream.runCollect(store.list({ owner: "ada" })), (all) => Array.from(all))
)

const refused = new BlobStoreError({ store: "files", reason: "full", message: "There is no room" })

describe("a session with a store of blobs", () => {
  it.effect("keeps the files of requests by reference, once, and shows them again", () =>
    Effect.gen(function* () {
      yield* run([{ type: "text", text: "My cat" }, image("cat.jpg"), page])
      yield* run([image("again.jpg")])
      yield* run("Which is which?")
      assert.deepStrictEqual(yield* asked, [["My cat", "cat.jpg", "application/pdf"], ["again.jpg"], "Which is which?"])
      const blobs = yield* listed
      assert.lengthOf(blobs, 1, "the same bytes")
      const { events } = yield* Runs.record(
        AgentExecutor.stream(Agent.make("viewer"), { input: [page], sessionId: id, ...ada })
      )
      assert.deepStrictEqual(
        Runs.of(events, "FilesKept").map(({ files }) => files),
        [[{ mediaType: "application/pdf", data: { url: "https://example.com/report.pdf" } }]]
      )
      const [first, , second] = yield* turns()
      const data = blobs[0]?.ref
      assert.deepStrictEqual(first?.files, [
        { mediaType: "image/jpeg", fileName: "cat.jpg", data },
        { mediaType: "application/pdf", data: { url: "https://example.com/report.pdf" } }
      ] as never)
      assert.deepStrictEqual([second?.content, second?.files], [
        "[again.jpg]",
        [{ mediaType: "image/jpeg", fileName: "again.jpg", data }]
      ] as never)
    }).pipe(Effect.provide(given()))
  )

  it.effect("takes references to its files in an input, and no others", () =>
    Effect.gen(function* () {
      const manager = yield* sessions
      yield* manager.create({ id, ...ada })
      const { data } = yield* manager.attach(id, image("cat.jpg"), ada)
      const reference = { type: "file", mediaType: "image/jpeg", data } as Content.File
      yield* run([{ type: "text", text: "This" }, reference])
      assert.deepStrictEqual(yield* asked, [["This", "image/jpeg"]])
      yield* run("And now?")
      assert.deepStrictEqual(yield* asked, [["This", "image/jpeg"], "And now?"])
      const other = yield* Effect.flip(run([reference], { sessionId: "other" }))
      assert.strictEqual(other._tag, "BlobNotFoundError")
      const stranger = yield* Effect.flip(run([reference], { sessionId: "own", userId: "eve" }))
      assert.strictEqual(stranger._tag, "BlobNotFoundError")
      const nowhere = yield* Effect.flip(AgentExecutor.run(Agent.make("viewer"), { input: [reference], ...ada }))
      assert.include(nowhere.message, "refers to a file of a session")
      assert.strictEqual((yield* Effect.flip(manager.file(id, "sha256:../x", ada)))._tag, "BlobStoreError")
      const eve = { userId: UserId.make("eve") }
      assert.strictEqual((yield* Effect.flip(manager.attach(id, image("x.jpg"), eve)))._tag, "SessionNotFoundError")
      assert.strictEqual((yield* Effect.flip(manager.attach(id, image("x.jpg"))))._tag, "SessionNotFoundError")
      assert.lengthOf(yield* TestModel.requests, 2, "no model is asked for what is refused")
    }).pipe(Effect.provide(given()))
  )

  it.effect("keeps the files that tools return, as the answer and its events refer to them", () =>
    Effect.gen(function* () {
      const manager = yield* sessions
      const { events } = yield* Runs.record(
        AgentExecutor.stream(Agent.make("painter", { tools: [paint] }), { input: "Paint", sessionId: id, ...ada })
      )
      const [shown] = Runs.of(events, "ToolResult")
      const files = shown?.files ?? []
      assert.lengthOf(files, 3)
      const [painted] = files
      if (painted === undefined || "url" in painted.data) return assert.fail("no reference")
      const { hash } = painted.data
      assert.deepStrictEqual(Array.from(yield* manager.file(id, hash, ada)), Array.from(jpeg(40, 5)))
      const [question, answer] = yield* turns()
      assert.isUndefined(question?.files)
      assert.deepStrictEqual(answer?.files, files.slice(1) as never, "once, however often it was returned")
      assert.lengthOf(yield* listed, 1)
      yield* run("What did you paint?")
      const [before] = yield* asked
      assert.isString(before, "not shown again unasked")
      assert.include(before, "[sea.jpg, image/jpeg, 40 bytes]")
      yield* run([{ type: "file", mediaType: "image/jpeg", data: painted.data } as Content.File])
      assert.deepStrictEqual((yield* asked).at(-1), ["image/jpeg"])
      const eve = { userId: UserId.make("eve") }
      assert.strictEqual((yield* Effect.flip(manager.file(id, hash, eve)))._tag, "SessionNotFoundError")
      yield* manager.delete(id, ada)
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(given({}, InMemoryBlobStore.layer(), paints)))
  )

  it.effect("keeps no file of a result that guards withheld, and goes on without a place for one", () => {
    const store = Layer.effect(
      BlobStore.BlobStore,
      Effect.map(InMemoryBlobStore.make(), (inner) => ({ ...inner, put: () => Effect.fail(refused) }))
    )
    const guards = [LengthGuard.make({ maxChars: 5, stages: ["toolOutput"] })]
    const agent = Agent.make("painter", { tools: [paint] })
    const request = { input: "Paint", sessionId: id, ...ada }
    return Effect.gen(function* () {
      yield* AgentExecutor.run(agent.pipe(Agent.withGuards(...guards)), request)
      assert.deepStrictEqual(yield* listed, [])
      assert.isUndefined((yield* turns())[1]?.files)
    }).pipe(
      Effect.provide(given({}, InMemoryBlobStore.layer(), paints)),
      Effect.zipRight(
        Effect.gen(function* () {
          const { events } = yield* Runs.record(AgentExecutor.stream(agent, request))
          assert.lengthOf(Runs.of(events, "Degraded"), 2)
          assert.deepStrictEqual(
            (yield* turns())[1]?.files?.map(({ data }) => "url" in data),
            [true]
          )
        }).pipe(Effect.provide(given({}, store, paints)))
      )
    )
  })

  it.effect("gives branches the files of their turns, which outlive it", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const manager = yield* sessions
      yield* run([image("cat.jpg")])
      const branch = yield* branches.fork(id, ada)
      yield* run([image("dog.jpg", 9)], { sessionId: branch.id })
      const third = yield* branches.fork(branch.id, ada)
      yield* branches.merge(id, branch.id, ada)
      assert.lengthOf(yield* listed, 6)
      yield* manager.delete(branch.id, ada)
      assert.lengthOf(yield* listed, 4)
      for (const session of [id, third.id]) {
        yield* run("Look", { sessionId: session })
        assert.deepStrictEqual(yield* asked, [["cat.jpg"], ["dog.jpg"], "Look"])
      }
      yield* manager.delete(id, ada)
      yield* run("Look again", { sessionId: third.id })
      assert.deepStrictEqual((yield* asked).slice(0, 2), [["cat.jpg"], ["dog.jpg"]])
      yield* manager.delete(third.id, ada)
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(given()))
  )

  it.effect("hands its files to the user who claims it", () =>
    Effect.gen(function* () {
      const manager = yield* sessions
      const blobs = yield* BlobStore.BlobStore
      yield* AgentExecutor.run(Agent.make("viewer"), { input: [image("cat.jpg")], sessionId: id })
      assert.lengthOf(yield* listed, 0)
      yield* manager.claim(id, ada.userId)
      const [kept] = yield* listed
      yield* run("Look")
      assert.deepStrictEqual(yield* asked, [["cat.jpg"], "Look"])
      assert.strictEqual(yield* blobs.removeOwner({ owner: "ada" }), 1)
      const gone = yield* Effect.flip(manager.file(id, kept?.ref.hash ?? "", ada))
      assert.strictEqual(gone._tag, "BlobNotFoundError", "nothing is left where they were")
    }).pipe(Effect.provide(given()))
  )

  it.effect("shows the newest files within its bounds, and names for the others", () =>
    Effect.gen(function* () {
      const half = 8 * 1_048_576
      yield* run([{ type: "text", text: "One" }, image("1.jpg", 1, half)])
      yield* run([{ type: "text", text: "Two" }, image("2.jpg", 2, half), image("3.jpg", 3, half)])
      yield* run("Look")
      assert.deepStrictEqual(yield* asked, ["One\n[1.jpg]", ["Two", "2.jpg", "3.jpg"], "Look"])
    }).pipe(Effect.provide(given()))
  )

  it.effect("shows a name for a file that is gone, and says so", () =>
    Effect.gen(function* () {
      const blobs = yield* BlobStore.BlobStore
      yield* run([image("cat.jpg")])
      yield* blobs.removeOwner({ owner: "ada" })
      const { events } = yield* Runs.record(
        AgentExecutor.stream(Agent.make("viewer"), { input: "Look", sessionId: id, ...ada })
      )
      assert.deepStrictEqual(
        Runs.of(events, "Degraded").map(({ error, stage }) => [stage, error.tag]),
        [["session files", "BlobNotFoundError"]]
      )
      assert.deepStrictEqual(yield* asked, ["[cat.jpg]", "Look"])
    }).pipe(Effect.provide(given()))
  )

  it.effect("keeps the conversation when its store refuses a file", () =>
    Effect.gen(function* () {
      const { events } = yield* Runs.record(
        AgentExecutor.stream(Agent.make("viewer"), { input: [image("cat.jpg")], sessionId: id, ...ada })
      )
      assert.deepStrictEqual(
        Runs.of(events, "Degraded").map(({ stage }) => stage),
        ["session files"]
      )
      const [turn] = yield* turns()
      assert.deepStrictEqual([turn?.content, turn?.files], ["[cat.jpg]", undefined] as never)
    }).pipe(
      Effect.provide(
        given(
          {},
          Layer.effect(
            BlobStore.BlobStore,
            Effect.map(InMemoryBlobStore.make(), (store) => ({ ...store, put: () => Effect.fail(refused) }))
          )
        )
      )
    )
  )

  it.effect("keeps no file of a message that guards blocked", () =>
    Effect.gen(function* () {
      const agent = Agent.make("viewer", { guards: [LengthGuard.make({ maxChars: 4, stages: ["input"] })] })
      const input = [{ type: "text" as const, text: "far too long" }, image("cat.jpg")]
      yield* Effect.exit(AgentExecutor.run(agent, { input, sessionId: id, ...ada }))
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(given()))
  )

  it.effect("removes its files before itself, so that a failed deletion can be repeated", () => {
    let isDown = true
    const failing = Layer.effect(
      BlobStore.BlobStore,
      Effect.map(InMemoryBlobStore.make(), (store) => ({
        ...store,
        removeScope: (of: { readonly owner: string; readonly scope: string }) =>
          Effect.suspend(() => (isDown ? Effect.fail(refused) : store.removeScope(of)))
      }))
    )
    return Effect.gen(function* () {
      const manager = yield* sessions
      yield* run([image("cat.jpg")])
      const failure = yield* Effect.flip(manager.delete(id, ada))
      assert.strictEqual(failure._tag, "SessionStorageError")
      assert.lengthOf(yield* turns(), 2)
      isDown = false
      yield* manager.delete(id, ada)
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(given({}, failing)))
  })

  it.effect("shows its files in a compacted history, and memory refers to them", () =>
    Effect.gen(function* () {
      yield* run([{ type: "text", text: "My cat" }, image("cat.jpg")])
      yield* run("Look")
      assert.deepInclude(yield* asked, ["My cat", "cat.jpg"])
      const [turn] = yield* turns()
      const entry = SessionMemory.toEntry(turn as SessionTurn, { ownerId: "ada" })
      assert.deepStrictEqual(entry.metadata["files"], turn?.files)
    }).pipe(
      Effect.provide(
        given({
          history: Layer.provide(CompactedSessionHistory.layer(), DefaultHistoryCompactor.layer()),
          tokens: TokenCounter.layerApproximate()
        })
      )
    )
  )
})

describe("a session without a store of blobs", () => {
  it.effect("has the names of files, and says what it lacks", () =>
    Effect.gen(function* () {
      const manager = yield* sessions
      yield* run([image("cat.jpg")])
      yield* run("Look")
      assert.deepStrictEqual(yield* asked, ["[cat.jpg]", "Look"])
      assert.isFalse(manager.keepsFiles)
      const failure = yield* Effect.flip(manager.attach(id, image("cat.jpg"), ada))
      assert.include(failure.hint, "BlobStore")
    }).pipe(
      Effect.provide(
        Agents.layerWith({ sessions: Sessions.layer({ cleanup: false }) }).pipe(
          Layer.provideMerge(Sessions.layer({ cleanup: false })),
          Layer.provideMerge(TestModel.layer(() => ({ text: "Nice" })))
        ) as Layer.Layer<AgentExecutor.AgentExecutor | Sessions.Out | TestModel.TestModel>
      )
    )
  )
})
