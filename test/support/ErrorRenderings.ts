/**
 * All renderings of a failure, for tests that search them for secrets.
 */
import { inspect } from "node:util"
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import * as LlmError from "../../src/llm/model/LlmError.js"

export const of = (error: LlmError.LlmError): string =>
  [
    JSON.stringify(error),
    JSON.stringify(Schema.encodeSync(LlmError.LlmError)(error)),
    Cause.pretty(Cause.fail(error), { renderErrorCause: true }),
    inspect(error, { depth: 20, showHidden: true }),
    String(error),
    error.stack ?? ""
  ].join("\n")
