import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as PlainSession from "../../../src/persistence/session/PlainSession.js"
import * as SessionCodec from "../../../src/session/turn/SessionCodec.js"
import { sessions, turns } from "../../../src/testing/session/SessionArbitraries.js"
import { behind, session, turnsOf } from "../../../src/testing/session/SessionFixtures.js"

const plainSession = behind(session("s"), turnsOf(session("s"), ["t"]))
const [plainTurn] = turnsOf(plainSession, ["t2"])

/** What fields may be turned into, rightly or wrongly. */
const aField = FastCheck.oneof(
  FastCheck.jsonValue(),
  FastCheck.constantFrom(undefined, Number.NaN, -0, 1e300, 2 ** 60, "", " ", "\u0000", "\ud800", "x".repeat(257)),
  FastCheck.constantFrom(new Date(0), 1n, [undefined], { toJSON: () => 1 }, Object.create(null))
)

const same = <A>(ours: SessionCodec.Codec<A>, theirs: SessionCodec.Codec<A>, value: A) =>
  Effect.gen(function* () {
    const [mine, other] = [yield* Effect.exit(ours.encode(value)), yield* Effect.exit(theirs.encode(value))]
    assert.strictEqual(mine._tag, other._tag)
    if (mine._tag !== "Success" || other._tag !== "Success") return
    assert.deepStrictEqual(JSON.parse(mine.value), JSON.parse(other.value))
    for (const text of [mine.value, other.value]) {
      assert.deepStrictEqual(
        yield* Effect.either(ours.decode("k", text)),
        yield* Effect.either(theirs.decode("k", text))
      )
    }
  })

const check = <A extends object>(
  ours: SessionCodec.Codec<A>,
  theirs: SessionCodec.Codec<A>,
  plain: A,
  any: FastCheck.Arbitrary<A>
) => {
  const names = [...new Set([...Object.keys(plain), "parent", "head", "userId", "runId", "origin", "other"])]
  const changed = FastCheck.record({
    from: FastCheck.oneof(FastCheck.constant(plain), any),
    name: FastCheck.constantFrom(...names),
    field: aField,
    isLeft: FastCheck.boolean()
  }).map(({ field, from, isLeft, name }) => {
    const { [name]: _, ...rest } = from as Record<string, unknown>
    return (isLeft ? rest : { ...rest, [name]: field }) as A
  })
  return Effect.promise(() =>
    FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.oneof(any, changed), (value) => Effect.runPromise(same(ours, theirs, value))),
      { numRuns: 600 }
    )
  )
}

describe("texts of sessions in Redis", () => {
  it.effect("decode sessions, or reject them, as the schema does", () =>
    check(PlainSession.session, SessionCodec.session, plainSession, sessions)
  )

  it.effect("decode turns, or reject them, as the schema does", () =>
    check(PlainSession.turn, SessionCodec.turn, plainTurn!, turns)
  )

  it.effect("cannot be read when they are not JSON, or something else", () =>
    Effect.gen(function* () {
      for (const text of ["", "{", "null", "[]", '"x"', "{}", '{"id":"s"}']) {
        for (const codec of [PlainSession.session, PlainSession.turn]) {
          const error = yield* Effect.flip(codec.decode("k", text) as Effect.Effect<unknown, { readonly _tag: string }>)
          assert.strictEqual(error._tag, "SessionStorageError")
        }
      }
    })
  )
})
