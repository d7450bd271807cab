import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../../../src/domain/Ids.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"

const request: ApprovalGate.ApprovalRequest = {
  id: "approval-1",
  runId: RunId.make("run-1"),
  agent: "a",
  toolCallId: "c1",
  tool: "delete_file",
  params: { path: "/tmp/x" }
}

const decide = Effect.flatMap(ApprovalGate.ApprovalGate, (gate) => gate.request(request))

describe("ApprovalGate", () => {
  it.effect("denies every call without a gate, and says how to provide one", () =>
    Effect.gen(function* () {
      const decision = yield* decide
      assert.strictEqual(decision._tag, "Denied")
      if (decision._tag !== "Denied") return
      assert.include(decision.reason, "delete_file")
      assert.include(decision.reason, "ApprovalGate.layer")
    }).pipe(Effect.provide(ApprovalGate.layerDeny))
  )

  it.effect("approves calls unchanged with the automatic gate", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decide, { _tag: "Approved" })
    }).pipe(Effect.provide(ApprovalGate.layerAutoApprove))
  )

  it.effect("lets a gate function change the parameters", () =>
    Effect.gen(function* () {
      const decision = yield* decide
      assert.deepStrictEqual(decision, { _tag: "Approved", params: { path: "/tmp/y", for: "delete_file" } })
      const encoded = yield* Schema.encode(ApprovalGate.ApprovalDecision)(decision)
      assert.deepStrictEqual(yield* Schema.decode(ApprovalGate.ApprovalDecision)(encoded), decision)
    }).pipe(
      Effect.provide(
        ApprovalGate.layer(({ tool }) =>
          Effect.succeed(ApprovalGate.approve({ params: { path: "/tmp/y", for: tool } }))
        )
      )
    )
  )
})
