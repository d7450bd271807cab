/**
 * Agents and strategies as developers see them.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import { isBranch, targetsOf } from "../../graph/GraphTables.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type { Strategy } from "../../strategy/definition/Strategy.js"
import type { AgentDetails, DrawnGraph, ModelChoice, StrategyInfo } from "../api/StudioRunApi.js"

type Compiled = NonNullable<Strategy<unknown, unknown>["graph"]>
type Mutable = {
  readonly nodes: Array<DrawnGraph["nodes"][number]>
  readonly edges: Array<DrawnGraph["edges"][number]>
}

const DEEPEST = 8

const collect = (
  { graph }: Pick<Compiled, "graph">,
  into: Mutable,
  parent: string | undefined,
  depth: number
): void => {
  const idOf = (node: string): string => `${parent === undefined ? "" : `${parent}/`}${node}`
  const within = parent === undefined ? {} : { parent }
  into.nodes.push({ id: idOf("START"), node: "START", ...within })
  for (const [node, { subgraph }] of graph.nodes) {
    into.nodes.push({ id: idOf(node), graph: graph.name, node, ...within })
    if (subgraph !== undefined && depth < DEEPEST) collect(subgraph, into, idOf(node), depth + 1)
  }
  into.nodes.push({ id: idOf("END"), node: "END", ...within })
  into.edges.push({ from: idOf("START"), to: idOf(graph.start) })
  for (const [node, edge] of graph.edges) {
    for (const target of targetsOf(edge)) {
      const label = isBranch(edge) ? edge.labels?.[target] : undefined
      into.edges.push({
        from: idOf(node),
        to: idOf(target),
        ...(label === undefined ? {} : { label }),
        ...(isBranch(edge) ? { branch: true } : {})
      })
    }
  }
}

/**
 * The nodes and edges of a graph, with those of the graphs inside of it.
 *
 * @category conversions
 */
export const drawn = (graph: Compiled): DrawnGraph => {
  const into: Mutable = { nodes: [], edges: [] }
  collect(graph, into, undefined, 0)
  return into
}

/**
 * @category conversions
 */
export const strategyInfo = ({ graph, name }: Pick<Strategy<unknown, unknown>, "graph" | "name">): StrategyInfo => ({
  name,
  ...(graph === undefined ? {} : { graph: drawn(graph), mermaid: StateGraph.toMermaid(graph) })
})

const TIMES = new Set(["timeout", "llmTimeout", "toolTimeout"])

/**
 * Limits as numbers; one that is no limit is left out.
 *
 * @category conversions
 */
export const limitsOf = (limits: Agent.RunLimits): Record<string, number> =>
  Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]): ReadonlyArray<readonly [string, number]> => {
      const value = TIMES.has(name) ? Option.map(Duration.decodeUnknown(limit), Duration.toMillis) : Option.some(limit)
      return Option.isSome(value) && typeof value.value === "number" && Number.isFinite(value.value)
        ? [[name, value.value]]
        : []
    })
  )

/** No router has this role: it stands for calls without one. */
const noRole = "effect-lexigram/studio/no-role"

const modelsOf = ({ router }: AgentExecutor.Choices): Effect.Effect<ReadonlyArray<ModelChoice>> =>
  Effect.map(
    Effect.forEach([noRole, ...(router.configured ?? [])], (role) =>
      Effect.map(router.resolve(role), ({ client, settings }) => {
        const model = settings.model ?? client.model
        return {
          ...(role === noRole ? {} : { role }),
          provider: client.provider,
          ...(model === undefined ? {} : { model })
        }
      })
    ),
    (models) => models
  )

/** The strategy of an agent. One that cannot be made, which its runs say, has its name alone. */
const strategyOf = (
  { strategy = { _tag: "Named", name: "react", options: {} } }: Agent.Definition,
  choices: AgentExecutor.Choices | undefined
): Effect.Effect<StrategyInfo> =>
  "_tag" in strategy
    ? choices === undefined
      ? Effect.succeed({ name: strategy.name })
      : Effect.match(choices.strategies.resolve(strategy), {
          onFailure: () => ({ name: strategy.name }),
          onSuccess: strategyInfo
        })
    : Effect.succeed(strategyInfo(strategy))

/**
 * @category conversions
 */
export const details = (
  { definition, name }: Agent.Any,
  choices: AgentExecutor.Choices | undefined
): Effect.Effect<AgentDetails> =>
  Effect.gen(function* () {
    const { description, guards, limits, output, role, settings, system, tools } = definition
    return {
      name,
      ...(description === undefined ? {} : { description }),
      system,
      strategy: yield* strategyOf(definition, choices),
      tools: tools.tools.map(({ annotations, description, name, parameters }) => ({
        name,
        description,
        parameters,
        secret: [...(annotations.secretParams ?? [])],
        readOnly: annotations.readOnly === true
      })),
      ...(output === undefined ? {} : { output: output.spec.jsonSchema }),
      settings,
      ...(role === undefined ? {} : { role }),
      limits: limitsOf(limits),
      guards: guards.map(({ name, stages }) => ({ name, stages: [...stages] })),
      ...(choices === undefined
        ? {}
        : { choices: { models: yield* modelsOf(choices), strategies: choices.strategies.names } })
    }
  })
