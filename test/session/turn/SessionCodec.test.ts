import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as SessionCodec from "../../../src/session/turn/SessionCodec.js"
import type { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import { checkpoints, sessions, turns } from "../../../src/testing/session/SessionArbitraries.js"
import { session, turnsOf } from "../../../src/testing/session/SessionFixtures.js"

const roundTrip = <A>(codec: SessionCodec.Codec<A>, value: A): A =>
  Effect.runSync(Effect.flatMap(codec.encode(value), (text) => codec.decode("key", text)))

const holds = <A>(codec: SessionCodec.Codec<A>, values: FastCheck.Arbitrary<A>): void =>
  FastCheck.assert(
    FastCheck.property(values, (value) => {
      assert.strictEqual(
        JSON.stringify(sorted(roundTrip(codec, value))),
        JSON.stringify(sorted(JSON.parse(JSON.stringify(value))))
      )
    }),
    { numRuns: 100 }
  )

/** Fields of records by name: their order is not kept. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .map(([key, field]) => [key, sorted(field)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

describe("SessionCodec", () => {
  it("returns sessions, turns and checkpoints as they were", () => {
    holds(SessionCodec.session, sessions)
    holds(SessionCodec.turn, turns)
    holds(SessionCodec.checkpoint, checkpoints)
  })

  it.effect("uses defaults for fields missing in an older text", () =>
    Effect.gen(function* () {
      const text = '{"id":"s","status":"active","createdAt":1,"updatedAt":2}'
      assert.deepStrictEqual(
        { ...(yield* SessionCodec.session.decode("key", text)) },
        {
          ...session("s", { userId: undefined, createdAt: 1, updatedAt: 2 })
        }
      )
    })
  )

  it.effect("names the key and not the content of an unreadable text", () =>
    Effect.gen(function* () {
      const texts = [
        "",
        "secret",
        "null",
        "[]",
        '{"id":"secret"}',
        '{"id":"s","status":"secret","createdAt":1}',
        '{"id":'
      ]
      for (const text of texts) {
        const decoded: ReadonlyArray<Effect.Effect<unknown, SessionStorageError>> = [
          SessionCodec.session.decode("the-key", text),
          SessionCodec.turn.decode("the-key", text),
          SessionCodec.checkpoint.decode("the-key", text)
        ]
        for (const one of decoded) {
          const error = yield* Effect.flip(one)
          assert.strictEqual(error._tag, "SessionStorageError")
          assert.include(error.message, "the-key")
          assert.notInclude(`${JSON.stringify(error)} ${String(error.cause)} ${error.stack}`, "secret")
        }
      }
    })
  )

  it.effect("refuses to write what it could not read", () =>
    Effect.gen(function* () {
      const [turn] = turnsOf(session("s"), ["t"])
      if (turn === undefined) return assert.fail("there is a turn")
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      for (const fields of [{ timestamp: Number.NaN }, { metadata: cyclic }, { metadata: { big: 1n } }, { cost: -1 }]) {
        const error = yield* Effect.flip(SessionCodec.turn.encode({ ...turn, ...fields }))
        assert.strictEqual(error._tag, "SessionStorageError")
      }
    })
  )
})
