import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Conversations from "../support/Conversations.js"
import * as Dialogues from "../support/Dialogues.js"
import * as DialogueTexts from "../support/DialogueTexts.js"
import * as Recall from "../support/Recall.js"

const day = 86_400_000

const owners = (conversations: Conversations.Conversations) => new Set(conversations.turns.map((turn) => turn.ownerId))

describe("Conversations", () => {
  const made = Conversations.make({ ...Conversations.full, seed: 1 })

  it("have 5,000 turns of at least ten users over six months, with uninformative importance", () => {
    assert.isAtLeast(made.turns.length, 5000)
    assert.isAtLeast(owners(made).size, 10)
    const times = made.turns.map((turn) => turn.timestamp)
    assert.isAtLeast(Math.max(...times) - Math.min(...times), 170 * day)
    assert.isBelow(Math.max(...times), made.now)
    assert.deepStrictEqual(Array.from(new Set(made.turns.map((turn) => turn.importance))), [0.5])
    assert.strictEqual(new Set(made.turns.map((turn) => turn.id)).size, made.turns.length)
    for (const owner of owners(made)) {
      const sessions = new Set(made.turns.filter((turn) => turn.ownerId === owner).map((turn) => turn.sessionId))
      assert.isAtLeast(sessions.size, 20)
    }
  })

  it("have no question that shares more than 30 % of its content words with its evidence", () => {
    for (const { evidence, ownerId, text } of made.questions) {
      assert.isAtMost(Conversations.shared(text, evidence.content), 0.3, text)
      assert.strictEqual(evidence.ownerId, ownerId)
    }
    assert.strictEqual(Conversations.shared("Which dogs bark at the moon?", "a barking dog"), 2 / 3)
  })

  it("have every kind of question, and evidence of every age", () => {
    assert.deepStrictEqual(
      new Set(made.questions.map(({ kind }) => kind)),
      new Set(["attribute", "event", "time", "preference", "indirect", "followUp"])
    )
    assert.isAtLeast(made.questions.length, 300)
    const months = made.questions.map(({ evidence }) => Math.floor((made.now - evidence.timestamp) / (31 * day)))
    for (const month of [0, 1, 2, 3, 4, 5]) assert.isAtLeast(months.filter((age) => age === month).length, 20)
  })

  it("have five other turns on other matters for every named subject", () => {
    assert.isAtLeast(made.distractors.size, 100)
    const evidence = new Set(made.questions.map((question) => question.evidence.id))
    for (const [subject, turns] of made.distractors) {
      assert.isAtLeast(turns.length, 5, subject)
      for (const turn of turns) {
        assert.include(turn.content.toLowerCase(), subject.slice(subject.indexOf("/") + 1).toLowerCase())
        assert.isFalse(evidence.has(turn.id))
      }
    }
  })

  it("are the same for the same seed, and differ for another", () => {
    const small = { users: 2, turnsPerUser: 200, days: 30 }
    assert.deepStrictEqual(Conversations.make({ ...small, seed: 7 }), Conversations.make({ ...small, seed: 7 }))
    assert.notDeepEqual(
      Conversations.make({ ...small, seed: 7 }).turns,
      Conversations.make({ ...small, seed: 8 }).turns
    )
  })
})

