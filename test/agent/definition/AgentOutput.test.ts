import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { z } from "zod"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Runs from "../../support/Runs.js"
import { orders } from "../../support/StandardSchemas.js"

const due = "2026-01-02T00:00:00.000Z"
const written = { customer: { name: "Ada" }, payment: { kind: "cash" }, due }
const answer = JSON.stringify(written)

const asked = <O, E>(
  agent: Agent.Agent<O, E, AgentExecutor.AgentExecutor>,
  script: ReadonlyArray<TestModel.ScriptItem>
) =>
  Effect.gen(function* () {
    const response = yield* AgentExecutor.run(agent, "Which order?")
    return { response, requests: yield* TestModel.requests }
  }).pipe(Effect.provide(Runs.layer(script)))

for (const [library, { described, schema }] of Object.entries(orders)) {
  describe(`an output of ${library}`, () => {
    const agent = Agent.make("clerk", { output: schema as Agent.OutputLike, outputJsonSchema: described })

    it.effect("reaches the model as JSON Schema and the caller transformed", () =>
      Effect.gen(function* () {
        const { requests, response } = yield* asked(agent, [answer])
        assert.deepStrictEqual(response.output, { ...written, count: 1, due: new Date(due) })
        const format = JSON.stringify(requests[0])
        assert.include(format, "Name of the customer")
      })
    )

    it.effect("goes back to the model with its issues", () =>
      Effect.gen(function* () {
        const { requests, response } = yield* asked(agent, [
          JSON.stringify({ ...written, customer: { name: "nobody" } }),
          answer
        ])
        assert.deepInclude(response.output, { count: 1 })
        assert.lengthOf(requests, 2)
        assert.match(JSON.stringify(requests[1]), /customer\.name: .*nobody of that name/)
      })
    )

    it.effect("fails the run when no answer fits", () =>
      Effect.gen(function* () {
        const strict = Agent.make("clerk", {
          output: schema as Agent.OutputLike,
          outputJsonSchema: described,
          outputRetries: 0
        })
        const error = yield* Effect.flip(asked(strict, ["{}"]))
        assert.strictEqual(error._tag, "OutputValidationError")
      })
    )
  })
}

describe("an output of a Standard Schema", () => {
  it.effect("that is no object is asked for in a field, also where it refers to itself", () =>
    Effect.gen(function* () {
      const Tree = z.array(
        z.object({
          name: z.string(),
          get children(): any {
            return Tree
          }
        })
      )
      const tree = [{ name: "a", children: [{ name: "b", children: [] }] }]
      const { requests, response } = yield* asked(Agent.make("a", { output: Tree }), [JSON.stringify({ value: tree })])
      assert.deepStrictEqual(response.output, tree)
      const format = JSON.stringify(requests[0])
      assert.include(format, `"$ref":"#/properties/value"`)
      assert.notInclude(format, `"$ref":"#"`)
      const size = Agent.make("a", { output: z.string().transform((text) => text.length) })
      assert.strictEqual((yield* asked(size, [`{"value":"four"}`])).response.output, 4)
    })
  )

  it.effect("that does not describe itself is refused before any model call, unless its JSON Schema is given", () =>
    Effect.gen(function* () {
      const output = v.object({ n: v.number() })
      const error = yield* Effect.flip(asked(Agent.make("a", { output }), []))
      assert.strictEqual(error._tag, "AgentConfigurationError")
      assert.match(error.message, /valibot does not implement Standard JSON Schema.*outputJsonSchema/)
      const outputJsonSchema = { type: "object", properties: { n: { type: "number" } } }
      const described = yield* asked(Agent.make("a", { output, outputJsonSchema }), [`{"n":1}`])
      assert.deepStrictEqual(described.response.output, { n: 1 })
      const later = Agent.make("a").pipe(Agent.withOutput(output, { jsonSchema: outputJsonSchema }))
      assert.deepStrictEqual((yield* asked(later, [`{"n":2}`])).response.output, { n: 2 })
    })
  )

  it.effect("is validated once, and validators see the value that the caller gets", () =>
    Effect.gen(function* () {
      let checks = 0
      const seen: Array<unknown> = []
      const output = z.object({ n: z.number() }).transform(({ n }) => {
        checks++
        return { double: 2 * n }
      })
      const agent = Agent.make("a", { output }).pipe(
        Agent.withValidator((value) => Effect.sync(() => void seen.push(value)))
      )
      const { response } = yield* asked(agent, [`{"n":2}`])
      assert.deepStrictEqual(response.output, { double: 4 })
      assert.strictEqual(seen[0], response.output)
      assert.strictEqual(checks, 1)
    })
  )

  it.effect("of an agent as a tool is read by the calling model as it is decoded", () =>
    Effect.gen(function* () {
      const inner = Agent.make("inner", { output: z.object({ at: z.string().transform((text) => text.length) }) })
      const outer = Agent.make("outer", { tools: [AgentTool.make(inner, { description: "Knows the time" })] })
      const { response } = yield* asked(outer, [
        { calls: [{ name: "delegate_to_inner", params: { message: "when?" } }] },
        JSON.stringify({ at: due }),
        "then"
      ])
      assert.deepStrictEqual(response.toolCalls[0]?.result, { at: due.length })
    })
  )

  it.effect("outputJsonSchema replaces the description of an Effect Schema", () =>
    Effect.gen(function* () {
      const outputJsonSchema = { type: "object", properties: { n: { type: "number", description: "mine" } } }
      const agent = Agent.make("a", { output: Schema.Struct({ n: Schema.Number }), outputJsonSchema })
      const { requests } = yield* asked(agent, [`{"n":1}`])
      assert.include(JSON.stringify(requests[0]), "mine")
    })
  )
})
