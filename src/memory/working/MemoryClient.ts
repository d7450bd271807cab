/**
 * A model client with working memory, for calls outside agents. Agents get memory from the executor.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { EntryId, type SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as CallGate from "../../llm/model/CallGate.js"
import * as CallMeter from "../../llm/model/CallMeter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryError } from "../entry/MemoryError.js"
import * as WorkingMemory from "./WorkingMemory.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The owner of the memory. */
  readonly ownerId: string
  readonly sessionId?: SessionId | undefined
  /** Maximum tokens of remembered content. Default 4096. */
  readonly tokenBudget?: number | undefined
  /** Whether to store messages. If false, memory is only read. Default true. */
  readonly remember?: boolean | undefined
}

type UserMessage = Extract<LlmClient.Message, { readonly role: "user" }>

const textOf = ({ content }: UserMessage): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

const lastOfUser = (messages: ReadonlyArray<LlmClient.Message>): string | undefined => {
  const message = messages.findLast((message): message is UserMessage => message.role === "user")
  const text = message === undefined ? "" : textOf(message)
  return text.trim() === "" ? undefined : text
}

/** After the system messages, so that the provider can cache them and the stable beginning of the memory. */
const inserted = (
  messages: ReadonlyArray<LlmClient.Message>,
  remembered: ReadonlyArray<LlmClient.Message>
): ReadonlyArray<LlmClient.Message> => {
  const first = messages.findIndex(({ role }) => role !== "system")
  const at = first === -1 ? messages.length : first
  return [...messages.slice(0, at), ...remembered, ...messages.slice(at)]
}

const passedOver = <A>(effect: Effect.Effect<A, MemoryError>, what: string): Effect.Effect<A | undefined> =>
  Effect.catchAll(effect, (error) =>
    Effect.logWarning(`${what} failed`).pipe(
      Effect.annotateLogs({ module: "MemoryClient", error: error._tag }),
      Effect.as(undefined)
    )
  )

/**
 * Adds a memory to the client. Content related to the last user message is inserted as data in a separate message after
 * the system messages. If the last message is a user's, it and the answer are stored afterwards; calls that continue
 * with tool results are not. A failing memory is logged, and the call continues without it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withWorkingMemory = (
  given: LlmClient.Service,
  memory: WorkingMemory.Service,
  options: Options
): LlmClient.Service => {
  const client = CallMeter.metered(given)
  const { ownerId, sessionId } = options
  const tokenBudget = Count.count(options.tokenBudget, 4096, 0)
  const entryOf = (role: "user" | "assistant", content: string) =>
    Effect.gen(function* () {
      const id = yield* IdGenerator.generate
      const timestamp = yield* Clock.currentTimeMillis
      const entry: MemoryEntry = {
        id: EntryId.make(id),
        ownerId,
        role,
        content,
        timestamp,
        importance: 0.5,
        metadata: { type: "turn" },
        ...(sessionId === undefined ? {} : { sessionId })
      }
      return entry
    })
  return {
    ...given,
    metered: true,
    complete: (request, completeOptions) =>
      Effect.gen(function* () {
        const query = lastOfUser(request.messages)
        if (query === undefined) return yield* client.complete(request, completeOptions)
        const asked = yield* entryOf("user", query)
        const assembled = yield* passedOver(
          CallGate.outsideCall(
            memory.assemble({ query, tokenBudget, ownerId, ...(sessionId === undefined ? {} : { sessionId }) })
          ),
          "Recalling"
        )
        const remembered = assembled === undefined ? [] : WorkingMemory.toMessages(assembled)
        const response = yield* client.complete(
          remembered.length === 0 ? request : { ...request, messages: inserted(request.messages, remembered) },
          completeOptions
        )
        if (options.remember === false || request.messages.at(-1)?.role !== "user") return response
        const answer = LlmClient.text(response)
        const said = answer === "" ? [asked] : [asked, yield* entryOf("assistant", answer)]
        yield* passedOver(CallGate.outsideCall(memory.addAll(said)), "Remembering")
        return response
      })
  }
}

/**
 * Adds the memory in context to the client in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids, LlmGateway } from "effect-lexigram"
 * import { DefaultMemory, MemoryClient } from "effect-lexigram/memory"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const remembering = MemoryClient.layer({ ownerId: "ada", sessionId: Ids.SessionId.make("chat") }).pipe(
 *   Layer.provide([OfflineModel.layer(), DefaultMemory.layer()])
 * )
 *
 * const program = LlmGateway.complete({ messages: [{ role: "user", content: "Which room is my desk in?" }] }).pipe(
 *   Effect.provide(remembering)
 * )
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient | WorkingMemory.WorkingMemory> =>
  Layer.effect(
    LlmClient.LlmClient,
    Effect.gen(function* () {
      return withWorkingMemory(yield* LlmClient.LlmClient, yield* WorkingMemory.WorkingMemory, options)
    })
  )
