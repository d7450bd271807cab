/**
 * The tools that requests of other protocols bring for their runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { ApprovalDecision } from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type { ClientTool } from "../../tool/definition/ClientTool.js"

/** The most tools of a request. */
const MOST_TOOLS = 128

/**
 * Clients send `null` for what they leave out.
 *
 * @category schemas
 */
export const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/**
 * A tool as a client gives it.
 *
 * @category schemas
 */
export const Given = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)),
  description: maybe(Schema.String.pipe(Schema.maxLength(8192))),
  parameters: maybe(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
})
/**
 * @category models
 */
export interface Given extends Schema.Schema.Type<typeof Given> {}

/**
 * @category schemas
 */
export const list = <A, I>(tool: Schema.Schema<A, I>) => Schema.Array(tool).pipe(Schema.maxItems(MOST_TOOLS))

/**
 * The tools of a run. Clients give an empty schema to tools without parameters.
 *
 * @category conversions
 */
export const toClientTools = (
  tools: ReadonlyArray<Given>,
  expiresAfter: Duration.DurationInput
): { readonly clientTools?: ReadonlyArray<ClientTool> } => {
  if (tools.length === 0) return {}
  const millis = Duration.toMillis(expiresAfter)
  return {
    clientTools: tools.map(({ description, name, parameters }) => ({
      name,
      ...(description === undefined || description === null ? {} : { description }),
      ...(Object.keys(parameters ?? {}).length === 0 ? {} : { parameters: parameters ?? {} }),
      ...(Number.isFinite(millis) ? { expiresAfter: millis } : {})
    }))
  }
}

/**
 * Whether a request waits for a call that the caller of its run makes.
 *
 * @category predicates
 */
export const isClientCall = ({ request }: ApprovalRecord): boolean => request.question?.clientTool === true

/**
 * Whether a request is settled by this very decision.
 *
 * @category predicates
 */
export const isDecided = ({ settlement }: ApprovalRecord, decision: ApprovalDecision): boolean =>
  settlement !== undefined && CanonicalJson.hash(settlement.decision) === CanonicalJson.hash(decision)
