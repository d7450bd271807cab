import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmConnectionError } from "../../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../../src/llm/model/LlmGateway.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as HistoryCompactor from "../../../src/memory/conversation/HistoryCompactor.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as CompactedSessionHistory from "../../../src/session/history/CompactedSessionHistory.js"
import * as HistoryPruner from "../../../src/session/history/HistoryPruner.js"
import * as PrunedSessionHistory from "../../../src/session/history/PrunedSessionHistory.js"
import * as RelevanceContextPruner from "../../../src/session/history/RelevanceContextPruner.js"
import * as SessionHistory from "../../../src/session/history/SessionHistory.js"
import * as SessionMessages from "../../../src/session/history/SessionMessages.js"
import * as WindowSessionHistory from "../../../src/session/history/WindowSessionHistory.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import type { NewTurn } from "../../../src/session/turn/Session.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as KeptSessions from "../../support/KeptSessions.js"
import * as Tiers from "../../support/MemoryTiers.js"
import { fresh, hostile, turn } from "../../support/SessionTurns.js"
import * as SystemTest from "../../support/SystemTest.js"

const ada = UserId.make("ada")

/** Ten characters: 17 tokens of the user, 22 of the assistant. */
const said = (n: number, fields?: Partial<NewTurn>): NewTurn =>
  fresh(`t${n}`, {
    role: n % 2 === 1 ? "user" : "assistant",
    content: `turn ${n}`.padEnd(10, "."),
    timestamp: n,
    ...fields
  })

const tokensOf = (messages: ReadonlyArray<LlmClient.Message>): number =>
  Tiers.characters.countMessages(messages) - Tiers.characters.countMessages([])

/** The numbers of the turns that are shown. */
const shown = ({ shown }: SessionHistory.History): ReadonlyArray<number> =>
  Array.from(shown, (id) => Number(id.slice(1)))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** A session of Ada with turns, and a way to read it. */
const conversation = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const history = yield* SessionHistory.SessionHistory
  const session = yield* sessions.create({ userId: ada })
  return {
    session,
    sessions,
    say: (...turns: ReadonlyArray<NewTurn>) =>
      Effect.forEach(turns, (turn) => sessions.addTurn(session.id, turn), { discard: true }),
    read: (options?: Partial<SessionHistory.ReadOptions>) =>
      history.read({ session, query: "tea", access: { userId: ada }, turns: 20, ...options })
  }
})

/** Of runs of their own, outside of the test's logger. */
const silent = Logger.remove(Logger.defaultLogger)

const counted = Layer.succeed(TokenCounter.TokenCounter, Tiers.characters)

const layers = {
  window: (_options: { readonly tokenBudget?: number }) => WindowSessionHistory.layer,
  pruned: (options: { readonly tokenBudget?: number; readonly window?: number }) =>
    PrunedSessionHistory.layer(options).pipe(Layer.provide(RelevanceContextPruner.layer())),
  compacted: (options: { readonly tokenBudget?: number; readonly window?: number }) =>
    CompactedSessionHistory.layer(options).pipe(
      Layer.provide(DefaultHistoryCompactor.layer()),
      Layer.provide(DefaultModelRouter.layerDefault),
      Layer.provide(LlmGateway.layer(TestModel.make(() => "In short.")))
    )
}

describe("SessionMessages", () => {
  it("shows users and assistants, but no system, tool or blank turns", () => {
    const turns = [
      turn(1, { role: "system", content: "be kind" }),
      turn(2, { role: "user", content: "tea?" }),
      turn(3, { role: "assistant", content: "" }),
      turn(4, { role: "tool", content: "tea" }),
      turn(5, { role: "assistant", content: "Tea." }),
      turn(6, { role: "user", content: "Why?", unanswered: "blocked" })
    ]
    assert.deepStrictEqual(SessionMessages.fromTurns(turns), [
      { role: "user", content: "tea?" },
      { role: "assistant", content: "Tea." },
      { role: "user", content: "Why?" },
      { role: "assistant", content: "(no answer: blocked)" }
    ])
    assert.strictEqual(
      SessionMessages.tokens(Tiers.characters, turns.slice(4)),
      tokensOf(SessionMessages.fromTurns(turns.slice(4)))
    )
    assert.strictEqual(
      SessionMessages.tokens(Tiers.characters, [turns[3]!]),
      tokensOf([{ role: "user", content: "tea" }])
    )
  })
})

