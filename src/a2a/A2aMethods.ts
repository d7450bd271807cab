/**
 * The methods of the protocol, whatever binding calls them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Refusals from "../http/api/Refusals.js"
import type { WebhookError } from "../http/webhook/WebhookError.js"
import { CallFailure } from "./A2aFailures.js"
import { type PushConfig, params, type Update } from "./A2aModels.js"
import type * as A2aPush from "./A2aPush.js"
import * as A2aTasks from "./A2aTasks.js"

/**
 * What a method answers: an object, or the updates of a task, of which the first is known at once.
 *
 * @category models
 */
export type Answer =
  | { readonly _tag: "Value"; readonly value: unknown }
  | {
      readonly _tag: "Updates"
      readonly head: Update
      readonly follow: (
        send: (updates: ReadonlyArray<Update>) => Effect.Effect<void>
      ) => Effect.Effect<unknown, CallFailure>
    }

/**
 * Who calls.
 *
 * @category models
 */
export interface Call {
  readonly tasks: A2aTasks.A2aTasks
  readonly caller: Pick<A2aPush.Owned, "agent" | "userId">
  readonly push: A2aPush.Service | undefined
  /** Counts the call as a stream while it goes on. */
  readonly stream: Effect.Effect<void, CallFailure, Scope.Scope>
}

/**
 * @category models
 */
export type Method = (call: Call, params: unknown) => Effect.Effect<Answer, CallFailure, Scope.Scope>

const decoded = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (params: unknown): Effect.Effect<A, CallFailure> =>
    Effect.mapError(
      decode(params ?? {}),
      ({ message }) => new CallFailure({ kind: "params", message: message.slice(0, 2000) })
    )
}

/** A method that answers with an object. */
const plain =
  <A, I>(schema: Schema.Schema<A, I>, handle: (call: Call, params: A) => Effect.Effect<unknown, CallFailure>): Method =>
  (call, params) =>
    Effect.map(
      Effect.flatMap(decoded(schema)(params), (given) => handle(call, given)),
      (value) => ({ _tag: "Value", value })
    )

const updatesOf = ({ tasks }: Call, id: string): Effect.Effect<Answer, CallFailure> =>
  Effect.map(tasks.head(id), (head) => ({ _tag: "Updates", head, follow: (send) => tasks.follow(id, send) }))

const noPush = new CallFailure({
  kind: "push",
  message: "This server sends no push notifications: poll or subscribe"
})

const pushOf = ({ push }: Call): Effect.Effect<A2aPush.Service, CallFailure> =>
  push === undefined ? noPush : Effect.succeed(push)

const ofWebhook = <A>(effect: Effect.Effect<A, WebhookError>): Effect.Effect<A, CallFailure> =>
  A2aTasks.ofApi(Effect.catchAll(effect, Refusals.fromWebhook))

/** What a caller may do with the push notification configs of its tasks. */
const owned = <A>(
  call: Call,
  taskId: string,
  use: (push: A2aPush.Service, task: A2aPush.Owned) => Effect.Effect<A, CallFailure>
): Effect.Effect<A, CallFailure> =>
  Effect.flatMap(pushOf(call), (push) =>
    Effect.flatMap(call.tasks.record(taskId), ({ runId }) => use(push, { ...call.caller, runId }))
  )

const createPush = (call: Call, taskId: string, config: PushConfig) =>
  owned(call, taskId, (push, task) => ofWebhook(Effect.zipRight(push.check(config), push.create(task, config))))

const decodeSend = decoded(params.send)

/** Takes a message. Nothing begins where its push notification config is refused. */
const taken = (call: Call, given: unknown) =>
  Effect.gen(function* () {
    const { configuration = {}, message } = yield* decodeSend(given)
    const { returnImmediately, taskPushNotificationConfig: config } = configuration
    if (config !== undefined) yield* ofWebhook((yield* pushOf(call)).check(config))
    const id = yield* call.tasks.take(message)
    if (config !== undefined) yield* createPush(call, id, config)
    return { id, isImmediate: returnImmediately === true }
  })

const noConfig = new CallFailure({ kind: "task", message: "The task has no push notification config with this id" })

const decodeTask = decoded(params.task)

const all = {
  SendMessage: (call, given) =>
    Effect.gen(function* () {
      yield* call.stream
      const { id, isImmediate } = yield* taken(call, given)
      const task = yield* isImmediate ? call.tasks.get(id) : call.tasks.settled(id)
      return { _tag: "Value", value: { task } }
    }),
  SendStreamingMessage: (call, given) =>
    Effect.zipRight(
      call.stream,
      Effect.flatMap(taken(call, given), ({ id }) => updatesOf(call, id))
    ),
  SubscribeToTask: (call, given) =>
    Effect.zipRight(
      call.stream,
      Effect.flatMap(decodeTask(given), ({ id }) => updatesOf(call, id))
    ),
  GetTask: plain(params.task, ({ tasks }, { id }) => tasks.get(id)),
  ListTasks: plain(params.list, ({ tasks }, filter) => tasks.list(filter)),
  CancelTask: plain(params.task, ({ tasks }, { id }) => tasks.cancel(id)),
  CreateTaskPushNotificationConfig: plain(params.push, (call, config) => createPush(call, config.taskId, config)),
  GetTaskPushNotificationConfig: plain(params.pushOne, (call, { id, taskId }) =>
    owned(call, taskId, (push, task) =>
      Effect.flatMap(push.get(task, id), Option.match({ onNone: () => noConfig, onSome: Effect.succeed }))
    )
  ),
  ListTaskPushNotificationConfigs: plain(params.pushes, (call, { taskId }) =>
    owned(call, taskId, (push, task) => Effect.map(push.list(task), (configs) => ({ configs, nextPageToken: "" })))
  ),
  DeleteTaskPushNotificationConfig: plain(params.pushOne, (call, { id, taskId }) =>
    owned(call, taskId, (push, task) => Effect.as(push.remove(task, id), {}))
  ),
  GetExtendedAgentCard: () => new CallFailure({ kind: "card", message: "There is no other card than the public one" })
} satisfies Readonly<Record<string, Method>>

/**
 * @category models
 */
export type MethodName = keyof typeof all

/**
 * @category constants
 */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>(Object.entries(all))
