/**
 * Signatures of webhooks by Standard Webhooks (standardwebhooks.com): HMAC with SHA-256 over id, time and body.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Redacted from "effect/Redacted"
import { WebhookError } from "./WebhookError.js"

/** What the specification asks of a secret, in bytes. */
const SHORTEST = 24
const LONGEST = 64

/**
 * The bytes of a secret: base64 after the prefix `whsec_`, or base64 alone; none if it is not that, or not of 24 to 64
 * bytes.
 *
 * @since 0.1.0
 * @category conversions
 */
export const secretBytes = (secret: Redacted.Redacted): Uint8Array | undefined => {
  const decoded = Encoding.decodeBase64(Redacted.value(secret).replace(/^whsec_/, ""))
  return Either.isRight(decoded) && decoded.right.length >= SHORTEST && decoded.right.length <= LONGEST
    ? decoded.right
    : undefined
}

const encoder = new TextEncoder()

/**
 * The signature of a message. `timestamp` is in seconds since the epoch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sign = (
  secret: Uint8Array,
  message: { readonly id: string; readonly timestamp: number; readonly body: string }
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const algorithm = { name: "HMAC", hash: "SHA-256" }
    const { subtle } = globalThis.crypto
    const key = await subtle.importKey("raw", new Uint8Array(secret), algorithm, false, ["sign"])
    const text = `${message.id}.${message.timestamp}.${message.body}`
    return `v1,${Encoding.encodeBase64(new Uint8Array(await subtle.sign("HMAC", key, encoder.encode(text))))}`
  })

/** Compares without telling by its time where two texts differ. */
const isSame = (one: string, other: string): boolean => {
  let difference = one.length ^ other.length
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at)
  return difference === 0
}

const refused = (message: string) => new WebhookError({ reason: "signature", message })

/** Seconds by which the clocks of sender and receiver may differ. */
const TOLERANCE = 5 * 60

/** More signatures than keys that are being replaced. */
const MOST_SIGNATURES = 8

/**
 * Whether a webhook comes from who has the secret, for those who receive it. Headers have lower-case names. Fails with
 * the reason `signature` for a wrong signature and for a message that is more than five minutes old or early. The
 * same message may come more than once: its `webhook-id` is the same then.
 *
 * @since 0.1.0
 * @category combinators
 */
export const verify = (
  secret: Redacted.Redacted,
  { body, headers }: { readonly headers: Readonly<Record<string, string | undefined>>; readonly body: string }
): Effect.Effect<void, WebhookError> =>
  Effect.gen(function* () {
    const bytes = secretBytes(secret)
    const id = headers["webhook-id"]
    const timestamp = Number(headers["webhook-timestamp"])
    const signatures = headers["webhook-signature"]
    if (bytes === undefined) return yield* refused("The secret is not one of a webhook")
    if (id === undefined || signatures === undefined || !Number.isSafeInteger(timestamp)) {
      return yield* refused("The request is not a signed webhook")
    }
    const now = (yield* Clock.currentTimeMillis) / 1000
    if (Math.abs(now - timestamp) > TOLERANCE) return yield* refused("The webhook is too old, or comes too early")
    const expected = yield* sign(bytes, { id, timestamp, body })
    const given = signatures.slice(0, 4096).split(" ").slice(0, MOST_SIGNATURES)
    if (!given.some((one) => isSame(expected, one))) return yield* refused("The signature of the webhook is wrong")
  })
