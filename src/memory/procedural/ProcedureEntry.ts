/**
 * Procedures as entries of a store: how they are bounded, named and read back.
 *
 * @internal
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId, RunId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Outcome } from "./ProceduralMemory.js"
import { clipped, line, type Procedure, ProcedureId, ProcedureStep, parameterNames } from "./Procedure.js"
import * as TaskSignature from "./TaskSignature.js"

const bounds = { task: 2_000, steps: 100, name: 128, note: 200, runs: 64 } as const

/**
 * Steps within their bounds: names, and notes without values.
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
 * The same for equal signatures and equal steps, whatever their notes.
 *
 * @category constructors
 */
export const idOf = (signature: string, of: ReadonlyArray<ProcedureStep>): ProcedureId =>
  ProcedureId.make(
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
  /** The runs that were counted, the newest last. */
  runs: Schema.Array(RunId),
  runId: Schema.optional(RunId)
})

const decode = Schema.decodeUnknownOption(Metadata)

/**
 * A procedure, and the runs that were counted for it.
 *
 * @category models
 */
export interface Known {
  readonly procedure: Procedure
  readonly runs: ReadonlyArray<RunId>
  readonly embedding?: ReadonlyArray<number> | undefined
}

/**
 * What an entry holds; none when it is no procedure.
 *
 * @category conversions
 */
export const read = (ownerId: string, entry: MemoryEntry): Known | undefined => {
  const metadata = Option.getOrUndefined(decode(entry.metadata))
  if (metadata === undefined) return undefined
  const { runs, type: _, ...fields } = metadata
  return { procedure: { id: ProcedureId.make(entry.id), ownerId, ...fields }, runs, embedding: entry.embedding }
}

/**
 * Success per use, one of each presumed before the first (Laplace): above 0, below 1.
 *
 * @category getters
 */
export const rate = (procedure: Pick<Procedure, "successes" | "failures">): number =>
  (procedure.successes + 1) / (procedure.successes + procedure.failures + 2)

/**
 * A procedure that an outcome taught.
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
 * The same procedure after one more use.
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
 * The entry a procedure is kept as. It is found by the words of its signature.
 *
 * @category conversions
 */
export const write = (space: string, { embedding, procedure, runs }: Known): MemoryEntry => {
  const { id, ownerId: _, ...fields } = procedure
  return {
    id: EntryId.make(id),
    ownerId: space,
    content: procedure.signature,
    role: "assistant",
    timestamp: procedure.lastUsedAt,
    importance: rate(procedure),
    metadata: { type: "procedure", ...fields, runs },
    ...(embedding === undefined ? {} : { embedding })
  }
}
