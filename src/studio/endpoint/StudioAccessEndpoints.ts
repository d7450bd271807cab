/**
 * The handlers of the access to the studio.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { Authentication, Caller } from "../../http/api/Authentication.js"
import * as StudioLinks from "../access/StudioLinks.js"
import { StudioApi } from "../api/StudioApi.js"

/**
 * @category layers
 */
export const layerAccess = (links: boolean) =>
  HttpApiBuilder.group(StudioApi, "access", (handlers) =>
    Effect.map(Authentication, ({ schemes }) =>
      handlers
        .handle("access", () =>
          Effect.succeed({
            links,
            schemes: schemes.map((scheme) =>
              scheme.type === "bearer" ? { type: scheme.type } : { type: scheme.type, header: scheme.header }
            )
          })
        )
        .handle("signOut", () =>
          Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
            HttpServerResponse.unsafeSetCookie(
              HttpServerResponse.empty({ status: 204 }),
              StudioLinks.cookieName(request),
              "",
              { ...StudioLinks.cookie, maxAge: 0 }
            )
          )
        )
    )
  )

/**
 * @category layers
 */
export const layerSession = HttpApiBuilder.group(StudioApi, "session", (handlers) =>
  handlers.handle("session", () =>
    Effect.map(Caller, ({ scopes = [], tenantId, userId }) => ({ scopes, tenantId, userId }))
  )
)
