/**
 * Streams a run as one of AG-UI, until it ends or waits for a person.
 *
 * @private
 * @since 0.1.0
 */
import type { HttpServerResponse } from "@effect/platform/HttpServerResponse"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { RunError } from "../../agent/record/RunError.js"
import * as AskedEvents from "../../agent/runs/AskedEvents.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent, Of } from "../../domain/AgentEvent.js"
import * as PublicView from "../../domain/PublicView.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { ApiError } from "../api/ApiError.js"
import * as ApiModels from "../api/ApiModels.js"
import { accessOf } from "../api/Authentication.js"
import * as EventStream from "../api/EventStream.js"
import * as Refusals from "../api/Refusals.js"
import { RUN_ID } from "../api/RunEndpoints.js"
import type { RunReaders } from "../api/RunReaders.js"
import * as CallerTools from "../chat/CallerTools.js"
import type { Chat } from "../chat/ChatRuns.js"
import * as AgUiEvents from "./AgUiEvent.js"
import type { AgUiMessage } from "./AgUiMessage.js"
import { AgUiStream } from "./AgUiStream.js"
import * as AgUiThreads from "./AgUiThreads.js"

type AgUiEvent = AgUiEvents.AgUiEvent

/**
 * @category models
 */
export interface Options extends EventStream.Options {
  /**
   * What clients are shown in addition: reasoning, and the results of tools. Default neither; then the content of a
   * result is empty.
   */
  readonly view?: PublicView.Options | undefined
  /**
   * How long a run that waits for a person sends nothing before its stream ends; default 250 milliseconds. At once if
   * nothing else goes on in the run.
   */
  readonly quiet?: Duration.DurationInput | undefined
  /** How long a call of a tool of the page waits for its result; default 1 hour. */
  readonly callsExpireAfter?: Duration.DurationInput | undefined
}

/** Milliseconds: a request is announced before it is kept. */
const AT_ONCE = 10
const MOST_QUIET = 4_000

const isoOf = (millis: number): string | undefined =>
  Option.getOrUndefined(Option.map(DateTime.make(millis), DateTime.formatIso))

const interruptOf = (record: ApprovalRecord): AgUiEvents.Interrupt => {
  const { agent, expiresAt, id, params, question, reason, tool, toolCallId } = ApiModels.fromApproval(record)
  const common = {
    id,
    toolCallId,
    ...(expiresAt === undefined ? {} : { expiresAt: isoOf(expiresAt) })
  }
  return question === undefined
    ? {
        ...common,
        reason: "tool_call",
        message: reason ?? `The tool ${tool} waits for approval`,
        responseSchema: AgUiThreads.responseSchema,
        metadata: { lexigram: { agent, tool, params } }
      }
    : {
        ...common,
        reason: "input_required",
        message: question.message,
        responseSchema: question.form,
        metadata: { lexigram: { agent, tool, ...(question.clientTool === true ? { params } : {}) } }
      }
}

/**
 * What a stream is for.
 *
 * @category models
 */
export interface Followed {
  readonly chat: Chat
  /** The id of the run of the protocol. */
  readonly requestId: string
  /** The messages that the client has. */
  readonly messages: ReadonlyArray<AgUiMessage>
  /** The state that the client has. */
  readonly state: unknown
  /** The tools of the page. */
  readonly tools: ReadonlyArray<CallerTools.Given>
}

const frameOf = (event: AgUiEvent): EventStream.Frame => ({ data: AgUiEvents.encode(event) })

/**
 * @category models
 */
