import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Checkpointer from "../../../src/graph/Checkpointer.js"
import * as StateGraph from "../../../src/graph/StateGraph.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmRateLimitError } from "../../../src/llm/model/LlmError.js"
import * as Reasoning from "../../../src/strategy/definition/Reasoning.js"
import { MaxIterationsExceededError } from "../../../src/strategy/definition/StrategyError.js"
import * as Lats from "../../../src/strategy/lats/Lats.js"
import * as ReasoningService from "../../../src/strategy/reasoning/ReasoningService.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Growth from "../../support/Growth.js"
import * as Strategies from "../Strategies.js"
import * as LatsWorld from "./LatsWorld.js"

const { answer, call, score, step } = LatsWorld

/** Two ways lead away from the start: the one that comes closer to the exit ends in a pocket with a loop, and so does the first turn of the other. */
const maze = ["...S..#", ".#.#..#", ".####.#", ".######", "......E"]
const start = [3, 0] as const
const moves = { right: [1, 0], down: [0, 1], left: [-1, 0], up: [0, -1] } as const
type Direction = keyof typeof moves
const directions: ReadonlyArray<Direction> = ["right", "down", "left", "up"]
const SHORTEST = 13

const at = (x: number, y: number): string => maze[y]?.[x] ?? "#"

/** Where a way ends that is walked from the start. */
const walk = (way: ReadonlyArray<string>): readonly [number, number] | undefined => {
  let [x, y]: readonly [number, number] = start
  for (const direction of way) {
    const [dx, dy] = moves[direction as Direction] ?? [99, 99]
    ;[x, y] = [x + dx, y + dy]
    if (at(x, y) === "#") return undefined
  }
  return [x, y]
}

const walker = (name: string) =>
  Tool.make(name, {
    readOnly: true,
    description: "Walks a way from the start and tells where it ends",
    parameters: { way: Schema.String },
    success: Schema.String,
    handler: ({ way }) => {
      const end = walk(way.split(" "))
      if (end === undefined) return Effect.succeed("a wall")
      const [x, y] = end
      const open = directions.filter((direction) => walk([...way.split(" "), direction]) !== undefined)
      return Effect.succeed(`at ${x},${y}; open: ${open.join(" ")}${at(x, y) === "E" ? "; this is the exit" : ""}`)
    }
  })

/** Walks where the request says it is open, in an order that a seed decides, and judges by the distance as the crow flies. */
const mazeModel = (name: string, seed: number) => {
  const count = LatsWorld.counting()
  return (request: LlmClient.LlmRequest): string => {
    const path = LatsWorld.pathOf(request)
    const last = path.at(-1)
    const way = /"way":"([^"]*)"/.exec(last?.action ?? "")?.[1] ?? ""
    switch (LatsWorld.kindOf(request)) {
      case "expand": {
        if (last?.observation?.includes("this is the exit")) return answer(way)
        const open =
          last === undefined ? ["right", "left"] : /open: ([a-z ]*)/.exec(last.observation ?? "")?.[1]?.split(" ")
        const back = { right: "left", left: "right", up: "down", down: "up" }[way.split(" ").at(-1) ?? ""]
        const forward = (open ?? []).filter((direction) => direction !== back)
        const options = forward.length === 0 ? [back ?? "right"] : forward
        const shift = Math.floor(LatsWorld.hash(`${seed}${way}`) * options.length)
        const next = options[(count(request) + shift) % options.length]
        return call(name, { way: way === "" ? next : `${way} ${next}` })
      }
      case "evaluate": {
        if (last?.action.startsWith("final answer"))
          return score(walk(last.action.slice(14).split(" ")) === undefined ? 0 : 1)
        const [, x, y] = /at (\d),(\d)/.exec(last?.observation ?? "") ?? []
        return score(x === undefined ? 0 : Math.max(0, 0.9 - (6 - Number(x) + 4 - Number(y)) / 20))
      }
      default:
        return "That was a pocket."
    }
  }
}

