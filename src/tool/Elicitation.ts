/**
 * Questions of running tools to people, answered through the inbox of approvals.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId } from "../domain/Ids.js"
import { Requester } from "../domain/Requester.js"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as Run from "../observability/Run.js"
import * as Step from "../observability/Step.js"
import type { ApprovalError } from "./approval/ApprovalError.js"
import * as ApprovalGate from "./approval/ApprovalGate.js"
import type * as ApprovalStore from "./approval/ApprovalStore.js"
import * as PendingApprovals from "./approval/PendingApprovals.js"
import * as QuestionForm from "./approval/QuestionForm.js"
import * as ClientTool from "./definition/ClientTool.js"
import * as Observation from "./definition/Observation.js"
import type * as Parameters from "./definition/Parameters.js"
import * as ToolProgress from "./ToolProgress.js"

const NAME = "effect-lexigram/tool/Elicitation"

/**
 * - `form`: the schema is no flat object of texts, numbers and booleans
 * - `inbox`: nobody can be asked
 * - `outside`: no tool call is running
 * - `answer`: the answer, given in another process, does not fit the schema
 *
 * @since 0.1.0
 * @category schemas
 */
export const ElicitationErrorReason = Schema.Literal("form", "inbox", "outside", "answer").annotations({
  identifier: `${NAME}/ElicitationErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type ElicitationErrorReason = typeof ElicitationErrorReason.Type

/**
 * A question could not be asked, or its answer not be used.
 *
 * @since 0.1.0
 * @category errors
 */
export class ElicitationError extends ErrorCode.TaggedError<ElicitationError>(`${NAME}/ElicitationError`)(
  "ElicitationError",
  { ...ErrorCode.fields("LEX_ERR_AGT_120"), reason: ElicitationErrorReason }
) {}

/**
 * What came of a question, in the words of MCP: somebody answered, somebody refused to answer, or nobody did, because
 * the question was put aside, expired or could not be kept.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer<A> =
  | { readonly _tag: "accept"; readonly content: A }
  | { readonly _tag: "decline"; readonly reason?: string | undefined }
  | { readonly _tag: "cancel"; readonly reason?: string | undefined }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<P extends Parameters.Parameters> {
  /** What is asked; people see at most 4,000 characters. */
  readonly message: string
  /**
   * The answer: fields of texts (also of given choices, or with the format `email`, `uri`, `date` or `date-time`),
   * numbers, integers and booleans. Of Effect, Zod, ArkType or Valibot. Give the same schema each time: its form is
   * made once.
   */
  readonly schema: P
  /** How long the question waits before it is cancelled; default: as long as the inbox says. */
  readonly expiresAfter?: Duration.DurationInput | undefined
}

const maxMessage = 4_000

const outside = new ElicitationError({
  reason: "outside",
  message: "A question can be asked only while a tool call runs",
  hint: "Ask in the handler of a tool, before it ends"
})

const noInbox = new ElicitationError({
  reason: "inbox",
  message: "Nobody can be asked: provide approvals that take questions, as PendingApprovals does",
  hint: "Agents.layerWith({ approvals: PendingApprovals.layerMemory() }), or `elicit` of a promise agent"
})

const noForm = (reason: string): ElicitationError =>
  new ElicitationError({
    reason: "form",
    message: `The schema of a question is no form: ${reason}`,
    hint: "Ask for an object whose fields are texts, numbers, integers or booleans"
  })

const unfit = (issues: ReadonlyArray<{ readonly path: string; readonly message: string }>): ElicitationError =>
  new ElicitationError({
    reason: "answer",
    message: `The answer does not fit the question: ${issues
      .slice(0, 20)
      .map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      .join("; ")
      .slice(0, 2000)}`,
    hint: "Ask again, or ask for something else"
  })

/** In a run the same on every replay: an attempt that asks the same again gets the same answer. */
const idOf = (run: Run.Service, call: ToolProgress.Attempt, question: unknown): Effect.Effect<string> => {
  const number = call.asked++
  if (!Run.isCurrent(run)) return IdGenerator.generate
  return Effect.map(
    Step.Place,
    ({ path }) => `${run.runId}/question/${CanonicalJson.hash([path, call.step, call.id, number, question])}`
  )
}

/** Counts the time while any question of the call waits as waiting. */
const waiting = <A>({ onWaited, waiting }: ToolProgress.Attempt, asked: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.clockWith((clock) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        if (waiting.questions++ === 0) waiting.since = clock.unsafeCurrentTimeMillis()
      }),
      () => asked,
      () =>
        Effect.sync(() => {
          if (--waiting.questions === 0) onWaited(clock.unsafeCurrentTimeMillis() - waiting.since)
        })
    )
  )

/** A request of the call that the fiber serves. */
const requestOf = (run: Run.Service, call: ToolProgress.Attempt, question: unknown) =>
  Effect.zipWith(idOf(run, call, question), Requester, (id, { sessionId, userId }) => ({
    id,
    runId: Run.isCurrent(run) ? run.runId : RunId.make(id),
    ...(Run.isCurrent(run) ? { rootRunId: run.rootRunId } : {}),
    ...(userId === undefined ? {} : { userId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    agent: run.agent,
    toolCallId: call.id,
    tool: call.name
  }))

/**
 * Asks the gate for an approval of what a running tool is about to do, as for a call of the tool.
 *
 * @internal
 */
export const approve = (
  params: unknown,
  reason: string
): Effect.Effect<ApprovalGate.ApprovalDecision, ElicitationError> =>
  Effect.gen(function* () {
    const call = yield* ToolProgress.CurrentCall
    if (call?.isOpen() !== true) return yield* outside
    const run = yield* Run.Run
    const request = { ...(yield* requestOf(run, call, { params, reason })), params, reason }
    const { id } = request
    const event = { id, toolCallId: call.id }
    const wait = run.unsafeEmit({ _tag: "ApprovalRequested", ...event, name: call.name, params, reason })
    const decision = yield* waiting(call, Run.emitMeanwhile(wait, ApprovalGate.ask(call.gate, request)))
    yield* run.emit({
      _tag: "ApprovalResolved",
      ...event,
      approved: decision._tag === "Approved",
      ...(decision._tag === "Denied" && decision.reason !== undefined ? { reason: decision.reason } : {})
    })
    return decision
  })

/** A call that the caller of the run makes. */
interface ClientCall {
  readonly params: unknown
  readonly declared: boolean
}

/** Asks, and returns the answer as it was given. */
const elicit = (
  { expiresAfter, message }: Omit<Options<never>, "schema">,
  { decode, form }: QuestionForm.Compiled,
  client?: ClientCall | undefined
): Effect.Effect<Answer<unknown>, ElicitationError> =>
  Effect.gen(function* () {
    const call = yield* ToolProgress.CurrentCall
    if (call?.isOpen() !== true) return yield* outside
    const gate = call.gate.elicit
    if (gate === undefined) return yield* noInbox
    const run = yield* Run.Run
    const question: ApprovalGate.Question = {
      message: Observation.truncate(message, maxMessage).text,
      form,
      ...(client === undefined ? {} : { clientTool: true }),
      ...(client?.declared === true ? { declared: true } : {})
    }
    const limit = expiresAfter === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(expiresAfter)
    const expiresAt = (yield* Clock.currentTimeMillis) + limit
    const request: ApprovalGate.ApprovalRequest = {
      ...(yield* requestOf(run, call, question)),
      params: client?.params ?? null,
      question,
      ...(Number.isFinite(expiresAt) ? { expiresAt } : {})
    }
    const asked = ApprovalGate.waitFor(
      call.gate,
      request,
      gate(request, (content) => Effect.match(decode(content), { onFailure: (issues) => issues, onSuccess: () => [] }))
    )
    const event = { id: request.id, toolCallId: call.id, name: call.name }
    const params = client === undefined ? {} : { params: client.params }
    const wait = run.unsafeEmit({ _tag: "QuestionAsked", ...event, ...question, ...params })
    const decision = yield* waiting(call, Run.emitMeanwhile(wait, asked))
    const answer = answerOf(decision)
    const { _tag: action, ...rest } = answer
    yield* run.emit({ _tag: "QuestionAnswered", ...event, action, ...rest })
    return answer
  })

const answerOf = (decision: ApprovalGate.ApprovalDecision): Answer<unknown> => {
  if (decision._tag === "Approved") return { _tag: "accept", content: decision.params ?? {} }
  const reason = decision.reason === undefined ? {} : { reason: decision.reason }
  return { _tag: decision.cancelled === true ? "cancel" : "decline", ...reason }
}

/** Asks, and decodes the answer. */
const asked = <A>(
  options: Omit<Options<never>, "schema">,
  made: Either.Either<QuestionForm.Compiled, string>,
  client?: ClientCall | undefined
): Effect.Effect<Answer<A>, ElicitationError> =>
  Either.isLeft(made)
    ? noForm(made.left)
    : Effect.flatMap(
        elicit(options, made.right, client),
        (answer): Effect.Effect<Answer<A>, ElicitationError> =>
          answer._tag === "accept"
            ? Effect.mapBoth(made.right.decode(answer.content), {
                onFailure: unfit,
                onSuccess: (content) => ({ _tag: "accept", content: content as A })
              })
            : Effect.succeed(answer)
      )

/**
 * Asks the person for whom the run works, and waits for the answer: no time limit of the tool or its run counts
 * meanwhile. The question waits in the inbox of approvals (`PendingApprovals`), where those answer who may decide the
 * approvals of the run. An answer that does not fit is refused there, and the question stays open. Interruption
 * withdraws it. Retries of the tool that ask the same get the same answer.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Tool from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Seat = Schema.Struct({ row: Schema.Int, side: Schema.Literal("window", "aisle") })
 *
 * const book = Tool.Tool.make("book", {
 *   description: "Books a seat",
 *   handler: () =>
 *     Effect.map(Tool.Elicitation.ask({ message: "Which seat?", schema: Seat }), (answer) =>
 *       answer._tag === "accept" ? `Booked row ${answer.content.row}` : "Nothing was booked"
 *     )
 * })
 * ```
 */
export const ask = <const P extends Parameters.Parameters>({
  schema,
  ...options
}: Options<P>): Effect.Effect<Answer<Parameters.ParametersType<P>>, ElicitationError> =>
  Effect.suspend(() => asked<Parameters.ParametersType<P>>(options, QuestionForm.make(schema)))

/**
 * Asks with a form from outside, as an MCP server sends it. The answer is checked by the form alone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const askJsonSchema = ({
  schema,
  ...options
}: Omit<Options<never>, "schema"> & {
  /** The JSON Schema of a flat object. */
  readonly schema: unknown
}): Effect.Effect<Answer<Readonly<Record<string, unknown>>>, ElicitationError> =>
  Effect.suspend(() => asked<Readonly<Record<string, unknown>>>(options, QuestionForm.makeForeign(schema)))

