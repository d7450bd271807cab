import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as GroupParticipant from "../../../src/session/group/GroupParticipant.js"
import * as GroupSession from "../../../src/session/group/GroupSession.js"
import * as RoleIsolation from "../../../src/session/group/RoleIsolation.js"
import * as TurnManager from "../../../src/session/group/TurnManager.js"
import { lines, opened, sessionId, sessions } from "../../support/Groups.js"

const said = (metadata: unknown, role: RoleIsolation.Said["role"] = "assistant"): RoleIsolation.Said => ({
  role,
  metadata: metadata as RoleIsolation.Said["metadata"]
})

const ann = { name: "ann", role: "writer" }
const bob = { name: "bob", role: "critic" }
const { isVisible } = RoleIsolation.standard

describe("RoleIsolation", () => {
  it("shows a turn without lists to everybody", () => {
    assert.isTrue(isVisible(said({}), ann))
    assert.isTrue(isVisible(said({ agent: "bob" }), bob))
  })

  it("shows a turn to the listed names and roles, which override the hidden ones", () => {
    assert.isTrue(isVisible(said({ visibleTo: ["ann"] }), ann))
    assert.isTrue(isVisible(said({ visibleTo: ["writer"] }), ann))
    assert.isFalse(isVisible(said({ visibleTo: ["ann"] }), bob))
    assert.isFalse(isVisible(said({ visibleTo: [] }), ann))
    assert.isFalse(isVisible(said({ hiddenFrom: ["ann"] }), ann))
    assert.isFalse(isVisible(said({ hiddenFrom: ["writer"] }), ann))
    assert.isTrue(isVisible(said({ hiddenFrom: ["ann"] }), bob))
    assert.isTrue(isVisible(said({ visibleTo: ["ann"], hiddenFrom: ["ann"] }), ann))
    assert.isFalse(isVisible(said({ visibleTo: ["ann"], hiddenFrom: [] }), bob))
  })

  it("compares names exactly", () => {
    for (const near of ["Ann", " ann", "ann ", "an", "anna", "*", ""]) {
      assert.isFalse(isVisible(said({ visibleTo: [near] }), ann), near)
      assert.isTrue(isVisible(said({ hiddenFrom: [near] }), ann), near)
    }
  })

  it("hides a turn whose list is malformed", () => {
    for (const odd of ["ann", null, 1, true, { 0: "ann", length: 1 }, { includes: "ann" }, [["ann"]], ["ann", 1]]) {
      assert.isFalse(isVisible(said({ visibleTo: odd }), ann), JSON.stringify(odd))
      assert.isFalse(isVisible(said({ hiddenFrom: odd }), bob), JSON.stringify(odd))
      assert.isFalse(isVisible(said({ visibleTo: odd, hiddenFrom: [] }), ann), JSON.stringify(odd))
    }
    assert.isTrue(isVisible(said({ visibleTo: undefined, hiddenFrom: undefined }), ann))
    // What an object has by inheritance is not what the turn says.
    assert.isFalse(isVisible(said(Object.create({ visibleTo: ["ann"] }, { hiddenFrom: { value: ["ann"] } })), ann))
  })

  it("applies rules by role in addition", () => {
    const ruled = RoleIsolation.make({
      roles: { critic: { only: ["writer", "user"] }, writer: { except: ["critic"] } }
    })
    const byAnn = { agent: "ann", role: "writer" }
    const byBob = { agent: "bob", role: "critic" }
    const byCid = { agent: "cid", role: "other" }
    assert.isTrue(ruled.isVisible(said(byAnn), bob))
    assert.isTrue(ruled.isVisible(said({}, "user"), bob))
    assert.isFalse(ruled.isVisible(said(byCid), bob))
    assert.isFalse(ruled.isVisible(said({}), bob))
    assert.isFalse(ruled.isVisible(said(byBob), ann))
    assert.isTrue(ruled.isVisible(said(byCid), ann))
    // Both must allow it, and one's own words are one's own.
    assert.isFalse(ruled.isVisible(said({ ...byAnn, visibleTo: ["cid"] }), bob))
    assert.isTrue(ruled.isVisible(said(byBob), bob))
    assert.isFalse(ruled.isVisible(said({ agent: "bob", role: "critic", visibleTo: ["cid"] }), bob))
    // Nobody says something as the participant but the participant.
    assert.isFalse(ruled.isVisible(said({ agent: "bob" }, "system"), bob))
  })

  it("treats names of inherited properties as roles", () => {
    const none = RoleIsolation.make({ roles: {} })
    for (const role of ["__proto__", "constructor", "toString"]) {
      assert.isTrue(none.isVisible(said({}), { name: "x", role }))
    }
    const poisoned = RoleIsolation.make({ roles: JSON.parse('{"__proto__": {"only": []}}') })
    assert.isFalse(poisoned.isVisible(said({}), { name: "x", role: "__proto__" }))
    assert.isTrue(poisoned.isVisible(said({}), ann))
  })

  it("shows a restricted turn to its author", () => {
    assert.deepStrictEqual(RoleIsolation.toMetadata({ visibleTo: ["bob"] }, "ann"), { visibleTo: ["bob", "ann"] })
    assert.deepStrictEqual(RoleIsolation.toMetadata({ visibleTo: ["ann"] }, "ann"), { visibleTo: ["ann"] })
    assert.deepStrictEqual(RoleIsolation.toMetadata({ visibleTo: [] }), { visibleTo: [] })
    assert.deepStrictEqual(RoleIsolation.toMetadata({ hiddenFrom: ["bob"] }, "ann"), { hiddenFrom: ["bob"] })
    assert.deepStrictEqual(RoleIsolation.toMetadata({}, "ann"), {})
  })
})

