/**
 * Serves agents over the AG-UI protocol 1.0: `HttpAgent` of `@ag-ui/client` talks to an agent at `/agui/<agent>`.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runs from "../../agent/runs/Runs.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as AgentServer from "../api/AgentServer.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import { Caller } from "../api/Authentication.js"
import * as RunReaders from "../api/RunReaders.js"
import { ChatRuns } from "../chat/ChatRuns.js"
import { AgUiApi } from "./AgUiApi.js"
import type { AgUiEvent } from "./AgUiEvent.js"
import * as AgUiFollow from "./AgUiFollow.js"
import { AgUiThreads } from "./AgUiThreads.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends AgUiFollow.Options {
  /** How long an answer goes on while nobody follows it; default 10 seconds. A reload takes less. */
  readonly grace?: Duration.DurationInput | undefined
  /** Answers go on when nobody follows them, however long it takes. Default false. */
  readonly detach?: boolean | undefined
  /**
   * The state of a thread is the variables of its session: those that a client sends replace them unless they are
   * empty, and it gets them when a run ends or waits, and when it connects. Default false: there is no state.
   */
  readonly state?: boolean | undefined
}

const layer = (options: Options, limits: ApiLimits.Limits) =>
  HttpApiBuilder.group(AgUiApi, "agui", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const pending = yield* PendingApprovals.PendingApprovals
      const sessions = yield* Effect.serviceOption(SessionManager.SessionManager)
      const readers = yield* RunReaders.make(options.grace ?? "10 seconds")
      const chats = new ChatRuns(runs, pending, Option.getOrUndefined(sessions), limits.policy)
      const threads = new AgUiThreads(
        runs,
        pending,
        chats,
        options.state === true,
        options.callsExpireAfter ?? "1 hour"
      )
      const follower = new AgUiFollow.AgUiFollow(runs, pending, threads, readers, options)
      return handlers
        .handle("agUiRun", ({ path: { agent }, payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* limits.stream(caller)
            const { messages, runId: requestId, state, threadId, tools } = payload
            const chat = { caller, agent, chatId: threadId }
            const found = yield* threads.run(chat, payload)
            if (Either.isLeft(found)) return yield* follower.refusal(found.left)
            const going = found.right
            if (going !== undefined && options.detach !== true) readers.attach(going.runId)
            return yield* follower.response({ chat, requestId, messages, state, tools: tools ?? [] }, going)
          })
        )
        .handle("agUiConnect", ({ path: { agent }, payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            yield* limits.stream(caller)
            const chat = { caller, agent, chatId: payload.threadId }
            const { messages, run } = yield* threads.connect(chat, payload)
            const state = yield* threads.state(chat)
            const first: ReadonlyArray<AgUiEvent> = [
              ...(messages === undefined ? [] : [{ type: "MESSAGES_SNAPSHOT" as const, messages }]),
              ...(state === undefined ? [] : [{ type: "STATE_SNAPSHOT" as const, snapshot: state }])
            ]
            const { runId: requestId, tools } = payload
            const followed = { chat, requestId, messages: messages ?? [], state, tools: tools ?? [] }
            return yield* follower.response(followed, run, first)
          })
        )
    })
  )

/**
 * `/agui/<agent>`, for `AgentServer.layer({ agents, edges: [AgUi.make()] })`. With sessions in the context of the
 * server (`Sessions.layer`) the id of a thread is that of its session, and only the last message of a request is read;
 * without them the messages of the request are the history.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentServer, AgUi } from "effect-lexigram/http"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 *
 * // Clients of AG-UI call /agui/clerk.
 * const server = AgentServer.layer({ agents, edges: [AgUi.make({ state: true })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): AgentServer.Edge => ({
  endpoints: Object.values(AgUiApi.groups).flatMap(
    (group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints)
  ),
  layer: (limits) => Layer.discard(layer(options, limits))
})
