/**
 * Redacts secrets in model requests and answers, including streamed ones.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as SecretText from "../internal/text/SecretText.js"
import * as CallMeter from "./model/CallMeter.js"
import type * as LlmClient from "./model/LlmClient.js"
import * as LlmGateway from "./model/LlmGateway.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * What to replace with `replacement`. Without `patterns` and `redact`: everything shaped like a key, token or
   * password parameter.
   */
  readonly patterns?: ReadonlyArray<RegExp> | undefined
  /** Redacts a text; runs after `patterns`. It must be idempotent. */
  readonly redact?: ((text: string) => string) | undefined
  /** Default `[REDACTED]`. Inserted literally: `$&` has no special meaning. */
  readonly replacement?: string | undefined
  /** Default `both`. */
  readonly direction?: "request" | "response" | "both" | undefined
  /**
   * How many characters of a streamed text are held back, so that a secret split over several parts is found; default
   * 256. A longer secret is still found if its beginning alone is recognized.
   */
  readonly window?: number | undefined
}

/** The maximum held back, in windows (and at least two pieces), while a text keeps being redacted. */
const maxWindows = 16

/**
 * Longer texts are redacted in pieces, so that a pattern that is quadratic in the text is quadratic only in a piece.
 */
const pieceLength = 4096

interface TextRedactor {
  /** Takes the next characters and returns those that are safe. */
  readonly push: (text: string) => string
  /** Returns the rest. */
  readonly end: () => string
}

const makeTextRedactor = (redact: (text: string) => string, window: number): TextRedactor => {
  let held = ""
  const take = (length: number): string => {
    if (length === 0) return ""
    const safe = redact(held.slice(0, length))
    held = held.slice(length)
    return safe
  }
  /** Where to cut so that redacting both sides equals redacting the whole: never inside a secret. */
  const cut = (): number => {
    const latest = held.length - window
    const whole = redact(held)
    if (whole === held) return latest
    const step = Math.max(1, Math.floor(window / 4))
    const isFull = held.length > Math.max(maxWindows * window, 2 * pieceLength)
    for (let at = latest; at > 0 && (isFull || at > latest - 2 * window); at -= step) {
      if (redact(held.slice(0, at)) + redact(held.slice(at)) === whole) return at
    }
    return isFull ? held.length : 0
  }
  return {
    push: (text) => {
      let safe = ""
      for (let from = 0; from < text.length; from += pieceLength) {
        held += text.slice(from, from + pieceLength)
        if (held.length > window) safe += take(cut())
      }
      return safe
    },
    end: () => take(held.length)
  }
}

