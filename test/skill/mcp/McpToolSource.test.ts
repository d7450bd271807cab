import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { McpError, type Service } from "../../../src/skill/mcp/McpClient.js"
import * as McpMemory from "../../../src/skill/mcp/McpMemory.js"
import * as McpToolSource from "../../../src/skill/mcp/McpToolSource.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Runs from "../../support/Runs.js"

const tool = (name: string, call: McpMemory.MemoryTool["call"]): McpMemory.MemoryTool => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
  call
})

const said = (text: string) => Effect.succeed({ content: [{ type: "text" as const, text }], isError: false })

const quiet = (name: string) => tool(name, () => said(name))

/** A server whose tool `swap` replaces it by another one; counts the lists that it is asked for. */
const swapping = Effect.gen(function* () {
  const lists = yield* Ref.make(0)
  const made = yield* McpMemory.make({ name: "server", tools: [quiet("stays")] })
  const swap = tool("swap", () =>
    Effect.zipRight(
      made.update((before) => ({ ...before, tools: [quiet("stays"), quiet("late")] })),
      said("swapped")
    )
  )
  yield* made.update((before) => ({ ...before, tools: [quiet("stays"), swap] }))
  const client: Service = {
    ...made.client,
    listTools: Effect.zipRight(
      Ref.update(lists, (n) => n + 1),
      made.client.listTools
    )
  }
  return { client, lists }
})

const offered = (requests: ReadonlyArray<{ readonly tools?: ReadonlyArray<{ readonly name: string }> | undefined }>) =>
  requests.map(({ tools }) => (tools ?? []).map(({ name }) => name))

describe("the tool source of a server", () => {
  it.scoped("follows a changed list within a run, and reads it no more often", () =>
    Effect.gen(function* () {
      const { client, lists } = yield* swapping
      const source = yield* McpToolSource.make(client, { prefix: false })
      yield* Effect.yieldNow()
      const agent = Agent.make("x").pipe(Agent.withToolSource(source))
      const script = [
        { calls: [{ name: "stays", params: {} }] },
        { calls: [{ name: "swap", params: {} }] },
        { calls: [{ name: "late", params: {} }] },
        "done"
      ]
      const requests = yield* Effect.provide(
        Effect.zipRight(AgentExecutor.run(agent, "go"), TestModel.requests),
        Runs.layer(script)
      )
      assert.deepStrictEqual(offered(requests), [
        ["stays", "swap"],
        ["stays", "swap"],
        ["stays", "late"],
        ["stays", "late"]
      ])
      assert.isAtMost(yield* Ref.get(lists), 3)
      assert.strictEqual(requests[0]?.tools?.[0], requests[3]?.tools?.[0])
    })
  )

  it.scoped("fails a run when the server cannot be reached, and is asked again by the next one", () =>
    Effect.gen(function* () {
      const { client } = yield* swapping
      let down = true
      const error = new McpError({ reason: "Connection", server: "server", message: "down" })
      const listTools = Effect.suspend(() => (down ? Effect.fail(error) : client.listTools))
      const source = yield* McpToolSource.make({ ...client, listTools }, { prefix: false })
      const run = AgentExecutor.run(Agent.make("x").pipe(Agent.withToolSource(source)), "go")
      const failed = yield* Effect.provide(Effect.flip(run), Runs.layer([]))
      assert.strictEqual(failed._tag, "McpError")
      down = false
      const requests = yield* Effect.provide(Effect.zipRight(run, TestModel.requests), Runs.layer(["done"]))
      assert.deepStrictEqual(offered(requests), [["stays", "swap"]])
    })
  )
})
