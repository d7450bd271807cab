/**
 * Runs over HTTP.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import { isEnded, type RunRecord, type RunState } from "../../agent/record/RunRecord.js"
import type * as RunStore from "../../agent/record/RunStore.js"
import * as AskedEvents from "../../agent/runs/AskedEvents.js"
import * as Runs from "../../agent/runs/Runs.js"
import * as AgentEvent from "../../domain/AgentEvent.js"
import * as PublicView from "../../domain/PublicView.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as RunWebhooks from "../webhook/RunWebhooks.js"
import { AgentApi } from "./AgentApi.js"
import * as ApiErrors from "./ApiError.js"
import type * as ApiLimits from "./ApiLimits.js"
import * as ApiModels from "./ApiModels.js"
import { accessOf, Caller, type Identity } from "./Authentication.js"
import * as EventStream from "./EventStream.js"
import * as Refusals from "./Refusals.js"
import * as RunReaders from "./RunReaders.js"

const { ApiError } = ApiErrors
type ApiError = ApiErrors.ApiError

/**
 * @category models
 */
export interface Options extends EventStream.Options {
  /** What events show in addition. */
  readonly view?: PublicView.Options | undefined
  /** The policy of the runs that a caller starts, such as how long they may take. Default none: that of their agent. */
  readonly policy?: ((caller: Identity) => RunPolicy) | undefined
  /** How long a run that is not detached goes on while nobody follows it; default 10 seconds. */
  readonly grace?: Duration.DurationInput | undefined
}

/** The header that names the run of a stream. */
export const RUN_ID = "lexigram-run-id"

const requestOf = (
  { webhook: _, ...payload }: ApiModels.StartRun,
  { tenantId, userId }: Identity,
  key: string | undefined,
  policy: RunPolicy | undefined
) => ({
  ...payload,
  ...(policy === undefined ? {} : { policy }),
  ...(userId === undefined ? {} : { userId }),
  ...(tenantId === undefined ? {} : { tenantId }),
  // Keys belong to their caller: another one cannot meet them.
  ...(key === undefined ? {} : { runId: `key-${Sha256.hex(`${userId ?? ""}\u0000${key}`)}` })
})

/** An event as JSON. Values that JSON cannot have, which a tool of the application may return, are left out. */
const jsonOf = (event: AgentEvent.AgentEvent): string => {
  try {
    return JSON.stringify(event)
  } catch {
    const { _tag, agent, at, parentRunId, runId, seq } = event
    return JSON.stringify({ _tag, runId, agent, seq, at, parentRunId })
  }
}

/**
 * @category conversions
 */
export const frameOf = (event: AgentEvent.AgentEvent): EventStream.Frame => ({
  id: event.seq,
  event: event._tag,
  data: jsonOf(event)
})

/**
 * @category conversions
 */
export const problemFrame = (error: ApiError): EventStream.Frame => ({
  event: "problem",
  data: JSON.stringify(ApiErrors.toProblem(error))
})

/**
 * The event after the last one that the caller has.
 *
 * @category getters
 */
export const fromOf = (
  request: HttpServerRequest.HttpServerRequest,
  from: number | undefined
): Effect.Effect<number, ApiError> => {
  const last = request.headers["last-event-id"]
  if (last === undefined || last === "") return Effect.succeed(from ?? 0)
  return /^\d{1,15}$/.test(last)
    ? Effect.succeed(Number(last) + 1)
    : new ApiError({ reason: "invalid", message: "Last-Event-ID is not the id of an event of a run" })
}

/**
 * What the endpoints do, for runs of the caller alone.
 *
 * @category constructors
 */
