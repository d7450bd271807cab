import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { RunId, TurnId } from "../../../src/domain/Ids.js"
import * as Session from "../../../src/session/turn/Session.js"
import * as SessionChecks from "../../../src/session/turn/SessionChecks.js"

const call: Required<Session.TurnToolCall> = {
  id: "c",
  name: "add",
  params: { a: 1 },
  result: 3,
  isFailure: false
}

const turn: Required<Session.NewTurn> = {
  id: TurnId.make("t"),
  role: "user",
  content: "hi",
  files: [
    {
      mediaType: "image/png",
      fileName: "a.png",
      data: { hash: `sha256:${"0".repeat(64)}`, size: 3, mediaType: "image/png" }
    },
    { mediaType: "image/*", data: { url: "https://example.com/a" } }
  ],
  timestamp: 1,
  toolCalls: [call],
  skillResults: [{ name: "s" }],
  metadata: { a: { b: [1] } },
  tokensUsed: 2,
  cost: 0.5,
  model: "m",
  provider: "p",
  runId: RunId.make("r"),
  unanswered: "blocked"
}

describe("SessionChecks.turn", () => {
  it("keeps every field of the schema of turns and of tool calls, and no other", () => {
    assert.deepStrictEqual(Object.keys(turn).sort(), Object.keys(Session.NewTurn.fields).sort())
    assert.deepStrictEqual(Object.keys(call).sort(), Object.keys(Session.TurnToolCall.fields).sort())
    const given = { ...turn, toolCalls: [{ ...call, more: 1 }], more: 1 }
    assert.deepStrictEqual(Either.getOrThrow(SessionChecks.turn(given, 10_000)), turn)
  })

  it("leaves out fields without a value", () => {
    const checked = Either.getOrThrow(SessionChecks.turn({ ...turn, model: undefined }, 10_000))
    assert.isFalse("model" in checked)
  })

  it("copies the data of the caller", () => {
    const metadata = { a: { b: [1] } }
    const checked = Either.getOrThrow(SessionChecks.turn({ ...turn, metadata }, 10_000))
    metadata.a.b.push(2)
    assert.deepStrictEqual(checked.metadata, { a: { b: [1] } })
  })

  it("accepts exactly the turns and calls that the schemas accept", () => {
    const odd = FastCheck.constantFrom<Array<unknown>>(
      ...["t", "", "a".repeat(257), "é", "a\nb", "user", "blocked", "late", 0, -0, -1, 1.5, 2 ** 53, 1e300],
      ...[Number.NaN, Number.POSITIVE_INFINITY, null, undefined, true, {}, ["t"], new String("t")]
    )
    const checked = Schema.Struct({
      ...Session.NewTurn.fields,
      cost: Schema.NonNegative.pipe(Schema.finite()),
      toolCalls: Schema.Array(Session.TurnToolCall)
    })
    const isSound = Schema.is(Schema.typeSchema(checked))
    const flat = Object.keys(turn).filter((field) => !["toolCalls", "skillResults", "metadata"].includes(field))
    const seen = { in: 0, out: 0 }
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...flat),
        FastCheck.constantFrom("id", "name", "isFailure"),
        FastCheck.boolean(),
        odd,
        (field, ofCall, isOfCall, value) => {
          const given = isOfCall ? { ...turn, toolCalls: [{ ...call, [ofCall]: value }] } : { ...turn, [field]: value }
          const sound = isSound(given)
          seen[sound ? "in" : "out"]++
          assert.strictEqual(Either.isRight(SessionChecks.turn(given as Session.NewTurn, 10_000)), sound)
        }
      ),
      { numRuns: 3_000 }
    )
    assert.isAbove(seen.in, 300)
    assert.isAbove(seen.out, 300)
  })
})
