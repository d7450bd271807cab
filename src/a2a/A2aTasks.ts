/**
 * The runs of an agent as tasks of a caller.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunPolicy } from "../agent/record/RunPolicy.js"
import { isEnded, type RunRecord, type RunState } from "../agent/record/RunRecord.js"
import * as AskedEvents from "../agent/runs/AskedEvents.js"
import type * as Runs from "../agent/runs/Runs.js"
import { SessionId } from "../domain/Ids.js"
import * as PublicView from "../domain/PublicView.js"
import type { ApiError } from "../http/api/ApiError.js"
import * as ApiModels from "../http/api/ApiModels.js"
import * as ApprovalEndpoints from "../http/api/ApprovalEndpoints.js"
import { accessOf, type Identity } from "../http/api/Authentication.js"
import * as Refusals from "../http/api/Refusals.js"
import * as Sha256 from "../internal/text/Sha256.js"
import type * as SessionManager from "../session/manager/SessionManager.js"
import type * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import { CallFailure, fromApi } from "./A2aFailures.js"
import type { Artifact, Message, params, Task, TaskState, Update } from "./A2aModels.js"
import * as A2aParts from "./A2aParts.js"
import { A2aStream, ANSWER } from "./A2aStream.js"

/**
 * @category models
 */
export interface Options {
  /** How long nothing else goes on in a task that waits for a person before it needs input; default 250 ms. */
  readonly quiet?: Duration.DurationInput | undefined
}

/** The longest time between two looks for requests that are announced, in milliseconds. */
const MOST_QUIET = 4_000

/** The label of the runs of a context. */
const CONTEXT = "lexigram-a2a-context"

const states: Readonly<Record<RunState, TaskState>> = {
  queued: "TASK_STATE_SUBMITTED",
  running: "TASK_STATE_WORKING",
  waiting: "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  interrupted: "TASK_STATE_CANCELED"
}

const runStates = (state: TaskState): ReadonlyArray<RunState> =>
  (Object.keys(states) as ReadonlyArray<RunState>).filter((one) => states[one] === state)

type Sent = typeof params.send.Type.message

const isContext = <Id extends string>(id: Id | undefined): id is Exclude<Id, ""> => id !== undefined && id !== ""

/** Lets the failures of the API be those of the protocol. */
export const ofApi = <A, R>(effect: Effect.Effect<A, ApiError, R>): Effect.Effect<A, CallFailure, R> =>
  Effect.mapError(effect, fromApi)

const unknownTask = new CallFailure({ kind: "task", message: "No task of yours has this id" })

const unknownRequest = new CallFailure({ kind: "params", message: "No request of this task waits under this id" })

/**
 * @category models
 */
export interface Parts {
  readonly agent: string
  readonly caller: Identity
  readonly runs: Runs.Service
  readonly pending: PendingApprovals.Service
  readonly options: Options
  readonly sessions?: SessionManager.Service | undefined
  /** That of the runs that the caller starts. */
  readonly policy?: RunPolicy | undefined
}

/**
 * What a caller asks of one agent.
 *
 * @category models
 */
export class A2aTasks {
  private readonly approvals: ReturnType<typeof ApprovalEndpoints.make>
  private readonly agent: string
  private readonly caller: Identity
  private readonly runs: Runs.Service

  constructor(private readonly parts: Parts) {
    this.agent = parts.agent
    this.caller = parts.caller
    this.runs = parts.runs
    this.approvals = ApprovalEndpoints.make(parts.pending, parts.runs)
  }

  private get access(): Pick<Identity, "userId"> {
    return accessOf(this.caller)
  }

  /** The run of a task of the caller. */
  record(id: string): Effect.Effect<RunRecord, CallFailure> {
    return Effect.flatMap(ofApi(Refusals.ofRun(this.runs.poll(id, this.access))), (found) =>
      Option.isSome(found) && found.value.record.agent === this.agent
        ? Effect.succeed(found.value.record)
        : Effect.fail(unknownTask)
    )
  }

  /** What a run asks of persons, the runs inside of it too. */
  private requests(runId: string): Effect.Effect<ReadonlyArray<ApiModels.WaitingRequest>, CallFailure> {
    return ofApi(this.approvals.list({ rootRunId: runId, limit: 20 }, this.caller))
  }

  private artifacts(id: string): Effect.Effect<ReadonlyArray<Artifact>, CallFailure> {
    return Effect.map(ofApi(Refusals.ofRun(this.runs.poll(id, this.access))), (found) => {
      const response = Option.isSome(found) ? found.value.response : undefined
      if (response === undefined || response.error !== undefined) return []
      const { message, output } = ApiModels.fromResponse(response)
      const data = output === undefined || output === message ? [] : [{ data: output }]
      return [{ artifactId: ANSWER, parts: [{ text: message }, ...data] }]
    })
  }

