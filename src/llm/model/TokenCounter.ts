/**
 * Counts the tokens of a text or a conversation for a model: with the tokenizer of OpenAI's models, approximately for
 * all others.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ToolFiles from "../../content/ToolFiles.js"
import { approximateCount, tokenBound } from "./ApproximateTokens.js"
import { bounded } from "./BoundedTokenizer.js"
import type { LlmRequest, Message, ToolDefinition } from "./LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The model it counts for. */
  readonly model: string
  /** False if the counts are approximate. */
  readonly exact: boolean
  /** Tokens of a text; `<|endoftext|>` and the like are ordinary text. Linear for any text. */
  readonly count: (text: string) => number
  /**
   * Tokens of a prompt: 3 per message, its role and contents, and 3 that open the answer. Files have fixed counts:
   * `imageTokens` per image, `fileTokens` for anything else that is not text.
   */
  readonly countMessages: (messages: ReadonlyArray<Message>) => number
  /**
   * Tokens of tool definitions: name, description and JSON Schema, 7 per tool and 12 for all of them. Rounded up rather
   * than down.
   */
  readonly countTools: (tools: ReadonlyArray<ToolDefinition>) => number
}

/**
 * @since 0.1.0
 * @category tags
 */
export class TokenCounter extends Context.Tag("effect-lexigram/llm/TokenCounter")<TokenCounter, Service>() {}

/**
 * The count of an image: one of 1024 by 1024 pixels in high detail.
 *
 * @since 0.1.0
 * @category constants
 */
export const imageTokens = 765
/**
 * The count of a file that is neither text nor image: about three pages.
 *
 * @since 0.1.0
 * @category constants
 */
export const fileTokens = 1500

const perMessage = 3
const answerOpening = 3
const perTool = 7
const perTools = 12

const json = (value: unknown): string => {
  if (typeof value === "string") return value
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    // Cyclic or too deep: no provider accepts it, so its size does not matter.
    return ""
  }
}

const fileCount = (mediaType: string, data: unknown, count: Service["count"]): number => {
  if (mediaType.startsWith("image/")) return imageTokens
  if (!mediaType.startsWith("text/") || data instanceof URL) return fileTokens
  if (typeof data === "string") return count(data)
  return data instanceof Uint8Array ? count(new TextDecoder().decode(data)) : fileTokens
}

/**
 * Makes a counter from a function that counts text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly model: string
  readonly exact: boolean
  readonly count: (text: string) => number
}): Service => {
  const { count } = options
  const countMessage = (message: Message): number => {
    if (typeof message.content === "string") return count(message.content)
    let total = 0
    for (const part of message.content) {
      switch (part.type) {
        case "text":
        case "reasoning":
          total += count(part.text)
          break
        case "tool-call":
          total += perMessage + count(part.name) + count(json(part.params))
          break
        case "tool-result":
          total += perMessage + count(part.name) + count(json(part.result))
          for (const { mediaType } of ToolFiles.refsOf(part)) total += fileCount(mediaType, undefined, count)
          break
        case "file":
          total += fileCount(part.mediaType, part.data, count)
          break
      }
    }
    return total
  }
  return {
    model: options.model,
    exact: options.exact,
    count,
    countMessages: (messages) => {
      let total = answerOpening
      for (const message of messages) total += perMessage + count(message.role) + countMessage(message)
      return total
    },
    countTools: (tools) => {
      if (tools.length === 0) return 0
      let total = perTools
      for (const tool of tools) {
        total += perTool + count(`${tool.name}:${tool.description}`) + count(json(tool.parameters))
      }
      return total
    }
  }
}

const remembered = 4

/**
 * A counter for growing conversations: messages at the beginning of a prompt that it counted before (the same values)
 * are not counted again, and neither are the same tools. It keeps the last four conversations: make one per run, then
 * drop it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const incremental = (self: Service): Service => {
  const opening = self.countMessages([])
  let counted: Array<{ readonly messages: ReadonlyArray<Message>; readonly total: number }> = []
  const tools = new WeakMap<ReadonlyArray<ToolDefinition>, number>()
  const beginsWith = (messages: ReadonlyArray<Message>, start: ReadonlyArray<Message>): boolean => {
    if (messages.length < start.length) return false
    for (let index = start.length - 1; index >= 0; index--) if (messages[index] !== start[index]) return false
    return true
  }
  return {
    ...self,
    countMessages: (messages) => {
      let known: (typeof counted)[number] | undefined
      for (const one of counted) {
        if (one.messages.length > (known?.messages.length ?? 0) && beginsWith(messages, one.messages)) known = one
      }
      const total =
        known === undefined
          ? self.countMessages(messages)
          : known.total + self.countMessages(messages.slice(known.messages.length)) - opening
      counted = [{ messages, total }, ...counted.filter((one) => one !== known)].slice(0, remembered)
      return total
    },
    countTools: (definitions) => {
      let total = tools.get(definitions)
      if (total === undefined) {
        total = self.countTools(definitions)
        tools.set(definitions, total)
      }
      return total
    }
  }
}

/**
 * Counts the input of requests: messages, tools and the schema of the answer. As `incremental`; a schema is counted
 * once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forRequests = (
  self: Service
): ((request: Pick<LlmRequest, "messages" | "tools" | "responseFormat">) => number) => {
  const counter = incremental(self)
  const schemas = new WeakMap<object, number>()
  const schemaTokens = (schema: object): number => {
    let total = schemas.get(schema)
    if (total === undefined) {
      total = counter.count(json(schema))
      schemas.set(schema, total)
    }
    return total
  }
  return ({ messages, responseFormat, tools }) =>
    counter.countMessages(messages) +
    (tools === undefined ? 0 : counter.countTools(tools)) +
    (responseFormat?.type === "json" ? schemaTokens(responseFormat.schema) : 0)
}

/**
 * Counts by script, calibrated on OpenAI's tokenizers: about a quarter too high for English, nearly exact for source
 * code, and for other scripts 0.85 to 1.1 times the count of `cl100k_base`, which is up to three times that of newer
 * tokenizers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const approximate: Service = make({ model: "approximate", exact: false, count: approximateCount })

/**
 * @since 0.1.0
 * @category models
 */
