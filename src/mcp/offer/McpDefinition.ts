/**
 * What an MCP server is: its name, its tools and agents, its prompts and resources, and its bounds.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type { Identity } from "../../http/api/Authentication.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type { Prompt, Resource, ResourceTemplate, Source } from "./McpOffers.js"

/**
 * A thing that a server offers. The name of a resource is its address, or its template.
 *
 * @since 0.1.0
 * @category models
 */
export interface Item {
  readonly kind: "tool" | "agent" | "prompt" | "resource"
  readonly name: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<
  T extends ReadonlyArray<Tool.Any> = ReadonlyArray<Tool.Any>,
  RP = any,
  RR = any,
  RT = any,
  RS = any
> {
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  /** How to use the server, for the models of its clients. */
  readonly instructions?: string | undefined
  /** A call is a run of its own, with the guards, approvals and limits of the executor. */
  readonly tools?: T | undefined
  /** Agents of the runs (`Runs`), each a tool that takes a text. */
  readonly agents?: ReadonlyArray<Agent.Any> | undefined
  readonly prompts?: ReadonlyArray<Prompt<RP>> | undefined
  readonly resources?: ReadonlyArray<Resource<RR>> | undefined
  readonly templates?: ReadonlyArray<ResourceTemplate<RT>> | undefined
  /** What depends on the caller, such as `McpSkills.make()` and `McpMemories.make()`. */
  readonly sources?: ReadonlyArray<Source<RS>> | undefined
  /** What a caller may see and use; default all. The rest looks unknown to it. */
  readonly permits?: ((caller: Identity, item: Item) => boolean) | undefined
  /**
   * Whether the person at the client of a caller decides approvals; default true. Whoever has the credentials of the
   * caller can write a client that approves everything. Otherwise agents wait for the inbox, and tools that need an
   * approval do nothing.
   */
  readonly approves?: ((caller: Identity) => boolean) | undefined
  /** How long a person or a model at the client has for an answer; default 10 minutes, at most 24 hours. */
  readonly answerTimeout?: Duration.DurationInput | undefined
  /** Calls of tools that one session makes at once; default 32. */
  readonly maxCalls?: number | undefined
  /** Resources that one session follows at once; default 64. */
  readonly maxSubscriptions?: number | undefined
  /** Entries of a list that a client gets at once; default 200. */
  readonly pageSize?: number | undefined
}

/**
 * A server that is not started. `R` are the requirements of its tools, prompts and resources.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition<out R = never> {
  readonly _R: () => R
  readonly options: Options
}
