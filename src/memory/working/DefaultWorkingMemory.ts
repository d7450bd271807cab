/**
 * Working memory over the long-term tiers: recent turns and what the tiers recall for a query, within a token budget.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as Step from "../../observability/Step.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryError, MemorySystemError } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as TokenCosts from "../entry/TokenCosts.js"
import { EpisodicMemory, type Service as EpisodicService } from "../episodic/EpisodicMemory.js"
import { ProceduralMemory } from "../procedural/ProceduralMemory.js"
import * as HeldEntries from "../search/HeldEntries.js"
import { SemanticMemory } from "../semantic/SemanticMemory.js"
import * as ContextAssembly from "./ContextAssembly.js"
import * as ContextSources from "./ContextSources.js"
import * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"
import { type AssembleOptions, type Service, WorkingMemory } from "./WorkingMemory.js"

const NAME = "effect-lexigram/memory/WorkingMemory"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Tokens of the section `system_prompt`, if available. Default 512. */
  readonly systemPromptTokens?: number | undefined
  /** Fractions of the rest, at most 1 in total. 0 switches a section off. Default 0.4. */
  readonly recentTurnsFraction?: number | undefined
  /** Default 0.3. */
  readonly episodicFraction?: number | undefined
  /** Default 0.2. */
  readonly semanticFraction?: number | undefined
  /** Default 0.1. */
  readonly toolDescriptionsFraction?: number | undefined
  /** Maximum turns of the section `recent_turns` and entries held per scope. Default 20. */
  readonly maxRecentTurns?: number | undefined
  /** Maximum entries of the section `episodic`. Default: one for 32 tokens of the budget, 10 to 150. */
  readonly maxRecalled?: number | undefined
  /** Maximum number of procedures. Default 3. */
  readonly maxProcedures?: number | undefined
  /** Maximum number of scopes with held entries. Default 1000. The least recently added to is dropped. */
  readonly maxScopes?: number | undefined
  /** Maximum characters held for all scopes. Default 16 million. */
  readonly maxHeldChars?: number | undefined
}

const fewRecalled = 10
const manyRecalled = 150
/** Tokens of a short turn. */
const tokensOfEntry = 32

/** So many candidates that they may fill the budget. */
const recalledIn = (budget: number): number =>
  Math.max(fewRecalled, Math.min(manyRecalled, Math.floor(budget / tokensOfEntry)))

/** A failure to count the recalls does not fail the assembly. */
const recalled = (
  episodic: EpisodicService,
  { entries, report }: ContextAssembly.Context,
  relevant: ReadonlySet<string>
): Effect.Effect<void> => {
  if (relevant.size === 0) return Effect.void
  const taken = new Set(report.find(({ source }) => source === "episodic")?.taken)
  const used = entries.filter((entry) => taken.has(entry.id) && relevant.has(ContextAssembly.keyOf(entry)))
  return Effect.forEach(
    byOwner(used),
    ([ownerId, ids]) =>
      Effect.catchAll(episodic.recordAccess(ownerId, ids), (error) =>
        Effect.annotateLogs(Effect.logWarning("Recalled entries could not be counted"), {
          module: NAME,
          error: error._tag
        })
      ),
    { discard: true }
  )
}

type Tier = "episodic" | "semantic" | "procedural"

const byOwner = (entries: ReadonlyArray<MemoryEntry>): ReadonlyMap<string, ReadonlyArray<EntryId>> => {
  const owners = new Map<string, Array<EntryId>>()
  for (const { id, ownerId } of entries) {
    const ids = owners.get(ownerId)
    if (ids === undefined) owners.set(ownerId, [id])
    else ids.push(id)
  }
  return owners
}

