/**
 * Reads what recorded runs took and gave, and removes secrets from it.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { RunError } from "../../agent/record/RunError.js"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import * as RunRefusal from "../../agent/runs/RunRefusal.js"
import * as RunReply from "../../agent/runs/RunReply.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import * as JsonDepth from "../../internal/JsonDepth.js"
import { isPlainObject } from "../../internal/text/PlainObject.js"
import type * as RunLog from "../../observability/RunLog.js"
import * as Telemetry from "../../observability/Telemetry.js"

/** A run that ended, with what its log says. */
export interface RecordedRun {
  readonly record: RunRecord
  readonly response: AgentResponse<unknown>
}

/** Deeper than data of models; a dataset takes no more. */
const deepest = 60

/** The run for a reader; none if the log no longer has its input or its end, or its output nests too deep. */
export const read = (
  log: RunLog.Service,
  record: RunRecord,
  userId: string | undefined
): Effect.Effect<RecordedRun | undefined, RunError> =>
  Effect.map(
    RunReply.make(
      (id, options) => Effect.mapError(log.read(id, { ...options, userId, written: true }), RunRefusal.storageError),
      record.runId
    ),
    (response) =>
      response === undefined ||
      response.input === "" ||
      (response.finishReason === undefined && response.error === undefined) ||
      JsonDepth.isDeeper(response.output, deepest)
        ? undefined
        : { record, response }
  )

/** Removes secrets from every text of a value, including names of fields. */
export type Redact = (value: unknown) => unknown

/** Removes credentials, and what the application removes from traces (`Telemetry.ContentRedactor`). */
export const redaction: Effect.Effect<Redact> = Effect.map(Telemetry.ContentRedactor, (redactor) => {
  const text = (given: string): string => Telemetry.content(redactor, given, Number.POSITIVE_INFINITY)
  const redact: Redact = (value) => {
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map(redact)
    if (!isPlainObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [text(name), redact(field)]))
  }
  return redact
})