export class AgUiFollow {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly threads: AgUiThreads.AgUiThreads,
    private readonly readers: RunReaders,
    private readonly options: Options
  ) {}

  /** The events, and before the end of a run its state, if the client has another one. */
  private withState(
    { chat, state }: Followed,
    events: ReadonlyArray<AgUiEvent>
  ): Effect.Effect<ReadonlyArray<EventStream.Frame>> {
    const last = events.at(-1)
    if (last?.type !== "RUN_FINISHED") return Effect.succeed(events.map(frameOf))
    return Effect.map(
      Effect.orElseSucceed(this.threads.state(chat), () => undefined),
      (snapshot) =>
        (snapshot === undefined || AgUiThreads.isSame(snapshot, state)
          ? events
          : [...events.slice(0, -1), { type: "STATE_SNAPSHOT" as const, snapshot }, last]
        ).map(frameOf)
    )
  }

  /**
   * The events of events in their public view. `held` are calls of tools with the name of one of the page: only where
   * the run asks the page to make one, the page gets its arguments as they are.
   */
  private eventsOf(
    stream: AgUiStream,
    { tools }: Followed,
    held: Map<string, Of<"ToolCall">>,
    events: Iterable<AgentEvent>
  ): ReadonlyArray<AgUiEvent> {
    const all: Array<AgUiEvent> = []
    const push = (event: AgentEvent | undefined) => {
      if (event !== undefined) all.push(...stream.push(event))
    }
    for (const event of events) {
      if (event._tag === "ToolCall" && tools.some(({ name }) => name === event.name)) {
        held.set(event.id, event)
        continue
      }
      const id = "toolCallId" in event ? event.toolCallId : "id" in event ? event.id : ""
      const call = held.get(id)
      if (call !== undefined) {
        held.delete(id)
        const isOwn = event._tag === "QuestionAsked" && CallerTools.isGiven(event)
        push(isOwn ? call : PublicView.fromEvent(call, this.options.view))
      }
      push(PublicView.fromEvent(event, this.options.view))
    }
    return all
  }

  /** The end of a stream whose run waits: for persons, or only for calls that the page makes. */
  private waitingOf(stream: AgUiStream, records: ReadonlyArray<ApprovalRecord>): ReadonlyArray<AgUiEvent> {
    const persons = records.filter((record) => !CallerTools.isClientCall(record))
    return persons.length === 0 ? stream.end() : stream.pause(persons.map(interruptOf))
  }

  private sendAll(
    stream: AgUiStream,
    followed: Followed,
    runId: string,
    send: EventStream.Send
  ): Effect.Effect<void, RunError, Scope.Scope> {
    const waiting = Effect.orElseSucceed(this.threads.waiting(followed.chat, runId), () => [])
    const held = new Map<string, Of<"ToolCall">>()
    const quiet = Duration.toMillis(this.options.quiet ?? "250 millis")
    return Effect.gen(this, function* () {
      const pull = yield* AskedEvents.toPull(this.runs, this.pending, runId, accessOf(followed.chat.caller))
      for (let looks = 0; !stream.hasEnded; ) {
        const wait = Math.max(stream.isIdle ? AT_ONCE : quiet, Math.min(MOST_QUIET, AT_ONCE * 2 ** looks))
        const found = stream.isWaiting ? yield* Effect.timeoutOption(pull, wait) : Option.some(yield* pull)
        const records = Option.isNone(found) ? yield* waiting : []
        looks = Option.isNone(found) ? looks + 1 : 0
        if (Option.isNone(found) && records.length === 0) continue
        const events = Option.isNone(found)
          ? this.waitingOf(stream, records)
          : Option.isSome(found.value)
            ? this.eventsOf(stream, followed, held, found.value.value)
            : stream.fail("The events of the run are not complete")
        yield* send(yield* this.withState(followed, events))
      }
    })
  }

  private follow(stream: AgUiStream, followed: Followed, runId: string, send: EventStream.Send): Effect.Effect<void> {
    const access = accessOf(followed.chat.caller)
    // A run that waits for a person goes on waiting, whoever follows it.
    const isOver = () => stream.hasEnded || stream.isWaiting
    const sent = Effect.gen(this, function* () {
      yield* this.readers.follow(runId, isOver, Effect.ignore(this.runs.interrupt(runId, access)))
      yield* this.sendAll(stream, followed, runId, send)
    })
    return Effect.catchAll(Effect.scoped(sent), (error) =>
      Effect.flatMap(Effect.flip(Refusals.fromRun(error)), ({ message, error }) =>
        send(stream.fail(message, error).map(frameOf))
      )
    )
  }

  /** The run, after `first`. Without a run, the stream has only these. */
  response(
    followed: Followed,
    going: AgUiThreads.Going | undefined,
    first: ReadonlyArray<AgUiEvent> = []
  ): Effect.Effect<HttpServerResponse, never, Scope.Scope> {
    const { chat, messages, requestId } = followed
    const { agent, chatId: threadId } = chat
    const { answered, runId = "" } = going ?? {}
    const stream = new AgUiStream({ threadId, requestId, runId, agent, messages, answered })
    return EventStream.response(
      (send) =>
        Effect.zipRight(
          send([...stream.start(), ...first, ...(going === undefined ? stream.end() : [])].map(frameOf)),
          going === undefined ? Effect.void : this.follow(stream, followed, going.runId, send)
        ),
      {
        ...this.options,
        headers: { ...this.options.headers, ...(going === undefined ? {} : { [RUN_ID]: going.runId }) }
      }
    )
  }

  /** A run that does not begin because its request does not keep the rules of interrupts. */
  refusal({ error, hint, message, reason }: ApiError): Effect.Effect<HttpServerResponse, never, Scope.Scope> {
    const text = hint === undefined ? message : `${message}. ${hint}`
    const event = { type: "RUN_ERROR" as const, message: text, code: error ?? reason }
    return EventStream.response((send) => send([frameOf(event)]), this.options)
  }
}
