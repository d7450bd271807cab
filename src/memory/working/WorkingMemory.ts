/**
 * What an agent has in mind: recent turns, and what the long-term stores recall for a question, within a budget of
 * tokens.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { EntryId, SessionId, TurnId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as Step from "../../observability/Step.js"
import { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryError, MemorySystemError } from "../entry/MemoryError.js"
import * as MemoryNotices from "../entry/MemoryNotices.js"
import * as MemoryText from "../entry/MemoryText.js"
import type * as Selection from "../entry/Selection.js"
import * as TokenCosts from "../entry/TokenCosts.js"
import { EpisodicMemory, type Service as EpisodicService } from "../episodic/EpisodicMemory.js"
import { SemanticMemory } from "../facts/SemanticMemory.js"
import { type Outcome, ProceduralMemory } from "../procedural/ProceduralMemory.js"
import * as HeldEntries from "../search/HeldEntries.js"
import * as ContextAssembly from "./ContextAssembly.js"
import * as ContextSources from "./ContextSources.js"
import * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"

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

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** What the section `system_prompt` gets, if there is so much. Default 512. */
  readonly systemPromptTokens?: number | undefined
  /** Parts of the rest, together at most 1; a section with 0 is switched off. Default 0.4. */
  readonly recentTurnsFraction?: number | undefined
  /** Default 0.3. */
  readonly episodicFraction?: number | undefined
  /** Default 0.2. */
  readonly semanticFraction?: number | undefined
  /** Default 0.1. */
  readonly toolDescriptionsFraction?: number | undefined
  /** Turns of the section `recent_turns`, and entries held of a scope, at most. Default 20. */
  readonly maxRecentTurns?: number | undefined
  /** Entries of the section `episodic` at most. Default 10. */
  readonly maxRecalled?: number | undefined
  /** Procedures at most. Default 3. */
  readonly maxProcedures?: number | undefined
  /** Scopes of which entries are held; those that were not added to for longest are let go of. Default 1000. */
  readonly maxScopes?: number | undefined
  /** Characters held of all scopes together. Default 16 million. */
  readonly maxHeldChars?: number | undefined
}

/** The context is there already: that its entries could not be counted takes it from nobody. */
const recalled = (
  episodic: EpisodicService,
  ownerId: string,
  { report }: ContextAssembly.Context,
  relevant: ReadonlySet<EntryId>
): Effect.Effect<void> => {
  const taken = new Set(report.find(({ source }) => source === "episodic")?.taken)
  const ids = Array.from(relevant).filter((id) => taken.has(id))
  return ids.length === 0
    ? Effect.void
    : Effect.catchAll(episodic.recordAccess(ownerId, ids), (error) =>
        Effect.annotateLogs(Effect.logWarning("Recalled entries could not be counted"), {
          module: NAME,
          error: error._tag
        })
      )
}

type Tier = "episodic" | "semantic" | "procedural"

const byOwner = (entries: ReadonlyArray<MemoryEntry>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const owners = new Map<string, Array<string>>()
  for (const { id, ownerId } of entries) {
    const ids = owners.get(ownerId)
    if (ids === undefined) owners.set(ownerId, [id])
    else ids.push(id)
  }
  return owners
}