export type Encoding = "o200k_base" | "cl100k_base"

/**
 * The public encoding of a model, if it has one. Prefixes of gateways (`openai/gpt-4o`) and of fine-tuned models
 * (`ft:gpt-4o:…`) are recognized.
 *
 * @since 0.1.0
 * @category getters
 */
export const encodingOf = (model: string): Encoding | undefined => {
  const name = model
    .toLowerCase()
    .slice(model.lastIndexOf("/") + 1)
    .replace(/^ft:/, "")
  if (/^(gpt-(4o|4\.1|4\.5|[5-9]|oss)|chatgpt|o[1-9](-|$)|codex|computer-use)/.test(name)) return "o200k_base"
  if (/^(gpt-4|gpt-3\.5|gpt-35|text-embedding-(3|ada))/.test(name)) return "cl100k_base"
  return undefined
}

/** The tokenizer of `gpt-tokenizer`; `undefined` if that optional package cannot be loaded. */
const load = (encoding: Encoding): Effect.Effect<((text: string) => number) | undefined> =>
  Effect.promise(async () => {
    const plain = { disallowedSpecial: new Set<string>() }
    // Bundlers accept the import of a missing package inside a try block.
    try {
      const { countTokens } =
        encoding === "o200k_base"
          ? await import("gpt-tokenizer/encoding/o200k_base")
          : await import("gpt-tokenizer/encoding/cl100k_base")
      return (text) => countTokens(text, plain)
    } catch {
      return undefined
    }
  })

/**
 * The counter of a model: its tokenizer, loaded when the layer is built, or else the approximation. Without the package
 * `gpt-tokenizer` it is an upper bound, three to four times the count of English text, so that budgets hold; a warning
 * names the package.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forModel = (model: string): Effect.Effect<Service> => forModelWith(model, load)

/**
 * `forModel` with a custom loader of the tokenizer.
 *
 * @internal
 */
export const forModelWith = (model: string, tokenizer: typeof load): Effect.Effect<Service> => {
  const encoding = encodingOf(model)
  if (encoding === undefined) return Effect.succeed({ ...approximate, model })
  return Effect.flatMap(tokenizer(encoding), (encode) =>
    encode === undefined
      ? Effect.as(
          Effect.logWarning(
            `Tokens of ${model} are counted by an upper bound. Install gpt-tokenizer to count them exactly.`
          ).pipe(Effect.annotateLogs("module", "TokenCounter")),
          make({ model, exact: false, count: tokenBound })
        )
      : Effect.succeed(make({ model, exact: true, count: bounded(encode) }))
  )
}

/**
 * The counter of the context, else the approximation.
 *
 * @since 0.1.0
 * @category accessors
 */
export const inContext = (context: Context.Context<never>): Service => {
  const given = Context.getOption(context as Context.Context<TokenCounter>, TokenCounter)
  return given._tag === "Some" ? given.value : approximate
}

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const tokens = Effect.map(TokenCounter.TokenCounter, (counter) =>
 *   counter.countMessages([{ role: "user", content: "What is a heat pump?" }])
 * ).pipe(Effect.provide(TokenCounter.layer({ model: "gpt-4.1-mini" })))
 * ```
 */
export const layer = (options: { readonly model: string }): Layer.Layer<TokenCounter> =>
  Layer.effect(TokenCounter, forModel(options.model))

/**
 * Never loads a tokenizer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerApproximate = (options?: { readonly model?: string | undefined }): Layer.Layer<TokenCounter> =>
  Layer.succeed(TokenCounter, options?.model === undefined ? approximate : { ...approximate, model: options.model })