export class Handlers {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly readers: RunReaders.RunReaders,
    private readonly webhooks: Effect.Effect<RunWebhooks.Service, ApiError>,
    private readonly options: Options
  ) {}

  readonly start = (
    payload: ApiModels.StartRun,
    caller: Identity,
    key: string | undefined
  ): Effect.Effect<RunRecord, ApiError> => {
    const started = Refusals.ofRun(this.runs.start(requestOf(payload, caller, key, this.options.policy?.(caller))))
    const url = payload.webhook?.url
    if (url === undefined) return started
    const { userId } = caller
    return Effect.gen(this, function* () {
      const webhooks = yield* this.webhooks
      yield* Effect.catchAll(webhooks.check(url), Refusals.fromWebhook)
      const record = yield* started
      yield* webhooks.tell({ runId: record.runId, url, ...(userId === undefined ? {} : { userId }) })
      return record
    })
  }

  readonly list = (
    { state, ...filter }: Omit<RunStore.Filter, "states" | "userId"> & { readonly state?: RunState | undefined },
    caller: Identity
  ): Effect.Effect<ApiModels.RunPage, ApiError> =>
    Effect.map(
      Refusals.ofRun(
        this.runs.list({ ...filter, ...accessOf(caller), ...(state === undefined ? {} : { states: [state] }) })
      ),
      ({ next, records }) => ({
        runs: records.map((record) => ApiModels.fromRecord(record, this.options.view)),
        ...(next === undefined ? {} : { next })
      })
    )

  readonly poll = (runId: string, caller: Identity): Effect.Effect<ApiModels.RunWithAnswer, ApiError> =>
    Effect.flatMap(Refusals.ofRun(this.runs.poll(runId, accessOf(caller))), (found) =>
      Option.isNone(found)
        ? new ApiError({ reason: "unknown", message: "No run of yours has this id" })
        : Effect.succeed({
            run: ApiModels.fromRecord(found.value.record, this.options.view),
            ...(found.value.response === undefined
              ? {}
              : { answer: ApiModels.fromResponse(found.value.response, this.options.view) })
          })
    )

  /** Waits for the end of a run, for at most so many seconds. A run that fails has an answer that says so. */
  readonly wait = (runId: string, caller: Identity, seconds: number): Effect.Effect<void> =>
    seconds === 0
      ? Effect.void
      : Effect.ignore(Effect.timeoutOption(this.runs.await(runId, accessOf(caller)), Duration.seconds(seconds)))

  /** Sends the public view of the events of a run, from a number on, and at its end why no more could be read. */
  private readonly sendEvents = (
    runId: string,
    caller: Identity,
    from: number,
    send: EventStream.Send,
    sendNow: EventStream.SendNow
  ): Effect.Effect<void> => {
    const access = accessOf(caller)
    let isOver = false
    // Those of inner runs have no number: a reader that connects again goes on after an event of the run.
    const framesOf = (events: Iterable<AgentEvent.AgentEvent>): ReadonlyArray<EventStream.Frame> => {
      const frames: Array<EventStream.Frame> = []
      for (const event of events) {
        if (event.runId === runId && AgentEvent.isTerminal(event)) isOver = true
        const shown = PublicView.fromEvent(event, this.options.view)
        if (shown === undefined) continue
        const frame = frameOf(shown)
        frames.push(event.runId === runId ? frame : { ...frame, id: undefined })
      }
      return frames
    }
    const events = AskedEvents.forEach(this.runs, this.pending, runId, { ...access, from }, (chunk) =>
      sendNow(framesOf(chunk))
    )
    const sent = Effect.catchAll(events, (error) =>
      Effect.flatMap(Effect.flip(Refusals.fromRun(error)), (refusal) => send([problemFrame(refusal)]))
    )
    const follows = this.readers.follow(runId, () => isOver, Effect.ignore(this.runs.interrupt(runId, access)))
    return Effect.scoped(Effect.zipRight(follows, sent))
  }

  readonly stream = (runId: string, caller: Identity, from: number) =>
    EventStream.response((send, sendNow) => this.sendEvents(runId, caller, from, send, sendNow), {
      ...this.options,
      headers: { ...this.options.headers, [RUN_ID]: runId }
    })

  /** Whether a run that has ended has no events from this one on. */
  readonly hasEndedBefore = (runId: string, caller: Identity, from: number): Effect.Effect<boolean, ApiError> =>
    Effect.flatMap(this.poll(runId, caller), ({ run }) =>
      from === 0 || !isEnded(run.state)
        ? Effect.succeed(false)
        : Effect.map(
            Refusals.ofRun(Stream.runHead(this.runs.events(runId, { ...accessOf(caller), from }))),
            Option.isNone
          )
    )
}