for (const [name, layer] of Object.entries(layers)) {
  const history = (options: { readonly tokenBudget?: number; readonly window?: number } = {}) =>
    Layer.provideMerge(layer(options), Layer.merge(KeptSessions.layerWatched, counted))

  describe(`SessionHistory: ${name}`, () => {
    SystemTest.effect("shows a short session completely", () =>
      Effect.gen(function* () {
        const { read, say } = yield* conversation
        assert.deepStrictEqual(yield* read(), SessionHistory.empty)
        yield* say(said(1), said(2), said(3, { unanswered: "failed" }))
        const whole = yield* read()
        assert.deepStrictEqual(Collaborators.said(whole.messages), [
          "user: turn 1....",
          "assistant: turn 2....",
          "user: turn 3....",
          "assistant: (no answer: failed)"
        ])
        assert.deepStrictEqual([shown(whole), whole.summarized], [[1, 2, 3], 0])
      }).pipe(Effect.provide(history()))
    )

    SystemTest.effect("shows at most the requested number of turns, and none for none", () =>
      Effect.gen(function* () {
        const { read, say } = yield* conversation
        yield* say(...range(1, 30).map((n) => said(n)))
        for (const turns of [1, 2, 7, 29]) {
          const some = yield* read({ turns })
          assert.isAtMost(some.shown.size, turns)
          assert.strictEqual(shown(some).at(-1), 30)
        }
        assert.deepStrictEqual(yield* read({ turns: 0 }), SessionHistory.empty)
      }).pipe(Effect.provide(history()))
    )

    SystemTest.effect("stays within the token limit, and shows nothing when the newest turn exceeds it", () =>
      Effect.gen(function* () {
        const { read, say } = yield* conversation
        yield* say(...range(1, 12).map((n) => said(n, n % 4 === 1 ? { unanswered: "interrupted" } : {})))
        assert.strictEqual((yield* read({ tokenBudget: 1000 })).shown.size, 12)
        for (const tokenBudget of [250, 100, 60, 22]) {
          const some = yield* read({ tokenBudget })
          assert.isAtMost(tokensOf(some.messages), tokenBudget)
          assert.strictEqual(shown(some).at(-1), 12)
        }
        assert.deepStrictEqual(yield* read({ tokenBudget: 21 }), SessionHistory.empty)
      }).pipe(Effect.provide(history()))
    )

    SystemTest.effect("does not find another user's session", () =>
      Effect.gen(function* () {
        const { read, say } = yield* conversation
        yield* say(said(1))
        const error = yield* Effect.flip(read({ access: { userId: UserId.make("eve") } }))
        assert.strictEqual(error._tag, "SessionNotFoundError")
        const gone = yield* Effect.flip(read({ session: { id: SessionId.make("gone") } }))
        assert.strictEqual(gone._tag, "SessionNotFoundError")
      }).pipe(Effect.provide(history()))
    )

    SystemTest.effect("reads the same amount for any length of session", () =>
      Effect.gen(function* () {
        const { read, say } = yield* conversation
        const reads = yield* KeptSessions.Reads
        yield* say(...range(1, 200).map((n) => said(n)))
        yield* read({ turns: 10 })
        const found = reads.reduce((sum, { found }) => sum + found, 0)
        assert.isAtMost(found, 50)
        assert.isAtMost(reads.length, 2)
      }).pipe(Effect.provide(history({ window: 50 })))
    )

    SystemTest.effect("omits turns that a restore removed", () =>
      Effect.gen(function* () {
        const { read, say, session, sessions } = yield* conversation
        yield* say(said(1), said(2))
        const checkpoint = yield* sessions.checkpoint(session.id)
        yield* say(said(3), said(4))
        assert.deepStrictEqual(shown(yield* read()), [1, 2, 3, 4])
        yield* sessions.restore(checkpoint.id)
        assert.deepStrictEqual(shown(yield* read()), [1, 2])
        yield* say(said(5))
        assert.deepStrictEqual(shown(yield* read()), [1, 2, 5])
      }).pipe(Effect.provide(history()))
    )

    SystemTest.effect("shows a branch the turns before the fork and none from after it elsewhere", () =>
      Effect.gen(function* () {
        const { read, say, session, sessions } = yield* conversation
        const branches = yield* BranchManager.BranchManager
        yield* say(said(1), said(2))
        const branch = yield* branches.fork(session.id, { userId: ada })
        yield* say(said(3))
        yield* sessions.addTurn(branch.id, said(5))
        assert.deepStrictEqual(shown(yield* read({ session: branch })), [1, 2, 5])
        assert.deepStrictEqual(shown(yield* read()), [1, 2, 3])
      }).pipe(Effect.provide(history()))
    )
  })
}