describe("Lats in a maze", () => {
  const solve = (options: Lats.Options, seed: number, name = "walk") =>
    Strategies.run(
      Lats.make({
        maxModelCalls: 100_000,
        numExpansions: 2,
        maxDepth: SHORTEST + 1,
        valueWeight: 1,
        maxIterations: 60,

        ...options
      }),
      mazeModel(name, seed),
      { tools: ToolSet.make(walker(name)) }
    )

  it.effect("finds the way where a greedy search ends in a pocket, for every order of samples and any tool name", () =>
    Effect.gen(function* () {
      for (const [seed, name] of [
        [1, "walk"],
        [2, "walk"],
        [3, "walk"],
        [4, "schreiten"],
        [5, "t_1"]
      ] as const) {
        const greedy = yield* solve({ maxIterations: 1 }, seed, name)
        assert.strictEqual((yield* greedy.exit).reason, "limit", `greedy, seed ${seed}`)
        const searched = yield* solve({}, seed, name)
        const { reason, text } = yield* searched.exit
        assert.strictEqual(reason, "completed", `seed ${seed}`)
        assert.deepStrictEqual(walk(text.split(" ")), [6, 4])
        assert.lengthOf(text.split(" "), SHORTEST)
      }
    })
  )

  it.effect("finds the way without simulation", () =>
    Effect.gen(function* () {
      const searched = yield* solve({ rollout: false, maxIterations: 200 }, 1)
      const { reason, text } = yield* searched.exit
      assert.deepStrictEqual([reason, walk(text.split(" "))], ["completed", [6, 4]])
    })
  )
})

/** A model that never solves anything: steps, or every third sample an answer. */
const endless = (options: { readonly delay?: string; readonly retry?: boolean } = {}) => {
  let count = 0
  return (request: LlmClient.LlmRequest): TestModel.Turn => {
    const index = count++
    const kind = LatsWorld.kindOf(request)
    const broken = options.retry === true && LatsWorld.hash(`broken ${index}`) < 0.3
    const text = broken
      ? "?"
      : kind === "expand"
        ? LatsWorld.hash(`kind ${index}`) < 0.3
          ? answer(`answer ${index}`)
          : step(`step ${index}`)
        : kind === "evaluate"
          ? score(Math.floor(LatsWorld.hash(`score ${index}`) * 8) / 8)
          : `text ${index}`
    return { text, ...(options.delay === undefined ? {} : { delay: options.delay as "1 second" }) }
  }
}

describe("the budget of Lats", () => {
  it.effect("holds for every run, with retries and reflections, and leaves a call for the answer", () =>
    Effect.gen(function* () {
      let spent = 0
      let allowed = 0
      for (const sampling of ["each", "together"] as const) {
        for (const rollout of [true, false]) {
          for (const maxModelCalls of [1, 2, 3, 4, 5, 7, 10, 13, 21, 40]) {
            const ran = yield* Strategies.run(
              Lats.make({ maxModelCalls, rollout, sampling, maxIterations: 20, replyRetries: 20 }),
              endless({ retry: true })
            )
            assert.isAtMost(ran.requests.length, maxModelCalls)
            // A `?` in the place of the last answer is an answer too: it is text.
            assert.strictEqual((yield* ran.exit).reason, "limit")
            spent += ran.requests.length
            allowed += maxModelCalls
          }
        }
      }
      // What is allowed is made use of.
      assert.isAbove(spent, allowed / 2)
    })
  )

  it.effect("fails typed when the answer's shape exceeds it", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(
        Lats.make({ maxModelCalls: 3, numExpansions: 1 }),
        [answer("three"), score(1), '{"m": 1}'],
        {
          task: { output: Strategies.outputSpec(5) }
        }
      )
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, MaxIterationsExceededError)
      assert.lengthOf(ran.requests, 3)
    })
  )

  it.effect("is not spent on evaluation with a custom evaluator", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(
        Lats.make({
          maxModelCalls: 7,
          numExpansions: 3,
          maxReflections: 0,
          rollout: false,
          evaluate: () => Effect.succeed({ value: 0 })
        }),
        endless()
      )
      assert.strictEqual((yield* ran.exit).reason, "limit")
      assert.strictEqual(ran.requests.filter((request) => LatsWorld.kindOf(request) === "expand").length, 6)
    })
  )

  it.effect("follows the formula: iterations × (samples + evaluations) + reflections + final", () =>
    Effect.gen(function* () {
      for (const [sampling, samples] of [
        ["each", 3],
        ["together", 1]
      ] as const) {
        for (const iterations of [1, 4]) {
          let count = 0
          const ran = yield* Strategies.run(
            Lats.make({
              maxModelCalls: 100_000,
              sampling,
              rollout: false,
              maxIterations: iterations,
              numExpansions: 3
            }),
            (request) => {
              const kind = LatsWorld.kindOf(request)
              if (kind === "evaluate") return score(0.5)
              if (kind === "final") return "no"
              const steps = Array.from({ length: sampling === "each" ? 1 : 3 }, () => ({ thought: `step ${count++}` }))
              return LatsWorld.expansions(...steps)
            }
          )
          yield* ran.exit
          assert.lengthOf(ran.requests, iterations * (samples + 3) + 1)
        }
      }
      // With simulation a round has as many expansions as its path has steps.
      let count = 0
      const deep = yield* Strategies.run(Lats.make({ maxIterations: 1, maxDepth: 4, numExpansions: 2 }), (request) =>
        LatsWorld.kindOf(request) === "evaluate"
          ? score(0.5)
          : LatsWorld.kindOf(request) === "final"
            ? "no"
            : step(`${count++}`)
      )
      yield* deep.exit
      assert.lengthOf(deep.requests, 1 * 4 * (2 + 2) + 0 + 1)
    })
  )
})