  private contextOf({ labels, sessionId }: RunRecord): { readonly contextId?: string } {
    const contextId = sessionId ?? labels[CONTEXT]
    return contextId === undefined ? {} : { contextId }
  }

  /** The task that a run is. In a list, what an agent inside asks is not looked for. */
  private taskOf(record: RunRecord, withArtifacts: boolean, isListed = false): Effect.Effect<Task, CallFailure> {
    return Effect.gen(this, function* () {
      const ids = this.contextOf(record)
      const mayAsk = record.state === "waiting" || (record.state === "running" && !isListed)
      const requests = mayAsk ? yield* this.requests(record.runId) : []
      const text = record.error === undefined ? undefined : PublicView.fromError(record.error).message
      const said: Message | undefined =
        requests.length > 0
          ? A2aParts.fromRequests(requests, { taskId: record.runId, ...ids })
          : text === undefined
            ? undefined
            : {
                messageId: `${record.runId}-error`,
                taskId: record.runId,
                ...ids,
                role: "ROLE_AGENT",
                parts: [{ text }]
              }
      const artifacts = withArtifacts && record.state === "completed" ? yield* this.artifacts(record.runId) : []
      return {
        id: record.runId,
        ...ids,
        status: {
          state: requests.length > 0 ? "TASK_STATE_INPUT_REQUIRED" : states[record.state],
          timestamp: DateTime.formatIso(DateTime.unsafeMake(record.updatedAt)),
          ...(said === undefined ? {} : { message: said })
        },
        ...(artifacts.length === 0 ? {} : { artifacts })
      }
    })
  }

  readonly get = (id: string): Effect.Effect<Task, CallFailure> =>
    Effect.flatMap(this.record(id), (record) => this.taskOf(record, true))

  readonly list = ({ contextId, includeArtifacts, pageSize, pageToken, status }: typeof params.list.Type) =>
    Effect.gen(this, function* () {
      const limit = pageSize === undefined || pageSize === 0 ? 50 : pageSize
      const page = yield* ofApi(
        Refusals.ofRun(
          this.runs.list({
            ...this.access,
            agent: this.agent,
            limit,
            ...(isContext(contextId) ? { labels: { [CONTEXT]: contextId } } : {}),
            ...(status === undefined || status === "TASK_STATE_UNSPECIFIED" ? {} : { states: runStates(status) }),
            ...(pageToken === undefined || pageToken === "" ? {} : { cursor: pageToken })
          })
        )
      )
      const tasks = yield* Effect.forEach(page.records, (record) =>
        this.taskOf(record, includeArtifacts === true, true)
      )
      return { tasks, nextPageToken: page.next ?? "", pageSize: limit, totalSize: tasks.length }
    })

  readonly cancel = (id: string): Effect.Effect<Task, CallFailure> =>
    Effect.gen(this, function* () {
      const record = yield* this.record(id)
      const refused = new CallFailure({ kind: "cancel", message: "The task has ended" })
      if (isEnded(record.state)) return yield* refused
      const ended = yield* Effect.catchAll(this.runs.interrupt(id, this.access), (error) =>
        error.reason === "conflict" || error.reason === "not-running" ? refused : ofApi(Refusals.fromRun(error))
      )
      return yield* this.taskOf(ended, true)
    })

  /** Starts a run. The same message of a caller is the same run, so that a call may be repeated. */
  private begin(message: Sent): Effect.Effect<string, CallFailure> {
    return Effect.gen(this, function* () {
      const { agent, caller } = this
      const { policy, sessions } = this.parts
      const given = isContext(message.contextId) ? message.contextId : undefined
      const key = Sha256.hex([caller.userId ?? "", agent, given ?? "", message.messageId].join("\u0000"))
      const contextId = given ?? SessionId.make(`a2a-context-${key}`)
      const input = yield* Effect.mapError(
        A2aParts.toInput(message),
        ({ hint, message }) => new CallFailure({ kind: "content", message: hint ? `${message}. ${hint}` : message })
      )
      if (sessions !== undefined) {
        yield* ofApi(Refusals.ofSession(sessions.create({ ...this.access, id: contextId })))
      }
      const { runId } = yield* ofApi(
        Refusals.ofRun(
          this.runs.start({
            agent,
            input,
            runId: `a2a-${key}`,
            labels: { [CONTEXT]: contextId },
            ...this.access,
            ...(caller.tenantId === undefined ? {} : { tenantId: caller.tenantId }),
            ...(policy === undefined ? {} : { policy }),
            ...(sessions === undefined ? {} : { sessionId: contextId })
          })
        )
      )
      return runId
    })
  }

