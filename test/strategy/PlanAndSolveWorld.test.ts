/** A model that answers from what the request holds, over trees of sums and products whose value is known. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Prompts from "../../src/prompt/defaults/PlanAndSolvePrompts.js"
import * as PlanAndSolve from "../../src/strategy/PlanAndSolve.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Plans from "./Plans.js"
import * as Strategies from "./Strategies.js"

type Tree = number | { readonly op: "+" | "*"; readonly left: Tree; readonly right: Tree }

const tree = (depth: number): Effect.Effect<Tree> =>
  Effect.gen(function* () {
    if (depth === 0 || (yield* Random.next) < 0.2) return yield* Random.nextIntBetween(1, 10)
    const op = (yield* Random.nextBoolean) ? "+" : "*"
    return { op, left: yield* tree(depth - 1), right: yield* tree(depth - 1) } as const
  })

const write = (tree: Tree): string =>
  typeof tree === "number" ? String(tree) : `(${write(tree.left)} ${tree.op} ${write(tree.right)})`

const value = (tree: Tree): number =>
  typeof tree === "number"
    ? tree
    : tree.op === "+"
      ? value(tree.left) + value(tree.right)
      : value(tree.left) * value(tree.right)

const size = (tree: Tree): number => (typeof tree === "number" ? 0 : 1 + size(tree.left) + size(tree.right))

/** What a model makes of an expression: innermost brackets first, each with the number of the step that gives its operand. */
const planOf = (expression: string): ReadonlyArray<string> => {
  const steps: Array<string> = []
  let rest = expression
  for (;;) {
    const inner = /\(([^()]+) ([+*]) ([^()]+)\)/.exec(rest)
    if (inner === null) return steps
    steps.push(`${inner[2] === "+" ? "Add" : "Multiply"} ${inner[1]} and ${inner[3]}`)
    rest = rest.replace(inner[0], `result#${steps.length}`)
  }
}

/** The numbers a step works with, out of the prompt alone. */
const operands = (prompt: string, step: string): ReadonlyArray<number> =>
  /(?:Add|Multiply) (\S+) and (\S+)/
    .exec(step)!
    .slice(1)
    .map((operand) => {
      const reference = /^result#(\d+)$/.exec(operand)?.[1]
      if (reference === undefined) return Number(operand)
      return Number(new RegExp(`Step ${reference}: [^\\n]*\\n<result>\\n(\\d+)\\n`).exec(prompt)![1])
    })

const model =
  (text: boolean) =>
  (request: LlmClient.LlmRequest): TestModel.Turn | string => {
    const prompt = Plans.contents(request).find((content) => content.includes("Task:\n"))!
    switch (Plans.promptOf(Prompts.steps, request)) {
      case "PlanStep": {
        const steps = planOf(/Compute (.*)$/m.exec(prompt)![1]!)
        return text
          ? `VARIABLES:\n- none = 0\n\nPLAN:\n${steps.map((step, i) => `${i + 1}) ${step}`).join("\n")}`
          : Plans.json({ variables: [], steps })
      }
      case "ExecuteStep": {
        const last = request.messages.at(-1)!
        if (last.role === "tool") return String((last.content[0] as { readonly result: unknown }).result)
        const step = prompt.slice(prompt.indexOf("This step:"))
        const [a = 0, b = 0] = operands(prompt, step)
        const wanted = step.includes("Add") ? "sum" : "product"
        const tool = request.tools?.find((one) => one.description.includes(wanted))
        if (tool !== undefined) return { calls: [{ name: tool.name, params: { a, b } }] }
        return String(wanted === "sum" ? a + b : a * b)
      }
      default:
        return Plans.lastResult(prompt)!
    }
  }

const calculators = (sum: string, product: string, reverse: boolean) => {
  const parameters = { a: Schema.Number, b: Schema.Number }
  const tools = [
    Tool.make(sum, {
      description: "The sum",
      parameters,
      success: Schema.Number,
      handler: ({ a, b }) => Effect.succeed(a + b)
    }),
    Tool.make(product, {
      description: "The product",
      parameters,
      success: Schema.Number,
      handler: ({ a, b }) => Effect.succeed(a * b)
    })
  ]
  return ToolSet.make(...(reverse ? tools.reverse() : tools)) as ToolSet.ToolSet<unknown, never>
}

const solve = (
  seed: number,
  options: { readonly text?: boolean; readonly tools?: ToolSet.ToolSet<unknown, never> } = {}
) =>
  Effect.gen(function* () {
    const grown = { op: "+", left: yield* tree(3), right: yield* tree(2) } as const
    const ran = yield* Strategies.run(
      PlanAndSolve.make({ maxSteps: 20, ...(options.text === true ? { format: "text" } : {}) }),
      model(options.text ?? false),
      { task: { input: `Compute ${write(grown)}` }, ...(options.tools === undefined ? {} : { tools: options.tools }) }
    )
    const answer = yield* Effect.orDie(ran.exit)
    return { calls: ran.requests.length, expected: String(value(grown)), size: size(grown), text: answer.text }
  }).pipe(Effect.withRandom(Random.make(seed)))

const seeds = Array.from({ length: 12 }, (_, seed) => seed)

describe("PlanAndSolve over trees of sums and products", () => {
  it.effect("computes values in two calls plus one per operation, in either form", () =>
    Effect.gen(function* () {
      let operations = 0
      for (const seed of seeds) {
        for (const text of [false, true]) {
          const solved = yield* solve(seed, { text })
          assert.strictEqual(solved.text, solved.expected)
          assert.strictEqual(solved.calls, 2 + solved.size)
          operations += solved.size
        }
      }
      assert.isAbove(operations, 60)
    })
  )

  it.effect("computes values with tools of any names and order, in two calls per operation", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        for (const tools of [calculators("add", "multiply", false), calculators("q7", "q-8", true)]) {
          const solved = yield* solve(seed, { tools })
          assert.strictEqual(solved.text, solved.expected)
          assert.strictEqual(solved.calls, 2 + 2 * solved.size)
        }
      }
    })
  )
})
