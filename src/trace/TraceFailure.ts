/**
 * Errors as traces have them.
 *
 * @private
 * @since 0.1.0
 */
import * as ErrorCode from "../domain/ErrorCode.js"
import type { ErrorInfo } from "../domain/ErrorInfo.js"
import * as PublicView from "../domain/PublicView.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as TraceContent from "./TraceContent.js"
import type { Failure } from "./TraceModel.js"

/** What the public view says of an error that it knows nothing of. */
const unknown = "The run failed"

const className = /^[A-Za-z_$][\w$./@:-]{0,127}$/

/** An error with its hint, if it is one of this library. That of any other error is content, as its message is. */
export const make = (error: ErrorInfo): Failure => {
  const { code, hint, message, tag } = error
  const isOwn = code !== undefined && Object.hasOwn(ErrorCode.table, code)
  const summary = PublicView.fromError(error).message
  return {
    tag: className.test(tag) ? SecretText.redact(tag) : "Error",
    message: TraceContent.make("errors", isOwn || hint === undefined ? message : `${message}\n${hint}`),
    ...(summary === unknown ? {} : { summary }),
    ...(isOwn ? { code } : {}),
    ...(isOwn && hint !== undefined ? { hint: TraceContent.excerpt(hint, 500) } : {})
  }
}

export const some = (error: ErrorInfo | undefined): Failure | undefined =>
  error === undefined ? undefined : make(error)
