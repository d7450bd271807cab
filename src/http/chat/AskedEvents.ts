/**
 * The events of a run, and of the runs inside of it those that ask a person: a run does not tell these, and yet waits
 * for them.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { RunError } from "../../agent/record/RunError.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"

/** Milliseconds without an event after which it is looked whether somebody is asked, at first and at most. */
const FIRST_LOOK = 250
const LAST_LOOK = 4_000

/** The most requests of the runs inside of one. */
const MOST = 100

const metaOf = ({ request, requestedAt, settlement }: ApprovalRecord) => ({
  runId: request.runId,
  agent: request.agent,
  seq: 0,
  at: settlement?.at ?? requestedAt,
  id: request.id,
  toolCallId: request.toolCallId
})

const asked = (record: ApprovalRecord): AgentEvent => {
  const { params, question, reason, secret, tool } = record.request
  return question === undefined
    ? {
        _tag: "ApprovalRequested",
        ...metaOf(record),
        name: tool,
        params,
        ...(secret === undefined ? {} : { secret }),
        ...(reason === undefined ? {} : { reason })
      }
    : {
        _tag: "QuestionAsked",
        ...metaOf(record),
        name: tool,
        ...question,
        ...(question.clientTool === true ? { params } : {})
      }
}

const answered = (record: ApprovalRecord): AgentEvent => {
  const { question, tool } = record.request
  const decision = record.settlement?.decision
  const approved = decision?._tag === "Approved"
  return question === undefined
    ? { _tag: "ApprovalResolved", ...metaOf(record), approved }
    : { _tag: "QuestionAnswered", ...metaOf(record), name: tool, action: approved ? "accept" : "decline" }
}

type Pulled = Option.Option<Chunk.Chunk<AgentEvent>>

class Asked {
  /** The calls of tools that have not ended: the runs inside of the run are within them. */
  private readonly calls = new Set<string>()
  /** The requests of inner runs that were told. */
  private readonly told = new Map<string, ApprovalRecord>()
  private next: Fiber.RuntimeFiber<Pulled, RunError> | undefined

  constructor(
    private readonly pull: Effect.Effect<Pulled, RunError>,
    private readonly pending: PendingApprovals.Service,
    private readonly runId: string,
    private readonly access: Runs.Access,
    private readonly scope: Scope.Scope
  ) {}

  private note(events: Iterable<AgentEvent>): void {
    for (const event of events) {
      if (event._tag === "ToolCall") this.calls.add(event.id)
      else if (event._tag === "ToolResult") this.calls.delete(event.id)
    }
  }

  private settled(record: ApprovalRecord): Effect.Effect<AgentEvent> {
    return Effect.map(
      Effect.orElseSucceed(this.pending.get(record.request.id, this.access), Option.none<ApprovalRecord>),
      (found) => answered(Option.getOrElse(found, () => record))
    )
  }

  /** What is asked since the last look, and what is not any more. */
  private readonly look: Effect.Effect<Chunk.Chunk<AgentEvent>> = Effect.gen(this, function* () {
    const { access, pending, runId, told } = this
    const all = yield* pending.list({ ...access, rootRunId: runId, limit: MOST })
    const records = all.filter(({ request }) => request.runId !== runId)
    const open = new Set(records.map(({ request }) => request.id))
    const over = Array.from(told.values()).filter(({ request }) => !open.has(request.id))
    const fresh = records.filter(({ request }) => !told.has(request.id))
    const ended = yield* Effect.forEach(over, (record) => this.settled(record))
    for (const { request } of over) told.delete(request.id)
    for (const record of fresh) told.set(record.request.id, record)
    return Chunk.fromIterable([...ended, ...fresh.map(asked)])
  }).pipe(Effect.orElseSucceed(() => Chunk.empty<AgentEvent>()))

  /** The events of the run; before them, which requests have been answered. */
  private taken(pulled: Pulled): Effect.Effect<Pulled> {
    this.next = undefined
    if (Option.isNone(pulled)) return Effect.succeed(pulled)
    this.note(pulled.value)
    return this.told.size === 0
      ? Effect.succeed(pulled)
      : Effect.map(this.look, (events) => Option.some(Chunk.appendAll(events, pulled.value)))
  }

  /** The next events; none at the end. */
  readonly take: Effect.Effect<Pulled, RunError> = Effect.suspend(() => {
    if (this.calls.size === 0 && this.next === undefined) {
      return Effect.flatMap(this.pull, (pulled) => this.taken(pulled))
    }
    return Effect.gen(this, function* () {
      this.next ??= yield* Effect.forkIn(this.pull, this.scope)
      const { next } = this
      for (let wait = FIRST_LOOK; ; wait = Math.min(LAST_LOOK, wait * 2)) {
        const pulled = yield* Effect.timeoutOption(Fiber.join(next), wait)
        if (Option.isSome(pulled)) return yield* this.taken(pulled.value)
        const events = yield* this.look
        if (Chunk.isNonEmpty(events)) return Option.some(events)
      }
    })
  })
}

/**
 * Takes events as `Stream.toPull` of `Runs.events` does. Looks for requests only while calls of tools are open.
 *
 * @category constructors
 */
export const toPull = (
  runs: Runs.Service,
  pending: PendingApprovals.Service,
  runId: string,
  access: Runs.Access
): Effect.Effect<Effect.Effect<Pulled, RunError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pull = yield* Pulls.open(runs.events(runId, access))
    const own = Effect.map(pull, (events) =>
      events === undefined ? Option.none() : Option.some(Chunk.unsafeFromArray(events))
    )
    return new Asked(own, pending, runId, access, yield* Effect.scope).take
  })