describe("Dialogues", () => {
  const made = Dialogues.make({ ...Dialogues.full, seed: 1 })
  const byId = new Map(made.turns.map((turn) => [turn.id, turn]))

  it("have questions of every pair, whose evidence is theirs and older than the question", () => {
    assert.isAtLeast(made.turns.length, 3000)
    assert.strictEqual(new Set(made.turns.map(({ id }) => id)).size, made.turns.length)
    assert.isAtLeast(made.questions.length, 500)
    assert.strictEqual(new Set(made.questions.map(({ ownerId }) => ownerId)).size, Dialogues.full.pairs)
    for (const { evidence, ownerId } of made.questions) {
      assert.isAtLeast(evidence.length, 1)
      for (const id of evidence) {
        assert.strictEqual(byId.get(id)?.ownerId, ownerId)
        assert.isBelow(byId.get(id)?.timestamp ?? made.now, made.now)
      }
    }
    assert.isAtLeast(made.questions.filter(({ evidence }) => evidence.length > 1).length, 50)
  })

  it("leave no slot open, and tell their speakers by roles and by whom they address", () => {
    for (const { content } of made.turns) assert.notMatch(content, /[{}#]/)
    for (const { text } of made.questions) assert.notMatch(text, /[{}#]/)
    const own = made.turns.filter(({ content, id }) => content.includes(made.speakers?.get(id) ?? "-"))
    const named = made.turns.filter(({ content }) => DialogueTexts.pairs.flat().some((name) => content.includes(name)))
    assert.isAtLeast(named.length, made.turns.length / 5)
    assert.isAtMost(own.length, named.length / 100)
  })

  it("share no word with the evidence in a good third of the questions", () => {
    const apart = made.questions.filter(({ evidence, text }) =>
      evidence.every((id) => Conversations.shared(text, byId.get(id)?.content ?? "") === 0)
    )
    assert.isAtLeast(apart.length, made.questions.length * 0.3)
    assert.isAtMost(apart.length, made.questions.length * 0.5)
  })

  it("are the same for the same seed, and differ for another", () => {
    const small = { pairs: 1, sessions: 6, smallTalk: 1 }
    assert.deepStrictEqual(Dialogues.make({ ...small, seed: 7 }), Dialogues.make({ ...small, seed: 7 }))
    assert.notDeepEqual(Dialogues.make({ ...small, seed: 7 }).turns, Dialogues.make({ ...small, seed: 8 }).turns)
  })
})

describe("recall of retrieval", () => {
  const recallOf = (figures: Recall.Figures | undefined): number => {
    assert.isAtLeast(figures?.questions ?? 0, 50)
    return figures?.recall[10] ?? 0
  }

  it.effect(
    "loses at most 10 % with default weights compared to relevance alone, and beats plain BM25",
    () =>
      Effect.gen(function* () {
        for (const seed of [11, 12]) {
          const ways = ["relevance alone", "default weights", "minisearch", "the newest ten"] as const
          const conversations = Conversations.make({ ...Conversations.full, users: 5, seed })
          const measured = yield* Recall.measure(Conversations.groundOf(conversations), ways)
          const alone = recallOf(measured["relevance alone"])
          assert.isAtLeast(recallOf(measured["default weights"]), 0.9 * alone)
          assert.isAtLeast(alone, recallOf(measured.minisearch))
          assert.isAtLeast(alone, 0.8)
          assert.isAtMost(recallOf(measured["the newest ten"]), 0.2)
        }
      }),
    300_000
  )

  it.effect(
    "finds in dialogues a tenth more than BM25 and minisearch with the same stems, however speakers are stored",
    () =>
      Effect.gen(function* () {
        const ways = [
          "relevance alone",
          "default weights",
          "BM25, the same stems",
          "minisearch, the same stems",
          "relevance alone, with vectors"
        ] as const
        const ground = Dialogues.make({ ...Dialogues.full, pairs: 4, seed: 21 })
        for (const stored of Object.values(Recall.stored)) {
          const measured = yield* Recall.measure(stored(ground), ways)
          const [alone, weighted] = [recallOf(measured["relevance alone"]), recallOf(measured["default weights"])]
          const rivals = [measured["BM25, the same stems"], measured["minisearch, the same stems"]].map(recallOf)
          assert.isAtLeast(alone, 1.1 * Math.max(...rivals))
          assert.isAtLeast(weighted, 1.1 * Math.max(...rivals))
          assert.isAtLeast(alone, 0.6)
          // Vectors of letters know no more than words: they must not do harm.
          assert.isAtLeast(recallOf(measured["relevance alone, with vectors"]), 0.95 * alone)
        }
      }),
    300_000
  )

  it.effect(
    "loses as little with words and vectors together",
    () =>
      Effect.gen(function* () {
        const conversations = Conversations.make({ ...Conversations.full, users: 3, seed: 14 })
        const ways = ["relevance alone, with vectors", "default weights, with vectors", "minisearch"] as const
        const measured = yield* Recall.measure(Conversations.groundOf(conversations), ways)
        const alone = recallOf(measured["relevance alone, with vectors"])
        assert.isAtLeast(recallOf(measured["default weights, with vectors"]), 0.9 * alone)
        assert.isAtLeast(alone, recallOf(measured.minisearch))
      }),
    300_000
  )

  it.effect(
    "finds all facts among ten times as much talk",
    () =>
      Effect.gen(function* () {
        const conversations = Conversations.make({ users: 2, turnsPerUser: 4000, days: 182, seed: 13 })
        const ways = ["relevance alone", "default weights", "minisearch"] as const
        const measured = yield* Recall.measure(Conversations.groundOf(conversations), ways)
        const alone = recallOf(measured["relevance alone"])
        assert.isAtLeast(recallOf(measured["default weights"]), 0.9 * alone)
        assert.isAtLeast(alone, recallOf(measured.minisearch))
      }),
    300_000
  )
})