describe("concurrency of Lats", () => {
  const slow = Tool.make("slow", {
    readOnly: true,
    description: "Takes its time",
    parameters: { n: Schema.Number },
    success: Schema.Number,
    handler: ({ n }) => Effect.delay(Effect.succeed(n), "1 second")
  })

  it.effect("overlaps the samples, tools and evaluations of one node", () =>
    Effect.gen(function* () {
      let count = 0
      const fiber = yield* Effect.fork(
        Strategies.run(
          Lats.make({ numExpansions: 4, maxIterations: 1, rollout: false }),
          (request) => ({
            delay: "1 second",
            text:
              LatsWorld.kindOf(request) === "expand"
                ? call("slow", { n: count++ })
                : LatsWorld.kindOf(request) === "evaluate"
                  ? score(0.5)
                  : "no"
          }),
          { tools: ToolSet.make(slow) }
        )
      )
      yield* TestClock.adjust("3500 millis")
      assert.isNull(fiber.unsafePoll())
      // One second for the samples, one for the tools, one for the judgments, one for the answer.
      yield* TestClock.adjust("500 millis")
      const ran = yield* Fiber.join(fiber)
      assert.lengthOf(ran.requests, 4 + 4 + 1)
      assert.deepStrictEqual(
        ran
          .of("ToolResult")
          .map(({ result }) => result)
          .sort(),
        [0, 1, 2, 3]
      )
    })
  )

  it.effect("stays within the limit of the strategy", () =>
    Effect.gen(function* () {
      let active = 0
      let most = 0
      const busy = Effect.acquireRelease(
        Effect.sync(() => {
          most = Math.max(most, ++active)
        }),
        () => Effect.sync(() => void active--)
      )
      const model = endless()
      const fiber = yield* Effect.fork(
        Strategies.run(
          Lats.make({ numExpansions: 6, maxIterations: 1, rollout: false, toolConcurrency: 2 }),
          (request) =>
            Effect.scoped(
              Effect.zipRight(
                busy,
                Effect.delay(
                  Effect.sync(() => model(request)),
                  "1 second"
                )
              )
            )
        )
      )
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(fiber)
      assert.strictEqual(most, 2)
    })
  )

  it.effect("leaves nothing running when it is interrupted in samples, tools or evaluations", () =>
    Effect.gen(function* () {
      for (const after of ["500 millis", "1500 millis", "2500 millis"] as const) {
        let running = 0
        const guarded = Tool.make("guarded", {
          readOnly: true,
          description: "Runs until it is told to stop",
          parameters: { n: Schema.Number },
          success: Schema.Number,
          handler: ({ n }) =>
            Effect.acquireUseRelease(
              Effect.sync(() => void running++),
              () => Effect.delay(Effect.succeed(n), "1 second"),
              () => Effect.sync(() => void running--)
            )
        })
        let count = 0
        const program = Effect.gen(function* () {
          const task = yield* Strategies.task({ tools: ToolSet.make(guarded) })
          const fiber = yield* Effect.fork(Lats.make({ numExpansions: 3 }).program(task))
          yield* TestClock.adjust(after)
          const { active } = yield* TestModel.TestModel
          const busy = (yield* active) + running
          yield* Fiber.interrupt(fiber)
          return [busy, (yield* active) + running]
        })
        const script = (request: LlmClient.LlmRequest): TestModel.Turn => ({
          delay: "1 second",
          text: LatsWorld.kindOf(request) === "expand" ? call("guarded", { n: count++ }) : score(0.5)
        })
        assert.deepStrictEqual(yield* Effect.provide(program, Strategies.layer(script)), [3, 0], after)
      }
    })
  )
})

