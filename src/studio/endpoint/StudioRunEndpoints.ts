/**
 * The handlers of what developers see of runs and agents.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import { isEnded } from "../../agent/record/RunRecord.js"
import * as RunAdmission from "../../agent/runs/RunAdmission.js"
import * as Runs from "../../agent/runs/Runs.js"
import * as AgentEvent from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"
import * as PublicView from "../../domain/PublicView.js"
import * as RunContent from "../../eval/online/RunContent.js"
import { ApiError } from "../../http/api/ApiError.js"
import type * as ApiLimits from "../../http/api/ApiLimits.js"
import * as ApiModels from "../../http/api/ApiModels.js"
import { accessOf, Caller, type Identity } from "../../http/api/Authentication.js"
import * as EventStream from "../../http/api/EventStream.js"
import * as Refusals from "../../http/api/Refusals.js"
import * as RunEndpoints from "../../http/api/RunEndpoints.js"
import * as RunReaders from "../../http/api/RunReaders.js"
import * as Nearest from "../../internal/text/Nearest.js"
import * as RunLog from "../../observability/RunLog.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as Trace from "../../trace/Trace.js"
import { StudioApi } from "../api/StudioApi.js"
import type { ForkRun, TryRun } from "../api/StudioRunApi.js"
import * as StudioAgents from "./StudioAgents.js"
import * as StudioRunSettings from "./StudioRunSettings.js"

const view: PublicView.Options = { developer: true }

const unknownRun = new ApiError({ reason: "unknown", message: "No run of yours has this id" })

const noLog = new ApiError({
  reason: "unsupported",
  message: "This server keeps no log of its runs",
  hint: "Give the server a layer of RunLog, the one of its executor"
})

/** The policy of a developer within that of the server, whose limits hold. */
const within = (server: RunPolicy | undefined, given: RunPolicy | undefined): RunPolicy | undefined =>
  server === undefined || given === undefined
    ? (given ?? server)
    : { ...server, ...given, limits: { ...given.limits, ...server.limits } }

const nothing = (what: string, name: string, known: ReadonlyArray<string>): ApiError => {
  const nearest = Nearest.nearest(name, known)
  return new ApiError({
    reason: "invalid",
    message: `The server has no ${what} "${name.slice(0, 128)}"`,
    hint: nearest === undefined ? `It has ${known.slice(0, 32).join(", ") || "none"}` : `Did you mean "${nearest}"?`
  })
}

/** Refuses a model or a strategy that the run would not find. */
const check = (
  policy: RunPolicy | undefined,
  choices: AgentExecutor.Choices | undefined
): Effect.Effect<void, ApiError> => {
  if (policy === undefined || choices === undefined) return Effect.void
  const { model, strategy } = policy
  const { router, strategies } = choices
  if (strategy !== undefined && !strategies.names.includes(strategy)) {
    return nothing("strategy", strategy, strategies.names)
  }
  if (model === undefined) return Effect.void
  return Effect.flatMap(router.resolve(model), ({ isDefault }) =>
    isDefault === true ? nothing("model of the role", model, router.configured ?? []) : Effect.void
  )
}

/** The log of a run that has no record of its own, such as that of a sub-agent, while it lasts. */
const PAGE = 1000
const readsEvery = "500 millis"

interface Logged {
  readonly log: RunLog.Service
  readonly runId: RunId
  readonly userId: string | undefined
}

const failed = <A, R>(effect: Effect.Effect<A, RunLog.RunLogError, R>): Effect.Effect<A, ApiError, R> =>
  Effect.catchAll(effect, (error) => Refusals.unavailable(error))

const read = ({ log, runId, userId }: Logged, from: number, limit: number) =>
  failed(log.read(runId, { from, limit, userId }))

const followLog = (logged: Logged, from: number, send: EventStream.Send): Effect.Effect<void, ApiError> =>
  Effect.flatMap(read(logged, from, PAGE), (events) => {
    const last = events.at(-1)
    const frames = events.flatMap((event) => {
      const shown = PublicView.fromEvent(event, view)
      return shown === undefined ? [] : [RunEndpoints.frameOf(shown)]
    })
    if (last !== undefined && AgentEvent.isTerminal(last)) return send(frames)
    const pause = events.length === PAGE ? Effect.void : Effect.sleep(readsEvery)
    return Effect.zipRight(
      Effect.zipRight(send(frames), pause),
      followLog(logged, last === undefined ? from : last.seq + 1, send)
    )
  })

