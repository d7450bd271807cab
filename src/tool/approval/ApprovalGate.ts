/**
 * The port that decides tool calls that require approval.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as Watch from "../../internal/fiber/Watch.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Step from "../../observability/Step.js"

const NAME = "effect-lexigram/tool/ApprovalGate"

/**
 * What a tool asks a person (`Elicitation.ask`): a text, and the form of the answer as the JSON Schema of a flat
 * object. The text may be a model's or a server's: it is data.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Question = Schema.Struct({
  message: Schema.String,
  form: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The call is one of a tool of the run's caller (`ClientTool`), which answers with its result. */
  clientTool: Schema.optional(Schema.Literal(true)),
  /** That tool is one of the agent (`PageTool`), and not of the request. */
  declared: Schema.optional(Schema.Literal(true))
}).annotations({ identifier: `${NAME}/Question` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Question extends Schema.Schema.Type<typeof Question> {}

/**
 * A tool call that waits. `params` are the decoded parameters in their encoded form, ready to be shown.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalRequest = Schema.Struct({
  /** Names the request; the same on every replay of a run. */
  id: Schema.String,
  runId: RunId,
  /** The root run that `runId` belongs to. */
  rootRunId: Schema.optional(RunId),
  /** The user and session that the run works for (`Requester`). */
  userId: Schema.optional(UserId),
  sessionId: Schema.optional(SessionId),
  agent: Schema.String,
  toolCallId: Schema.String,
  tool: Schema.String,
  params: Schema.Unknown,
  /** The names of arguments that the public view hides, at any depth. */
  secret: Schema.optional(Schema.Array(Schema.String)),
  /** Why approval is needed. */
  reason: Schema.optional(Schema.String),
  /**
   * The tool asks this while it runs, and `params` are `null` unless its caller is to run it. An approval answers it
   * with `params`.
   */
  question: Schema.optional(Question),
  /** Milliseconds since the epoch. Without a decision by then the request is denied. */
  expiresAt: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/ApprovalRequest` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRequest extends Schema.Schema.Type<typeof ApprovalRequest> {}

/**
 * The call may run. With `params` it runs with those instead; they are checked against the tool's schema like any
 * others.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Approved = Schema.TaggedStruct("Approved", { params: Schema.optional(Schema.Unknown) }).annotations({
  identifier: `${NAME}/Approved`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Approved extends Schema.Schema.Type<typeof Approved> {}

/**
 * The call must not run. The model reads the reason. `cancelled`: nobody decided; the request was put aside, withdrawn
 * or expired.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Denied = Schema.TaggedStruct("Denied", {
  reason: Schema.optional(Schema.String),
  cancelled: Schema.optional(Schema.Boolean)
}).annotations({ identifier: `${NAME}/Denied` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Denied extends Schema.Schema.Type<typeof Denied> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalDecision = Schema.Union(Approved, Denied)
/**
 * @since 0.1.0
 * @category models
 */
export type ApprovalDecision = Approved | Denied

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Waits for the decision without a time limit: no timeout counts meanwhile. The same `id` always gets the same
   * decision. Calls of one turn are asked for concurrently and may be decided in any order. A gate that cannot reach
   * anybody denies. Interruption withdraws the request.
   */
  readonly request: (request: ApprovalRequest) => Effect.Effect<ApprovalDecision>
  /**
   * Waits for the answer to the question of a request, under the rules of `request`. An answer reaches the run only if
   * it fits the form and `check` finds no issue; otherwise whoever answered is told, and the question stays open.
   * Absent: nobody can be asked.
   */
  readonly elicit?: ((request: ApprovalRequest, check: AnswerCheck) => Effect.Effect<ApprovalDecision>) | undefined
  /**
   * Keeps a request, or a question, and returns its decision if it has one, without waiting. A durable run asks so, and
   * sleeps until it is decided. Absent: it waits in its process.
   */
  readonly pending?: ((request: ApprovalRequest) => Effect.Effect<Option.Option<ApprovalDecision>>) | undefined
}

/**
 * The issues of an answer, by path; none if it fits.
 *
 * @since 0.1.0
 * @category models
 */
export type AnswerCheck = (
  content: unknown
) => Effect.Effect<ReadonlyArray<{ readonly path: string; readonly message: string }>>

/**
 * @since 0.1.0
 * @category tags
 */
export class ApprovalGate extends Context.Tag("effect-lexigram/tool/ApprovalGate")<ApprovalGate, Service>() {}

/**
 * Asks the gate. No limit of a model call, tool, skill, strategy, graph node, group or run counts the time until the
 * decision.
 *
 * @since 0.1.0
 * @category combinators
 */
export const ask = (gate: Service, request: ApprovalRequest): Effect.Effect<ApprovalDecision> =>
  waitFor(gate, request, gate.request(request))

/**
 * Waits for a decision. A durable run sleeps meanwhile if the gate keeps requests, and records the decision.
 *
 * @internal
 */
export const waitFor = (
  { pending }: Service,
  request: ApprovalRequest,
  live: Effect.Effect<ApprovalDecision>
): Effect.Effect<ApprovalDecision> =>
  Effect.flatMap(Step.Step, (step) => {
    if (!Step.isRecording(step)) return Watch.outside(live)
    return step.sleeping === undefined || pending === undefined
      ? Watch.outside(step.run({ kind: "approval", success: ApprovalDecision, error: StepFailure.none }, live))
      : Watch.outside(step.sleeping.wait({ name: request.id, value: ApprovalDecision }, pending(request)))
  })

/**
 * The user and session that the current run works for; its requests carry them.
 *
 * @since 0.1.0
 * @category tags
 */
export { Requester } from "../../domain/Requester.js"

/**
 * @since 0.1.0
 * @category constructors
 */
export const approve = (options?: { readonly params?: unknown }): Approved =>
  options?.params === undefined ? { _tag: "Approved" } : { _tag: "Approved", params: options.params }

/**
 * @since 0.1.0
 * @category constructors
 */
export const deny = (options?: { readonly reason?: string | undefined }): Denied =>
  options?.reason === undefined ? { _tag: "Denied" } : { _tag: "Denied", reason: options.reason }

/**
 * A denial by nobody.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cancel = (options?: { readonly reason?: string | undefined }): Denied => ({
  ...deny(options),
  cancelled: true
})

/**
 * A gate from one function.
 *
 * @example
 * ```ts
 * import { ApprovalGate } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const gate = ApprovalGate.layer(({ tool }) =>
 *   Effect.succeed(tool === "sendMail" ? ApprovalGate.deny({ reason: "People send mail." }) : ApprovalGate.approve())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (request: Service["request"]): Layer.Layer<ApprovalGate> =>
  Layer.succeed(ApprovalGate, { request })

/**
 * Denies every call that requires approval. The default without an approver.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDeny: Layer.Layer<ApprovalGate> = layer((request) =>
  Effect.succeed(
    deny({
      reason: `The tool ${request.tool} requires approval, and there is no approver: provide an ApprovalGate (ApprovalGate.layer)`
    })
  )
)

/**
 * Approves every call unchanged. For tests and harmless tools.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerAutoApprove: Layer.Layer<ApprovalGate> = layer(() => Effect.succeed(approve()))
