/**
 * Tools that the caller of a run executes itself: a model calls them, the run asks its caller for the result and waits.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/**
 * A tool as plain data, as OpenAI's `tools` and AG-UI have it. What a caller says of its tools is read by the model and
 * is as trusted as the caller's messages.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ClientTool = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)),
  /** Default: the name. */
  description: Schema.optional(Schema.String.pipe(Schema.maxLength(8192))),
  /** The JSON Schema of an object, draft-07 or 2020-12. Default: no parameters. */
  parameters: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  /**
   * Milliseconds that a call waits for its result; then the model reads that there is none. Default: as long as a
   * request for approval waits (`PendingApprovals`).
   */
  expiresAfter: Schema.optional(Schema.Positive)
}).annotations({ identifier: "effect-lexigram/tool/ClientTool" })
/**
 * @since 0.1.0
 * @category models
 */
export interface ClientTool extends Schema.Schema.Type<typeof ClientTool> {}

/**
 * The tools of one run: at most 128.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ClientTools = Schema.Array(ClientTool).pipe(Schema.maxItems(128))

/**
 * What a call gave, as the content of the answer to its request (`Runs.answer`). The model reads `result`; with
 * `isError` as that of a call that failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({ result: Schema.String, isError: Schema.optional(Schema.Boolean) }).annotations({
  identifier: "effect-lexigram/tool/ClientTool/Result"
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

/**
 * The result of a call: a text as it is, anything else as JSON. Throws what `JSON.stringify` throws.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toResult = (value: unknown, isError = false): Result => ({
  result: typeof value === "string" ? value : (JSON.stringify(value) ?? "null"),
  ...(isError ? { isError } : {})
})

const decode = ParseResult.decodeUnknownEither(ClientTools)

/**
 * Checks the tools of a request; `Left` says what is not valid.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { ClientTool } from "effect-lexigram/tool"
 * import * as Either from "effect/Either"
 *
 * const body: unknown = [{ name: "open_order", description: "Opens an order in the page of the user" }]
 *
 * // The request of a run, or the text of an answer with status 400.
 * const request = Either.map(ClientTool.fromUnknown(body), (clientTools) => ({ input: "Show my order", clientTools }))
 * ```
 */
export const fromUnknown = (tools: unknown): Either.Either<ReadonlyArray<ClientTool>, string> =>
  Either.mapLeft(decode(tools), (issue) =>
    ParseResult.ArrayFormatter.formatIssueSync(issue)
      .slice(0, 5)
      .map(({ message, path }) => `${path.join(".")}: ${message.slice(0, 300)}`)
      .join("; ")
  )
