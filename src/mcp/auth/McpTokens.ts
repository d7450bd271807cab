/**
 * Keeps what OAuth gave to MCP clients, by server and owner: tokens, and the client's registration.
 *
 * @since 0.1.0
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import { McpError } from "../../skill/mcp/McpClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Key {
  /** The address of the server. */
  readonly server: string
  /** Whose tokens they are; absent for those of the program itself. */
  readonly owner?: string | undefined
  /** Issuer and id of a client that its authorization server knows already; absent for one that registers itself. */
  readonly client?: string | undefined
}

const Secret = Schema.Redacted(Schema.String)

const fields = {
  tokens: Schema.Struct({
    access_token: Secret,
    token_type: Schema.String,
    refresh_token: Schema.optional(Secret),
    scope: Schema.optional(Schema.String),
    /** The authorization server that issued them: a refresh token is sent to no other. */
    issuer: Schema.optional(Schema.String)
  }),
  client: Schema.Struct({
    client_id: Schema.String,
    client_secret: Schema.optional(Secret),
    token_endpoint_auth_method: Schema.optional(Schema.String),
    redirect_uris: Schema.optional(Schema.Array(Schema.String)),
    /** The authorization server that knows the client. */
    issuer: Schema.optional(Schema.String)
  })
}

/**
 * Tokens and a registered client, with the names of OAuth.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Credentials = Schema.Struct({
  tokens: Schema.optional(fields.tokens),
  client: Schema.optional(fields.client)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Credentials = typeof Credentials.Type

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Empty where nothing is kept. */
  readonly get: (key: Key) => Effect.Effect<Credentials, McpError>
  /** Replaces what is kept. */
  readonly set: (key: Key, credentials: Credentials) => Effect.Effect<void, McpError>
  /** Forgets everything of the key: the next connection authorizes again. */
  readonly remove: (key: Key) => Effect.Effect<void, McpError>
  /** Runs one effect at a time for a key, within this process. */
  readonly exclusively: (key: Key) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpTokens extends Context.Tag("effect-lexigram/mcp/McpTokens")<McpTokens, Service>() {}

/**
 * A store of texts. Keys are hexadecimal. The texts contain secrets: a store that others can read should encrypt them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Encoded {
  readonly get: (key: string) => Effect.Effect<Option.Option<string>, unknown>
  readonly set: (key: string, value: string) => Effect.Effect<void, unknown>
  readonly remove: (key: string) => Effect.Effect<void, unknown>
}

const Text = Schema.parseJson(Credentials)

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeEncoded = (store: Encoded): Service => {
  const locks = KeyedLock.make()
  const idOf = ({ client, owner, server }: Key): string =>
    Sha256.hex(JSON.stringify([server, owner ?? null, client ?? null]))
  // The failure of a codec may quote a token, so it is dropped.
  const failed = (key: Key, operation: string) => () =>
    new McpError({
      server: key.server,
      reason: "AuthorizationFailed",
      message: `The tokens for the MCP server at ${key.server} could not be ${operation}`,
      hint: "Check the store of the layer McpTokens"
    })
  return {
    get: (key) =>
      Effect.flatMap(
        store.get(idOf(key)),
        Option.match({ onNone: () => Effect.succeed<Credentials>({}), onSome: Schema.decode(Text) })
      ).pipe(Effect.mapError(failed(key, "read"))),
    set: (key, credentials) =>
      Effect.flatMap(Schema.encode(Text)(credentials), (text) => store.set(idOf(key), text)).pipe(
        Effect.mapError(failed(key, "written"))
      ),
    remove: (key) => Effect.mapError(store.remove(idOf(key)), failed(key, "removed")),
    exclusively: (key) => locks.withLock(idOf(key))
  }
}

/**
 * Keeps them in a key-value store, which several processes may share.
 *
 * @example
 * ```ts
 * import * as KeyValueStore from "@effect/platform/KeyValueStore"
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { McpTokens } from "effect-lexigram/mcp"
 * import * as Layer from "effect/Layer"
 *
 * const tokens = McpTokens.layerKeyValueStore.pipe(
 *   Layer.provide(KeyValueStore.layerFileSystem("/var/lib/desk/tokens")),
 *   Layer.provide(NodeContext.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerKeyValueStore: Layer.Layer<McpTokens, never, KeyValueStore.KeyValueStore> = Layer.effect(
  McpTokens,
  Effect.map(KeyValueStore.KeyValueStore, (store) => makeEncoded(KeyValueStore.prefix(store, "mcp-tokens/")))
)

/**
 * Keeps them until the process ends.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<McpTokens> = Layer.provide(layerKeyValueStore, KeyValueStore.layerMemory)
