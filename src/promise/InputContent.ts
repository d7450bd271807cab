/**
 * Reads inputs of runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Resolved } from "../content/Content.js"
import type { ContentError } from "../content/ContentError.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type { Input } from "./PromiseInput.js"

const contents = OnDemand.make(() => import("../content/Content.js"))

/** The input of a request. Fails with a `ContentError` whose `reason` says what is wrong with a file. */
export const toInput = (input: Input): Effect.Effect<string | ReadonlyArray<Resolved>, ContentError> =>
  typeof input === "string"
    ? Effect.succeed(input)
    : Effect.flatMap(contents, (Content) =>
        Effect.forEach(input, (part): Effect.Effect<Resolved, ContentError> => {
          if (part.type === "text") return Effect.succeed(part)
          const { data, type, ...options } = part
          return Content[type](data, options)
        })
      )
