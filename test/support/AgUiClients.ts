/** The client of AG-UI as a judge of events, and as a caller of a server. */
import {
  AbstractAgent,
  type BaseEvent,
  enforceEvents,
  HttpAgent,
  type Message,
  type RunAgentInput,
  runHttpRequest,
  transformHttpEventStream,
  verifyEvents
} from "@ag-ui/client"
import { EventSchema } from "@ag-ui/core/schemas"
import { assert } from "@effect/vitest"
import { from, lastValueFrom, type Observable, toArray } from "rxjs"
import type { AgUiEvent } from "../../src/http/agui/AgUiEvent.js"

class Recorded extends AbstractAgent {
  constructor(
    private readonly events: ReadonlyArray<unknown>,
    messages: ReadonlyArray<Message>
  ) {
    super({ threadId: "thread", initialMessages: [...messages] })
  }
  run(): Observable<BaseEvent> {
    return from(structuredClone(this.events) as Array<BaseEvent>)
  }
}

/** A client that has read these events, each of which it must take as it is. */
export const read = async (
  events: ReadonlyArray<AgUiEvent>,
  messages: ReadonlyArray<Message> = []
): Promise<AbstractAgent> => {
  for (const event of events) assert.deepEqual(EventSchema.parse(structuredClone(event)), event as never)
  // The client takes what it does not know away, and refuses what comes in a wrong order.
  const taken = from(structuredClone(events) as Array<never>).pipe(enforceEvents(), verifyEvents(false))
  const known = await lastValueFrom(taken.pipe(toArray()))
  assert.deepEqual(known, [...events] as never)
  const agent = new Recorded(events, messages)
  await agent.runAgent()
  return agent
}

/** A page: it keeps its events, and connects again as its host does. */
export class Page extends HttpAgent {
  readonly events: Array<Record<string, any>> = []

  constructor(options: {
    readonly url: string
    readonly agent: string
    readonly threadId: string
    readonly user?: string
    readonly messages?: ReadonlyArray<Message>
  }) {
    const { agent, messages = [], threadId, url, user = "ann" } = options
    super({
      url: `${url}/agui/${agent}`,
      threadId,
      headers: { authorization: `Bearer token-${user}` },
      initialMessages: [...messages]
    })
    this.subscribe({
      onEvent: ({ event }) => {
        this.events.push(event)
      }
    })
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    this.abortController = new AbortController()
    return transformHttpEventStream(runHttpRequest(() => fetch(`${this.url}/connect`, this.requestInit(input))))
  }

  /** Sends a message of the user, and reads the answer. */
  async send(content: string, id: string = crypto.randomUUID()): Promise<void> {
    this.addMessage({ id, role: "user", content })
    await this.runAgent()
  }

  /** Answers what the run waits for, with the same payload each. */
  async answer(payload: unknown, status: "resolved" | "cancelled" = "resolved"): Promise<void> {
    await this.runAgent({
      resume: this.pendingInterrupts.map(({ id: interruptId }) => ({
        interruptId,
        status,
        ...(payload === undefined ? {} : { payload })
      }))
    })
  }

  get interrupt(): any {
    return this.pendingInterrupts[0]
  }

  get types(): ReadonlyArray<string> {
    return this.events.map(({ type }) => String(type))
  }

  /** The text of the last message. */
  get text(): string {
    const content = this.messages.at(-1)?.content
    return typeof content === "string" ? content : ""
  }
}