/**
 * Working memory over the long-term tiers. `add` records entries in episodic memory before it returns, so that nothing
 * is lost with the process. The newest entries of each scope are also held, and stand in as recent turns if episodic
 * memory fails. `flush` extracts facts from the held entries and releases them; consolidation extracts facts from
 * entries that were evicted earlier.
 *
 * Queries the tiers concurrently. A tier that fails leaves its section empty (`SourceReport.failed`). If all fail, it
 * is a `MemorySystemError`, as are invalid shares.
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
    const telemetry = yield* MemoryTelemetry.make
    const maxRecentTurns = Count.count(options?.maxRecentTurns, 20, 1)
    const fixedRecalled =
      options?.maxRecalled === undefined ? undefined : Count.count(options.maxRecalled, fewRecalled, 0)
    const maxProcedures = Count.count(options?.maxProcedures, 3, 0)
    const costs = TokenCosts.make({ maxTexts: 8192, maxChars: 8_000_000 })
    const held = HeldEntries.make({
      maxEntries: maxRecentTurns,
      maxScopes: Count.count(options?.maxScopes, 1000, 1),
      maxChars: Count.count(options?.maxHeldChars, 16_000_000, 0)
    })

    const tiers = { episodic, semantic, procedural, held, shares, maxRecentTurns, maxProcedures }

    const assemble: Service["assemble"] = Effect.fnUntraced(
      function* (request: AssembleOptions) {
        const { query, systemPrompt, tokenBudget } = request
        const room = ContextAssembly.roomOf({ counter, systemPrompt, tokenBudget })
        const maxRecalled = fixedRecalled ?? recalledIn(room.budget)
        const { failed, found, relevant } = ContextAssembly.hasRoom(room)
          ? yield* ContextSources.query({ ...tiers, maxRecalled }, request)
          : ContextSources.nothing
        const assembled = ContextAssembly.assemble(found, room, {
          query,
          tokenBudget,
          systemPrompt,
          shares,
          maxRecentTurns,
          maxRecalled,
          inherits: request.inherits,
          counter,
          costs
        })
        const { report, ...context } = assembled
        yield* recalled(episodic, assembled, relevant)
        const inherited = context.inheritedFacts?.length ?? 0
        const count = context.entries.length + context.facts.length + inherited + context.tools.length
        yield* telemetry.retrieved({ tier: "working", ownerId: request.ownerId, count })
        return {
          ...context,
          report: report.map((one) => {
            const error = failed.get(one.source)
            return error === undefined ? one : { ...one, failed: error._tag }
          })
        }
      },
      MemoryTelemetry.observed("working", "assemble")
    )

    const addAll: Service["addAll"] = (entries) =>
      entries.length === 0
        ? Effect.void
        : Effect.zipRight(
            Effect.tap(episodic.recordMany(entries), () => Effect.sync(() => entries.forEach(held.add))),
            Effect.forEach(
              byOwner(entries),
              ([ownerId, ids]) => telemetry.written({ tier: "working", backend: "in_memory", ownerId, ids }),
              { discard: true }
            )
          ).pipe(MemoryTelemetry.observed("working", "record"))

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
      getContextEntries: (scope) => Effect.sync(() => held.entriesOf(scope)),
      flush: (scope) =>
        Effect.suspend(() => {
          const entries = held.entriesOf(scope)
          return entries.length === 0
            ? Effect.void
            : Effect.tap(semantic.ingest(entries), () => Effect.sync(() => held.release(entries)))
        }).pipe(Effect.asVoid, MemoryTelemetry.observed("working", "flush")),
      learn: procedural.learn,
      health
    }
  })

/**
 * Like `make`, but invalid options are a defect. Validate options from outside before.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultWorkingMemory, EpisodicMemory, ProceduralMemory, SemanticMemory } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * type Tiers = EpisodicMemory.EpisodicMemory | SemanticMemory.SemanticMemory | ProceduralMemory.ProceduralMemory
 *
 * // More of the newest turns, nothing for descriptions of tools. `DefaultMemory` composes the tiers.
 * const working = (tiers: Layer.Layer<Tiers>) =>
 *   DefaultWorkingMemory.layer({ recentTurnsFraction: 0.5, toolDescriptionsFraction: 0, maxRecentTurns: 40 }).pipe(
 *     Layer.provide([tiers, TokenCounter.layer({ model: "gpt-4o" })])
 *   )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<WorkingMemory, never, EpisodicMemory | SemanticMemory | ProceduralMemory | TokenCounter> =>
  Layer.effect(WorkingMemory, Effect.orDie(make(options)))