describe("the work of Lats", () => {
  it.effect("is bounded by depth and branching, however large the tree is", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(
        Lats.make({
          maxModelCalls: 100_000,
          maxIterations: 80,
          numExpansions: 3,
          maxDepth: 20,
          rollout: false,
          maxReflections: 0
        }),
        endless()
      )
      const { all, touched } = LatsWorld.replay(ran.events)
      const depth = Math.max(...all.map(({ depth }) => depth))
      assert.isAbove(all.length, 200)
      assert.isAtMost(Math.max(...touched), depth + 1 + 3)
    })
  )

  it.effect("takes time linear in the iterations", () =>
    Growth.assertLinearEffect({
      input: (maxIterations) => maxIterations,
      size: 120,
      times: 8,
      run: (maxIterations) =>
        Effect.gen(function* () {
          const strategy = Lats.make({
            maxModelCalls: 1_000_000,
            maxIterations,
            numExpansions: 5,
            maxDepth: 100,
            rollout: false,
            maxReflections: 0
          })
          const ran = yield* Strategies.run(strategy, endless())
          assert.strictEqual(LatsWorld.replay(ran.events).selected.length, maxIterations)
        })
    })
  )

  it.effect("keeps a state of plain data at every step", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(Lats.make({ maxIterations: 3 }), endless())
      const { tree } = LatsWorld.replay(ran.events)
      const { state } = Lats.definition().graph
      const initial = Lats.definition().start(yield* Strategies.task())
      const whole = { ...initial, tree }
      const json = JSON.parse(JSON.stringify(yield* Schema.encode(state)(whole)))
      assert.deepStrictEqual(yield* Schema.encode(state)(yield* Schema.decodeUnknown(state)(json)), json)
    })
  )

  it.effect("resumes a search in a thread, and asks nothing twice", () =>
    Effect.gen(function* () {
      const options: Lats.Options = { numExpansions: 2, rollout: false, maxIterations: 5, maxDepth: 5 }
      const { graph } = Lats.make(options)
      const script = (failAt: number) => {
        const model = mazeModel("walk", 1)
        let failed = false
        return (request: LlmClient.LlmRequest, index: number): TestModel.Turn | string => {
          if (index !== failAt || failed) return model(request)
          failed = true
          return { fail: new LlmRateLimitError({ provider: "test", message: "slow down" }) }
        }
      }
      const search = (failAt: number) =>
        Effect.gen(function* () {
          const task = yield* Strategies.task({ tools: ToolSet.make(walker("walk")) })
          const reasoning = yield* ReasoningService.make("lats", task)
          const initial = Lats.definition(options).start(task)
          const begun = StateGraph.invokeThread(graph!, { threadId: "t", initial })
          const whole =
            failAt < 0 ? begun : Effect.zipRight(Effect.flip(begun), StateGraph.resume(graph!, { threadId: "t" }))
          const state = (yield* Effect.provideService(whole, Reasoning.Reasoning, reasoning)) as Lats.State
          return { state, asked: (yield* TestModel.requests).length }
        }).pipe(Effect.provide(Layer.merge(Strategies.layer(script(failAt)), Checkpointer.layerMemory())))
      const plain = yield* search(-1)
      // The first judgement of the second round: its round's samples are kept.
      const broken = yield* search(6)
      assert.deepStrictEqual(broken.state.final, plain.state.final)
      assert.strictEqual(broken.state.iterations, plain.state.iterations)
      assert.isAtMost(broken.asked, plain.asked + 2)
    })
  )

  it("draws its graph", () => {
    const { graph } = Lats.make()
    const diagram = StateGraph.toMermaid(graph!)
    const names = [
      "select_node",
      "expand_node",
      "evaluate_node",
      "backpropagate",
      "reflect",
      "choose_best_path",
      "generate_final_output"
    ]
    for (const name of names) assert.include(diagram, name)
    assert.deepStrictEqual(Array.from(graph!.graph.nodes.keys()), names)
  })
})
