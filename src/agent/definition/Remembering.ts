/**
 * What an agent does with memory besides recalling it: notes and memory blocks of its user, and memory that teams
 * share.
 *
 * @since 0.1.0
 */
import type { ExactOptions } from "../../internal/ExactOptions.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import type * as ImportanceJudge from "../../memory/semantic/ImportanceJudge.js"
import type * as MemoryBlock from "../../memory/tools/MemoryBlock.js"
import type * as MemoryNamespaces from "../../memory/tools/MemoryNamespaces.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import type { Memory, Remembering } from "./AgentDefinition.js"
import * as BlockStage from "./BlockStage.js"
import * as ImportanceStage from "./ImportanceStage.js"
import * as NamespaceStage from "./NamespaceStage.js"

export type { Remembering } from "./AgentDefinition.js"

/**
 * What memory tools are made with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given {
  readonly blocks: ReadonlyArray<MemoryBlock.MemoryBlock<any>>
  readonly namespaces: MemoryNamespaces.MemoryNamespaces<any> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Its own memory, in place of the executor's. Default: that of the executor. */
  readonly memory?: Memory | undefined
  /**
   * The memory tools of the model: `MemoryTools.make`, which also gives it `update_…` for each of the `blocks`. A
   * function sets options: `(given) => MemoryTools.make({ ...given, maxNotes: 200 })`. Default: none.
   */
  readonly tools?: ((given: Given) => ToolSet.ToolSet<any, any>) | undefined
  /** Records of the user that every run shows. Without `tools`, the model only reads them. */
  readonly blocks?: ReadonlyArray<MemoryBlock.MemoryBlock<any>> | undefined
  /** Judges how important it is to remember the turns of a run (`ImportanceStage`). Default: all the same, 0.5. */
  readonly importance?: ImportanceJudge.ImportanceJudge | undefined
  /** Shared memory of the user's teams, projects and organizations: recalled, and used by tools and blocks. */
  readonly namespaces?: MemoryNamespaces.MemoryNamespaces<any> | undefined
}

/**
 * The requirements of these options.
 *
 * @since 0.1.0
 * @category models
 */
export type Services<O extends Options> =
  | (O extends { readonly tools: (given: Given) => unknown } | { readonly blocks: ReadonlyArray<any> }
      ? MemoryStore.MemoryStore
      : never)
  | (O extends { readonly namespaces: MemoryNamespaces.MemoryNamespaces<infer R> } ? R : never)

/**
 * For `Agent.withMemory`. Tools and blocks work on the `MemoryStore` in context, which should be the one that the agent
 * recalls from.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Remembering } from "effect-lexigram/agent"
 * import { MemoryBlock, MemoryTools } from "effect-lexigram/memory"
 * import * as Schema from "effect/Schema"
 *
 * const profile = MemoryBlock.make("profile", { description: "Who the user is", fields: { name: Schema.String } })
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withMemory(Remembering.make({ tools: MemoryTools.make, blocks: [profile] }))
 * )
 * ```
 */
export const make = <const O extends Options>(options: ExactOptions<O, Options>): Remembering<Services<O>> => {
  const { blocks = [], importance, memory, namespaces, tools } = options as Options
  const added = [
    ...(importance === undefined ? [] : [ImportanceStage.make(importance)]),
    ...(namespaces === undefined ? [] : [NamespaceStage.make(namespaces)]),
    ...(blocks.length === 0 ? [] : [BlockStage.make(...blocks)])
  ]
  const given = tools === undefined ? ToolSet.empty : tools({ blocks, namespaces })
  return {
    _R: (_: never) => _,
    changes: (definition) => ({
      memory: memory ?? definition.memory,
      stages: [...definition.stages, ...added],
      tools: ToolSet.merge(definition.tools, given)
    })
  }
}
