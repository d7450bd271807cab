/**
 * The form of a reply: JSON by a Schema where the model supports it, and a text form where it does not.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReplyForm<out A> {
  /** 1 to 64 letters, digits, `_` and `-`: providers require a name. */
  readonly name: string
  readonly jsonSchema: JsonSchema
  /** Reads a value from a reply in either form. `Left` says what is wrong in words the model can act on. */
  readonly read: (text: string) => Effect.Effect<A, string>
}

const isName = /^[A-Za-z0-9_-]{1,64}$/

const looksLikeJson = /^\s*(?:```[a-zA-Z]*\s*)?[[{]/

/**
 * Makes a form from a Schema. Texts are read as JSON, bare, fenced or inside a sentence; with `text`, a text that is
 * not JSON of that Schema is read by it. A name that providers reject, or a Schema without a JSON Schema, throws a
 * `TypeError`, because forms are constants.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { ReplyForm } from "effect-lexigram/strategy"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const rating = ReplyForm.make({ name: "rating", schema: Schema.Struct({ stars: Schema.Int }) })
 *
 * const program = Effect.map(rating.read('I would say: {"stars": 4}'), ({ stars }) => stars)
 * ```
 */
export const make = <A, I>(options: {
  readonly name: string
  readonly schema: Schema.Schema<A, I, never>
  readonly text?: ((text: string) => Either.Either<A, string>) | undefined
}): ReplyForm<A> => {
  if (!isName.test(options.name)) {
    throw new TypeError(`ReplyForm ${JSON.stringify(options.name)}: a name is 1 to 64 letters, digits, _ and -`)
  }
  const { jsonSchema, problem, read } = OutputSchema.make(options.schema)
  if (problem !== undefined) throw new TypeError(`ReplyForm ${options.name}: ${problem}`)
  const json = (text: string): Effect.Effect<A, string> => Effect.flatMap(JsonText.read(text), read)
  const { text: plain } = options
  return {
    name: options.name,
    jsonSchema,
    read: (text) => {
      if (plain === undefined) return json(text)
      // A text form may hold braces of its own: it is asked first unless the reply can only be JSON.
      if (looksLikeJson.test(text)) {
        return Effect.catchAll(json(text), (issues) => Either.mapLeft(plain(text), () => issues))
      }
      return Either.match(plain(text), {
        onRight: Effect.succeed,
        onLeft: (issues) => Effect.mapError(json(text), () => issues)
      })
    }
  }
}
