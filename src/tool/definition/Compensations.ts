/**
 * The calls of a run that can be undone, kept until the run ends.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import { RunId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type * as Run from "../../observability/Run.js"
import type * as Step from "../../observability/Step.js"

/**
 * A call whose tool states a compensation.
 *
 * @category schemas
 */
export const Call = Schema.Struct({
  runId: RunId,
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  /** Its place among those of its run and of the runs inside: the same on every replay. */
  key: Schema.String
})
/**
 * @category models
 */
export interface Call extends Schema.Schema.Type<typeof Call> {}

/**
 * Why a compensation ended without success; absent where the call is undone.
 *
 * @category schemas
 */
export const Undone = Schema.Struct({
  error: Schema.optional(ErrorInfo),
  attempts: Schema.Number,
  durationMs: Schema.Number
})
/**
 * @category models
 */
export interface Undone extends Schema.Schema.Type<typeof Undone> {}

/**
 * A call that succeeded.
 *
 * @category models
 */
export interface Undoable {
  readonly call: Call
  /** When it ended, in milliseconds since the epoch. */
  readonly at: number
  /** The run that has its events. */
  readonly run: Run.Service
  /** The place of its compensation. Only durable runs have one. */
  readonly place: Step.PlaceService | undefined
  /** Whether the compensation may run again if its end is unknown. */
  readonly isIdempotent: boolean
  /** Runs the compensation. It fails only by interruption. */
  readonly undo: (reason: "failed" | "interrupted") => Effect.Effect<Undone>
  /** What comes of a compensation that began in a process that died. */
  readonly unknown: Undone
}

/**
 * A call of which nobody knows whether it had its effect.
 *
 * @category models
 */
export interface Unknown {
  readonly call: Call
  readonly run: Run.Service
  readonly undone: Undone
}

/**
 * A call that is not undone.
 *
 * @category models
 */
export interface NotUndone {
  readonly call: Call
  readonly error: ErrorInfo
}

/**
 * Takes the calls that are not undone, for the record of the run.
 *
 * @category tags
 */
export class Reported extends Ambient.Reference<Reported>()("effect-lexigram/tool/Compensations/Reported", {
  defaultValue: (): ((calls: ReadonlyArray<NotUndone>) => void) | undefined => undefined
}) {}

/**
 * The calls of one run.
 *
 * @category models
 */
export class Calls {
  readonly done: Array<Undoable> = []
  /** Those whose end is recorded as unknown, and those that ended with the run. */
  readonly unknown: Array<Unknown> = []
  private awaited: { readonly keys: Set<string>; readonly resume: () => void } | undefined

  /** Calls of a replay come in any order. */
  add(undoable: Undoable): void {
    this.done.push(undoable)
    this.seen(undoable.call)
  }

  seen({ key }: Call): void {
    if (this.awaited?.keys.delete(key) === true && this.awaited.keys.size === 0) this.awaited.resume()
  }

  /** Calls back once all of these calls are there again. */
  onAll(calls: ReadonlyArray<Call>, resume: () => void): void {
    const missing = new Set(calls.map(({ key }) => key))
    for (const { call } of this.done) missing.delete(call.key)
    if (missing.size === 0) resume()
    else this.awaited = { keys: missing, resume }
  }

  /** Calls of a run inside that succeeded: they are undone with this one. */
  take(inner: Calls): void {
    for (const undoable of inner.done) this.add(undoable)
    this.unknown.push(...inner.unknown)
  }
}

/**
 * The calls of a run, if there are any.
 *
 * @category getters
 */
export const existing = ({ sink }: Run.Service): Calls | undefined => sink.undoable?.calls as Calls | undefined

const within = (undoable: Run.Undoable): Calls => {
  undoable.calls ??= new Calls()
  return undoable.calls as Calls
}

/**
 * The calls of a run, to add one. None where no run ends.
 *
 * @category getters
 */
export const of = ({ sink: { undoable } }: Run.Service): Calls | undefined =>
  undoable === undefined || undoable === null ? undefined : within(undoable)

/**
 * Gives the calls of a run that succeeded to the run around it.
 *
 * @category combinators
 */
export const handOut = ({ sink }: Run.Service): void => {
  const { calls, outer } = sink.undoable ?? {}
  if (calls !== undefined && outer !== undefined) within(outer).take(calls as Calls)
}
