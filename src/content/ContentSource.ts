/**
 * Reads what a caller gives as content: bytes, base64, data URLs and addresses.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import { count } from "../internal/Count.js"
import { ContentError } from "./ContentError.js"

/**
 * @category constants
 */
export const defaultMaxBytes = 20 * 1_048_576

/**
 * The most characters of a URL.
 *
 * @category constants
 */
export const maxUrl = 2_048

/** Bytes with the type that a data URL declares, or an address with its path. */
export type Read =
  | {
      readonly bytes: Uint8Array
      readonly url?: undefined
      readonly declared?: string | undefined
      readonly path?: undefined
    }
  | { readonly bytes?: undefined; readonly url: URL; readonly declared?: undefined; readonly path: string }

const fail = (reason: ContentError["reason"], message: string, hint: string) =>
  new ContentError({ reason, message, hint })

/**
 * Whether a URL may be content: http or https, without credentials, at most `maxUrl` characters.
 *
 * @category guards
 */
export const isAddress = (url: URL): boolean =>
  (url.protocol === "http:" || url.protocol === "https:") &&
  url.username === "" &&
  url.password === "" &&
  url.href.length <= maxUrl

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the pattern refuses
const plainName = /^[^/\\\u0000-\u001f\u007f-\u009f]{1,255}$/

/**
 * @category guards
 */
export const isFileName = (name: string): boolean => plainName.test(name) && name !== "." && name !== ".."

const readAddress = (text: string | URL): Effect.Effect<Read, ContentError> => {
  const given = typeof text === "string" ? text : text.href
  const hint = "Give an http or https URL"
  if (given.length > maxUrl) return fail("url", `The URL is longer than ${maxUrl} characters`, "Give a shorter URL")
  if (!URL.canParse(given)) return fail("url", "The URL is malformed", hint)
  const url = new URL(given)
  if (url.username !== "" || url.password !== "") {
    return fail("url", "The URL has credentials", "Leave them out, or fetch the file and give its bytes")
  }
  return isAddress(url)
    ? Effect.succeed({ url, path: url.pathname })
    : fail("url", "The URL is of another scheme", hint)
}

const tooLarge = (bytes: number, most: number): ContentError =>
  fail("too-large", `The content has ${bytes} bytes, and at most ${most} are taken`, "Give less, or raise `maxBytes`")

const readBase64 = (text: string, most: number): Effect.Effect<Uint8Array, ContentError> => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0
  // Decoding would copy the text, so its length is checked first.
  const size = Math.floor((text.length * 3) / 4) - padding
  if (size > most) return tooLarge(size, most)
  return Either.match(Encoding.decodeBase64(text), {
    onLeft: () =>
      fail("base64", "The text is not base64", "Give base64 with padding, a data URL, an http URL, or bytes"),
    onRight: Effect.succeed
  })
}

/** The head of a data URL: type, parameters, and whether it is base64. */
const dataHead = /^data:([^,;]{0,200})((?:;[^,;]{1,200}){0,8}),/i

const readDataUrl = Effect.fnUntraced(function* (text: string, most: number): Effect.fn.Return<Read, ContentError> {
  const head = dataHead.exec(text)
  if (head === null) {
    return yield* fail("data-url", "The data URL is malformed", "Give data:<media type>;base64,<base64>")
  }
  const declared = head[1] === "" || head[1] === undefined ? "text/plain" : head[1]
  const body = text.slice(head[0].length)
  if (/;base64$/i.test(head[2] ?? "")) return { bytes: yield* readBase64(body, most), declared }
  if (body.length > most * 3) return yield* tooLarge(Math.floor(body.length / 3), most)
  const bytes = yield* Effect.try({
    try: () => new TextEncoder().encode(decodeURIComponent(body)),
    catch: () => fail("data-url", "The data URL is malformed", "Encode its bytes as base64")
  })
  return bytes.length > most ? yield* tooLarge(bytes.length, most) : { bytes, declared }
})

/**
 * Reads the source up to `maxBytes`.
 *
 * @category decoding
 */
export const read = (
  source: Uint8Array | string | URL,
  maxBytes: number | undefined
): Effect.Effect<Read, ContentError> => {
  const most = count(maxBytes, defaultMaxBytes, 1)
  if (source instanceof Uint8Array) {
    return source.length > most ? tooLarge(source.length, most) : Effect.succeed({ bytes: source })
  }
  const text = source instanceof URL ? source.href : source
  if (/^data:/i.test(text)) return readDataUrl(text, most)
  if (/^[a-z][a-z0-9+.-]{0,30}:/i.test(text)) return readAddress(text)
  return Effect.map(readBase64(text, most), (bytes) => ({ bytes }))
}
