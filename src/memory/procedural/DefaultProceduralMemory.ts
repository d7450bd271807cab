/**
 * Procedural memory over a memory store.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as PlainId from "../../internal/text/PlainId.js"
import { OwnerId } from "../entry/MemoryEntry.js"
import { MemoryStoreError } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import * as MemoryStore from "../search/MemoryStore.js"
import { type Outcome, ProceduralMemory, type Service } from "./ProceduralMemory.js"
import type { Procedure } from "./Procedure.js"
import * as ProcedureEntry from "./ProcedureEntry.js"
import * as TaskSignature from "./TaskSignature.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Maximum number of procedures per owner. Default 200. A new one replaces the least promising: the lowest success
   * rate, then the longest unused.
   */
  readonly capacity?: number | undefined
  /**
   * A procedure is forgotten if its success rate falls below this. Default 0.3; 0 forgets none. The rate is Laplace's,
   * (successes + 1) / (successes + failures + 2): one success and four failures give 0.29.
   */
  readonly forgetBelow?: number | undefined
  /** Minimum number of uses before a procedure can be forgotten. Default 3. */
  readonly forgetAfter?: number | undefined
  /**
   * How many words a task must share with that of a procedure (Dice: twice the shared words divided by the words of
   * both), 0 to 1. Default 0.6. Values (names, numbers, ids, addresses, quoted texts) and small words do not count.
   */
  readonly minSimilarity?: number | undefined
}

/** Number of entries read from the store for each procedure that is returned. */
const candidates = 8
/** Upper bound of the requested number. */
const maxLimit = 1_000

const textOrder = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const isEntryId = Schema.is(EntryId)
const isOwner = Schema.is(OwnerId)

