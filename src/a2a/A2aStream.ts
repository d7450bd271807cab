/**
 * The events of a run as the updates of a task.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as PublicView from "../domain/PublicView.js"
import type { Part, TaskState, Update } from "./A2aModels.js"

/** The artifact that the answer of a run is. */
export const ANSWER = "answer"

interface Ids {
  readonly taskId: string
  readonly contextId?: string | undefined
}

/**
 * Takes the events of one run in their order.
 *
 * @category models
 */
export class A2aStream {
  /** The requests to persons that wait, those of agents inside too. */
  private readonly waiting = new Set<string>()
  /** Whether the artifact has a text. */
  private hasText = false
  private pending = ""

  /** Requests that the reader knows are not waited for. */
  constructor(
    private readonly ids: Ids,
    private readonly known: ReadonlySet<string>
  ) {}

  /** Whether a person must decide or answer something. */
  get isWaiting(): boolean {
    return this.waiting.size > 0
  }

  private artifact(parts: ReadonlyArray<Part>, append: boolean, lastChunk = false): Update {
    return {
      artifactUpdate: {
        ...this.ids,
        artifact: { artifactId: ANSWER, parts },
        ...(append ? { append } : {}),
        ...(lastChunk ? { lastChunk } : {})
      }
    }
  }

  /** The texts that came since the last update, as one piece. */
  private flush(): ReadonlyArray<Update> {
    const text = this.pending
    if (text === "") return []
    this.pending = ""
    const update = this.artifact([{ text }], this.hasText)
    this.hasText = true
    return [update]
  }

  private status(state: TaskState, at: number, text?: string): Update {
    const { ids } = this
    const message =
      text === undefined
        ? {}
        : { message: { messageId: `${ids.taskId}-${state}`, ...ids, role: "ROLE_AGENT" as const, parts: [{ text }] } }
    return {
      statusUpdate: { ...ids, status: { state, timestamp: DateTime.formatIso(DateTime.unsafeMake(at)), ...message } }
    }
  }

  private push(event: AgentEvent): ReadonlyArray<Update> {
    switch (event._tag) {
      case "TextDelta":
        this.pending += event.text
        return []
      case "ApprovalRequested":
      case "QuestionAsked":
        if (!this.known.has(event.id)) this.waiting.add(event.id)
        return []
      case "ApprovalResolved":
      case "QuestionAnswered":
        this.waiting.delete(event.id)
        return []
      case "TextRetracted": {
        this.pending = ""
        if (!this.hasText) return []
        this.hasText = false
        return [this.artifact([{ text: "" }], false)]
      }
      case "Message": {
        // A text that was not streamed comes as a whole.
        if (!this.hasText && this.pending === "") this.pending = event.text
        const text = this.flush()
        return event.output === undefined ? text : [...text, this.artifact([{ data: event.output }], true, true)]
      }
      case "Finished":
        this.waiting.clear()
        return [...this.flush(), this.status("TASK_STATE_COMPLETED", event.at)]
      case "Error":
        this.waiting.clear()
        return [
          ...this.flush(),
          this.status(event.interrupted ? "TASK_STATE_CANCELED" : "TASK_STATE_FAILED", event.at, event.error.message)
        ]
      default:
        return []
    }
  }

  /** The updates that these events are. */
  pushAll(events: Iterable<AgentEvent>, view?: PublicView.Options): ReadonlyArray<Update> {
    const updates: Array<Update> = []
    for (const event of events) {
      const shown = PublicView.fromEvent(event, view)
      if (shown !== undefined) updates.push(...this.push(shown))
    }
    updates.push(...this.flush())
    return updates
  }
}