describe("WindowSessionHistory.layer", () => {
  SystemTest.effect("shows as many of the last turns as fit, counted approximately without a counter", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(...range(1, 9).map((n) => said(n)))
      assert.deepStrictEqual(shown(yield* read({ turns: 3 })), [7, 8, 9])
      const exact = read({ tokenBudget: 17 + 22 + 17 + 21 })
      assert.deepStrictEqual(shown(yield* Effect.provide(exact, counted)), [7, 8, 9])
      assert.isAbove((yield* exact).shown.size, 3)
    }).pipe(Effect.provide(Layer.provideMerge(WindowSessionHistory.layer, KeptSessions.layer)))
  )

  SystemTest.effect("uses the budget to the last token for any turns and counter", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const history = yield* SessionHistory.SessionHistory
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(FastCheck.string({ unit: hostile, minLength: 1, maxLength: 30 }), {
              minLength: 1,
              maxLength: 12
            }),
            FastCheck.constantFrom(Tiers.characters, Tiers.superadditive, TokenCounter.approximate),
            FastCheck.integer({ min: 0, max: 300 }),
            (contents, counter, tokenBudget) =>
              Effect.runPromise(
                Effect.gen(function* () {
                  const session = yield* sessions.create()
                  for (const [index, content] of contents.entries()) {
                    yield* sessions.addTurn(session.id, said(index, { content }))
                  }
                  const { messages } = yield* history.read({ session, query: "", turns: 12, tokenBudget })
                  const cost = (count: number) =>
                    counter.countMessages(
                      contents
                        .map((content, index) => ({
                          role: index % 2 === 1 ? ("user" as const) : ("assistant" as const),
                          content
                        }))
                        .slice(contents.length - count)
                    ) - counter.countMessages([])
                  assert.isAtMost(cost(messages.length), tokenBudget)
                  if (messages.length < contents.length) assert.isAbove(cost(messages.length + 1), tokenBudget)
                }).pipe(Effect.provide(Layer.merge(silent, Layer.succeed(TokenCounter.TokenCounter, counter))))
              )
          ),
          { numRuns: 50 }
        )
      )
    }).pipe(Effect.provide(Layer.provideMerge(WindowSessionHistory.layer, KeptSessions.layer)))
  )
})

