/**
 * Serves chats of AI SDK UI: `useChat` of `@ai-sdk/react` 3 and 4 talks to an agent at `/ui/chat/<agent>`.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runs from "../../agent/runs/Runs.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as AgentServer from "../api/AgentServer.js"
import { ApiError } from "../api/ApiError.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import { Caller } from "../api/Authentication.js"
import * as RunReaders from "../api/RunReaders.js"
import * as SessionModels from "../api/SessionModels.js"
import { UiApi } from "./UiApi.js"
import * as UiChats from "./UiChats.js"
import * as UiFollow from "./UiFollow.js"
import * as UiMessages from "./UiMessages.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends UiFollow.Options {
  /** How long an answer goes on while nobody follows it; default 10 seconds. A reload takes less. */
  readonly grace?: Duration.DurationInput | undefined
  /** Answers go on when nobody follows them, however long it takes. Default false. */
  readonly detach?: boolean | undefined
}

const noSessions = new ApiError({ reason: "unsupported", message: "This server keeps no sessions" })

const layer = (options: Options, limits: ApiLimits.Limits) =>
  HttpApiBuilder.group(UiApi, "chat", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const sessions = yield* Effect.serviceOption(SessionManager.SessionManager)
      const readers = yield* RunReaders.make(options.grace ?? "10 seconds")
      const pending = yield* PendingApprovals.PendingApprovals
      const follower = new UiFollow.UiFollow(runs, pending, readers, options)
      const chats = new UiChats.UiChats(runs, pending, Option.getOrUndefined(sessions), limits.policy)
      return handlers
        .handle("sendMessages", ({ path, payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* limits.stream(caller)
            const { answered, runId } = yield* chats.send({ caller, agent: path.agent, chatId: payload.id }, payload)
            if (options.detach !== true) readers.attach(runId)
            return yield* follower.response(runId, caller, answered)
          })
        )
        .handle("followChat", ({ path }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const run = yield* chats.open({ caller, ...path })
            if (run === undefined) return HttpServerResponse.empty({ status: 204 })
            yield* limits.stream(caller)
            return yield* follower.response(run.runId, caller)
          })
        )
        .handle("chatMessages", ({ path, urlParams: { before, limit = 50 } }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            if (Option.isNone(sessions)) return yield* noSessions
            const chat = { caller, ...path }
            const turns = yield* chats.turns(chat, sessions.value, { last: limit, before })
            const oldest = turns[0]
            const asked = before === undefined ? yield* chats.asked(chat) : []
            return {
              messages: [...UiMessages.fromTurns(SessionModels.fromTurns(turns)), ...asked],
              ...(oldest === undefined || oldest.depth === 1
                ? {}
                : { next: { sessionId: oldest.sessionId, turnId: oldest.id } })
            }
          })
        )
        .handle("stopChat", ({ path }) => Effect.flatMap(Caller, (caller) => chats.stop({ caller, ...path })))
        .handle("answerChat", ({ path: { requestId, ...path }, payload }) =>
          Effect.flatMap(Caller, (caller) => chats.decide({ caller, ...path }, requestId, payload))
        )
    })
  )

/**
 * Chats of AI SDK UI, for `AgentServer.layer({ agents, edges: [UiChat.make()] })`. With sessions in the context of the
 * server (`Sessions.layer`) the id of a chat is that of its session, and only the last message of a request is read;
 * without them the messages of the request are the history.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentServer, UiChat } from "effect-lexigram/http"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 *
 * const server = AgentServer.layer({ agents, edges: [UiChat.make({ grace: "30 seconds" })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): AgentServer.Edge => ({
  endpoints: Object.values(UiApi.groups).flatMap(
    (group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints)
  ),
  layer: (limits) => Layer.discard(layer(options, limits))
})
