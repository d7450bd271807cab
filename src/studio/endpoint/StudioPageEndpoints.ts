/**
 * The page of the studio, and the links by which a browser gets a session.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApiError } from "../../http/api/ApiError.js"
import { Unknown } from "../../http/api/ApiStatus.js"
import * as StudioLinks from "../access/StudioLinks.js"

/**
 * @category models
 */
export interface File {
  readonly type: string
  readonly bytes: Uint8Array
}

/**
 * @category models
 */
export interface Setting {
  /** The files of the page by their names. */
  readonly files: ReadonlyMap<string, File>
  readonly links: Option.Option<StudioLinks.StudioLinks>
  /** Is done whenever a link was used. */
  readonly used: Effect.Effect<void>
}

const text = HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "text/html" })

const file = HttpApiSchema.param("file", Schema.String.pipe(Schema.maxLength(256)))

/**
 * Anybody may load the page, which has nothing in it.
 *
 * @category constants
 */
export const StudioPageApi = HttpApi.make("effect-lexigram/studio/StudioPageApi").add(
  HttpApiGroup.make("studioPage")
    .add(
      HttpApiEndpoint.get("studioPage", "/studio")
        .setUrlParams(Schema.Struct({ token: Schema.optional(Schema.String) }))
        .addSuccess(text)
        .addError(Unknown)
    )
    .add(HttpApiEndpoint.get("studioFile")`/studio/${file}`.addSuccess(text).addError(Unknown))
)

const INDEX = "index.html"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const secure = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** The names of the other files have the hash of their content. */
const cachingOf = (name: string): string => (name === INDEX ? "no-cache" : "public, max-age=31536000, immutable")

const nothing = new ApiError({ reason: "unknown", message: "The studio has no such file" })

/** To the page, without the token in its address. */
const toPage = (state: "" | "#/used") =>
  HttpServerResponse.empty({
    status: 303,
    headers: { ...secure, location: `/studio/${state}`, "cache-control": "no-store" }
  })

/**
 * @category layers
 */
export const layer = ({ files, links, used }: Setting) => {
  const show = (name: string) => {
    const found = files.get(name)
    return found === undefined
      ? nothing
      : Effect.succeed(
          HttpServerResponse.uint8Array(found.bytes, {
            contentType: found.type,
            headers: { ...secure, "cache-control": cachingOf(name) }
          })
        )
  }
  const signIn = (token: string) =>
    Effect.gen(function* () {
      if (Option.isNone(links)) return toPage("")
      const request = yield* HttpServerRequest.HttpServerRequest
      const session = yield* links.value.redeem(request, token)
      if (Option.isNone(session)) return toPage("#/used")
      yield* used
      return HttpServerResponse.unsafeSetCookie(
        toPage(""),
        StudioLinks.cookieName(request),
        Redacted.value(session.value),
        StudioLinks.cookie
      )
    })
  return HttpApiBuilder.group(StudioPageApi, "studioPage", (handlers) =>
    handlers
      .handle("studioPage", ({ urlParams: { token } }) => (token === undefined ? show(INDEX) : signIn(token)))
      .handle("studioFile", ({ path }) => show(path.file))
  )
}
