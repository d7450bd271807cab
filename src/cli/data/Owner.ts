/**
 * Whose data a command is about.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "../../domain/Ids.js"
import { CliError } from "../config/CliError.js"
import * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"

const nobody = new CliError({
  reason: "usage",
  message: "It is not said whose memory it is about",
  hint: `Add --user, set ${Workspace.variables.userId}, or name a \`userId\` in the configuration`
})

/**
 * The user of the flags, the environment or the configuration.
 *
 * @category accessors
 */
export const user: Effect.Effect<UserId, CliError, Workspace.Workspace> = Effect.gen(function* () {
  const { application, userId } = yield* Workspace.Workspace
  const found = yield* Connection.userOf(Option.isSome(userId.value) ? {} : yield* application, userId.value)
  return Option.isSome(found) ? found.value : yield* nobody
})

/**
 * Fails without a user. A server knows its callers by itself.
 *
 * @category accessors
 */
export const required: Effect.Effect<void, CliError, Workspace.Workspace> = Effect.gen(function* () {
  const { url } = yield* Workspace.Workspace
  if (Option.isNone(url.value)) yield* user
})
