/**
 * What leaves a server: runs, answers, agents and requests that wait for a person, in their public view.
 *
 * @since 0.1.0
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as RequestedAnswer from "../../agent/record/RequestedAnswer.js"
import * as RunRecords from "../../agent/record/RunRecord.js"
import * as Contents from "../../content/Content.js"
import { FinishReason } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import * as ErrorInfos from "../../domain/ErrorInfo.js"
import * as PublicView from "../../domain/PublicView.js"
import { Usage } from "../../domain/Usage.js"
import { Question } from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import { ClientTools } from "../../tool/definition/ClientTool.js"

const NAME = "effect-lexigram/http/ApiModels"

const Text = Schema.String.pipe(Schema.maxLength(256))

/**
 * An integer in a query.
 *
 * @since 0.1.0
 * @category schemas
 */
export const numberBetween = (least: number, most: number) =>
  Schema.NumberFromString.pipe(Schema.int(), Schema.between(least, most))

/**
 * A run, as its owner may see it. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Run = Schema.Struct({
  runId: Schema.String,
  agent: Schema.String,
  version: Schema.optional(Schema.String),
  sessionId: Schema.optional(Schema.String),
  state: RunRecords.RunState,
  labels: Schema.Record({ key: Schema.String, value: Schema.String }),
  createdAt: Schema.Number,
  updatedAt: Schema.Number,
  endedAt: Schema.optional(Schema.Number),
  forkedFrom: Schema.optional(Schema.Struct({ runId: Schema.String, step: Schema.Number })),
  error: Schema.optional(ErrorInfos.ErrorInfo),
  /** Calls that should have been undone and are not. */
  notUndone: Schema.optional(
    Schema.Array(
      Schema.Struct({
        runId: Schema.String,
        toolCallId: Schema.String,
        tool: Schema.String,
        error: ErrorInfos.ErrorInfo
      })
    )
  )
}).annotations({ identifier: `${NAME}/Run` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Run extends Schema.Schema.Type<typeof Run> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromRecord = (record: RunRecords.RunRecord, view?: PublicView.Options | undefined): Run => {
  const { asked: _, error, notUndone, system: __, tenantId: ___, userId: ____, ...shown } = record
  return {
    ...shown,
    ...(error === undefined ? {} : { error: PublicView.fromError(error, view) }),
    ...(notUndone === undefined
      ? {}
      : { notUndone: notUndone.map((call) => ({ ...call, error: PublicView.fromError(call.error, view) })) })
  }
}

/**
 * The answer of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Answer = Schema.Struct({
  runId: Schema.String,
  /** The agent that answered. */
  agent: Schema.String,
  message: Schema.String,
  /** The answer as the agent's output schema encodes it; without a schema, the message. */
  output: Schema.Unknown,
  usage: Usage,
  modelCalls: Schema.Number,
  durationMs: Schema.Number,
  /** Absent unless the run succeeded. */
  finishReason: Schema.optional(FinishReason),
  interrupted: Schema.Boolean,
  error: Schema.optional(ErrorInfos.ErrorInfo),
  sessionId: Schema.optional(Schema.String),
  toolCalls: Schema.Array(
    Schema.Struct({ id: Schema.String, name: Schema.String, isFailure: Schema.optional(Schema.Boolean) })
  )
}).annotations({ identifier: `${NAME}/Answer` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Answer extends Schema.Schema.Type<typeof Answer> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromResponse = (response: AgentResponse<unknown>, view?: PublicView.Options | undefined): Answer => ({
  runId: response.runId,
  agent: response.agent,
  message: response.message,
  output: response.output,
  usage: response.usage,
  modelCalls: response.modelCalls,
  durationMs: response.durationMs,
  ...(response.finishReason === undefined ? {} : { finishReason: response.finishReason }),
  interrupted: response.interrupted,
  ...(response.error === undefined ? {} : { error: PublicView.fromError(response.error, view) }),
  ...(response.sessionId === undefined ? {} : { sessionId: response.sessionId }),
  toolCalls: response.toolCalls.map(({ id, isFailure, name }) => ({
    id,
    name,
    ...(isFailure === undefined ? {} : { isFailure })
  }))
})

/**
 * A run and, once it has ended, its answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunWithAnswer = Schema.Struct({ run: Run, answer: Schema.optional(Answer) }).annotations({
  identifier: `${NAME}/RunWithAnswer`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface RunWithAnswer extends Schema.Schema.Type<typeof RunWithAnswer> {}

const notOfPath = (actual: string) =>
  ParseResult.fail(new ParseResult.Type(Schema.String.ast, actual, "The id cannot be a part of a path"))

/**
 * An id as a part of a path: the router of a server has decoded it, and a client encodes it. One that would be another
 * path, such as `..`, is refused.
 *
 * @internal
 */
export const pathParam = <const Name extends string, A>(name: Name, id: Schema.Schema<A, string>) =>
  HttpApiSchema.param(
    name,
    Schema.transformOrFail(Schema.String, id, {
      strict: true,
      decode: ParseResult.succeed,
      encode: (decoded) =>
        decoded === "." || decoded === ".." || /\p{Surrogate}/u.test(decoded)
          ? notOfPath(decoded)
          : ParseResult.succeed(encodeURIComponent(decoded))
    })
  )

/**
 * A text, or a text and files: each with its bytes in base64, its URL, or a reference to a file of the session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Input = Schema.Union(Schema.String, Schema.Array(Contents.Content).pipe(Schema.maxItems(64))).annotations({
  identifier: `${NAME}/Input`
})

/**
 * The request of a run. Its owner is the caller.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StartRun = Schema.Struct({
  agent: Text,
  input: Input,
  /** The conversation that the run goes on with. */
  sessionId: Schema.optional(Text),
  labels: Schema.optional(RunRecords.Labels),
  /** The agent that begins in a session: the one that answered last (default), or the one that is called. */
  startWith: Schema.optional(Schema.Literal("last", "called")),
  /**
   * Tools that the caller executes. A call waits at `/approvals` with the arguments as its `params`; it is decided by
   * `approve` with `params` of `{ result, isError }`.
   */
  clientTools: Schema.optional(ClientTools),
  /** The form of the answer, as a JSON Schema; the answer has the value as its `output`. */
  output: Schema.optional(RequestedAnswer.Output),
  /** The tools that the model must call. Default `auto`: the agent decides. */
  toolChoice: Schema.optional(RequestedAnswer.ToolChoice),
  /** Whom to tell of the end of the run (`RunWebhooks`). */
  webhook: Schema.optional(Schema.Struct({ url: Schema.String.pipe(Schema.maxLength(8192)) }))
}).annotations({ identifier: `${NAME}/StartRun` })
/**
 * @since 0.1.0
 * @category models
 */