const names = ["ann", "bob", "cid"] as const
const roles = ["writer", "critic", "writer"] as const
const anybody = FastCheck.subarray(["ann", "bob", "cid", "writer", "critic", "nobody"])
const lists = FastCheck.oneof(FastCheck.constant(undefined), anybody)
const rule = FastCheck.record({ only: lists, except: lists }, { requiredKeys: [] })

describe("a group", () => {
  it.effect.prop(
    "never passes a hidden turn to a participant",
    {
      user: FastCheck.record({ visibleTo: lists, hiddenFrom: lists }),
      answers: FastCheck.array(
        FastCheck.record({
          by: FastCheck.constantFrom(...names),
          says: FastCheck.boolean(),
          visibleTo: lists,
          hiddenFrom: lists
        }),
        { minLength: 1, maxLength: 12 }
      ),
      rules: FastCheck.record({ writer: rule, critic: rule }, { requiredKeys: [] })
    },
    ({ answers, rules, user }) =>
      Effect.gen(function* () {
        yield* opened()
        const isolation = RoleIsolation.make({ roles: rules })
        const given: Array<GroupParticipant.Invitation> = []
        const seenByManager: Array<readonly [RoleIsolation.Viewer, ReadonlyArray<RoleIsolation.Said>]> = []
        let at = 0
        const manager = TurnManager.make("scripted", {
          initial: () => 0,
          next: (index: number, view) =>
            Effect.sync(() => {
              for (const member of view.members) seenByManager.push([member, view.visibleTo(member)])
              const next = answers[index]
              at = index
              return [next === undefined ? TurnManager.nobody : TurnManager.speak(next.by), index + 1] as const
            })
        })
        const group = yield* GroupSession.make({
          isolation,
          turnManager: manager,
          maxRounds: 100,
          participants: names.map((name, index) =>
            GroupParticipant.make(name, {
              role: roles[index] as string,
              respond: (invitation) =>
                Effect.sync(() => {
                  given.push(invitation)
                  const { hiddenFrom, says, visibleTo } = answers[at] as (typeof answers)[number]
                  return says ? GroupParticipant.answer(`${name} at ${at}`, { visibleTo, hiddenFrom }) : undefined
                })
            })
          )
        })
        const outcome = yield* GroupSession.run(group, sessionId, "hello", user)
        const all = outcome.turns
        for (const { history, message, self } of given) {
          const shown = [...history, message]
          for (const turn of shown) {
            const { metadata } = turn
            const visibleTo = metadata["visibleTo"] as ReadonlyArray<string> | undefined
            const hiddenFrom = metadata["hiddenFrom"] as ReadonlyArray<string> | undefined
            const allowed =
              visibleTo === undefined
                ? !(hiddenFrom?.includes(self.name) || hiddenFrom?.includes(self.role))
                : visibleTo.includes(self.name) || visibleTo.includes(self.role)
            assert.isTrue(allowed, lines([turn])[0])
          }
          // And it misses nothing that it may see of what was said before it was asked.
          const until = all.findIndex((turn) => turn.id === message.id) + 1
          assert.deepStrictEqual(
            shown,
            all.slice(0, until).filter((turn) => isolation.isVisible(turn, self))
          )
        }
        for (const [viewer, turns] of seenByManager) {
          assert.isTrue(turns.every((turn) => isolation.isVisible(turn, viewer)))
        }
      }).pipe(Effect.provide(sessions)),
    { fastCheck: { numRuns: 60 } }
  )
})
