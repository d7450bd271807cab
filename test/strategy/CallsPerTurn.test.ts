import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as ToolLoop from "../../src/strategy/reasoning/ToolLoop.js"
import * as Reflexion from "../../src/strategy/reflexion/Reflexion.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import type { ToolInterceptor } from "../../src/tool/ToolRunner.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import * as Strategies from "./Strategies.js"

type Options = Pick<ToolLoop.LoopOptions, "maxCallsPerTurn" | "toolConcurrency" | "noProgressAfter">

const accepted = { name: "accepts", evaluate: () => Effect.succeed({ success: true, reason: "good" }) }

const strategies: { readonly [name: string]: (options: Options) => Strategy.Strategy<any, never> } = {
  function_calling: FunctionCalling.make,
  react: ReAct.make,
  supervisor: Supervisor.make,
  reflexion: (options) => Reflexion.make({ inner: ReAct.make(options), evaluator: accepted })
}

/** A run whose model makes so many calls in its first turn. */
const turn = (make: (typeof strategies)[string], calls: number, options: Options = {}, setup: Strategies.Setup = {}) =>
  Effect.gen(function* () {
    const ran: Array<number> = []
    const count = Tool.make("count", {
      description: "Counts",
      parameters: { n: Schema.Number },
      success: Schema.Number,
      handler: ({ n }) => Effect.sync(() => ran.push(n)).pipe(Effect.as(n))
    })
    const script = [
      { calls: Array.from({ length: calls }, (_, n) => ({ name: "count", id: `c${n}`, params: { n } })) },
      ...(make === strategies.supervisor ? ["done", "done"] : ["done"])
    ]
    const run = yield* Strategies.run(make(options), script, { tools: ToolSet.make(count), ...setup })
    const answer = yield* run.exit
    const results = run.requests[1]!.messages.flatMap((message) => (message.role === "tool" ? message.content : []))
    return { ran, answer, results, events: run }
  })

describe("calls of one turn", () => {
  for (const [name, make] of Object.entries(strategies)) {
    it.effect(`${name} runs calls up to the limit and says of every other call that it was not run`, () =>
      Effect.gen(function* () {
        const { answer, events, ran, results } = yield* turn(make, 300)
        assert.strictEqual(answer.text, "done")
        assert.deepStrictEqual(
          ran.toSorted((a, b) => a - b),
          Array.from({ length: 128 }, (_, n) => n)
        )
        assert.deepStrictEqual(
          results.map(({ id }) => id),
          Array.from({ length: 300 }, (_, n) => `c${n}`)
        )
        for (const [n, { isFailure, result }] of results.entries()) {
          assert.strictEqual(isFailure, n >= 128)
          if (n < 128) assert.strictEqual(result, n)
          else assert.match(String(result), /"count" was not run: a turn runs at most 128 calls/)
        }
        assert.lengthOf(events.of("ToolCall"), 300)
        const last = events.of("ToolResult").find(({ id }) => id === "c299")!
        assert.deepInclude(last, { isFailure: true, attempts: 0 })
        assert.deepInclude(last.error, { tag: "ToolCallLimitError", code: "LEX_ERR_AGT_116" })
      })
    )

    it.effect(`${name} bounds them by the option, then by the task, also when calls run one at a time`, () =>
      Effect.gen(function* () {
        const task = { limits: { maxCallsPerTurn: 2 } }
        assert.lengthOf((yield* turn(make, 5, { maxCallsPerTurn: 3, toolConcurrency: 1 }, { task })).ran, 3)
        assert.lengthOf((yield* turn(make, 5, {}, { task })).ran, 2)
        assert.lengthOf((yield* turn(make, 5, { maxCallsPerTurn: 0 })).ran, 1)
        assert.lengthOf((yield* turn(make, 200, { maxCallsPerTurn: Number.POSITIVE_INFINITY })).ran, 200)
      })
    )
  }

  it.effect("passes no call beyond the limit to interceptors", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const watch: ToolInterceptor = (call, next) =>
        Effect.zipRight(
          Effect.sync(() => seen.push(call.id)),
          next(call)
        )
      yield* Effect.provideService(turn(strategies.react!, 4, { maxCallsPerTurn: 2 }), ToolRunner.ToolInterceptors, [
        watch
      ])
      assert.deepStrictEqual(seen, ["c0", "c1"])
    })
  )

  it("defaults to a limit of 128", () => assert.strictEqual(ToolLoop.defaults.maxCallsPerTurn, 128))
})
