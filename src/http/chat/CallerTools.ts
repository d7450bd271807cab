/**
 * The tools that requests of other protocols bring for their runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import * as ClientTool from "../../tool/definition/ClientTool.js"

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
): { readonly clientTools?: ReadonlyArray<ClientTool.ClientTool> } => {
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
 * Whether a question is a call of a tool that a request brought. A tool that the agent declares is unknown to clients
 * of these protocols: they are asked for its result as for any other answer.
 *
 * @category predicates
 */
export const isGiven = (question: Pick<ApprovalGate.Question, "clientTool" | "declared"> | undefined): boolean =>
  question?.clientTool === true && question.declared !== true

/**
 * Whether a request waits for a call of a tool that a request brought.
 *
 * @category predicates
 */
export const isClientCall = ({ request }: ApprovalRecord): boolean => isGiven(request.question)

/**
 * The answer of a call: its result, or why it failed. What is no text is given as JSON.
 *
 * @category conversions
 */
export const toDecision = (result: unknown, isError = false): ApprovalGate.ApprovalDecision =>
  ApprovalGate.approve({ params: ClientTool.toResult(result, isError) })

/**
 * Whether two answers are the same.
 *
 * @category predicates
 */
export const isSame = (given: ApprovalGate.ApprovalDecision, now: ApprovalGate.ApprovalDecision): boolean =>
  CanonicalJson.hash(given) === CanonicalJson.hash(now)

/**
 * Whether a request is settled by this very decision.
 *
 * @category predicates
 */
export const isDecided = ({ settlement }: ApprovalRecord, decision: ApprovalGate.ApprovalDecision): boolean =>
  settlement !== undefined && isSame(settlement.decision, decision)