/**
 * Working memory over the long-term tiers. What is added is recorded in episodic memory before `add` ends, so that
 * nothing is lost with the process; the newest of each scope are held besides, and stand in as recent turns while
 * episodic memory does not answer. `flush` has facts read from what is held, and lets go of it; what made room before
 * is read by consolidation.
 *
 * The tiers are asked at once. One that fails leaves its section empty (`SourceReport.failed`); all of them: a
 * `MemorySystemError`. So are shares that make no sense.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<Service, MemorySystemError, EpisodicMemory | SemanticMemory | ProceduralMemory | TokenCounter> =>
  Effect.gen(function* () {
    const shares = yield* TokenBudgetAllocator.make(options)
    const episodic = yield* EpisodicMemory
    const semantic = yield* SemanticMemory
    const procedural = yield* ProceduralMemory
    const counter = yield* TokenCounter
    const notices = yield* MemoryNotices.make
    const maxRecentTurns = Count.count(options?.maxRecentTurns, 20, 1)
    const maxRecalled = Count.count(options?.maxRecalled, 10, 0)
    const maxProcedures = Count.count(options?.maxProcedures, 3, 0)
    const costs = TokenCosts.make({ maxTexts: 8192, maxChars: 8_000_000 })
    const held = HeldEntries.make({
      maxEntries: maxRecentTurns,
      maxScopes: Count.count(options?.maxScopes, 1000, 1),
      maxChars: Count.count(options?.maxHeldChars, 16_000_000, 0)
    })

    const tiers = { episodic, semantic, procedural, held, shares, maxRecentTurns, maxRecalled, maxProcedures }

    const assemble: Service["assemble"] = Effect.fnUntraced(
      function* (request: AssembleOptions) {
        const { query, systemPrompt, tokenBudget } = request
        const room = ContextAssembly.roomOf({ counter, systemPrompt, tokenBudget })
        const { failed, found, relevant } = ContextAssembly.hasRoom(room)
          ? yield* ContextSources.ask(tiers, request)
          : ContextSources.nothing
        const assembled = ContextAssembly.assemble(found, room, {
          query,
          tokenBudget,
          systemPrompt,
          shares,
          maxRecentTurns,
          maxRecalled,
          counter,
          costs
        })
        const { report, ...context } = assembled
        yield* recalled(episodic, request.ownerId, assembled, relevant)
        const count = context.entries.length + context.facts.length + context.tools.length
        yield* notices.retrieved({ tier: "working", ownerId: request.ownerId, count })
        return {
          ...context,
          report: report.map((one) => {
            const error = failed.get(one.source)
            return error === undefined ? one : { ...one, failed: error._tag }
          })
        }
      },
      MemoryNotices.observed("working", "assemble")
    )

    const addAll: Service["addAll"] = (entries) =>
      entries.length === 0
        ? Effect.void
        : Effect.zipRight(
            Effect.tap(episodic.recordMany(entries), () => Effect.sync(() => entries.forEach(held.add))),
            Effect.forEach(
              byOwner(entries),
              ([ownerId, ids]) => notices.written({ tier: "working", backend: "in_memory", ownerId, ids }),
              { discard: true }
            )
          ).pipe(MemoryNotices.observed("working", "record"))

    const health = Effect.gen(function* () {
      const healths: ReadonlyArray<readonly [Tier, Effect.Effect<void, MemoryError>]> = [
        ["episodic", episodic.health],
        ["semantic", semantic.health],
        ["procedural", procedural.health]
      ]
      const answers = yield* Step.forEach(healths, ([, health]) => Effect.either(health))
      const silent = healths.flatMap(([tier], index) => (Either.isLeft(answers[index] as never) ? [tier] : []))
      const cause = answers.find(Either.isLeft)?.left
      if (cause !== undefined) {
        return yield* new MemorySystemError({
          message: `Memory is degraded: ${silent.join(", ")} ${silent.length === 1 ? "does" : "do"} not answer`,
          cause
        })
      }
    })

    return {
      assemble,
      add: (entry) => addAll([entry]),
      addAll,
      getContextEntries: (scope) => Effect.sync(() => held.of(scope)),
      flush: (scope) =>
        Effect.suspend(() => {
          const entries = held.of(scope)
          return entries.length === 0
            ? Effect.void
            : Effect.tap(semantic.ingest(entries), () => Effect.sync(() => held.release(entries)))
        }).pipe(Effect.asVoid, MemoryNotices.observed("working", "flush")),
      learn: procedural.learn,
      health
    }
  })

/**
 * As `make`. Options that make no sense are a defect here; what comes from outside is checked where it is read.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<WorkingMemory, never, EpisodicMemory | SemanticMemory | ProceduralMemory | TokenCounter> =>
  Layer.effect(WorkingMemory, Effect.orDie(make(options)))