const changesOf = (
  input: ApiModels.StartRun["input"] | undefined,
  labels: Readonly<Record<string, string>> | undefined,
  policy: RunPolicy | undefined
): Runs.Changes => ({
  ...(policy === undefined ? {} : { policy }),
  ...(input === undefined ? {} : { input }),
  ...(labels === undefined ? {} : { labels })
})

/** A run and its answer: 202 until it has ended. */
const answered = (found: ApiModels.RunWithAnswer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(found, { status: isEnded(found.run.state) ? 200 : 202 })

/**
 * @category layers
 */
export const layer = (options: Options, limits: ApiLimits.Limits) =>
  HttpApiBuilder.group(AgentApi, "runs", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const pending = yield* PendingApprovals.PendingApprovals
      const readers = yield* RunReaders.make(options.grace ?? "10 seconds")
      const webhooks = Refusals.offered(yield* Effect.serviceOption(RunWebhooks.RunWebhooks), "webhooks")
      const all = new Handlers(runs, pending, readers, webhooks, options)
      const shown = (record: RunRecord): ApiModels.Run => ApiModels.fromRecord(record, options.view)
      return handlers
        .handle("startRun", ({ headers, payload, urlParams }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const { runId } = yield* all.start(payload, caller, headers["idempotency-key"])
            yield* all.wait(runId, caller, urlParams.wait ?? 0)
            return answered(yield* all.poll(runId, caller))
          })
        )
        .handle("streamRun", ({ headers, payload, urlParams }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* limits.stream(caller)
            const { runId } = yield* all.start(payload, caller, headers["idempotency-key"])
            if (urlParams.detach !== true) readers.attach(runId)
            return yield* all.stream(runId, caller, 0)
          })
        )
        .handle("listRuns", ({ urlParams }) => Effect.flatMap(Caller, (caller) => all.list(urlParams, caller)))
        .handle("getRun", ({ path }) => Effect.flatMap(Caller, (caller) => all.poll(path.runId, caller)))
        .handle("runEvents", ({ path: { runId }, request, urlParams }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const from = yield* fromOf(request, urlParams.from)
            if (yield* all.hasEndedBefore(runId, caller, from)) return HttpServerResponse.empty({ status: 204 })
            yield* limits.stream(caller)
            return yield* all.stream(runId, caller, from)
          })
        )
        .handle("interruptRun", ({ path }) =>
          Effect.flatMap(Caller, (caller) =>
            Effect.map(Refusals.ofRun(runs.interrupt(path.runId, accessOf(caller))), shown)
          )
        )
        .handle("steerRun", ({ path, payload }) =>
          Effect.flatMap(Caller, (caller) => Refusals.ofRun(runs.steer(path.runId, payload.message, accessOf(caller))))
        )
        .handle("resumeRun", ({ path }) =>
          Effect.flatMap(Caller, (caller) =>
            Effect.map(Refusals.ofRun(runs.resume(path.runId, accessOf(caller))), shown)
          )
        )
        .handle("forkRun", ({ path, payload: { input, labels, step } }) =>
          Effect.flatMap(Caller, (caller) =>
            Effect.map(
              Refusals.ofRun(
                runs.fork(path.runId, {
                  ...accessOf(caller),
                  step,
                  changes: changesOf(input, labels, options.policy?.(caller))
                })
              ),
              shown
            )
          )
        )
    })
  )
