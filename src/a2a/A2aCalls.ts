/**
 * Calls to agents by the callers of requests, whatever binding brings them.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import * as Runs from "../agent/runs/Runs.js"
import { ApiError } from "../http/api/ApiError.js"
import type * as ApiLimits from "../http/api/ApiLimits.js"
import { Caller } from "../http/api/Authentication.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import { CallFailure } from "./A2aFailures.js"
import type * as A2aMethods from "./A2aMethods.js"
import { VERSION } from "./A2aModels.js"
import * as A2aPush from "./A2aPush.js"
import * as A2aTasks from "./A2aTasks.js"

/**
 * @category models
 */
export interface Options extends A2aTasks.Options {
  readonly agents: ReadonlyArray<Agent.Any>
}

/**
 * @category models
 */
export type CallOf = (
  agent: string,
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<A2aMethods.Call, ApiError | CallFailure, Caller>

/** Callers of an older version would not understand the answers. */
const checkVersion = ({ headers }: HttpServerRequest.HttpServerRequest): Effect.Effect<void, CallFailure> => {
  const version = headers["a2a-version"]
  return version === undefined || /^(?:|1(?:\.\d{1,3})?)$/.test(version.trim())
    ? Effect.void
    : new CallFailure({ kind: "version", message: `This server speaks version ${VERSION} of A2A` })
}

/** No agent has the name. */
export const unknownAgent = new ApiError({ reason: "unknown", message: "This server offers no agent with this name" })

/**
 * @category constructors
 */
export const make = (
  options: Options,
  limits: ApiLimits.Limits
): Effect.Effect<CallOf, never, Runs.Runs | PendingApprovals.PendingApprovals> =>
  Effect.gen(function* () {
    const runs = yield* Runs.Runs
    const pending = yield* PendingApprovals.PendingApprovals
    const sessions = Option.getOrUndefined(yield* Effect.serviceOption(SessionManager.SessionManager))
    const push = Option.getOrUndefined(yield* Effect.serviceOption(A2aPush.A2aPush))
    const names = new Set(options.agents.map(({ name }) => name))
    return (agent, request) =>
      Effect.gen(function* () {
        const caller = yield* Caller
        if (!names.has(agent)) return yield* unknownAgent
        yield* checkVersion(request)
        const policy = limits.policy(caller)
        return {
          tasks: new A2aTasks.A2aTasks({ agent, caller, runs, pending, options, sessions, policy }),
          caller: { agent, ...(caller.userId === undefined ? {} : { userId: caller.userId }) },
          push,
          stream: A2aTasks.ofApi(limits.stream(caller))
        }
      })
  })
