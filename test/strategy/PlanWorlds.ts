/** Sums that were made up at random, tools for them, and a model that knows only what its request holds. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Strategies from "./Strategies.js"

/** A number, or a sum of two of them: `["+", 1, ["*", 2, 3]]`. */
export type Sum = number | readonly [sign: "+" | "-" | "*", left: Sum, right: Sum]

export const valueOf = (sum: Sum): number => {
  if (typeof sum === "number") return sum
  const [sign, left, right] = sum
  const [a, b] = [valueOf(left), valueOf(right)]
  return sign === "+" ? a + b : sign === "-" ? a - b : a * b
}

export const operations = (sum: Sum): number =>
  typeof sum === "number" ? 0 : 1 + operations(sum[1]) + operations(sum[2])

const depth = (sum: Sum): number => (typeof sum === "number" ? 0 : 1 + Math.max(depth(sum[1]), depth(sum[2])))

const makeSum = (levels: number): Effect.Effect<Sum> =>
  Effect.gen(function* () {
    if (levels === 0 || (yield* Random.next) < 0.2) return yield* Random.nextIntBetween(1, 10)
    const sign = (["+", "-", "*"] as const)[yield* Random.nextIntBetween(0, 3)]!
    return [sign, yield* makeSum(levels - 1), yield* makeSum(levels - 1)] as const
  })

export interface Options {
  /** Before the names of the tools. */
  readonly prefix?: string | undefined
  /** The first call fails. */
  readonly failFirst?: boolean | undefined
  /** Time that a call takes. */
  readonly ms?: number | undefined
}

/** Tools of one operation each, under names the model has to find in what it is told. */
export const world = (seed: number, options: Options = {}) =>
  Effect.gen(function* () {
    const sum: Sum = ["+", yield* makeSum(3), yield* makeSum(3)]
    let hasFailed = options.failFirst !== true
    const calls: Array<string> = []
    const tool = (name: string, does: string, f: (a: number, b: number) => number) =>
      Tool.make(`${options.prefix ?? ""}${name}`, {
        description: does,
        parameters: { left: Schema.Number, right: Schema.Number },
        success: Schema.Number,
        failure: Strategies.Broken,
        handler: ({ left, right }) =>
          Effect.suspend(() => {
            if (!hasFailed) {
              hasFailed = true
              return Effect.fail(new Strategies.Broken({ message: "try again" }))
            }
            calls.push(name)
            const result = f(left, right)
            return options.ms === undefined ? Effect.succeed(result) : Effect.delay(Effect.succeed(result), options.ms)
          })
      })
    const tools = yield* Random.shuffle([
      tool("plus", "adds", (a, b) => a + b),
      tool("minus", "subtracts", (a, b) => a - b),
      tool("times", "multiplies", (a, b) => a * b)
    ])
    return { sum, calls, depth: depth(sum), tools: ToolSet.make(...tools), input: `Compute ${JSON.stringify(sum)}` }
  }).pipe(Effect.withRandom(Random.make(seed)))

export const textOf = (request: LlmClient.LlmRequest): string =>
  request.messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content))).join("\n")

/** The sum that the request asks for. */
export const sumIn = (text: string): Sum => JSON.parse(/Compute (\[.*\])/.exec(text)![1]!)

/** The tool for each sign, found by what the request says of the tools. */
export const toolsIn = (text: string): ReadonlyMap<string, string> => {
  const named = (does: string) => new RegExp(`^- (\\w+)\\(.*\\): ${does}$`, "m").exec(text)![1]!
  return new Map([
    ["+", named("adds")],
    ["-", named("subtracts")],
    ["*", named("multiplies")]
  ])
}

export interface Step {
  readonly id: number
  readonly sign: string
  readonly left: number | { readonly step: number }
  readonly right: number | { readonly step: number }
}

/** One step an operation, inner ones first; the last is the result. */
export const stepsOf = (sum: Sum): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const visit = (part: Sum): Step["left"] => {
    if (typeof part === "number") return part
    const left = visit(part[1])
    const right = visit(part[2])
    steps.push({ id: steps.length + 1, sign: part[0], left, right })
    return { step: steps.length }
  }
  visit(sum)
  return steps
}