const streamLog = (logged: Logged, from: number) =>
  Effect.flatMap(read(logged, from, 1), ([first]) =>
    first === undefined
      ? Effect.succeed(HttpServerResponse.empty({ status: 204 }))
      : EventStream.response((send) =>
          Effect.catchAll(followLog(logged, from, send), (error) => send([RunEndpoints.problemFrame(error)]))
        )
  )

const tracePolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  "sandbox allow-popups"
].join("; ")

const MOST_RUNS = 200

const tracePage = (logged: Logged) =>
  Effect.gen(function* () {
    const trace = yield* failed(
      Effect.provideService(
        Trace.fromRun(logged.runId, { userId: logged.userId, maxRuns: MOST_RUNS }),
        RunLog.RunLog,
        logged.log
      )
    )
    if (trace.runs.length === 0) return yield* unknownRun
    return HttpServerResponse.text(Trace.toHtml(trace, { content: true, nodes: true }), {
      contentType: "text/html; charset=utf-8",
      headers: {
        "cache-control": "no-store",
        "content-security-policy": tracePolicy,
        "content-disposition": 'inline; filename="trace.html"',
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff"
      }
    })
  })

const noCase = new ApiError({
  reason: "conflict",
  message: "The run cannot be a case",
  hint: "A case needs a run that ended and whose log has its input and its end"
})

const caseLine = (logged: Logged, record: Runs.Polled["record"], withAnswer: boolean) =>
  Effect.gen(function* () {
    if (!isEnded(record.state)) return yield* noCase
    const run = yield* Refusals.ofRun(RunContent.read(logged.log, record, logged.userId))
    if (run === undefined) return yield* noCase
    const redact = yield* RunContent.redaction
    const { finishReason, input, output } = run.response
    const expected = withAnswer && finishReason !== undefined ? { expected: output } : {}
    const line = { id: record.runId, ...(redact({ input, ...expected }) as object), tags: [record.agent] }
    return HttpServerResponse.text(`${JSON.stringify(line)}\n`, {
      contentType: "application/x-ndjson",
      headers: {
        "cache-control": "no-store",
        "content-disposition": 'attachment; filename="case.jsonl"',
        "x-content-type-options": "nosniff"
      }
    })
  })

const noAgent = new ApiError({ reason: "unknown", message: "This server offers no agent with this name" })

const strategyNamed = (choices: AgentExecutor.Choices | undefined, name: string) =>
  choices === undefined
    ? Effect.flip(Refusals.offered(Option.none(), "strategies by their names")).pipe(Effect.flatMap(Effect.fail))
    : choices.strategies.names.includes(name)
      ? Effect.mapBoth(choices.strategies.resolve({ _tag: "Named", name, options: {} }), {
          onFailure: (message) => new ApiError({ reason: "unknown", message }),
          onSuccess: StudioAgents.strategyInfo
        })
      : new ApiError({ reason: "unknown", message: "This server has no strategy with this name" })

const start = (runs: Runs.Service, limits: ApiLimits.Limits, payload: TryRun, caller: Identity) => {
  const { tenantId, userId } = caller
  const policy = within(limits.policy(caller), payload.policy)
  const { policy: _, ...request } = payload
  return Refusals.ofRun(
    runs.start({
      ...request,
      ...(policy === undefined ? {} : { policy }),
      ...(userId === undefined ? {} : { userId }),
      ...(tenantId === undefined ? {} : { tenantId })
    })
  )
}

/** Starts a fork. What its run was started with stays where the caller gives nothing else. */
const fork = (runs: Runs.Service, limits: ApiLimits.Limits, runId: string, payload: ForkRun, caller: Identity) =>
  Effect.gen(function* () {
    const access = accessOf(caller)
    const found = yield* Refusals.ofRun(runs.poll(runId, access))
    if (Option.isNone(found)) return yield* unknownRun
    const { asked = {} } = found.value.record
    const { input, labels, step, policy: given, settings } = payload
    const own =
      given === undefined
        ? asked.policy
        : { ...asked.policy, ...given, limits: { ...asked.policy?.limits, ...given.limits } }
    const policy = within(limits.policy(caller), own)
    return yield* Refusals.ofRun(
      runs.fork(runId, {
        ...access,
        step,
        changes: {
          ...(input === undefined ? {} : { input }),
          ...(labels === undefined ? {} : { labels }),
          ...(policy === undefined ? {} : { policy }),
          ...(settings === undefined ? {} : { settings: { ...asked.settings, ...settings } })
        }
      })
    )
  })

