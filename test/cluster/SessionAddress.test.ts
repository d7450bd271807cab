import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as SessionAddress from "../../src/cluster/entity/SessionAddress.js"

const text = FastCheck.oneof(
  FastCheck.constantFrom("a", "b", "null", '"', '","', "a,b", "[", "session", "1", "\\", "é", "e\u0301"),
  FastCheck.string({ minLength: 1, maxLength: 4 })
)
const optional = FastCheck.option(text, { nil: undefined })
const session = FastCheck.record({ sessionId: text, userId: optional, tenantId: optional })

const idOf = (one: object) => SessionAddress.entityIdOf(one as SessionAddress.Session)

describe("SessionAddress", () => {
  it("gives each session, user and tenant another id", () => {
    const seen = new Map<string, string>()
    FastCheck.assert(
      FastCheck.property(session, ({ sessionId, tenantId, userId }) => {
        const id = idOf({ sessionId, tenantId, userId })
        const given = JSON.stringify([sessionId, tenantId ?? null, userId ?? null])
        assert.strictEqual(seen.get(id) ?? given, given)
        seen.set(id, given)
      }),
      { numRuns: 2000 }
    )
    assert.notStrictEqual(idOf({ sessionId: "s" }), idOf({ sessionId: "s", userId: "null" }))
    assert.notStrictEqual(idOf({ sessionId: "s", userId: "a" }), idOf({ sessionId: "s", tenantId: "a" }))
  })

  it("gives each message of each session another run", () => {
    const ann = { sessionId: "s", userId: "ann" } as SessionAddress.Session
    const bob = { sessionId: "s", userId: "bob" } as SessionAddress.Session
    const ids = [ann, bob].flatMap((one) => ["m", "m2"].map((id) => SessionAddress.runIdOf(one, id)))
    assert.strictEqual(new Set(ids).size, 4)
    assert.strictEqual(SessionAddress.runIdOf(ann, "m"), ids[0])
    assert.isTrue(ids.every(SessionAddress.isOfMessage))
  })
})
