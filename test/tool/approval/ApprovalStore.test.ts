import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../../src/tool/approval/ApprovalStore.js"
import { request, suite } from "./ApprovalStoreSuite.js"

suite("in memory", ApprovalStore.layerMemory())

describe("ApprovalStore in memory", () => {
  it.effect("keeps the newest settled requests and decisions up to the limit, and all waiting requests", () =>
    Effect.gen(function* () {
      const store = yield* ApprovalStore.makeMemory({ maxSettled: 2, maxRemembered: 2 })
      yield* Effect.forEach(["a", "b", "c", "waits"], (id) => store.add({ request: request(id), requestedAt: 0 }))
      for (const id of ["b", "a", "c"]) {
        yield* store.settle(id, { decision: ApprovalGate.approve(), settledBy: "decision", at: 1 })
        const { agent, tool } = request(id)
        const decision = ApprovalGate.approve()
        yield* store.remember({ key: id, scope: "tool", agent, tool, exact: false, decision, at: 1 })
      }
      const kept = yield* Effect.filter(["a", "b", "c", "waits"], (id) => Effect.map(store.get(id), Option.isSome))
      assert.deepStrictEqual(kept, ["a", "c", "waits"])
      assert.deepStrictEqual(
        (yield* store.remembered({})).map(({ key }) => key),
        ["a", "c"]
      )
    })
  )
})