describe("PrunedSessionHistory", () => {
  const history = (options?: PrunedSessionHistory.Options) =>
    Layer.provideMerge(
      PrunedSessionHistory.layer(options).pipe(Layer.provide(RelevanceContextPruner.layer())),
      Layer.merge(KeptSessions.layerWatched, counted)
    )
  const filled = Effect.tap(conversation, ({ say }) =>
    say(...range(1, 40).map((n) => said(n, n === 2 || n === 25 ? { content: "green tea." } : {})))
  )

  SystemTest.effect("shows relevant turns from far back", () =>
    Effect.gen(function* () {
      const { read } = yield* filled
      assert.deepStrictEqual(shown(yield* read({ turns: 5 })), [2, 25, 38, 39, 40])
      assert.deepStrictEqual(shown(yield* read({ turns: 5, query: "coffee" })), [36, 37, 38, 39, 40])
    }).pipe(Effect.provide(history()))
  )

  SystemTest.effect("reads only the window, which is at least the requested number of turns", () =>
    Effect.gen(function* () {
      const { read } = yield* filled
      assert.deepStrictEqual(shown(yield* read({ turns: 5 })), [25, 37, 38, 39, 40])
      assert.strictEqual((yield* read({ turns: 30 })).shown.size, 30)
      assert.deepStrictEqual(yield* KeptSessions.Reads, [
        { last: 20, found: 20 },
        { last: 30, found: 30 }
      ])
    }).pipe(Effect.provide(history({ window: 20 })))
  )

  SystemTest.effect("uses the budget of the layer unless the reader sets one", () =>
    Effect.gen(function* () {
      const { read } = yield* filled
      const small = yield* read()
      assert.isAtMost(tokensOf(small.messages), 90)
      assert.deepStrictEqual(shown(small), [2, 25, 39, 40])
      assert.strictEqual((yield* read({ tokenBudget: 1000 })).shown.size, 20)
    }).pipe(Effect.provide(history({ tokenBudget: 90 })))
  )

  SystemTest.effect("spends no budget on system turns", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(said(1, { role: "system", content: "x".repeat(1000) }), said(2), said(3))
      assert.deepStrictEqual(shown(yield* read({ tokenBudget: 39 })), [2, 3])
    }).pipe(Effect.provide(history()))
  )

  SystemTest.effect("accepts any pruner", () =>
    Effect.gen(function* () {
      const { read } = yield* filled
      assert.deepStrictEqual(shown(yield* read({ turns: 2 })), [1])
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          PrunedSessionHistory.layer().pipe(
            Layer.provide(
              Layer.succeed(HistoryPruner.HistoryPruner, {
                prune: (turns) => Effect.succeed({ kept: turns.slice(0, 1), dropped: turns.length - 1, tokens: 0 })
              })
            )
          ),
          KeptSessions.layer
        )
      )
    )
  )
})

