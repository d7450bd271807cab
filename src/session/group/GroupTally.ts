/**
 * Counts the answers, failures, tokens and cost of each participant in a group run.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import * as Usage from "../../domain/Usage.js"
import type { Failure, ParticipantOutcome } from "./GroupOutcome.js"
import type { Member } from "./GroupParticipant.js"

/** Usage of the model calls. */
export interface Meter {
  usage: Usage.Usage
  costUsd: number
  calls: number
  isUnpriced: boolean
  model: string | undefined
  provider: string | undefined
}

export const makeMeter = (): Meter => ({
  usage: Usage.empty,
  costUsd: 0,
  calls: 0,
  isUnpriced: false,
  model: undefined,
  provider: undefined
})

/** Absent unless every price is known and there was a cost. */
export const costOf = (meter: Meter): { readonly costUsd?: number } =>
  meter.isUnpriced || meter.calls === 0 ? {} : { costUsd: meter.costUsd }

export const count = (meter: Meter, event: AgentEvent): void => {
  if (event._tag !== "UsageReported") return
  meter.usage = Usage.add(meter.usage, event.usage)
  meter.calls++
  if (event.costUsd === undefined) meter.isUnpriced = true
  else meter.costUsd += event.costUsd
  meter.model = event.model ?? meter.model
  meter.provider = event.provider ?? meter.provider
}

const keptFailures = 20

/** The figures of one participant. */
export interface Entry {
  readonly member: Member
  readonly meter: Meter
  answers: number
  silences: number
  failed: number
  failedInARow: number
  excluded: boolean
  failures: ReadonlyArray<Failure>
}

export const makeEntry = (member: Member): Entry => ({
  member,
  meter: makeMeter(),
  answers: 0,
  silences: 0,
  failed: 0,
  failedInARow: 0,
  excluded: false,
  failures: []
})

export const fail = (entry: Entry, round: number, error: ErrorInfo): void => {
  entry.failed++
  entry.failedInARow++
  entry.failures = [...entry.failures, { round, error }].slice(-keptFailures)
}

export const outcomeOf = (entry: Entry): ParticipantOutcome => ({
  name: entry.member.name,
  role: entry.member.role,
  answers: entry.answers,
  silences: entry.silences,
  failed: entry.failed,
  failures: entry.failures,
  excluded: entry.excluded,
  usage: entry.meter.usage,
  ...costOf(entry.meter)
})
