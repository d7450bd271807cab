/**
 * `lexigram graph`: how strategies go about a task.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import { nearest } from "../../internal/text/Nearest.js"
import * as BuiltInStrategies from "../../strategy/BuiltInStrategies.js"
import * as StrategyRegistry from "../../strategy/definition/StrategyRegistry.js"
import * as Flags from "../command/Flags.js"
import { CliError } from "../config/CliError.js"
import * as Report from "../terminal/Report.js"

const graphs = OnDemand.make(() => import("../../graph/StateGraph.js"))

const registry = StrategyRegistry.make({}, BuiltInStrategies.loaders)

const named = Args.text({ name: "strategy" }).pipe(
  Args.withDescription("The name of a strategy. Without it, the names are listed"),
  Args.optional
)

const unknown = (name: string): CliError => {
  const similar = nearest(name, registry.names)
  return new CliError({
    reason: "unknown",
    message: `There is no strategy "${name.slice(0, 64)}"`,
    hint: similar === undefined ? `There are ${registry.names.join(", ")}` : `Did you mean ${similar}?`
  })
}

const noGraph = (name: string): CliError =>
  new CliError({
    reason: "unknown",
    message: `The strategy ${name} is a loop of the model and its tools, without a graph`,
    hint: "`lexigram graph` lists the strategies that have one"
  })

const strategyOf = (name: string) =>
  registry
    .resolve({ _tag: "Named", name, options: {} })
    .pipe(Effect.mapError((message) => new CliError({ reason: "config", message })))

const list = Effect.map(
  Effect.forEach(registry.names, (name) =>
    Effect.map(strategyOf(name), ({ graph }) => ({ name, hasGraph: graph !== undefined }))
  ),
  (strategies) => ({ strategies })
)

const draw = (name: string) =>
  Effect.gen(function* () {
    if (!registry.names.includes(name)) return yield* unknown(name)
    const { graph } = yield* strategyOf(name)
    if (graph === undefined) return yield* noGraph(name)
    return { name, mermaid: (yield* graphs).toMermaid(graph) }
  })

/**
 * @category constants
 */
export const command = Command.make(
  "graph",
  { name: named, ...Flags.plain },
  Flags.handler(({ name }) =>
    Option.isSome(name)
      ? Effect.flatMap(draw(name.value), (drawn) => Report.say(drawn, ({ mermaid }) => mermaid))
      : Effect.flatMap(list, (found) =>
          Report.say(found, ({ strategies }) =>
            strategies.map(({ hasGraph, name }) => (hasGraph ? name : `${name}  (no graph)`)).join("\n")
          )
        )
  )
).pipe(Command.withDescription("The strategies, and the graph of one as a Mermaid diagram"))