export interface StartRun extends Schema.Schema.Type<typeof StartRun> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const RunPage = Schema.Struct({
  runs: Schema.Array(Run),
  /** The cursor of the next page; absent on the last one. */
  next: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/RunPage` })
/**
 * @since 0.1.0
 * @category models
 */
export interface RunPage extends Schema.Schema.Type<typeof RunPage> {}

/**
 * An agent that the server offers. Its prompts are not shown.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentInfo = Schema.Struct({
  name: Schema.String,
  description: Schema.optional(Schema.String),
  /** The name of its strategy; absent for the default of the server. */
  strategy: Schema.optional(Schema.String),
  tools: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.String })),
  /** The JSON Schema of its answer, if it has one. */
  output: Schema.optional(Schema.Unknown)
}).annotations({ identifier: `${NAME}/AgentInfo` })
/**
 * @since 0.1.0
 * @category models
 */
export interface AgentInfo extends Schema.Schema.Type<typeof AgentInfo> {}

/**
 * A tool call that waits for a decision, or a question that waits for an answer. `params` and `question` are without
 * what looks like a secret.
 *
 * @since 0.1.0
 * @category schemas
 */
export const WaitingRequest = Schema.Struct({
  id: Schema.String,
  runId: Schema.String,
  sessionId: Schema.optional(Schema.String),
  agent: Schema.String,
  toolCallId: Schema.String,
  tool: Schema.String,
  params: Schema.Unknown,
  reason: Schema.optional(Schema.String),
  question: Schema.optional(Question),
  requestedAt: Schema.Number,
  expiresAt: Schema.optional(Schema.Number),
  /** Absent while it waits. */
  settled: Schema.optional(Schema.Struct({ approved: Schema.Boolean, at: Schema.Number }))
}).annotations({ identifier: `${NAME}/WaitingRequest` })
/**
 * @since 0.1.0
 * @category models
 */
export interface WaitingRequest extends Schema.Schema.Type<typeof WaitingRequest> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromApproval = ({ request, requestedAt, settlement }: ApprovalRecord): WaitingRequest => {
  const { rootRunId: _, secret, userId: __, ...shown } = request
  return {
    ...shown,
    // Who runs the call needs its arguments as they are.
    params: request.question?.clientTool === true ? request.params : PublicView.fromValue(request.params, secret),
    ...(request.question === undefined
      ? {}
      : { question: PublicView.fromValue(request.question) as typeof request.question }),
    requestedAt,
    ...(settlement === undefined
      ? {}
      : { settled: { approved: settlement.decision._tag === "Approved", at: settlement.at } })
  }
}

/**
 * The decision of a person. `approve` may give other arguments, or the answer to a question, as `params`; where a text
 * of `params` is `[REDACTED]`, as the server showed it, the text that it stands for stays.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Decision = Schema.Struct({
  decision: Schema.Literal("approve", "deny"),
  params: Schema.optional(Schema.Unknown),
  /** The model reads why a call is denied. */
  reason: Schema.optional(Schema.String.pipe(Schema.maxLength(4096))),
  /** Decides later requests for the same tool and arguments as well. */
  remember: Schema.optional(Schema.Literal("run", "session", "user"))
}).annotations({ identifier: `${NAME}/Decision` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Decision extends Schema.Schema.Type<typeof Decision> {}

/**
 * Whether the server can work: its parts are not named to those who are not known.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Health = Schema.Struct({
  status: Schema.Literal("healthy", "degraded", "starting", "unknown", "unhealthy")
}).annotations({ identifier: `${NAME}/Health` })
