/**
 * What governs runs: limits, budgets, quotas, and the audit log of the caller.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { RunId } from "../../domain/Ids.js"
import * as Governance from "../../governance/Governance.js"
import * as AuditLog from "../../governance/store/AuditLog.js"
import { numberBetween } from "../../http/api/ApiModels.js"
import { Invalid, Unavailable, Unsupported } from "../../http/api/ApiStatus.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioGovernanceApi"

/**
 * The limits in force. What is absent does not apply. Money in US dollars.
 *
 * @category schemas
 */
export const Limits = Schema.Struct({
  enabled: Schema.Boolean,
  enforced: Schema.Boolean,
  monthlyBudget: Schema.optional(Schema.Number),
  monthlyTokens: Schema.optional(Schema.Number),
  maxRequestCost: Schema.optional(Schema.Number),
  maxTokensPerRequest: Schema.optional(Schema.Number),
  rpmLimit: Schema.optional(Schema.Number),
  tpmLimit: Schema.optional(Schema.Number),
  restrictedModels: Schema.Array(Schema.String)
}).annotations({ identifier: `${NAME}/Limits` })

/**
 * What the tenant of the caller used of a unit within its window.
 *
 * @category schemas
 */
export const Quota = Schema.Struct({
  unit: Schema.String,
  kind: Schema.String,
  current: Schema.Number,
  limit: Schema.optional(Schema.Number),
  windowResetsAt: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Quota` })

/**
 * @category schemas
 */
export const Overview = Schema.Struct({
  /** Absent where governance cannot be configured at run time. */
  limits: Schema.optional(Limits),
  /** The budget of the caller; that of all runs without a user, if it has none. */
  budget: Governance.Budget,
  quotas: Schema.Array(Quota)
}).annotations({ identifier: `${NAME}/Overview` })

/**
 * @category constants
 */
export const governance = HttpApiGroup.make("governance")
  .add(
    HttpApiEndpoint.get("governance", "/governance")
      .addSuccess(Overview)
      .annotate(OpenApi.Summary, "The limits, and what the caller has used of them")
  )
  .add(
    HttpApiEndpoint.get("audit", "/governance/audit")
      .setUrlParams(
        Schema.Struct({
          type: Schema.optional(AuditLog.AuditEventType),
          status: Schema.optional(AuditLog.AuditStatus),
          runId: Schema.optional(RunId),
          since: Schema.optional(Schema.NumberFromString),
          until: Schema.optional(Schema.NumberFromString),
          limit: Schema.optional(numberBetween(1, 1000))
        })
      )
      .addSuccess(Schema.Struct({ events: Schema.Array(AuditLog.AuditEvent) }))
      .addError(Invalid)
      .annotate(OpenApi.Summary, "What the audit log has of the caller, the newest first")
  )
  .addError(Unsupported)
  .addError(Unavailable)
  .middleware(Developer)
