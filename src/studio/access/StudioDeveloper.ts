/**
 * Who may use the privileged API of the studio: callers that are known, and are developers.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Authenticated } from "../../http/api/AgentApi.js"
import { ApiError } from "../../http/api/ApiError.js"
import { Failed, Forbidden, Rate, TooLarge, Unauthenticated, Unavailable } from "../../http/api/ApiStatus.js"
import { Caller, type Identity } from "../../http/api/Authentication.js"

/**
 * Finds the caller as every endpoint does, and fails unless it is a developer.
 *
 * @category middleware
 */
export class Developer extends HttpApiMiddleware.Tag<Developer>()("effect-lexigram/studio/Developer", {
  provides: Caller,
  failure: Schema.Union(Unauthenticated, Forbidden, TooLarge, Rate, Failed, Unavailable)
}) {}

/**
 * The scope of callers that are developers, unless a server decides otherwise.
 *
 * @category constants
 */
export const SCOPE = "studio"

const forbidden = new ApiError({
  reason: "forbidden",
  message: "This caller may not use the studio",
  hint: `Its credentials need the scope "${SCOPE}", or the option \`developers\` of the studio must allow it`
})

/**
 * @category layers
 */
export const layer = (
  isDeveloper: (caller: Identity) => boolean = ({ scopes = [] }) => scopes.includes(SCOPE)
): Layer.Layer<Developer, never, Authenticated> =>
  Layer.effect(
    Developer,
    Effect.map(Authenticated, (authenticated) => Effect.filterOrFail(authenticated, isDeveloper, () => forbidden))
  )
