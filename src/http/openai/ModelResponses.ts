/**
 * What the endpoints of OpenAI's Responses API do, for runs of the caller alone.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { SessionId } from "../../domain/Ids.js"
import type * as SessionManager from "../../session/manager/SessionManager.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { ApiError } from "../api/ApiError.js"
import * as ApprovalEndpoints from "../api/ApprovalEndpoints.js"
import { accessOf, type Identity } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"
import * as ClientCalls from "./ClientCalls.js"
import { ModelResponse } from "./ModelResponse.js"
import { refused } from "./OpenAiFailures.js"
import { OpenAiRun, type Options } from "./OpenAiRun.js"
import * as Requests from "./ResponseRequest.js"

const unknownResponse = new ApiError({ reason: "unknown", message: "No response of yours has this id" })

interface Starting {
  readonly start: (request: Runs.StartRequest) => Effect.Effect<RunRecord, ApiError>
  /** The run ends with the scope unless it is over then. */
  readonly hold: (
    begun: Effect.Effect<RunRecord | ClientCalls.Answered, ApiError>
  ) => Effect.Effect<OpenAiRun, ApiError, Scope.Scope>
}

const json = (body: object): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(body, { headers: { "cache-control": "no-store" } })

/**
 * @category models
 */
export class ModelResponses {
  private readonly approvals: ReturnType<typeof ApprovalEndpoints.make>

  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly sessions: SessionManager.Service | undefined,
    private readonly options: Options
  ) {
    this.approvals = ApprovalEndpoints.make(pending, runs)
  }

  private find(caller: Identity, id: string): Effect.Effect<Runs.Polled, ApiError> {
    if (!id.startsWith(Requests.ID)) return unknownResponse
    return Effect.flatMap(
      Refusals.ofRun(this.runs.poll(id.slice(Requests.ID.length), accessOf(caller))),
      Option.match({ onNone: () => unknownResponse, onSome: Effect.succeed })
    )
  }

  /** The response as it is now. */
  private shown(caller: Identity, { record, response }: Runs.Polled): Effect.Effect<object, ApiError> {
    const run = new OpenAiRun(this.runs, this.pending, record, accessOf(caller), this.options, false)
    const requests =
      record.state === "waiting"
        ? this.approvals.list({ rootRunId: record.runId, limit: 20 }, caller)
        : Effect.succeed([])
    return Effect.map(requests, (waiting) => new ModelResponse(run, null).now(response, waiting))
  }

  readonly get = (caller: Identity, id: string): Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError> =>
    Effect.map(
      Effect.flatMap(this.find(caller, id), (found) => this.shown(caller, found)),
      json
    )

  /** A response that has ended stays as it is. */
  readonly cancel = (caller: Identity, id: string): Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError> =>
    Effect.gen(this, function* () {
      const { record } = yield* this.find(caller, id)
      yield* Effect.catchIf(
        Refusals.ofRun(this.runs.interrupt(record.runId, accessOf(caller))),
        ({ reason }) => reason === "conflict",
        () => Effect.void
      )
      return yield* this.get(caller, id)
    })

  /** The session that a request goes on with or begins; none without sessions, and none that is not to be stored. */
  private sessionOf(
    caller: Identity,
    request: Requests.ResponseRequest
  ): Effect.Effect<SessionId | undefined, ApiError> {
    const { sessions } = this
    const { previous_response_id: before, store } = request
    return Effect.gen(this, function* () {
      const given = Requests.conversationOf(request)
      if (before !== undefined && before !== null) {
        const { record } = yield* this.find(caller, before)
        if (record.sessionId !== undefined) return record.sessionId as SessionId
        return yield* refused(
          ["previous_response_id"],
          "unsupported_parameter",
          "That response belongs to no conversation",
          "Send the earlier messages in `input`"
        )
      }
      if (sessions === undefined) {
        if (given === undefined) return undefined
        return yield* refused(["conversation"], "unsupported_parameter", "This server keeps no conversations")
      }
      if (given === undefined && store === false) return undefined
      const { id } = yield* Refusals.ofSession(
        sessions.create({ ...accessOf(caller), ...(given === undefined ? {} : { id: given }) })
      )
      return id
    })
  }

  /** Gives the decisions of persons to the run that waits for them. */
  private decide(
    caller: Identity,
    { previous_response_id: before }: Requests.ResponseRequest,
    approvals: ReadonlyArray<Requests.Approval>
  ): Effect.Effect<ClientCalls.Answered, ApiError> {
    return Effect.gen(this, function* () {
      const requests = new Set<string>()
      if (before === undefined || before === null) {
        return yield* refused(["previous_response_id"], "invalid_request", "A decision names the response that asks")
      }
      const { record } = yield* this.find(caller, before)
      for (const { approval_request_id: id, approve, reason } of approvals) {
        const found = yield* Effect.catchAll(this.pending.get(id, accessOf(caller)), Refusals.fromApproval)
        const request = Option.getOrUndefined(found)?.request
        if (request === undefined || (request.rootRunId ?? request.runId) !== record.runId) {
          return yield* refused(["input"], "invalid_request", "No request of this response has this id")
        }
        if (request.runId === record.runId) requests.add(id)
        const why = reason === undefined || reason === null ? {} : { reason }
        yield* this.approvals.decide(id, { decision: approve ? "approve" : "deny", ...why }, caller)
      }
      return { record, requests }
    })
  }

  /** Gives the run what it waits for: decisions of persons, and results of the caller's calls. */
  private answer(
    caller: Identity,
    agent: string,
    request: Requests.ResponseRequest,
    approvals: ReadonlyArray<Requests.Approval>,
    results: ReadonlyArray<ClientCalls.CallResult>
  ): Effect.Effect<ClientCalls.Answered, ApiError> {
    const { pending, runs } = this
    const decided = this.decide(caller, request, approvals)
    if (results.length === 0) return decided
    const given = ClientCalls.answer(runs, pending, accessOf(caller), agent, results, "input")
    if (approvals.length === 0) return given
    return Effect.flatMap(Effect.all([decided, given]), ([one, other]) =>
      one.record.runId === other.record.runId
        ? Effect.succeed({ record: one.record, requests: new Set([...one.requests, ...other.requests]) })
        : refused(["input"], "invalid_request", "The answers are for different runs")
    )
  }

  /** Nothing is kept of a request that is refused. */
  private toStart(caller: Identity, { definition }: Agent.Any, request: Requests.ResponseRequest) {
    const { options, sessions } = this
    return Effect.gen(this, function* () {
      const { history = [], ...start } = yield* Requests.toStart(
        request,
        definition.output !== undefined,
        options.callsExpireAfter
      )
      const given = Requests.conversationOf(request) ?? request.previous_response_id ?? undefined
      const isKept = given !== undefined || (sessions !== undefined && request.store !== false)
      if (isKept && history.length > 0) return yield* Requests.knownHistory
      const sessionId = yield* this.sessionOf(caller, request)
      return sessionId === undefined ? { ...start, history } : { ...start, sessionId }
    })
  }

  readonly create = (
    caller: Identity,
    agent: Agent.Any,
    request: Requests.ResponseRequest,
    { hold, start }: Starting
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError, Scope.Scope> =>
    Effect.gen(this, function* () {
      const approvals = Requests.approvalsOf(request)
      const results = Requests.resultsOf(request)
      const begun =
        approvals.length + results.length > 0
          ? this.answer(caller, agent.name, request, approvals, results)
          : Effect.flatMap(this.toStart(caller, agent, request), start)
      if (request.background === true && request.stream !== true) {
        const known = yield* begun
        return yield* this.get(caller, `${Requests.ID}${"record" in known ? known.record.runId : known.runId}`)
      }
      const run = yield* hold(begun)
      const response = new ModelResponse(run, request.previous_response_id ?? null)
      return yield* request.stream === true ? response.stream : response.whole
    })
}
