/** A model that answers from what the request holds, in a world of links that are followed one after another. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Prompts from "../../src/prompt/defaults/PlanExecutePrompts.js"
import * as PlanExecute from "../../src/strategy/PlanExecute.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Plans from "./Plans.js"
import * as Strategies from "./Strategies.js"

class Blocked extends Schema.TaggedError<Blocked>()("Blocked", { message: Schema.String }) {}

interface Names {
  readonly follow: string
  readonly detour: string
}

/** Places with one link each, some of them blocked: a detour leads to the same place. */
const world = (seed: number, names: Names, reverse: boolean) =>
  Effect.gen(function* () {
    const places = Array.from({ length: 8 }, (_, i) => `p${i}`)
    const order = Array.from(yield* Random.shuffle(places))
    const links = new Map(order.map((place, i) => [place, order[(i + 1) % order.length]!]))
    const blocked = new Set<string>()
    for (const place of order) if ((yield* Random.next) < 0.25 && blocked.size < 2) blocked.add(place)
    const hops = yield* Random.nextIntBetween(2, 5)
    const from = order[0]!
    const parameters = { place: Schema.Literal(...(places as [string, ...Array<string>])) }
    const walked: Array<string> = []
    const tools = [
      Tool.make(names.follow, {
        description: "Follows the link of a place",
        parameters,
        handler: ({ place }) => {
          walked.push(place)
          return blocked.has(place)
            ? new Blocked({ message: `the link of ${place} is blocked` })
            : Effect.succeed(links.get(place)!)
        }
      }),
      Tool.make(names.detour, {
        description: "Takes the detour of a place whose link is blocked",
        parameters,
        handler: ({ place }) => Effect.succeed(links.get(place)!)
      })
    ]
    const path = [from]
    for (let i = 0; i < hops; i++) path.push(links.get(path.at(-1)!)!)
    return {
      input: `Begin at ${from} and follow ${hops} links. Where do you end?`,
      end: path.at(-1)!,
      hops,
      obstacles: path.slice(0, -1).filter((place) => blocked.has(place)).length,
      walked,
      tools: ToolSet.make(...(reverse ? tools.reverse() : tools)) as unknown as ToolSet.ToolSet<unknown, never>
    }
  }).pipe(Effect.withRandom(Random.make(seed)))

const toolFor = (text: string, description: string): string => new RegExp(`- (\\S+): ${description}`).exec(text)![1]!

/** The place that a step begins at: where the last one ended, or where the task begins. */
const here = (text: string): string => Plans.lastResult(text) ?? /Begin at (\w+)/.exec(text)![1]!

const planText = (steps: ReadonlyArray<readonly [string, string]>): string =>
  ["I go on.", "", "PLAN:", ...steps.map(([tool, text], i) => `${i + 1}. [TOOL:${tool}] ${text}`)].join("\n")

const model =
  (text: boolean) =>
  (request: LlmClient.LlmRequest): string => {
    const user = Plans.user(request)
    const write = (steps: ReadonlyArray<readonly [string, string]>) =>
      text ? planText(steps) : Plans.json({ steps: steps.map(([tool, description]) => ({ tool, description })) })
    switch (Plans.promptOf(Prompts.steps, request)) {
      case "Plan": {
        const follow = toolFor(user, "Follows the link")
        return write(
          Array.from({ length: Number(/follow (\d+) links/.exec(user)![1]) }, () => [follow, "go on"] as const)
        )
      }
      case "Replan": {
        const remaining = /Steps that remained:\n([\s\S]*)$/
          .exec(user)![1]!
          .split("\n")
          .filter((line) => /^\d/.test(line))
        return write([
          [toolFor(user, "Takes the detour"), "go around"],
          ...remaining.map(() => [toolFor(user, "Follows the link"), "go on"] as const)
        ])
      }
      case "ToolInput": {
        const args = Plans.json({ place: here(user) })
        return text ? `ACTION_INPUT: ${args}` : args
      }
      default:
        return Plans.lastResult(user) ?? "nowhere"
    }
  }

const solve = (seed: number, names: Names, options: { readonly text?: boolean; readonly reverse?: boolean } = {}) =>
  Effect.gen(function* () {
    const given = yield* world(seed, names, options.reverse ?? false)
    const ran = yield* Strategies.run(
      PlanExecute.make({ maxReplans: 3, ...(options.text === true ? { format: "text" } : {}) }),
      model(options.text ?? false),
      { tools: given.tools, task: { input: given.input } }
    )
    const answer = yield* Effect.orDie(ran.exit)
    return { ...given, ran, text: answer.text }
  })

const seeds = Array.from({ length: 12 }, (_, seed) => seed)
const plain: Names = { follow: "follow", detour: "detour" }

describe("PlanExecute in a world of links", () => {
  it.effect("finds the end over blocked links, in as many calls as there are steps", () =>
    Effect.gen(function* () {
      let obstacles = 0
      for (const seed of seeds) {
        const { end, hops, ran, text, walked, ...rest } = yield* solve(seed, plain)
        assert.strictEqual(text, end)
        assert.strictEqual(walked.length, hops)
        // A plan, arguments for each step, and for each obstacle a new plan and the arguments of a detour; then the answer.
        assert.strictEqual(ran.requests.length, 2 + hops + 2 * rest.obstacles)
        obstacles += rest.obstacles
        const last = ran.of("Plan").at(-1)!.steps
        assert.strictEqual(last.filter((step) => step.status === "failed").length, rest.obstacles)
        assert.strictEqual(last.filter((step) => step.status === "completed").length, hops)
        assert.isTrue(last.every((step) => step.status !== "pending"))
      }
      assert.isAbove(obstacles, 3)
    })
  )

  it.effect("ends at the same place in text form, with other tool names in another order", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        const first = yield* solve(seed, plain)
        const second = yield* solve(seed, { follow: "zz_9", detour: "a-b" }, { reverse: true, text: true })
        assert.deepStrictEqual(
          [second.text, second.ran.requests.length, second.walked],
          [first.text, first.ran.requests.length, first.walked]
        )
      }
    })
  )
})
