import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type { Message } from "../../src/llm/model/LlmClient.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"

const timeout = 40

/** How one call ends, and after how many milliseconds. */
interface Plan {
  readonly kind: "succeeds" | "fails" | "hangs" | "interrupts itself" | "is unknown" | "has bad arguments"
  readonly after: number
}

const plans: FastCheck.Arbitrary<ReadonlyArray<ReadonlyArray<Plan>>> = FastCheck.array(
  FastCheck.array(
    FastCheck.record({
      kind: FastCheck.constantFrom<Plan["kind"]>(
        "succeeds",
        "fails",
        "hangs",
        "interrupts itself",
        "is unknown",
        "has bad arguments"
      ),
      // At the limit itself either end is right.
      after: FastCheck.integer({ min: 0, max: 60 }).filter((after) => after !== timeout)
    }),
    { minLength: 1, maxLength: 6 }
  ),
  { minLength: 1, maxLength: 3 }
)

const act = Tool.make("act", {
  description: "Does as it is told",
  parameters: { kind: Schema.String, after: Schema.Number, key: Schema.String },
  timeout,
  retries: 0,
  handler: ({ after, key, kind }) =>
    Effect.zipRight(
      Effect.sleep(after),
      kind === "succeeds"
        ? Effect.succeed(`done ${key}`)
        : kind === "fails"
          ? Effect.fail({ _tag: "Failed", message: key })
          : kind === "hangs"
            ? Effect.never
            : Effect.interrupt
    )
})

const agent = Agent.make("many", {
  tools: [act],
  strategy: FunctionCalling.make({ toolConcurrency: 3, noProgressAfter: false })
})

const callOf = ({ after, kind }: Plan, turn: number, index: number): TestModel.Call => {
  const key = `${turn}.${index}`
  return {
    id: key,
    name: kind === "is unknown" ? "nothing" : "act",
    params: kind === "has bad arguments" ? { kind } : { kind, after, key }
  }
}

/** The pairs that a conversation holds: of each assistant message with calls, and the results right behind it. */
const pairs = (
  messages: ReadonlyArray<Message>
): ReadonlyArray<readonly [calls: ReadonlyArray<string>, results: ReadonlyArray<string>]> =>
  messages.flatMap((message, at) => {
    if (message.role !== "assistant" || typeof message.content === "string") return []
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))
    if (calls.length === 0) return []
    const next = messages[at + 1]
    return [[calls, next?.role === "tool" ? next.content.map((part) => part.id) : []] as const]
  })

const run = (turns: ReadonlyArray<ReadonlyArray<Plan>>, stopAfter: number | undefined) =>
  Effect.gen(function* () {
    const kept: Array<AgentEvent> = []
    const log = Layer.succeed(RunLog.RunLog, {
      enabled: true,
      append: (events) => Effect.sync(() => void kept.push(...events)),
      read: () => Effect.succeed([])
    })
    const script = [
      ...turns.map((turn, at): TestModel.Turn => ({ calls: turn.map((plan, i) => callOf(plan, at, i)) })),
      "done"
    ]
    return yield* Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "go"))
      if (stopAfter === undefined) {
        yield* TestClock.adjust(1000)
      } else {
        yield* TestClock.adjust(stopAfter)
        yield* Fiber.interrupt(fiber)
      }
      const exit = yield* Fiber.await(fiber)
      return { exit, kept, requests: yield* TestModel.requests }
    }).pipe(
      Effect.provide(
        Agents.layerWith({ log }).pipe(
          Layer.provideMerge(TestModel.layer(script, { exhausted: stopAfter === undefined }))
        )
      )
    )
  })

describe("parallel calls", () => {
  it("have exactly one result each, in the order of the calls, and the run one end", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(plans, async (turns) => {
        const { exit, kept, requests } = await Effect.runPromise(
          run(turns, undefined).pipe(Effect.provide(TestContext.TestContext))
        )
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual(EventRecorder.violations(kept, { log: true }), [])
        const transcript = pairs(requests[requests.length - 1]?.messages ?? [])
        assert.deepStrictEqual(
          transcript,
          turns.map((turn, at) => {
            const ids = turn.map((_, i) => `${at}.${i}`)
            return [ids, ids]
          })
        )
        const results = kept.filter((event) => event._tag === "ToolResult")
        for (const event of results) {
          const plan = turns[Number(event.id.split(".")[0])]?.[Number(event.id.split(".")[1])]
          assert.strictEqual(
            event.isFailure,
            !(plan?.kind === "succeeds" && plan.after < timeout),
            JSON.stringify(plan)
          )
        }
      }),
      { numRuns: 30 }
    ))

  it("leave no call without a result when the run is interrupted", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(plans, FastCheck.integer({ min: 0, max: 80 }), async (turns, stopAfter) => {
        const { exit, kept } = await Effect.runPromise(
          run(turns, stopAfter).pipe(Effect.provide(TestContext.TestContext))
        )
        assert.deepStrictEqual(EventRecorder.violations(kept, { log: true }), [])
        const last = kept[kept.length - 1]
        assert.strictEqual(last?._tag, Exit.isSuccess(exit) ? "Finished" : "Error")
      }),
      { numRuns: 30 }
    ))
})
