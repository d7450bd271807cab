/**
 * Converts procedures to store entries and back, and bounds them.
 *
 * @private
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId, RunId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as PlainId from "../../internal/text/PlainId.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Outcome } from "./ProceduralMemory.js"
import { clipped, line, type Procedure, ProcedureId, ProcedureStep, parameterNames } from "./Procedure.js"
import * as TaskSignature from "./TaskSignature.js"

const bounds = { task: 2_000, steps: 100, name: 128, note: 200, runs: 64 } as const

/**
 * Bounds the steps: names, and notes without values.
 *
 * @category conversions
 */
export const steps = (given: ReadonlyArray<ProcedureStep>): ReadonlyArray<ProcedureStep> =>
  given.slice(0, bounds.steps).map(({ note, parameters, tool }) => {
    const said = note === undefined ? "" : line(TaskSignature.masked(note), bounds.note)
    const step = { tool: line(tool, bounds.name), parameters: parameterNames(parameters) }
    return said === "" ? step : { ...step, note: said }
  })

/**
 * Equal for equal signatures and steps, whatever their notes.
 *
 * @category constructors
 */
export const idOf = (signature: string, of: ReadonlyArray<ProcedureStep>): ProcedureId =>
  PlainId.make(
    ProcedureId,
    `procedure:${CanonicalJson.hash([signature, of.map(({ parameters, tool }) => [tool, parameters])]).slice(0, 40)}`
  )

const Metadata = Schema.Struct({
  type: Schema.Literal("procedure"),
  signature: Schema.String,
  task: Schema.String,
  steps: Schema.Array(ProcedureStep),
  successes: Schema.NonNegativeInt,
  failures: Schema.NonNegativeInt,
  createdAt: Schema.Finite,
  lastUsedAt: Schema.Finite,
  /** The counted runs, newest last. */
  runs: Schema.Array(RunId),
  runId: Schema.optional(RunId)
})

const decode = Schema.decodeUnknownOption(Metadata)

/**
 * A procedure and the runs counted for it.
 *
 * @category models
 */
export interface Known {
  readonly procedure: Procedure
  readonly runs: ReadonlyArray<RunId>
  readonly embedding?: ReadonlyArray<number> | undefined
}

const decoded = new WeakMap<object, typeof Metadata.Type | undefined>()

/** Stores in this process return the same frozen metadata each time: it is decoded once. */
const metadataOf = ({ metadata }: MemoryEntry): typeof Metadata.Type | undefined => {
  if (decoded.has(metadata)) return decoded.get(metadata)
  const found = Option.getOrUndefined(decode(metadata))
  if (Object.isFrozen(metadata)) decoded.set(metadata, found)
  return found
}

/**
 * The procedure of an entry, or `undefined` if it holds none.
 *
 * @category conversions
 */
export const read = (ownerId: string, entry: MemoryEntry): Known | undefined => {
  const metadata = metadataOf(entry)
  if (metadata === undefined) return undefined
  const { runs, type: _, ...fields } = metadata
  return {
    procedure: { id: PlainId.make(ProcedureId, entry.id), ownerId, ...fields },
    runs,
    embedding: entry.embedding
  }
}

/**
 * The success rate with one success and one failure presumed (Laplace): above 0, below 1.
 *
 * @category getters
 */
export const rate = (procedure: Pick<Procedure, "successes" | "failures">): number =>
  (procedure.successes + 1) / (procedure.successes + procedure.failures + 2)

/**
 * Makes a procedure from its first outcome.
 *
 * @category constructors
 */
export const first = (
  outcome: Outcome,
  fields: Pick<Procedure, "id" | "signature" | "steps"> & { readonly now: number }
): Known => ({
  procedure: {
    id: fields.id,
    ownerId: outcome.ownerId,
    task: clipped(outcome.task, bounds.task),
    signature: fields.signature,
    steps: fields.steps,
    successes: 1,
    failures: 0,
    createdAt: fields.now,
    lastUsedAt: fields.now,
    ...(outcome.runId === undefined ? {} : { runId: outcome.runId })
  },
  runs: outcome.runId === undefined ? [] : [outcome.runId]
})

/**
 * The procedure after one more use.
 *
 * @category combinators
 */
export const counted = ({ embedding, procedure, runs }: Known, outcome: Outcome, now: number): Known => ({
  procedure: {
    ...procedure,
    successes: procedure.successes + (outcome.success ? 1 : 0),
    failures: procedure.failures + (outcome.success ? 0 : 1),
    lastUsedAt: Math.max(now, procedure.lastUsedAt)
  },
  runs: outcome.runId === undefined ? runs : [...runs, outcome.runId].slice(-bounds.runs),
  embedding
})

/**
 * The store entry of a procedure. It is found by the words of its signature.
 *
 * @category conversions
 */
export const write = (space: string, { embedding, procedure, runs }: Known): MemoryEntry => {
  const { id, ownerId: _, ...fields } = procedure
  return {
    id: PlainId.make(EntryId, id),
    ownerId: space,
    content: procedure.signature,
    role: "assistant",
    timestamp: procedure.lastUsedAt,
    importance: rate(procedure),
    metadata: { type: "procedure", ...fields, runs },
    ...(embedding === undefined ? {} : { embedding })
  }
}
