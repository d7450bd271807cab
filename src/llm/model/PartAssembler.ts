/**
 * Assembles streamed parts into the complete answer, for streaming clients, history and durability.
 *
 * @since 0.1.0
 */
import * as Usage from "../../domain/Usage.js"
import type { Content, FinishReason, LlmPart, LlmResponse } from "./LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface PartAssembler {
  /** Takes the next part, in constant time. */
  readonly push: (part: LlmPart) => void
  /** True once a `finish` part arrived. */
  readonly finished: () => boolean
  /** The answer so far, including open texts. `finishReason` is `unknown` before a `finish` part. */
  readonly response: () => LlmResponse
}

interface Open {
  readonly index: number
  readonly type: "text" | "reasoning"
  readonly chunks: Array<string>
  metadata: Record<string, unknown> | undefined
}

/**
 * Content keeps the order in which its pieces began. A delta without a start opens its piece. Metadata of a piece's
 * parts is merged, provider by provider.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { LlmClient, LlmGateway } from "effect-lexigram"
 * import { PartAssembler } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * const answer = Effect.suspend(() => {
 *   const assembler = PartAssembler.make()
 *   return LlmGateway.stream({ messages: [{ role: "user", content: "What is a heat pump?" }] }).pipe(
 *     Stream.runForEach((part) => Effect.sync(() => assembler.push(part))),
 *     Effect.map(() => LlmClient.text(assembler.response()))
 *   )
 * })
 * ```
 */
export const make = (init?: {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}): PartAssembler => {
  const slots: Array<Content | Open> = []
  const open = new Map<string, Open>()
  let id: string | undefined
  let model = init?.model
  let finishReason: FinishReason = "unknown"
  let usage: Usage.Usage = Usage.empty
  let finishMetadata: Record<string, unknown> | undefined
  let finished = false

  const start = (type: Open["type"], partId: string, metadata: Record<string, unknown> | undefined): Open => {
    const key = `${type}:${partId}`
    const slot: Open = { index: slots.length, type, chunks: [], metadata: undefined }
    merge(slot, metadata)
    slots.push(slot)
    open.set(key, slot)
    return slot
  }
  const merge = (slot: Open, metadata: Record<string, unknown> | undefined) => {
    if (metadata === undefined) return
    const merged: Record<string, unknown> = { ...slot.metadata }
    for (const [provider, value] of Object.entries(metadata)) {
      const previous = merged[provider]
      merged[provider] =
        typeof previous === "object" && previous !== null && typeof value === "object" && value !== null
          ? { ...previous, ...value }
          : value
    }
    slot.metadata = merged
  }
  const openPiece = (type: Open["type"], partId: string): Open =>
    open.get(`${type}:${partId}`) ?? start(type, partId, undefined)
  const end = (type: Open["type"], partId: string, metadata: Record<string, unknown> | undefined) => {
    const slot = open.get(`${type}:${partId}`)
    if (slot === undefined) return
    merge(slot, metadata)
    open.delete(`${type}:${partId}`)
  }
  const close = (slot: Content | Open): Content =>
    "chunks" in slot
      ? {
          type: slot.type,
          text: slot.chunks.join(""),
          ...(slot.metadata === undefined ? {} : { metadata: slot.metadata as any })
        }
      : slot

  return {
    push: (part) => {
      switch (part.type) {
        case "text-start":
          return void start("text", part.id, part.metadata)
        case "reasoning-start":
          return void start("reasoning", part.id, part.metadata)
        case "text-delta": {
          const slot = openPiece("text", part.id)
          slot.chunks.push(part.delta)
          return merge(slot, part.metadata)
        }
        case "reasoning-delta": {
          const slot = openPiece("reasoning", part.id)
          slot.chunks.push(part.delta)
          return merge(slot, part.metadata)
        }
        case "text-end":
          return end("text", part.id, part.metadata)
        case "reasoning-end":
          return end("reasoning", part.id, part.metadata)
        case "tool-call":
        case "tool-result":
        case "file":
        case "source":
          return void slots.push(part)
        case "response-metadata": {
          id = part.id ?? id
          model = part.modelId ?? model
          return
        }
        case "finish": {
          finishReason = part.reason
          usage = part.usage
          finishMetadata = part.metadata
          finished = true
          return
        }
        case "tool-params-start":
        case "tool-params-delta":
        case "tool-params-end":
          return
      }
    },
    finished: () => finished,
    response: () => ({
      content: slots
        .map(close)
        .filter((part) => !(part.type === "text" && part.text === "" && part.metadata === undefined)),
      finishReason,
      usage,
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { model }),
      ...(init?.provider === undefined ? {} : { provider: init.provider }),
      ...(finishMetadata === undefined ? {} : { metadata: finishMetadata })
    })
  }
}
