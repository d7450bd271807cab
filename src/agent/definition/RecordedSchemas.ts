/**
 * The schemas of the steps of stages.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TurnId } from "../../domain/Ids.js"
import { GovernanceDecision, Reservation } from "../../governance/Governance.js"
import { GovernanceError, GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import type { StepOptions } from "../../observability/Step.js"
import { Session, TurnFile } from "../../session/turn/Session.js"
import type { Listing } from "../../skill/folder/SkillListing.js"
import * as RememberedTools from "../../tool/definition/RememberedTools.js"

/** What memory gives a run. */
export interface Remembered {
  readonly messages: ReadonlyArray<Message>
  readonly count: number
  readonly tokens: number
}

/** What a session gives a run. */
export interface Opened {
  readonly kept: ReadonlyArray<TurnFile>
  readonly messages: ReadonlyArray<Message>
  readonly shown: ReadonlyArray<TurnId>
}

export const decision: StepOptions<GovernanceDecision, GovernancePersistenceError> = {
  kind: "governance",
  success: GovernanceDecision,
  error: GovernancePersistenceError
}

export const reservation: StepOptions<Reservation, GovernanceError> = {
  kind: "reserve",
  success: Reservation,
  error: GovernanceError
}

export const conclusion: StepOptions<void, never> = {
  kind: "conclude",
  success: Schema.Void,
  error: StepFailure.none
}

/** Messages that a step before has taken are not given again, and messages are kept where they can be. */
export const received: StepOptions<ReadonlyArray<string>, never> = {
  kind: "inbox",
  success: Schema.Array(Schema.String),
  error: StepFailure.none,
  isRead: true
}

export const closed: StepOptions<boolean, never> = {
  kind: "close",
  success: Schema.Boolean,
  error: StepFailure.none,
  isRead: true
}

/** Messages are plain data, as `@effect/ai` encodes them. */
const Messages: Schema.Schema<ReadonlyArray<Message>> = Schema.Array(Schema.Any)

export const memory: StepOptions<Remembered, never> = {
  kind: "memory",
  success: Schema.Struct({ messages: Messages, count: Schema.Number, tokens: Schema.Number }),
  error: StepFailure.none
}

export const session: StepOptions<Session, any> = { kind: "session", success: Session, error: StepFailure.any }

export const conversation: StepOptions<Opened, any> = {
  kind: "conversation",
  success: Schema.Struct({ kept: Schema.Array(TurnFile), messages: Messages, shown: Schema.Array(TurnId) }),
  error: StepFailure.any
}

/** `undefined`: the tools are those that the run had before. */
export const tools: StepOptions<ReadonlyArray<RememberedTools.Listed> | undefined, any> = {
  kind: "tools",
  success: Schema.UndefinedOr(Schema.Array(RememberedTools.Listed)),
  error: StepFailure.any
}

export const listing: StepOptions<Listing, any> = {
  kind: "skills",
  success: Schema.Struct({
    text: Schema.String,
    tokens: Schema.Number,
    names: Schema.Array(Schema.String),
    omitted: Schema.Array(Schema.String),
    warnings: Schema.Array(Schema.String)
  }),
  error: StepFailure.any
}

export const text: StepOptions<string, any> = { kind: "text", success: Schema.String, error: StepFailure.any }

export { all as rememberedTools, areAll as areRemembered, listed } from "../../tool/definition/RememberedTools.js"