const makeRedact = (options: Options | undefined): ((text: string) => string) => {
  const replacement = options?.replacement ?? SecretText.replacement
  const patterns = options?.patterns?.map(
    (pattern) => new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`)
  )
  const custom = options?.redact
  if (patterns === undefined) return custom ?? ((text) => SecretText.redact(text))
  return (text) => {
    let result = text
    for (const pattern of patterns) result = result.replace(pattern, () => replacement)
    return custom === undefined ? result : custom(result)
  }
}

type Text = (text: string) => string

/** Deeper data is replaced as a whole: nothing is sent unchecked. */
const maxDepth = 256

/** Redacts the strings of plain data and keeps the keys. */
const data = (value: unknown, text: Text, depth = 0): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof URL) return value
  if (depth === maxDepth) return SecretText.replacement
  if (Array.isArray(value)) return value.map((item) => data(item, text, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, data(item, text, depth + 1)]))
}

const content = <Part extends { readonly type: string }>(parts: ReadonlyArray<Part>, text: Text): ReadonlyArray<Part> =>
  parts.map((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return { ...part, text: text((part as { readonly text?: string }).text ?? "") }
      case "tool-call":
        return { ...part, params: data((part as { readonly params?: unknown }).params, text) }
      case "tool-result":
        return { ...part, result: data((part as { readonly result?: unknown }).result, text) }
      default:
        return part
    }
  })

const message = (original: LlmClient.Message, text: Text): LlmClient.Message =>
  ({
    ...original,
    content:
      typeof original.content === "string"
        ? text(original.content)
        : content(original.content as ReadonlyArray<{ readonly type: string }>, text)
  }) as LlmClient.Message

const answer = (response: LlmClient.LlmResponse, text: Text): LlmClient.LlmResponse => ({
  ...response,
  content: response.content.map((part) =>
    part.type === "text" || part.type === "reasoning" ? { ...part, text: text(part.text) } : part
  )
})

/** Redacts deltas per text; the rest of a text is released before its end, and before the finish. */
const makeParts = (redactor: () => TextRedactor) => {
  const open = new Map<
    string,
    { readonly type: "text" | "reasoning"; readonly id: string; readonly text: TextRedactor }
  >()
  const delta = (type: "text" | "reasoning", id: string, text: string): LlmClient.LlmPart =>
    type === "text" ? { type: "text-delta", id, delta: text } : { type: "reasoning-delta", id, delta: text }
  const redactorOf = (type: "text" | "reasoning", id: string): TextRedactor => {
    const key = `${type}:${id}`
    const known = open.get(key)
    if (known !== undefined) return known.text
    const text = redactor()
    open.set(key, { type, id, text })
    return text
  }
  const close = (key: string, out: Array<LlmClient.LlmPart>): void => {
    const entry = open.get(key)
    if (entry === undefined) return
    open.delete(key)
    const rest = entry.text.end()
    if (rest !== "") out.push(delta(entry.type, entry.id, rest))
  }
  const rest = (out: Array<LlmClient.LlmPart>): void => {
    for (const key of Array.from(open.keys())) close(key, out)
  }
  const push = (part: LlmClient.LlmPart, out: Array<LlmClient.LlmPart>): void => {
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta": {
        const safe = redactorOf(part.type === "text-delta" ? "text" : "reasoning", part.id).push(part.delta)
        if (safe !== "" || part.metadata !== undefined) out.push({ ...part, delta: safe })
        return
      }
      case "text-end":
      case "reasoning-end": {
        close(`${part.type === "text-end" ? "text" : "reasoning"}:${part.id}`, out)
        break
      }
      case "finish": {
        rest(out)
        break
      }
    }
    out.push(part)
  }
  return { push, rest }
}

/**
 * Requests: redacts the texts of all messages, the parameters of earlier tool calls, and tool results. Answers: redacts
 * text and reasoning. The parameters of the tool calls in an answer stay, because the tools run with them; files and
 * tool definitions stay too. Pure: the wrapped client keeps no state.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap = (options?: Options | undefined): ((inner: LlmClient.Service) => LlmClient.Service) => {
  const window = Math.max(1, Math.floor(options?.window ?? 256))
  const redact = makeRedact(options)
  const direction = options?.direction ?? "both"
  const redactor = () => makeTextRedactor(redact, window)
  const text: Text = (original) => {
    if (original.length <= pieceLength) return redact(original)
    const long = redactor()
    return long.push(original) + long.end()
  }
  const outgoing = (request: LlmClient.LlmRequest): LlmClient.LlmRequest =>
    direction === "response" ? request : { ...request, messages: request.messages.map((item) => message(item, text)) }

  return (given) => {
    const inner = CallMeter.metered(given)
    return {
      provider: inner.provider,
      model: inner.model,
      metered: true,
      complete: (request, completeOptions) =>
        Effect.suspend(() => {
          if (direction === "request") return inner.complete(outgoing(request), completeOptions)
          const onParts = completeOptions?.onParts
          if (onParts === undefined) {
            return Effect.map(inner.complete(outgoing(request), completeOptions), (response) => answer(response, text))
          }
          const parts = makeParts(redactor)
          const emit = (out: ReadonlyArray<LlmClient.LlmPart>) => (out.length === 0 ? Effect.void : onParts(out))
          return Effect.flatMap(
            inner.complete(outgoing(request), {
              ...completeOptions,
              onParts: (chunk) =>
                Effect.suspend(() => {
                  const out: Array<LlmClient.LlmPart> = []
                  for (const part of chunk) parts.push(part, out)
                  return emit(out)
                })
            }),
            (response) =>
              Effect.suspend(() => {
                const out: Array<LlmClient.LlmPart> = []
                parts.rest(out)
                return Effect.as(emit(out), answer(response, text))
              })
          )
        })
    }
  }
}

/**
 * @example
 * ```ts
 * import { LlmRedaction } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmRedaction.layer({ patterns: [/CUST-\d{8}/g], replacement: "[CUSTOMER]" }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> =>
  LlmGateway.layerWrapped((inner) => Effect.succeed(wrap(options)(inner)))
