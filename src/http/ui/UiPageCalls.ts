/**
 * The calls of a message that its page makes.
 *
 * @private
 * @since 0.1.0
 */
import type { Of } from "../../domain/AgentEvent.js"
import * as Observation from "../../tool/definition/Observation.js"
import type { UiChunk } from "./UiChunk.js"
import { metadataOf } from "./UiMessage.js"

/**
 * A page makes a call when its input is available: until the run asks for the result, the input streams.
 *
 * @category models
 */
export class UiPageCalls {
  /** Calls by the requests for their outputs that wait. */
  readonly waiting = new Map<string, string>()
  private readonly requests = new Set<string>()
  private readonly calls = new Set<string>()
  /** Calls whose outputs the reader has given. */
  private readonly given = new Set<string>()

  /** `answered` are requests whose outputs the reader has given. */
  constructor(private readonly answered: ReadonlySet<string>) {}

  begin({ id, name, params }: Of<"ToolCall">): ReadonlyArray<UiChunk> {
    this.calls.add(id)
    this.given.delete(id)
    return [
      { type: "tool-input-start", toolCallId: id, toolName: name },
      { type: "tool-input-delta", toolCallId: id, inputTextDelta: Observation.stringify(params) ?? "null" }
    ]
  }

  has(call: string): boolean {
    return this.calls.has(call)
  }

  ask({ id, name, params, toolCallId }: Of<"QuestionAsked">): ReadonlyArray<UiChunk> {
    this.requests.add(id)
    if (this.answered.has(id)) {
      this.given.add(toolCallId)
      return []
    }
    this.waiting.set(id, toolCallId)
    return [
      {
        type: "tool-input-available",
        toolCallId,
        toolName: name,
        input: params ?? null,
        providerMetadata: metadataOf(id)
      }
    ]
  }

  /**
   * Whether this answers a request for an output. Where the reader gave none, the reader is shown how the call ended.
   */
  answer({ action, id, toolCallId }: Of<"QuestionAnswered">): boolean {
    this.waiting.delete(id)
    if (action !== "accept") this.given.delete(toolCallId)
    return this.requests.delete(id)
  }

  /** Whether the reader has the output of a call. */
  isGiven(call: string): boolean {
    return this.given.has(call)
  }
}