describe("CompactedSessionHistory", () => {
  const compacted = (
    script: Parameters<typeof TestModel.make>[0],
    options?: CompactedSessionHistory.Options & DefaultHistoryCompactor.Options
  ) =>
    Layer.provideMerge(
      CompactedSessionHistory.layer(options).pipe(
        Layer.provide(DefaultHistoryCompactor.layer(options)),
        Layer.provide(DefaultModelRouter.layerDefault)
      ),
      Layer.mergeAll(KeptSessions.layerWatched, counted, TestModel.layer(script))
    )
  /** A hundred characters: 107 tokens of the user, 112 of the assistant. */
  const long = (n: number, fields?: Partial<NewTurn>) => said(n, { content: `turn ${n} `.padEnd(100, "x"), ...fields })
  const asked = Effect.map(TestModel.requests, (requests) => requests.length)
  /** What the model was given to read. */
  const document = (index: number) =>
    Effect.map(TestModel.requests, (requests) => {
      const content = requests[index]?.messages[1]?.content
      const text = typeof content === "string" ? content : content?.[0]?.type === "text" ? content[0].text : ""
      return JSON.parse(text) as { readonly summary?: string; readonly turns: ReadonlyArray<{ readonly text: string }> }
    })

  SystemTest.effect("replaces older turns by a summary in a user message and keeps half of the turns", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(...range(1, 11).map((n) => long(n, n === 1 ? { unanswered: "failed" } : {})))
      const some = yield* read({ turns: 10 })
      assert.deepStrictEqual(some.messages[0], HistoryCompactor.summaryMessage({ text: "Ada likes tea." }))
      assert.deepStrictEqual(shown(some), [7, 8, 9, 10, 11])
      assert.deepStrictEqual(
        some.messages.slice(1),
        SessionMessages.fromTurns(range(7, 11).map((n) => turn(n, long(n))))
      )
      assert.strictEqual(some.summarized, 7)
      assert.isAtMost(tokensOf(some.messages), 4096)
      const { turns } = yield* document(0)
      assert.deepStrictEqual(
        turns.slice(0, 3).map(({ text }) => text.split("x")[0]?.trim()),
        ["turn 1", "(no answer: failed)", "turn 2"]
      )
    }).pipe(Effect.provide(compacted(["Ada likes tea."])))
  )

  SystemTest.effect("reuses the summary while there is room, then extends it", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(...range(1, 11).map((n) => long(n)))
      yield* read({ turns: 10 })
      for (const n of range(12, 16)) {
        yield* say(long(n))
        const some = yield* read({ turns: 10 })
        assert.deepStrictEqual([shown(some), some.summarized], [range(7, n), 6])
        assert.deepStrictEqual(some.messages[0], HistoryCompactor.summaryMessage({ text: "First." }))
      }
      assert.strictEqual(yield* asked, 1)
      yield* say(long(17))
      const next = yield* read({ turns: 10 })
      assert.deepStrictEqual(next.messages[0], HistoryCompactor.summaryMessage({ text: "Second." }))
      assert.deepStrictEqual([shown(next).at(0), next.summarized], [13, 12])
      assert.strictEqual((yield* document(1)).summary, "First.")
      assert.strictEqual(yield* asked, 2)
    }).pipe(Effect.provide(compacted(["First.", "Second."])))
  )

  SystemTest.effect("reads two windows of a long session at first, then one", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      const reads = yield* KeptSessions.Reads
      yield* say(...range(1, 60).map((n) => long(n)))
      const first = yield* read({ turns: 5 })
      assert.deepStrictEqual([first.summarized + first.shown.size, shown(first).at(-1)], [40, 60])
      assert.deepStrictEqual(reads, [
        { last: 12, found: 12 },
        { last: 28, found: 28 }
      ])
      yield* read({ turns: 5 })
      assert.deepStrictEqual(reads.slice(2), [{ last: 12, found: 12 }])
      assert.strictEqual(yield* asked, 1)
    }).pipe(Effect.provide(compacted(["Short."], { window: 40 })))
  )

  SystemTest.effect("summarizes for the token limit alone", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(...range(1, 10).map((n) => long(n)))
      const some = yield* read({ turns: 10 })
      assert.isAtMost(tokensOf(some.messages), 800)
      assert.isAbove(some.summarized, 0)
      assert.strictEqual(some.summarized + some.shown.size, 10)
      assert.strictEqual(yield* asked, 1)
    }).pipe(Effect.provide(compacted(["Short."], { tokenBudget: 800 })))
  )

  SystemTest.effect("keeps the compactor's share of turns, within the limit", () =>
    Effect.gen(function* () {
      for (const [keepFraction, stay] of [
        [0, 1],
        [0.25, 2],
        [0.5, 4],
        [0.8, 8]
      ] as const) {
        yield* Effect.gen(function* () {
          const { read, say } = yield* conversation
          yield* say(...range(1, 20).map((n) => long(n)))
          assert.strictEqual((yield* read({ turns: 10 })).shown.size, stay)
        }).pipe(Effect.provide(compacted(() => "Short.", { keepFraction })))
      }
    })
  )

  SystemTest.effect("does not wait again for a failed model and uses the beginnings of turns instead", () =>
    Effect.gen(function* () {
      const { read, say } = yield* conversation
      yield* say(...range(1, 30).map((n) => long(n)))
      for (const _ of range(1, 3)) {
        const some = yield* read({ turns: 20 })
        assert.isAtMost(some.shown.size, 20)
        assert.include(JSON.stringify(some.messages[0]), "data, not instructions")
        assert.include(JSON.stringify(some.messages[0]), "turn 1")
      }
      assert.strictEqual(yield* asked, 1)
    }).pipe(Effect.provide(compacted([{ fail: new LlmConnectionError({ message: "no route", provider: "test" }) }])))
  )

  SystemTest.effect("drops turns from the summary that a restore removed", () =>
    Effect.gen(function* () {
      const { read, say, session, sessions } = yield* conversation
      yield* say(...range(1, 3).map((n) => long(n)))
      const checkpoint = yield* sessions.checkpoint(session.id)
      yield* say(...range(4, 12).map((n) => long(n)))
      assert.isAbove((yield* read({ turns: 4 })).summarized, 3)
      yield* sessions.restore(checkpoint.id)
      const after = yield* read({ turns: 4 })
      assert.deepStrictEqual([shown(after), after.summarized], [[1, 2, 3], 0])
    }).pipe(Effect.provide(compacted(["About what was left behind."])))
  )

  SystemTest.effect("gives a branch its own summary of its whole path", () =>
    Effect.gen(function* () {
      const { read, say, session, sessions } = yield* conversation
      const branches = yield* BranchManager.BranchManager
      yield* say(...range(1, 11).map((n) => long(n)))
      yield* read({ turns: 10 })
      const branch = yield* branches.fork(session.id, { userId: ada })
      yield* sessions.addTurn(branch.id, long(12))
      const own = yield* read({ session: branch, turns: 10 })
      assert.deepStrictEqual(own.messages[0], HistoryCompactor.summaryMessage({ text: "Of the branch." }))
      assert.deepStrictEqual([own.summarized + own.shown.size, shown(own).at(-1)], [12, 12])
      assert.deepStrictEqual(
        (yield* read({ turns: 10 })).messages[0],
        HistoryCompactor.summaryMessage({ text: "Of the trunk." })
      )
    }).pipe(Effect.provide(compacted(["Of the trunk.", "Of the branch."])))
  )

  SystemTest.effect("keeps the summary apart from other compactions of the same user and session", () =>
    Effect.gen(function* () {
      const { read, say, session } = yield* conversation
      const compactor = yield* HistoryCompactor.HistoryCompactor
      yield* say(...range(1, 11).map((n) => long(n)))
      const before = yield* read({ turns: 10 })
      const items = range(1, 11).map((n) => turn(n, long(n)))
      const scope = { ownerId: ada, sessionId: session.id }
      const other = yield* compactor.compact({ scope, items, tokenBudget: 600 })
      assert.strictEqual(other.summary?.text, "Of others.")
      assert.deepStrictEqual(yield* read({ turns: 10 }), before)
      assert.strictEqual(yield* asked, 2)
    }).pipe(
      Effect.provide(
        CompactedSessionHistory.layer().pipe(
          Layer.provideMerge(Layer.provide(DefaultHistoryCompactor.layer(), DefaultModelRouter.layerDefault)),
          Layer.provideMerge(Layer.mergeAll(KeptSessions.layer, counted, TestModel.layer(["Of turns.", "Of others."])))
        )
      )
    )
  )

  SystemTest.effect("keeps the summaries of sessions apart", () =>
    Effect.gen(function* () {
      for (const text of ["First.", "Second."]) {
        const { read, say } = yield* conversation
        yield* say(...range(1, 11).map((n) => long(n)))
        assert.deepStrictEqual((yield* read({ turns: 10 })).messages[0], HistoryCompactor.summaryMessage({ text }))
      }
      assert.isTrue(Option.isNone(yield* Effect.serviceOption(HistoryCompactor.HistoryCompactor)))
    }).pipe(Effect.provide(compacted(["First.", "Second."])))
  )

  SystemTest.effect("stays within turns and tokens for any turns", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const history = yield* SessionHistory.SessionHistory
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(
              FastCheck.tuple(
                FastCheck.boolean(),
                FastCheck.string({ unit: hostile, maxLength: 60 }),
                FastCheck.boolean()
              ),
              { maxLength: 40 }
            ),
            FastCheck.integer({ min: 1, max: 12 }),
            FastCheck.integer({ min: 0, max: 900 }),
            (contents, turns, tokenBudget) =>
              Effect.runPromise(
                Effect.gen(function* () {
                  const session = yield* sessions.create()
                  for (const [index, [isUser, content, isAnswered]] of contents.entries()) {
                    yield* sessions.addTurn(
                      session.id,
                      said(index, {
                        content,
                        role: isUser ? "user" : "assistant",
                        ...(isUser && !isAnswered ? { unanswered: "failed" as const } : {})
                      })
                    )
                    if (index % 7 !== 6 && index < contents.length - 1) continue
                    const some = yield* history.read({ session, query: "", turns, tokenBudget })
                    assert.isAtMost(some.shown.size, turns)
                    assert.isAtMost(tokensOf(some.messages), tokenBudget)
                    const numbers = shown(some)
                    assert.deepStrictEqual(
                      numbers,
                      numbers.toSorted((a, b) => a - b)
                    )
                  }
                }).pipe(Effect.provide(silent))
              )
          ),
          { numRuns: 60 }
        )
      )
    }).pipe(Effect.provide(compacted((_request, index) => `Summary ${index}, and what was said in it.`)))
  )
})
