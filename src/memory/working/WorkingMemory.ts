/**
 * The working memory port: recent turns and recalled content for a query, within a token budget.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { SessionId, TurnId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryError } from "../entry/MemoryError.js"
import * as MemoryText from "../entry/MemoryText.js"
import type * as Selection from "../entry/Selection.js"
import type { Outcome } from "../procedural/ProceduralMemory.js"
import type * as MemoryNamespace from "../tools/MemoryNamespace.js"

const NAME = "effect-lexigram/memory/WorkingMemory"

/**
 * The contribution of one source to an assembly.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SourceReport = Schema.Struct({
  /**
   * The section: `system_prompt`, `recent_turns`, `episodic`, `semantic` or `tool_descriptions`. A section that is off
   * has no report.
   */
  source: Schema.String,
  /**
   * The tokens available to it: its share and what others left over. A system prompt longer than its share also takes
   * tokens from them.
   */
  tokenBudget: Schema.Number,
  /** The tokens it used; at most `tokenBudget`. */
  tokens: Schema.Number,
  /** The items it contributed, in the order of the assembly. */
  taken: Schema.Array(Schema.String),
  /**
   * The items it found and left out, best first: they did not fit, were present already, or were a tool call or result
   * without its counterpart.
   */
  left: Schema.Array(Schema.String),
  /** The tag of the error, if its tier failed. Its items then come from elsewhere. */
  failed: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/SourceReport` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SourceReport extends Schema.Schema.Type<typeof SourceReport> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Assembled = Schema.Struct({
  /** Oldest first, without duplicates. */
  entries: Schema.Array(MemoryEntry),
  /**
   * The tokens that the message of `toMessages` and the given system prompt add to a prompt, as sent; at most the
   * budget. Also 0 if the system prompt exceeds the budget alone: then nothing is assembled, and the report says so.
   */
  tokens: Schema.Number,
  /** Relevant facts as texts, from the section `semantic`. */
  facts: Schema.Array(Schema.String),
  /** Procedures that worked before and matching tools as texts, from the section `tool_descriptions`. */
  tools: Schema.Array(Schema.String),
  /** Names of the namespaces that the owner inherits from, by the owners of the entries that come from them. */
  namespaces: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  /** Relevant facts of those namespaces. */
  inheritedFacts: Schema.optional(Schema.Array(Schema.Struct({ namespace: Schema.String, fact: Schema.String }))),
  report: Schema.Array(SourceReport)
}).annotations({ identifier: `${NAME}/Assembled` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Assembled extends Schema.Schema.Type<typeof Assembled> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface AssembleOptions {
  /** The question that the memory should help to answer. */
  readonly query: string
  /** In tokens of the model that will read the entries. */
  readonly tokenBudget: number
  readonly ownerId: string
  /**
   * Shared namespaces whose entries and facts are recalled together with those of the owner, the narrowest first. Among
   * equals those of the owner come first. Recent turns and procedures are the owner's alone. A memory that knows no
   * other owners, such as a plain conversation, ignores it.
   */
  readonly inherits?: ReadonlyArray<MemoryNamespace.Inherited> | undefined
  /** Recent turns are those of this session; without it, of the owner. */
  readonly sessionId?: SessionId | undefined
  /** What a branch may recall: see `Selection.lineage`. */
  readonly lineage?: ReadonlyArray<Selection.Ancestor> | undefined
  /** With a lineage, the session tree that it restricts: see `Selection.tree`. */
  readonly tree?: SessionId | undefined
  /** Turns that are in the prompt anyway and are not recalled. */
  readonly shown?: ReadonlySet<TurnId> | undefined
  /**
   * The system prompt. It uses the section `system_prompt`; the rest of that section goes to the others.
   */
  readonly systemPrompt?: string | undefined
  /** The available tools. The most relevant to the query are listed in `Assembled.tools`. */
  readonly tools?: ReadonlyArray<{ readonly name: string; readonly description: string }> | undefined
}

/**
 * The entries of an owner, or of one session.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scope {
  readonly ownerId: string
  readonly sessionId?: SessionId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Returns the most relevant entries that fit the budget, with a report. Without memories or with a budget of 0 there
   * are no entries. The result is deterministic for the same memory at the same time. The only side effect: entries of
   * the section `episodic` count as recalled once more.
   */
  readonly assemble: (options: AssembleOptions) => Effect.Effect<Assembled, MemoryError>
  /**
   * Stores an entry under its owner. An entry with an existing id replaces the first and keeps its place.
   */
  readonly add: (entry: MemoryEntry) => Effect.Effect<void, MemoryError>
  /** Stores several entries in their order. On failure none is stored. */
  readonly addAll: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, MemoryError>
  /** The held entries, oldest first. Does not query the stores. */
  readonly getContextEntries: (scope: Scope) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryError>
  /**
   * Hands held entries to the long-term stores and releases them. On failure they stay held. Without held entries it
   * does nothing.
   */
  readonly flush: (scope: Scope) => Effect.Effect<void, MemoryError>
  /** Learns procedures from a finished run, like `ProceduralMemory.learn`. */
  readonly learn: (outcome: Outcome) => Effect.Effect<void, MemoryError>
  /** Succeeds if the underlying stores answer. */
  readonly health: Effect.Effect<void, MemoryError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class WorkingMemory extends Context.Tag("effect-lexigram/memory/WorkingMemory")<WorkingMemory, Service>() {}

/**
 * Remembers nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  assemble: () => Effect.succeed({ entries: [], facts: [], tools: [], tokens: 0, report: [] }),
  add: () => Effect.void,
  addAll: () => Effect.void,
  getContextEntries: () => Effect.succeed([]),
  flush: () => Effect.void,
  learn: () => Effect.void,
  health: Effect.void
}

/**
 * Remembers nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { WorkingMemory } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const recall = (question: string) =>
 *   Effect.gen(function* () {
 *     const memory = yield* WorkingMemory.WorkingMemory
 *     const assembled = yield* memory.assemble({ ownerId: "ada", query: question, tokenBudget: 2_000 })
 *     return WorkingMemory.toMessages(assembled)
 *   })
 *
 * // Without memory there is no message.
 * const program = recall("Which room is my desk in?").pipe(Effect.provide(WorkingMemory.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<WorkingMemory> = Layer.succeed(WorkingMemory, noop)

/**
 * The parts of an assembly that a model is shown.
 *
 * @since 0.1.0
 * @category models
 */
export type Shown = Pick<Assembled, "entries" | "facts" | "tools" | "namespaces" | "inheritedFacts">

/**
 * Renders memory for a model: lines of JSON under a heading that declares them as data. Facts (`fact`) come first, then
 * procedures and tools (`howto`), then entries (`role`, `text`), each in an order that does not depend on the query.
 * When memory grows by a turn, the text grows at its end, so that the provider's cache of it stays valid. No text can
 * end its line early. What comes from a shared namespace says so (`namespace`). Empty if nothing is remembered.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (assembled: Shown): string => MemoryText.render(assembled)

/**
 * The message that adds memory to a prompt, if there is any: what `Assembled.tokens` counts.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMessages = (assembled: Shown): ReadonlyArray<Message> => MemoryText.messages(assembled)