/**
 * Stores procedures as entries under a separate owner name for each owner (`OwnerNamespace.procedures`), so that they
 * never appear among the owner's entries. To use a separate store, provide this layer with its own.
 *
 * Each counted use restarts the retention time (`ttl`) of a procedure.
 *
 * Within a process, learning is sequential per owner. Two processes that learn the same procedure at the same moment
 * may count one use.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, MemoryStore.MemoryStore> =>
  Effect.gen(function* () {
    const capacity = Count.count(options?.capacity, 200, 1)
    const forgetBelow = options?.forgetBelow ?? 0.3
    const forgetAfter = options?.forgetAfter ?? 3
    const minSimilarity = options?.minSimilarity ?? 0.6
    const store = yield* MemoryStore.MemoryStore
    const telemetry = yield* MemoryTelemetry.make
    const locks = KeyedLock.make()

    const spaceOf = (ownerId: string): Effect.Effect<string, MemoryStoreError> =>
      isOwner(ownerId)
        ? Effect.succeed(OwnerNamespace.procedures(ownerId))
        : Effect.fail(new MemoryStoreError({ store: store.name, message: "An owner must have 1 to 256 characters" }))

    /** The entries to remove so that one more fits. */
    const surplus = Effect.fnUntraced(function* (space: string, ownerId: string) {
      const count = yield* store.count(space)
      if (count < capacity) return []
      const entries = yield* store.getRecent({ ownerId: space, n: count })
      const kept = entries.map((entry) => {
        const known = ProcedureEntry.read(ownerId, entry)
        const rate = known === undefined ? 0 : ProcedureEntry.rate(known.procedure)
        return { id: entry.id, rate, at: entry.timestamp }
      })
      return kept
        .sort((left, right) => left.rate - right.rate || left.at - right.at || textOrder(left.id, right.id))
        .slice(0, kept.length - capacity + 1)
        .map(({ id }) => id)
    })

    const learned = Effect.fnUntraced(function* (
      space: string,
      outcome: Outcome,
      fields: Pick<Procedure, "id" | "signature" | "steps">
    ) {
      const id = PlainId.make(EntryId, fields.id)
      const now = yield* Clock.currentTimeMillis
      const [entry] = yield* store.getMany(space, [id])
      const known = entry === undefined ? undefined : ProcedureEntry.read(outcome.ownerId, entry)
      if (known === undefined) {
        if (!outcome.success) return false
        const gone = entry === undefined ? yield* surplus(space, outcome.ownerId) : []
        const created = ProcedureEntry.first(outcome, { ...fields, now })
        yield* store.apply(space, { delete: gone, store: [ProcedureEntry.write(space, created)] })
        return true
      }
      if (outcome.runId !== undefined && known.runs.includes(outcome.runId)) return false
      const next = ProcedureEntry.counted(known, outcome, now)
      const { failures, successes } = next.procedure
      if (
        !outcome.success &&
        successes + failures >= forgetAfter &&
        ProcedureEntry.rate(next.procedure) < forgetBelow
      ) {
        yield* store.delete(space, id)
        return false
      }
      yield* store.store(ProcedureEntry.write(space, next))
      return true
    })

    return {
      learn: Effect.fnUntraced(
        function* (outcome) {
          const space = yield* spaceOf(outcome.ownerId)
          const steps = ProcedureEntry.steps(outcome.steps)
          const signature = TaskSignature.fromTask(outcome.task)
          if (steps.length === 0 || signature === "") return
          const id = ProcedureEntry.idOf(signature, steps)
          const written = yield* locks.withLock(outcome.ownerId)(learned(space, outcome, { id, signature, steps }))
          if (written) {
            yield* telemetry.written({ tier: "procedural", backend: store.name, ownerId: outcome.ownerId, ids: [id] })
          }
        },
        MemoryTelemetry.observed("procedural", "learn")
      ),
      recall: Effect.fnUntraced(
        function* ({ limit, ownerId, task }) {
          const most = Math.min(maxLimit, Count.count(limit, 3, 0))
          const space = yield* spaceOf(ownerId)
          const signature = TaskSignature.fromTask(task)
          const found =
            signature === "" || most === 0
              ? []
              : yield* store.retrieve({
                  ownerId: space,
                  query: signature,
                  topK: Math.max(32, most * candidates),
                  offset: 0,
                  minRelevance: 0,
                  recencyWeight: 0,
                  importanceWeight: 0,
                  relevanceWeight: 1
                })
          const procedures = found
            .flatMap(({ entry }) => {
              const known = ProcedureEntry.read(ownerId, entry)
              if (known === undefined) return []
              const { procedure } = known
              const similarity = TaskSignature.similarity(signature, procedure.signature)
              return similarity > 0 && similarity >= minSimilarity
                ? [{ procedure, promise: similarity * ProcedureEntry.rate(procedure) }]
                : []
            })
            .sort(
              (left, right) =>
                right.promise - left.promise ||
                right.procedure.lastUsedAt - left.procedure.lastUsedAt ||
                textOrder(left.procedure.id, right.procedure.id)
            )
            .slice(0, most)
            .map(({ procedure }) => procedure)
          yield* telemetry.retrieved({ tier: "procedural", ownerId, count: procedures.length })
          return procedures
        },
        MemoryTelemetry.observed("procedural", "recall")
      ),
      forget: Effect.fnUntraced(
        function* (ownerId, id) {
          const space = yield* spaceOf(ownerId)
          if (!isEntryId(id)) return false
          return yield* locks.withLock(ownerId)(store.delete(space, id))
        },
        MemoryTelemetry.observed("procedural", "forget")
      ),
      clear: Effect.fnUntraced(
        function* (ownerId) {
          const space = yield* spaceOf(ownerId)
          return yield* locks.withLock(ownerId)(store.clear(space))
        },
        MemoryTelemetry.observed("procedural", "forget")
      ),
      health: store.health
    }
  })

/**
 * Procedural memory over the memory store in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultProceduralMemory, InMemoryMemoryStore, ProceduralMemory } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const procedures = yield* ProceduralMemory.ProceduralMemory
 *   const steps = [{ tool: "find_order", parameters: ["orderId"] }]
 *   yield* procedures.learn({ ownerId: "desk", task: "Refund the order 4711", steps, success: true })
 *   return yield* procedures.recall({ ownerId: "desk", task: "Please refund the order 4712" })
 * }).pipe(Effect.provide(DefaultProceduralMemory.layer({ capacity: 50 })), Effect.provide(InMemoryMemoryStore.layer()))
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<ProceduralMemory, never, MemoryStore.MemoryStore> =>
  Layer.effect(ProceduralMemory, make(options))
