/**
 * How callers of the studio are known, and who this one is.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioAccessApi"

/**
 * The credentials that the server takes.
 *
 * @category schemas
 */
export const Access = Schema.Struct({
  schemes: Schema.Array(
    Schema.Union(
      Schema.Struct({ type: Schema.Literal("bearer") }),
      Schema.Struct({ type: Schema.Literal("apiKey"), header: Schema.String })
    )
  ),
  /** Whether the terminal of the server shows links for one use. */
  links: Schema.Boolean
}).annotations({ identifier: `${NAME}/Access` })

/**
 * The caller.
 *
 * @category schemas
 */
export const Session = Schema.Struct({
  userId: Schema.optional(Schema.String),
  tenantId: Schema.optional(Schema.String),
  scopes: Schema.Array(Schema.String)
}).annotations({ identifier: `${NAME}/Session` })

/**
 * @category constants
 */
export const access = HttpApiGroup.make("access")
  .add(HttpApiEndpoint.get("access", "/access").addSuccess(Access).annotate(OpenApi.Summary, "How callers are known"))
  .add(
    HttpApiEndpoint.post("signOut", "/sign-out")
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(OpenApi.Summary, "Takes the session of a link from the browser")
  )

/**
 * @category constants
 */
export const session = HttpApiGroup.make("session")
  .add(HttpApiEndpoint.get("session", "/session").addSuccess(Session).annotate(OpenApi.Summary, "Who the caller is"))
  .middleware(Developer)
