/**
 * Handoffs between agents: which tools hand the conversation over, and the shortest route from one agent to another.
 *
 * @private
 * @since 0.1.0
 */

import type * as Effect from "effect/Effect"
import type { ResolvedFile } from "../../content/Content.js"
import type { FinishReason } from "../../domain/AgentEvent.js"
import type { RunId, UserId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type * as Agent from "../definition/AgentDefinition.js"

/** A conversation as another agent gets it: the earlier messages and the input. */
export interface Handed {
  readonly history: ReadonlyArray<Message>
  readonly input: string
}

/** An agent with its name in handoffs. */
export interface Station {
  readonly name: string
  readonly agent: () => Agent.Any
}

/** The agent that takes over. */
export interface Target extends Station {
  readonly filter: (handed: Handed, from: string) => Handed
  readonly run: (
    request: Handed & {
      readonly files: ReadonlyArray<ResolvedFile>
      readonly runId: RunId
      readonly userId: UserId | undefined
    },
    /** The output that the agent that handed over requires. */
    output: Agent.Output | undefined,
    /** The agent that the conversation can always be handed back to. */
    back: Station | undefined
  ) => Effect.Effect<Reached, unknown, any>
}

/** The answer of the other agent; `output` is encoded. */
export interface Reached {
  readonly text: string
  readonly output: { readonly value: unknown } | undefined
  readonly reason: FinishReason
}

type Link = { readonly _tag: "Delegate" } | { readonly _tag: "Handoff"; readonly target: Target }

/** Keyed by the handler, which stays the same when other fields of a tool change. */
const links = new WeakMap<Tool.Erased["handle"], Link>()

/** Marks a tool that needs the conversation or hands it over, by its handler. */
export const link = (tool: Tool.Any, what: Link): void => void links.set(tool.erased.handle, what)

const linkedStrategies = new WeakSet<object>()

/** Marks a strategy that needs the conversation because it asks other agents itself. */
export const linkStrategy = (strategy: object): void => void linkedStrategies.add(strategy)

/** True for a strategy that asks other agents itself. */
export const isLinkedStrategy = (strategy: object): boolean => linkedStrategies.has(strategy)

/** True for the handler of a tool that asks another agent. */
export const isLink = (handle: Tool.Any["erased"]["handle"]): boolean => links.has(handle)

export interface Links {
  readonly handoffs: ReadonlyMap<string, Target>
}

export const noLinks: Links = { handoffs: new Map() }

const known = new WeakMap<ReadonlyArray<Tool.Any>, Links | false>()

export const linksOf = (tools: ReadonlyArray<Tool.Any>): Links | false => {
  let found = known.get(tools)
  if (found === undefined) {
    const handoffs = new Map<string, Target>()
    let any = false
    for (const tool of tools) {
      const one = links.get(tool.erased.handle)
      if (one === undefined) continue
      any = true
      if (one._tag === "Handoff") handoffs.set(tool.name, one.target)
    }
    found = any ? { handoffs } : false
    known.set(tools, found)
  }
  return found
}

/** True for an agent that asks others, by its tools or by its strategy. */
export const isLinked = (tools: ReadonlyArray<Tool.Any>, strategy: object | string | undefined): boolean =>
  linksOf(tools) !== false || (typeof strategy === "object" && isLinkedStrategy(strategy))

/** The agents from the called one to the one that has the conversation, each once. */
export type Route = ReadonlyArray<Station>

export const noRoute: Route = []

/** Returns to an agent of the route, or appends a new one. */
export const along = (route: Route, next: Station): Route => {
  const at = route.findIndex(({ name }) => name === next.name)
  return at < 0 ? [...route, next] : route.slice(0, at + 1)
}

/** Checks whether an agent declares a handoff to the one with this name. */
export const handsTo = (tools: ReadonlyArray<Tool.Any>, name: string): boolean => {
  const found = linksOf(tools)
  return found !== false && Array.from(found.handoffs.values()).some((target) => target.name === name)
}

export interface Way {
  readonly target: Target
  readonly route: Route
}

const mostAgents = 1000

/** The shortest chain of handoffs to the agent with this name. All filters along it apply. */
export const routeTo = (handoffs: Links["handoffs"], from: Station, name: string): Way | undefined => {
  const known = new Set([from.name])
  let level: Array<Way> = []
  const reach = (handoffs: Links["handoffs"], before: Way | undefined, into: Array<Way>): Way | undefined => {
    for (const target of handoffs.values()) {
      if (known.has(target.name)) continue
      known.add(target.name)
      const route = [...(before?.route ?? [from]), target]
      const way: Way =
        before === undefined
          ? { target, route }
          : {
              target: {
                ...target,
                filter: (handed, from) => target.filter(before.target.filter(handed, from), before.target.name)
              },
              route
            }
      if (target.name === name) return way
      into.push(way)
    }
    return undefined
  }
  let found = reach(handoffs, undefined, level)
  while (found === undefined && level.length > 0 && known.size <= mostAgents) {
    const next: Array<Way> = []
    for (const way of level) {
      const linked = linksOf(way.target.agent().definition.tools.tools)
      if (linked !== false) found = reach(linked.handoffs, way, next)
      if (found !== undefined) return found
    }
    level = next
  }
  return found
}
