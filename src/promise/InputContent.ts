/**
 * Reads inputs of runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Resolved } from "../content/Content.js"
import { ContentError } from "../content/ContentError.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type { Input } from "./PromiseInput.js"

const contents = OnDemand.make(() => import("../content/Content.js"))

const notPart = new ContentError({
  reason: "part",
  message: "The input is neither text nor a list of text and files",
  hint: 'Give a text, or a list of { type: "text", text } and { type: "file" | "image" | "audio", data }.'
})

/** Callers without types may give anything. */
const isPart = (part: unknown): boolean => {
  if (!Predicate.isReadonlyRecord(part)) return false
  const { data, text, type } = part
  return type === "text"
    ? Predicate.isString(text)
    : (type === "file" || type === "image" || type === "audio") &&
        (Predicate.isString(data) || data instanceof Uint8Array || data instanceof URL)
}

const isInput = (input: unknown): boolean => Predicate.isString(input) || (Array.isArray(input) && input.every(isPart))

/** The input of a request. Fails with a `ContentError` whose `reason` says what is wrong with a file. */
export const toInput = (input: Input): Effect.Effect<string | ReadonlyArray<Resolved>, ContentError> =>
  !isInput(input)
    ? notPart
    : typeof input === "string"
      ? Effect.succeed(input)
      : Effect.flatMap(contents, (Content) =>
          Effect.forEach(input, (part): Effect.Effect<Resolved, ContentError> => {
            if (part.type === "text") return Effect.succeed(part)
            const { data, type, ...options } = part
            return Content[type](data, options)
          })
        )
