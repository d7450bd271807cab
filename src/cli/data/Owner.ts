/**
 * Whose data a command is about.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { UserId } from "../../domain/Ids.js"
import { CliError } from "../config/CliError.js"
import * as Workspace from "../config/Workspace.js"

const nobody = new CliError({
  reason: "usage",
  message: "It is not said whose memory it is about",
  hint: `Add --user, set ${Workspace.variables.userId}, or name a \`userId\` in the configuration`
})

const noId = new CliError({
  reason: "usage",
  message: "The name of the user is empty, too long, or has control characters",
  hint: "Give 1 to 256 characters"
})

const decode = Schema.decodeOption(UserId)

/**
 * The user of the flags, the environment or the configuration.
 *
 * @category accessors
 */
export const user: Effect.Effect<UserId, CliError, Workspace.Workspace> = Effect.gen(function* () {
  const { application, userId } = yield* Workspace.Workspace
  const named = Option.isSome(userId.value) ? userId.value : Option.fromNullable((yield* application).userId)
  if (Option.isNone(named)) return yield* nobody
  const id = decode(named.value)
  return Option.isSome(id) ? id.value : yield* noId
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
