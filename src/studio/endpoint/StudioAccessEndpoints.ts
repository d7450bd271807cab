/**
 * The handlers of the access to the studio.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Authentication, Caller } from "../../http/api/Authentication.js"
import { StudioApi } from "../api/StudioApi.js"

/**
 * @category layers
 */
export const layerAccess = (links: boolean) =>
  HttpApiBuilder.group(StudioApi, "access", (handlers) =>
    Effect.map(Authentication, ({ schemes }) =>
      handlers.handle("access", () =>
        Effect.succeed({
          links,
          schemes: schemes.map((scheme) =>
            scheme.type === "bearer" ? { type: scheme.type } : { type: scheme.type, header: scheme.header }
          )
        })
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