  /** Gives a message to a task that goes on: as the answer to what it asks, or to be read by the model. */
  private go(record: RunRecord, message: Message): Effect.Effect<void, CallFailure> {
    return Effect.gen(this, function* () {
      const { runId } = record
      if (isEnded(record.state)) {
        return yield* new CallFailure({
          kind: "unsupported",
          message: "The task has ended. Send the message without the id of the task, with that of its context"
        })
      }
      const requests = yield* this.requests(runId)
      const wanted = A2aParts.requestIdOf(message)
      const request = wanted === undefined ? requests[0] : requests.find(({ id }) => id === wanted)
      if (request === undefined) {
        if (wanted !== undefined) return yield* unknownRequest
        const text = message.parts.flatMap(({ text }) => text ?? []).join("\n")
        if (text === "") return yield* new CallFailure({ kind: "content", message: "A task that works takes texts" })
        return yield* ofApi(Refusals.ofRun(this.runs.steer(runId, text, this.access)))
      }
      const answer = A2aParts.toAnswer(message, request)
      if (answer === undefined) {
        return yield* new CallFailure({
          kind: "params",
          message: `The task asks for a decision. Send a part with the data { "requestId": "${request.id}", "decision": "approve" or "deny", "params" }, or the text "approve" or "deny"`
        })
      }
      const { requestId: _, ...decision } = answer
      yield* ofApi(this.approvals.decide(request.id, decision, this.caller))
    })
  }

  /** Takes a message: the id of the task that it began or went on. */
  readonly take = (message: Sent): Effect.Effect<string, CallFailure> =>
    Effect.gen(this, function* () {
      if (message.role !== "ROLE_USER") {
        return yield* new CallFailure({ kind: "params", message: "A message to an agent has the role ROLE_USER" })
      }
      const { contextId, taskId } = message
      if (taskId === undefined || taskId === "") return yield* this.begin(message)
      const record = yield* this.record(taskId)
      if (isContext(contextId) && contextId !== this.contextOf(record).contextId) {
        return yield* new CallFailure({ kind: "params", message: "The task belongs to another context" })
      }
      yield* this.go(record, message)
      return taskId
    })

  /** The task as it begins or goes on, before its updates. */
  readonly head = (id: string): Effect.Effect<Update, CallFailure> =>
    Effect.map(this.record(id), (record) => ({
      task: {
        id,
        ...this.contextOf(record),
        status: {
          state: isEnded(record.state) || record.state === "waiting" ? "TASK_STATE_WORKING" : states[record.state],
          timestamp: DateTime.formatIso(DateTime.unsafeMake(record.createdAt))
        }
      }
    }))

  /**
   * Sends the updates of a task until it has ended, or needs input and nothing else goes on. Requests that are known
   * already are not waited for.
   */
  readonly follow = (
    id: string,
    send: (updates: ReadonlyArray<Update>) => Effect.Effect<void>,
    known: ReadonlyArray<string> = []
  ): Effect.Effect<ReadonlyArray<ApiModels.WaitingRequest>, CallFailure> =>
    Effect.scoped(
      Effect.gen(this, function* () {
        const ids = this.contextOf(yield* this.record(id))
        const { options, pending } = this.parts
        const stream = new A2aStream({ taskId: id, ...ids }, new Set(known))
        const pull = ofApi(Refusals.ofRun(yield* AskedEvents.toPull(this.runs, pending, id, this.access)))
        const quiet = Duration.toMillis(options.quiet ?? "250 millis")
        for (let wait = quiet; ; ) {
          const found = stream.isWaiting ? yield* Effect.timeoutOption(pull, wait) : Option.some(yield* pull)
          if (Option.isNone(found)) {
            // A request is announced before it is kept.
            const requests = (yield* this.requests(id)).filter((request) => !known.includes(request.id))
            wait = Math.min(MOST_QUIET, wait * 2)
            if (requests.length === 0) continue
            const message = A2aParts.fromRequests(requests, { taskId: id, ...ids })
            const status = { state: "TASK_STATE_INPUT_REQUIRED" as const, message }
            yield* send([{ statusUpdate: { taskId: id, ...ids, status } }])
            return requests
          }
          if (Option.isNone(found.value)) return []
          wait = quiet
          yield* send(stream.pushAll(found.value.value))
        }
      })
    )

  /** Waits until a task has ended, or asks something that is not known. */
  readonly changed = (id: string, known: ReadonlyArray<string> = []) =>
    Effect.gen(this, function* () {
      // The events of a run that has ended may be gone.
      const hasEnded = isEnded((yield* this.record(id)).state)
      const requests = hasEnded ? [] : yield* this.follow(id, () => Effect.void, known)
      const isOver = requests.length === 0
      if (isOver && !hasEnded) yield* Effect.ignore(this.runs.await(id, this.access))
      return { isOver, requests: requests.map((request) => request.id) }
    })

  /** The task, once it has ended or needs input. */
  readonly settled = (id: string): Effect.Effect<Task, CallFailure> => Effect.zipRight(this.changed(id), this.get(id))
}
