/**
 * The binding of the protocol by HTTP+JSON.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { ApiError } from "../http/api/ApiError.js"
import type * as ApiLimits from "../http/api/ApiLimits.js"
import * as EventStream from "../http/api/EventStream.js"
import { Api } from "./A2aApi.js"
import * as A2aCalls from "./A2aCalls.js"
import * as A2aFailures from "./A2aFailures.js"
import * as A2aMethods from "./A2aMethods.js"
import type { Update } from "./A2aModels.js"

const contentType = "application/a2a+json"

const failureResponse = (failure: A2aFailures.CallFailure): HttpServerResponse.HttpServerResponse => {
  const body = A2aFailures.toStatus(failure)
  return HttpServerResponse.unsafeJson(body, { status: body.error.code })
}

const responseOf = (answer: A2aMethods.Answer, options: EventStream.Options) => {
  if (answer._tag === "Value") return Effect.succeed(HttpServerResponse.unsafeJson(answer.value, { contentType }))
  return EventStream.response((push) => {
    const sent = (updates: ReadonlyArray<Update>) => push(updates.map((update) => ({ data: JSON.stringify(update) })))
    return Effect.zipRight(sent([answer.head]), answer.follow(sent)).pipe(
      Effect.catchAll((failure) => push([{ event: "error", data: JSON.stringify(A2aFailures.toStatus(failure)) }]))
    )
  }, options)
}

/** The JSON of a body; a call without one has none. */
const bodyOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<unknown> =>
  Effect.orDie(Effect.flatMap(request.text, (text) => (text === "" ? Effect.succeed({}) : request.json)))

const unknownPath = new ApiError({ reason: "unknown", message: "No endpoint has this path" })

const messageVerbs: Readonly<Record<string, A2aMethods.MethodName>> = {
  "message:send": "SendMessage",
  "message:stream": "SendStreamingMessage"
}

const taskVerbs: Readonly<Record<string, A2aMethods.MethodName>> = {
  cancel: "CancelTask",
  subscribe: "SubscribeToTask"
}

const verbOf = (verbs: Readonly<Record<string, A2aMethods.MethodName>>, verb: string | undefined) =>
  verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined

/** The id of a task, and the verb after its last colon. */
const splitTask = (text: string) => {
  const [, id = text, verb] = /^(.+):([a-z]+)$/s.exec(text) ?? []
  return { id, method: verbOf(taskVerbs, verb) }
}

/**
 * @category layers
 */
export const layer = (options: A2aCalls.Options & EventStream.Options, limits: ApiLimits.Limits) =>
  HttpApiBuilder.group(Api, "a2aRest", (handlers) =>
    Effect.gen(function* () {
      const callOf = yield* A2aCalls.make(options, limits)
      const run = (
        {
          path,
          request
        }: { readonly path: { readonly agent: string }; readonly request: HttpServerRequest.HttpServerRequest },
        name: A2aMethods.MethodName | undefined,
        params: Effect.Effect<unknown> = Effect.succeed({})
      ) =>
        Effect.gen(function* () {
          const call = yield* callOf(path.agent, request)
          const method = name === undefined ? undefined : A2aMethods.methods.get(name)
          if (method === undefined) return yield* unknownPath
          return yield* responseOf(yield* method(call, yield* params), options)
        }).pipe(Effect.catchTag("CallFailure", (failure) => Effect.succeed(failureResponse(failure))))
      return handlers
        .handle("a2aMessage", (from) => run(from, verbOf(messageVerbs, from.path.verb), bodyOf(from.request)))
        .handle("a2aTasks", (from) => run(from, "ListTasks", Effect.succeed(from.urlParams)))
        .handle("a2aTask", (from) => {
          const { id, method } = splitTask(from.path.task)
          return method === "SubscribeToTask"
            ? run(from, method, Effect.succeed({ id }))
            : run(from, "GetTask", Effect.succeed({ id: from.path.task }))
        })
        .handle("a2aTaskVerb", (from) => {
          const { id, method } = splitTask(from.path.task)
          return run(from, method, Effect.succeed({ id }))
        })
        .handle("a2aCreatePush", (from) =>
          run(
            from,
            "CreateTaskPushNotificationConfig",
            Effect.map(bodyOf(from.request), (body) => ({ ...Object(body), taskId: from.path.task }))
          )
        )
        .handle("a2aPushes", (from) =>
          run(from, "ListTaskPushNotificationConfigs", Effect.succeed({ taskId: from.path.task }))
        )
        .handle("a2aPush", (from) =>
          run(from, "GetTaskPushNotificationConfig", Effect.succeed({ taskId: from.path.task, id: from.path.config }))
        )
        .handle("a2aDeletePush", (from) =>
          run(
            from,
            "DeleteTaskPushNotificationConfig",
            Effect.succeed({ taskId: from.path.task, id: from.path.config })
          )
        )
        .handle("a2aExtendedCard", (from) => run(from, "GetExtendedAgentCard"))
    })
  )
