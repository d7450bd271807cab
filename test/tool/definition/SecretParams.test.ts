import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as Run from "../../../src/observability/Run.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../../src/tool/DefaultToolRunner.js"
import * as SecretParams from "../../../src/tool/definition/SecretParams.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"

const handler = () => Effect.succeed("done")
const pay = Tool.make("pay", {
  description: "Pays",
  parameters: {
    amount: Schema.Number,
    pin: Schema.String,
    card: Schema.Struct({ code: Schema.String.annotations({ jsonSchema: { type: "string", format: "password" } }) })
  },
  secretParams: ["pin"],
  handler
})

describe("secret arguments", () => {
  it("are those named by the tool and those marked by its schema", () => {
    assert.sameMembers([...(SecretParams.namesOf(pay) ?? [])], ["pin", "code"])
    const plain = Tool.make("plain", { description: "Plain", parameters: { pin: Schema.String }, handler })
    assert.isUndefined(SecretParams.namesOf(plain))
    assert.deepStrictEqual(SecretParams.namesOf(Tool.annotate(plain, { secretParams: ["pin"] })), ["pin"])
    const raw = Either.getOrThrow(
      Tool.fromJsonSchema("raw", {
        description: "Raw",
        parameters: {
          type: "object",
          properties: {
            login: { anyOf: [{ type: "string", writeOnly: true }, { type: "null" }] },
            list: { type: "array", items: { type: "object", properties: { key: { type: "string", writeOnly: true } } } }
          }
        },
        handler
      })
    )
    assert.sameMembers([...(SecretParams.namesOf(raw) ?? [])], ["login", "key"])
  })

  it.effect("are named by the events of a call and its approval, which hold the sent values", () =>
    Effect.gen(function* () {
      const events: Array<AgentEvent> = []
      const run = Run.make({
        runId: RunId.make("run-1"),
        agent: "clerk",
        clock: yield* Effect.clock,
        sink: { push: (event) => void events.push(event), settle: () => undefined, live: true }
      })
      const tools = yield* ToolSet.bind(ToolSet.make(Tool.withApproval(pay, true)))
      const runner = yield* DefaultToolRunner.make()
      const params = { amount: 1, pin: "1234", card: { code: "99" } }
      yield* Effect.provideService(runner.run(tools, { id: "1", name: "pay", params }), Run.Run, run)
      const named = events.flatMap((event) =>
        event._tag === "ToolCall" || event._tag === "ApprovalRequested" ? [[event.secret, event.params]] : []
      )
      assert.deepStrictEqual(named, [
        [["code", "pin"], params],
        [["code", "pin"], params]
      ])
    }).pipe(Effect.provide([ApprovalGate.layerAutoApprove, ModuleGraph.layerNoop]))
  )
})