interface Setting {
  /** The agents that the server offers. */
  readonly agents: ReadonlyArray<Agent.Any>
  readonly limits: ApiLimits.Limits
}

/**
 * @category layers
 */
export const layer = ({ agents, limits }: Setting) =>
  HttpApiBuilder.group(StudioApi, "studioRuns", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const { choices } = yield* AgentExecutor.AgentExecutor
      const log = yield* Effect.serviceOption(RunLog.RunLog)
      const readers = yield* RunReaders.make("10 seconds")
      const webhooks = Refusals.offered(Option.none(), "webhooks")
      const all = new RunEndpoints.Handlers(runs, yield* PendingApprovals.PendingApprovals, readers, webhooks, { view })
      const byName = new Map(agents.map((agent) => [agent.name, agent]))
      const loggedOf = (id: string) =>
        Effect.gen(function* () {
          const { userId } = yield* Caller
          if (Option.isNone(log)) return yield* noLog
          const runId = RunAdmission.runIdOf(id)
          return runId === undefined ? yield* unknownRun : { log: log.value, runId, userId }
        })
      return handlers
        .handle("studioAgent", ({ path }) => {
          const agent = byName.get(path.name)
          return agent === undefined ? noAgent : StudioAgents.details(agent, choices)
        })
        .handle("studioStrategy", ({ path }) => strategyNamed(choices, path.name))
        .handle("tryRun", ({ payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* check(payload.policy, choices)
            return ApiModels.fromRecord(yield* start(runs, limits, payload, caller), view)
          })
        )
        .handle("studioFork", ({ path, payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* check(payload.policy, choices)
            return ApiModels.fromRecord(yield* fork(runs, limits, path.runId, payload, caller), view)
          })
        )
        .handle("studioRun", ({ path }) => Effect.flatMap(Caller, (caller) => all.poll(path.runId, caller)))
        .handle("studioSettings", ({ path: { runId } }) =>
          Effect.gen(function* () {
            const found = yield* Refusals.ofRun(runs.poll(runId, accessOf(yield* Caller)))
            if (Option.isSome(found)) {
              const { agent, asked } = found.value.record
              return yield* StudioRunSettings.make(agent, byName.get(agent), asked, choices)
            }
            // A run inside of another one has no record.
            const logged = yield* Effect.catchTag(loggedOf(runId), "ApiError", () => unknownRun)
            const [first] = yield* read(logged, 0, 1)
            if (first === undefined) return yield* unknownRun
            return yield* StudioRunSettings.make(first.agent, byName.get(first.agent), undefined, choices)
          })
        )
        .handle("studioEvents", ({ path: { runId }, request, urlParams }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const from = yield* RunEndpoints.fromOf(request, urlParams.from)
            if (Option.isNone(yield* Refusals.ofRun(runs.poll(runId, accessOf(caller))))) {
              const logged = yield* Effect.catchTag(loggedOf(runId), "ApiError", () => unknownRun)
              const [first] = yield* read(logged, 0, 1)
              if (first === undefined) return yield* unknownRun
              yield* limits.stream(caller)
              return yield* streamLog(logged, from)
            }
            if (yield* all.hasEndedBefore(runId, caller, from)) return HttpServerResponse.empty({ status: 204 })
            yield* limits.stream(caller)
            return yield* all.stream(runId, caller, from)
          })
        )
        .handle("studioTrace", ({ path }) => Effect.flatMap(loggedOf(path.runId), tracePage))
        .handle("studioCase", ({ path, urlParams: { expected = "answer" } }) =>
          Effect.gen(function* () {
            const logged = yield* loggedOf(path.runId)
            const found = yield* Refusals.ofRun(runs.poll(path.runId, accessOf(yield* Caller)))
            if (Option.isNone(found)) return yield* unknownRun
            return yield* caseLine(logged, found.value.record, expected === "answer")
          })
        )
    })
  )
