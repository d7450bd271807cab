/**
 * What an agent has in mind: recent turns, and what the long-term stores recall for a question, within a budget of
 * tokens.
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

const NAME = "effect-lexigram/memory/WorkingMemory"

/**
 * What one source gave to an assembly.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SourceReport = Schema.Struct({
  /**
   * The section: `system_prompt`, `recent_turns`, `episodic`, `semantic` or `tool_descriptions`; one that is switched
   * off has no report.
   */
  source: Schema.String,
  /**
   * The tokens it could have used: its own share, what others left over, and for a system prompt longer than its share
   * what it takes from them.
   */
  tokenBudget: Schema.Number,
  /** The tokens it used; never more. */
  tokens: Schema.Number,
  /** What it put into the assembly, in the order of the assembly. */
  taken: Schema.Array(Schema.String),
  /**
   * What it found and left out because it did not fit, was there already, or was a tool's call or result without the
   * other, best first.
   */
  left: Schema.Array(Schema.String),
  /** The tag of the failure of the memory it comes from; what it shows nevertheless comes from elsewhere. */
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
  /** Oldest first, each once. */
  entries: Schema.Array(MemoryEntry),
  /**
   * What the message of `toMessages` and the system prompt that was given add to a prompt, counted as they are sent;
   * never more than the budget. 0 as well when the system prompt alone is more than the budget: then nothing is
   * assembled, and the report says so.
   */
  tokens: Schema.Number,
  /** Facts that help, as texts; of the section `semantic`. */
  facts: Schema.Array(Schema.String),
  /** Ways that worked before, and the tools that fit, as texts; of the section `tool_descriptions`. */
  tools: Schema.Array(Schema.String),
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
  /** What the memory should help to answer. */
  readonly query: string
  /** In tokens of the model that will read the entries. */
  readonly tokenBudget: number
  readonly ownerId: string
  /** Recent turns are those of this session; without it, of the owner. */
  readonly sessionId?: SessionId | undefined
  /** What may be recalled on a branch: see `Selection.lineage`. */
  readonly lineage?: ReadonlyArray<Selection.Ancestor> | undefined
  /** With a lineage, the tree of sessions that it restricts: see `Selection.tree`. */
  readonly tree?: SessionId | undefined
  /** Turns the reader sees anyway: they are not recalled. */
  readonly shown?: ReadonlySet<TurnId> | undefined
  /**
   * What the reader is told first; it takes its room from the section `system_prompt`, and what it leaves goes to the
   * others.
   */
  readonly systemPrompt?: string | undefined
  /** What the reader can do; those that help most with the query get into `Assembled.tools`. */
  readonly tools?: ReadonlyArray<{ readonly name: string; readonly description: string }> | undefined
}

/**
 * Whose entries are meant: all of the owner, or those of one session.
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
   * The entries that help most with the query and fit the budget, with a report of what was taken and left. Nothing
   * remembered, or a budget of 0: no entries. The same question to the same memory at the same time has the same
   * answer; all that changes is how often the entries of the section `episodic` were recalled, and when: the answer
   * counts as one more.
   */
  readonly assemble: (options: AssembleOptions) => Effect.Effect<Assembled, MemoryError>
  /**
   * Remembers an entry under its owner. An entry whose id the owner has already replaces the first and keeps its place.
   */
  readonly add: (entry: MemoryEntry) => Effect.Effect<void, MemoryError>
  /** The same for several, in their order; on failure none is remembered. */
  readonly addAll: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, MemoryError>
  /** What is held at the moment, oldest first; the stores are not asked. Nothing held: empty. */
  readonly getContextEntries: (scope: Scope) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryError>
  /**
   * Hands what is held to the long-term stores and lets go of it. On failure it is still held. Nothing held: does
   * nothing.
   */
  readonly flush: (scope: Scope) => Effect.Effect<void, MemoryError>
  /** Learns how things are done from a run that ended, as `ProceduralMemory.learn`. */
  readonly learn: (outcome: Outcome) => Effect.Effect<void, MemoryError>
  /** Succeeds if the stores below answer. */
  readonly health: Effect.Effect<void, MemoryError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class WorkingMemory extends Context.Tag("effect-lexigram/memory/WorkingMemory")<WorkingMemory, Service>() {}

/**
 * Nothing is remembered.
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
 * Nothing is remembered.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<WorkingMemory> = Layer.succeed(WorkingMemory, noop)

/**
 * What is remembered as a model reads it: lines of JSON under a heading that says that they are data. Facts (`fact`)
 * stand first, then ways and tools (`howto`), then entries (`role`, `text`), each in an order that does not depend on
 * the query: when memory grows by a turn, the text grows at its end, and what a provider has cached of it holds. No
 * text can close its line. Nothing remembered: empty.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (assembled: Pick<Assembled, "entries" | "facts" | "tools">): string =>
  MemoryText.render(assembled)

/**
 * The message that brings it into a prompt, if there is anything: what `Assembled.tokens` counts.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMessages = (assembled: Pick<Assembled, "entries" | "facts" | "tools">): ReadonlyArray<Message> =>
  MemoryText.messages(assembled)
