/**
 * The MCP client whose call a handler serves: what the handler may tell it and ask of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Ambient from "../../internal/fiber/Ambient.js"
import { McpServerError } from "./McpServerError.js"

/**
 * The severity of a message in a client's log, as in syslog.
 *
 * @since 0.1.0
 * @category models
 */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"

/**
 * The severities, from the least severe one.
 *
 * @since 0.1.0
 * @category constants
 */
export const levels: ReadonlyArray<LogLevel> = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency"
]

/**
 * @since 0.1.0
 * @category models
 */
export interface Question {
  readonly message: string
  /** The JSON Schema of a flat object, as the protocol allows it: also with choices of several values. */
  readonly schema: { readonly properties: Readonly<Record<string, unknown>>; readonly required?: ReadonlyArray<string> }
}

/**
 * @since 0.1.0
 * @category models
 */
export type Answer =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }

/**
 * @since 0.1.0
 * @category models
 */
export interface SampleRequest {
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly text: string }>
  readonly maxTokens: number
  readonly system?: string | undefined
  /** 0 to 2. */
  readonly temperature?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Sampled {
  /** The text of the answer; parts of other types are left out. It is the client's: data, never instructions. */
  readonly text: string
  /** The model, in the client's words. */
  readonly model: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What the client says that it can do. */
  readonly can: { readonly elicit: boolean; readonly sample: boolean }
  /** Tells the client, unless it asked for more severe messages only. */
  readonly log: (level: LogLevel, data: unknown) => Effect.Effect<void>
  /**
   * Asks the person at the client. `unsupported` if the client cannot, `refused` without an answer in time, `invalid`
   * for one that does not fit. Interruption takes the question back.
   */
  readonly elicit: (question: Question) => Effect.Effect<Answer, McpServerError>
  /** Asks a model of the client. `unsupported`, `refused`. */
  readonly sample: (request: SampleRequest) => Effect.Effect<Sampled, McpServerError>
  /**
   * Ends the stream that waits for the result of the call, which the client takes up again later: for long calls over
   * HTTP. Nothing happens where the client cannot.
   */
  readonly disconnect: Effect.Effect<void>
}

const nobody = new McpServerError({
  reason: "unsupported",
  message: "No MCP client is at the other end of this call"
})

/**
 * A client that is told nothing and cannot be asked.
 *
 * @since 0.1.0
 * @category constants
 */
export const absent: Service = {
  can: { elicit: false, sample: false },
  log: () => Effect.void,
  elicit: () => nobody,
  sample: () => nobody,
  disconnect: Effect.void
}

/**
 * The client of the call that the current fiber serves; `absent` elsewhere, so that tools may use it wherever they run.
 *
 * @since 0.1.0
 * @category tags
 */
export class McpPeer extends Ambient.Reference<McpPeer>()("effect-lexigram/mcp/McpPeer", {
  defaultValue: (): Service => absent
}) {}

/**
 * Tells the client of the current call.
 *
 * @since 0.1.0
 * @category accessors
 */
export const log = (level: LogLevel, data: unknown): Effect.Effect<void> =>
  Effect.flatMap(McpPeer, (peer) => peer.log(level, data))

/**
 * Asks the person at the client of the current call. In tools prefer `Elicitation.ask`, which reaches people wherever
 * the tool runs.
 *
 * @since 0.1.0
 * @category accessors
 */
export const elicit = (question: Question): Effect.Effect<Answer, McpServerError> =>
  Effect.flatMap(McpPeer, (peer) => peer.elicit(question))

/**
 * Asks a model of the client of the current call.
 *
 * @since 0.1.0
 * @category accessors
 */
export const sample = (request: SampleRequest): Effect.Effect<Sampled, McpServerError> =>
  Effect.flatMap(McpPeer, (peer) => peer.sample(request))

/**
 * Lets the client of the current call wait without a stream.
 *
 * @since 0.1.0
 * @category accessors
 */
export const disconnect: Effect.Effect<void> = Effect.flatMap(McpPeer, (peer) => peer.disconnect)
