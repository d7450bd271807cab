/**
 * The error of memory tools, and the owner for whom they act.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { Requester } from "../../domain/Requester.js"
import * as MemoryOwner from "../entry/MemoryOwner.js"

/**
 * A call of a memory tool, or a write to a memory block, that cannot be served. The model reads the message.
 *
 * @since 0.1.0
 * @category errors
 */
export class MemoryToolError extends ErrorCode.TaggedError<MemoryToolError>(
  "effect-lexigram/memory/MemoryToolError/MemoryToolError"
)("MemoryToolError", {
  ...ErrorCode.fields("LEX_ERR_MEM_100"),
  reason: Schema.Literal(
    "NoUser",
    "Empty",
    "Invalid",
    "TooLong",
    "TooMany",
    "Full",
    "Secret",
    "Namespace",
    "Unavailable"
  )
}) {}

/**
 * The owner of the memory of the current run: its user, never an argument.
 *
 * @since 0.1.0
 * @category getters
 */
export const owner: Effect.Effect<string, MemoryToolError> = Effect.flatMap(Requester, ({ userId }) =>
  userId === undefined
    ? new MemoryToolError({ reason: "NoUser", message: "Nothing can be remembered: nobody is signed in" })
    : Effect.succeed(MemoryOwner.ofUser(userId))
)
