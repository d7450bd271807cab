/** Generated tools through a model of the AI SDK that calls each with good and with bad arguments. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AiSdkModel from "../../../src/provider/sdk/AiSdkModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSchemas from "../../support/ToolSchemas.js"

interface Generated extends ToolSchemas.Parameters {
  readonly name: string
}

const perRun = 20
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finished = (unified: string) => ({ finishReason: { unified, raw: unified }, usage })

const callsOf = (tools: ReadonlyArray<Generated>) =>
  tools.flatMap(({ bad, good, name }) =>
    Object.entries({ good, bad }).map(([kind, args]) => ({
      type: "tool-call",
      toolCallId: `${kind}-${name}`,
      toolName: name,
      input: JSON.stringify(args)
    }))
  )

/** Calls every tool at the first request, and answers at the second. */
const callingModel = (version: string, tools: ReadonlyArray<Generated>) => {
  const asked: Array<{ readonly whole: boolean; readonly options: any }> = []
  const next = (whole: boolean, options: unknown) => (asked.push({ whole, options }) === 1 ? callsOf(tools) : [])
  const model: AiSdkModel.Model = {
    specificationVersion: version,
    provider: "generated",
    modelId: "m",
    supportedUrls: {},
    doGenerate: async (options) => {
      const content = next(true, options)
      return content.length === 0
        ? { content: [{ type: "text", text: "done" }], ...finished("stop"), warnings: [] }
        : { content, ...finished("tool-calls"), warnings: [] }
    },
    doStream: async (options) => {
      const calls = next(false, options)
      const parts: ReadonlyArray<unknown> =
        calls.length === 0
          ? [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: "done" },
              { type: "text-end", id: "t" },
              { type: "finish", ...finished("stop") }
            ]
          : [
              ...calls.flatMap((call) => [
                { type: "tool-input-start", id: call.toolCallId, toolName: call.toolName },
                { type: "tool-input-delta", id: call.toolCallId, delta: call.input },
                { type: "tool-input-end", id: call.toolCallId },
                call
              ]),
              { type: "finish", ...finished("tool-calls") }
            ]
      return {
        stream: new ReadableStream({
          start: (to) => {
            for (const part of parts) to.enqueue(part)
            to.close()
          }
        })
      }
    }
  }
  return { asked, model }
}

/** The tools, and the arguments that they ran with. */
const toolsOf = (generated: ReadonlyArray<Generated>) => {
  const ran = new Map<string, unknown>()
  const tools = generated.map(({ name, schema }) =>
    Either.getOrThrowWith(
      Tool.fromJsonSchema(name, {
        description: `Does ${name}`,
        parameters: schema,
        handler: (args) => Effect.sync(() => ran.set(name, args).size)
      }),
      (error) => new Error(`${error.message} ${JSON.stringify(schema)}`)
    )
  )
  return { ran, tools }
}

const check = (
  version: string,
  isStreamed: boolean,
  generated: ReadonlyArray<Generated>,
  { ran, tools }: ReturnType<typeof toolsOf>
) =>
  Effect.gen(function* () {
    ran.clear()
    const { asked, model } = callingModel(version, generated)
    const agent = Agent.make("generated", { tools })
    const run = isStreamed
      ? Stream.runDrain(AgentExecutor.stream(agent, "go"))
      : Effect.asVoid(AgentExecutor.run(agent, "go"))
    yield* Effect.provide(run, Layer.provide(Agents.layer(), AiSdkModel.layer(model)))
    assert.deepStrictEqual(
      asked.map(({ whole }) => whole),
      [!isStreamed, !isStreamed]
    )
    const sent: ReadonlyArray<any> = asked[0]?.options.tools
    const results: ReadonlyArray<any> = asked[1]?.options.prompt.at(-1).content
    assert.lengthOf(sent, generated.length)
    assert.lengthOf(results, 2 * generated.length)
    const outputs = new Map(results.map(({ output, toolCallId }) => [toolCallId, output]))
    for (const [index, { bad, good, name, schema }] of generated.entries()) {
      const told = () => JSON.stringify({ schema, good, bad, output: outputs.get(`good-${name}`) })
      const { $schema: _, ...given } = schema
      assert.deepStrictEqual([sent[index].name, sent[index].inputSchema], [name, given])
      assert.deepStrictEqual(ran.get(name), good, told())
      assert.match(outputs.get(`good-${name}`).type, /^json$/, told())
      assert.match(outputs.get(`bad-${name}`).type, /^error-/, told())
    }
  })

const named = (drawn: ReadonlyArray<readonly [string, ToolSchemas.Parameters]>): ReadonlyArray<Generated> =>
  drawn.map(([name, parameters], index) => ({ ...parameters, name: `${name}_${index}` }))

describe("generated tools", () => {
  // Each compiles 500 schemas, which takes its time on a busy machine.
  it.effect.each([1, 2, 3, 4])(
    "reach a model as they are, run with arguments that fit, and refuse others (%i)",
    (seed) =>
      Effect.gen(function* () {
        const one = FastCheck.tuple(FastCheck.stringMatching(/^[A-Za-z0-9_-]{1,58}$/), ToolSchemas.parameters)
        const drawn = FastCheck.sample(one, { numRuns: 500, seed })
        for (let from = 0; from < drawn.length; from += perRun) {
          const generated = named(drawn.slice(from, from + perRun))
          const made = toolsOf(generated)
          const version = (from / perRun) % 2 === 0 ? "v3" : "v4"
          yield* check(version, false, generated, made)
          yield* check(version, true, generated, made)
        }
      }),
    60_000
  )
})
