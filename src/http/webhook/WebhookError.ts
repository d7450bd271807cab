/**
 * Failures of webhooks.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * - `configuration`: the secret or an option of the layer is not valid
 * - `address`: the address of a webhook is none, or may not be told
 * - `full`: there are as many webhooks as there may be
 * - `signature`: a message does not come from who has the secret, or is too old
 *
 * @since 0.1.0
 * @category errors
 */
export class WebhookError extends ErrorCode.TaggedError<WebhookError>("effect-lexigram/http/WebhookError/WebhookError")(
  "WebhookError",
  { ...ErrorCode.fields("LEX_ERR_HTTP_102"), reason: Schema.Literal("configuration", "address", "full", "signature") }
) {}