/**
 * Asks the caller of the run for the result of its own tool, or of one that the agent declares.
 *
 * @internal
 */
export const askClient = ({
  expiresAfter,
  name,
  ...call
}: ClientCall & {
  readonly name: string
  readonly expiresAfter: Duration.DurationInput | undefined
}): Effect.Effect<Answer<ClientTool.Result>, ElicitationError> =>
  Effect.suspend(() =>
    asked<ClientTool.Result>(
      { message: `The client runs the tool "${name}"`, expiresAfter },
      QuestionForm.make(ClientTool.Result),
      call
    )
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface AnswerOptions extends PendingApprovals.Access {
  /** Who answers; kept with the answer. */
  readonly by?: string | undefined
}

type Answering = Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError, PendingApprovals.PendingApprovals>

/**
 * Answers a question that waits. Fails with the reason `answer` and leaves it open if `content` does not fit its form.
 *
 * @since 0.1.0
 * @category accessors
 */
export const accept = (id: string, content: unknown, options?: AnswerOptions | undefined): Answering =>
  PendingApprovals.approve(id, { ...options, params: content })

/**
 * Refuses to answer a question that waits.
 *
 * @since 0.1.0
 * @category accessors
 */
export const decline = (
  id: string,
  options?: (AnswerOptions & { readonly reason?: string | undefined }) | undefined
): Answering => PendingApprovals.deny(id, options)

/**
 * Puts a question aside without an answer.
 *
 * @since 0.1.0
 * @category accessors
 */
export const cancel = (
  id: string,
  options?: (AnswerOptions & { readonly reason?: string | undefined }) | undefined
): Answering =>
  Effect.flatMap(PendingApprovals.PendingApprovals, (pending) =>
    pending.decide(id, ApprovalGate.cancel({ reason: options?.reason }), options)
  )
