/**
 * Serves `AgentRpc` over the port `Runs`.
 *
 * @since 0.1.0
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import * as AskedEvents from "../agent/runs/AskedEvents.js"
import * as Runs from "../agent/runs/Runs.js"
import * as AgentEvents from "../domain/AgentEvent.js"
import * as PublicView from "../domain/PublicView.js"
import * as AgentEndpoints from "../http/api/AgentEndpoints.js"
import { ApiError } from "../http/api/ApiError.js"
import * as ApiLimits from "../http/api/ApiLimits.js"
import * as ApiModels from "../http/api/ApiModels.js"
import * as ApprovalEndpoints from "../http/api/ApprovalEndpoints.js"
import { Authentication, accessOf, Caller, type Identity } from "../http/api/Authentication.js"
import * as Refusals from "../http/api/Refusals.js"
import * as RunEndpoints from "../http/api/RunEndpoints.js"
import * as RunReaders from "../http/api/RunReaders.js"
import * as RunWebhooks from "../http/webhook/RunWebhooks.js"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import { AgentRpc, Authenticated } from "./AgentRpc.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Pick<RunEndpoints.Options, "grace" | "policy" | "view"> {
  /** The agents that `listAgents` shows: those of the runs. */
  readonly agents: ReadonlyArray<Agent.Any>
  readonly limits?: Pick<ApiLimits.Options, "requestsPerMinute" | "maxStreams" | "maxCallers"> | undefined
  /** Whether a caller may use a procedure, by its scopes for example. Default: it may use all. */
  readonly permits?: ((caller: Identity, procedure: Procedure) => boolean) | undefined
}

/**
 * The name of a procedure, such as `startRun`.
 *
 * @since 0.1.0
 * @category models
 */
export type Procedure = Parameters<typeof AgentRpc.accessHandler>[0]

const forbidden = new ApiError({ reason: "forbidden", message: "This caller may not use this procedure" })

const authenticated = (limits: ApiLimits.Limits, permits: NonNullable<Options["permits"]>) =>
  Layer.effect(
    Authenticated,
    Effect.map(Authentication, ({ authenticate }) =>
      Authenticated.of(({ headers, rpc }) =>
        Effect.gen(function* () {
          const request = HttpServerRequest.fromWeb(new Request("http://localhost/", { headers }))
          const caller = yield* authenticate(request)
          yield* limits.request(caller)
          return permits(caller, rpc._tag as Procedure) ? caller : yield* forbidden
        })
      )
    )
  )

/** The handlers. A middleware has found the caller of each. */
const handlers = (options: Options, limits: ApiLimits.Limits) =>
  AgentRpc.toLayer(
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const readers = yield* RunReaders.make(options.grace ?? "10 seconds")
      const webhooks = Refusals.offered(yield* Effect.serviceOption(RunWebhooks.RunWebhooks), "webhooks")
      const pending = yield* PendingApprovals.PendingApprovals
      const all = new RunEndpoints.Handlers(runs, pending, readers, webhooks, options)
      const approvals = ApprovalEndpoints.make(pending, runs)
      const infos = options.agents.map(AgentEndpoints.infoOf)

      /** Follows a run from an event on, as one of its readers. */
      const follow = (
        runId: string,
        from: number,
        caller: Identity
      ): Stream.Stream<AgentEvents.AgentEvent, ApiError> => {
        const access = accessOf(caller)
        let isOver = false
        const shown = (event: AgentEvents.AgentEvent): Option.Option<AgentEvents.AgentEvent> => {
          if (event.runId === runId && AgentEvents.isTerminal(event)) isOver = true
          return Option.fromNullable(PublicView.fromEvent(event, options.view))
        }
        const reading = Effect.zipRight(
          limits.stream(caller),
          readers.follow(runId, () => isOver, Effect.ignore(runs.interrupt(runId, access)))
        )
        const events = AskedEvents.stream(runs, pending, runId, access, from).pipe(
          Stream.filterMap(shown),
          Stream.catchAll((error) => Stream.fromEffect(Refusals.fromRun(error))),
          Stream.provideService(SystemGrant.SystemAccess, SystemGrant.denied)
        )
        return Stream.unwrapScoped(Effect.as(reading, events))
      }
      const withCaller = <A, E, R>(use: (caller: Identity) => Effect.Effect<A, E, R>) =>
        SystemGrant.drop(Effect.flatMap(Caller, use))
      return {
        listAgents: () => Effect.succeed(infos),
        startRun: ({ key, ...request }) =>
          withCaller((caller) => Effect.map(all.start(request, caller, key), ApiModels.fromRecord)),
        streamRun: ({ detach, key, ...request }) =>
          Stream.unwrap(
            withCaller((caller) =>
              Effect.map(all.start(request, caller, key), ({ runId }) => {
                if (detach !== true) readers.attach(runId)
                return follow(runId, 0, caller)
              })
            )
          ),
        runEvents: ({ from = 0, runId }) =>
          Stream.unwrap(withCaller((caller) => Effect.succeed(follow(runId, from, caller)))),
        listRuns: (filter) => withCaller((caller) => all.list(filter, caller)),
        getRun: ({ runId }) => withCaller((caller) => all.poll(runId, caller)),
        awaitRun: ({ runId }) =>
          withCaller((caller) =>
            Effect.zipRight(Effect.ignore(runs.await(runId, accessOf(caller))), all.poll(runId, caller))
          ),
        interruptRun: ({ runId }) =>
          withCaller((caller) =>
            Effect.map(Refusals.ofRun(runs.interrupt(runId, accessOf(caller))), ApiModels.fromRecord)
          ),
        steerRun: ({ message, runId }) =>
          withCaller((caller) => Effect.asVoid(Refusals.ofRun(runs.steer(runId, message, accessOf(caller))))),
        listApprovals: (filter) => withCaller((caller) => approvals.list(filter, caller)),
        decideApproval: ({ requestId, ...decision }) =>
          withCaller((caller) => approvals.decide(requestId, decision, caller))
      }
    })
  )

/**
 * The handlers of `AgentRpc` and its middleware, for `RpcServer.layer(AgentRpc)`. Nothing that a caller does acts for
 * the system.
 *
 * @example
 * ```ts
 * import * as RpcServer from "@effect/rpc/RpcServer"
 * import { Agent } from "effect-lexigram"
 * import { AgentRpc, AgentRpcServer } from "effect-lexigram/rpc"
 * import * as Layer from "effect/Layer"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 *
 * // Requires a protocol, such as that of RpcServer.layerProtocolWebsocket.
 * const server = RpcServer.layer(AgentRpc.AgentRpc).pipe(
 *   Layer.provide(AgentRpcServer.layer({ agents, limits: { requestsPerMinute: 120 } }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options) => {
  const limits = ApiLimits.make(options.limits)
  return Layer.merge(handlers(options, limits), authenticated(limits, options.permits ?? (() => true)))
}
