/**
 * The events of a run, and of the runs inside of it those that ask a person: a run does not tell these, and yet waits
 * for them. They have the id of the inner run and no number of their own: who reads again from an event on may hear
 * them again.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberHandle from "effect/FiberHandle"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type AgentEvent, isTerminal } from "../../domain/AgentEvent.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { RunError } from "../record/RunError.js"
import type * as Runs from "./Runs.js"

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

/** What somebody is asked inside of a run, told as it is looked. */
class Asked {
  /** Calls of tools that have not ended, and runs that took the conversation over: the other runs are within them. */
  private readonly open = new Set<string>()
  /** The requests of inner runs that were told. */
  private readonly told = new Map<string, ApprovalRecord>()

  constructor(
    private readonly pending: PendingApprovals.Service,
    private readonly runId: string,
    private readonly access: Runs.Access,
    from: number
  ) {
    // What was open then is not known.
    if (from > 0) this.open.add("earlier")
  }

  /** Takes note of an event of the run. Whether somebody may be asked from it on who was not before. */
  note(event: AgentEvent): boolean {
    if (event.runId !== this.runId) return false
    if (event._tag === "ToolResult") this.open.delete(event.id)
    else if (isTerminal(event)) this.open.clear()
    else if (event._tag === "ToolCall") this.open.add(event.id)
    else if (event._tag === "Delegated" && event.handoff === true) this.open.add(event.childRunId)
    else return false
    return event._tag === "ToolCall" || event._tag === "Delegated"
  }

  get mayAsk(): boolean {
    return this.open.size > 0
  }

  get hasTold(): boolean {
    return this.told.size > 0
  }

  private settled(record: ApprovalRecord): Effect.Effect<AgentEvent> {
    return Effect.map(
      Effect.orElseSucceed(this.pending.get(record.request.id, this.access), Option.none<ApprovalRecord>),
      (found) => answered(Option.getOrElse(found, () => record))
    )
  }

  /** Tells what is asked since the last look, and what is not any more. What was not told whole is told again. */
  look<A>(tell: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<A>): Effect.Effect<A | undefined> {
    return Effect.gen(this, function* () {
      const { access, pending, runId, told } = this
      const all = yield* pending.list({ ...access, rootRunId: runId, limit: MOST })
      const records = all.filter(({ request }) => request.runId !== runId)
      const open = new Set(records.map(({ request }) => request.id))
      const over = Array.from(told.values()).filter(({ request }) => !open.has(request.id))
      const fresh = records.filter(({ request }) => !told.has(request.id))
      if (over.length === 0 && fresh.length === 0) return undefined
      const ended = yield* Effect.forEach(over, (record) => this.settled(record))
      const answer = yield* tell([...ended, ...fresh.map(asked)])
      for (const { request } of over) told.delete(request.id)
      for (const record of fresh) told.set(record.request.id, record)
      return answer
    }).pipe(Effect.orElseSucceed(() => undefined))
  }
}

/** How long to wait for the look after this one. */
const later = (wait: number): number => Math.min(LAST_LOOK, wait * 2)

class Pulling {
  private next: Fiber.RuntimeFiber<Pulled, RunError> | undefined

  constructor(
    private readonly pull: Effect.Effect<Pulled, RunError>,
    private readonly inner: Asked,
    private readonly scope: Scope.Scope
  ) {}

  /** The events of the run; before them, which requests have been answered. */
  private taken(pulled: Pulled): Effect.Effect<Pulled> {
    this.next = undefined
    if (Option.isNone(pulled)) return Effect.succeed(pulled)
    for (const event of pulled.value) this.inner.note(event)
    if (!this.inner.hasTold) return Effect.succeed(pulled)
    const told = this.inner.look((events) =>
      Effect.succeed(Option.some(Chunk.appendAll(Chunk.fromIterable(events), pulled.value)))
    )
    return Effect.map(told, (all) => all ?? pulled)
  }

  /** The next events; none at the end. */
  readonly take: Effect.Effect<Pulled, RunError> = Effect.suspend(() => {
    if (!this.inner.mayAsk && this.next === undefined) return Effect.flatMap(this.pull, (pulled) => this.taken(pulled))
    return Effect.gen(this, function* () {
      this.next ??= yield* Effect.forkIn(this.pull, this.scope)
      const { next } = this
      for (let wait = FIRST_LOOK; ; wait = later(wait)) {
        const pulled = yield* Effect.timeoutOption(Fiber.join(next), wait)
        if (Option.isSome(pulled)) return yield* this.taken(pulled.value)
        const told = yield* this.inner.look((events) => Effect.succeed(Option.some(Chunk.fromIterable(events))))
        if (told !== undefined) return told
      }
    })
  })
}

/**
 * Takes events as `Stream.toPull` of `Runs.events` does. Looks for requests only while calls of tools are open, or
 * another agent has the conversation.
 *
 * @category constructors
 */
export const toPull = (
  runs: Runs.Service,
  pending: PendingApprovals.Service,
  runId: string,
  access: Runs.Access,
  from = 0
): Effect.Effect<Effect.Effect<Pulled, RunError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pull = yield* Pulls.open(runs.events(runId, { ...access, from }))
    const own = Effect.map(pull, (events) =>
      events === undefined ? Option.none() : Option.some(Chunk.unsafeFromArray(events))
    )
    return new Pulling(own, new Asked(pending, runId, access, from), yield* Effect.scope).take
  })

/**
 * The same events as a stream.
 *
 * @category constructors
 */
export const stream = (
  runs: Runs.Service,
  pending: PendingApprovals.Service,
  runId: string,
  access: Runs.Access,
  from: number
): Stream.Stream<AgentEvent, RunError> =>
  Stream.unwrapScoped(
    Effect.map(toPull(runs, pending, runId, access, from), (pull) =>
      Stream.repeatEffectChunkOption(
        Effect.flatMap(
          Effect.mapError(pull, Option.some),
          Option.match({ onNone: () => Effect.fail(Option.none()), onSome: Effect.succeed })
        )
      )
    )
  )

/**
 * Gives `take` the events as they come, without a wait of a fiber for each, and those of inner runs between them.
 *
 * @category destructors
 */
export const forEach = (
  runs: Runs.Service,
  pending: PendingApprovals.Service,
  runId: string,
  access: Runs.Access & { readonly from: number },
  take: Pulls.Take<AgentEvent>
): Effect.Effect<void, RunError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const inner = new Asked(pending, runId, access, access.from)
      const watcher = yield* FiberHandle.make()
      const look = inner.look((events) =>
        Effect.as(
          Effect.suspend(() => take(events) ?? Effect.void),
          true
        )
      )
      const watch = Effect.gen(function* () {
        for (let wait = FIRST_LOOK; inner.mayAsk; ) {
          yield* Effect.sleep(wait)
          wait = (yield* look) === undefined ? later(wait) : FIRST_LOOK
        }
      })
      const watching = FiberHandle.run(watcher, watch)
      if (inner.mayAsk) yield* watching
      const next: Pulls.Take<AgentEvent> = (events) => {
        let isNew = false
        let isOver = false
        for (const event of events) {
          if (inner.note(event)) isNew = true
          else if (event._tag === "ToolResult" || isTerminal(event)) isOver = true
        }
        if (!isNew && !(isOver && inner.hasTold)) return take(events)
        // One looks at a time. Who was answered is told before what came of it.
        return FiberHandle.clear(watcher).pipe(
          Effect.zipRight(inner.hasTold ? look : Effect.void),
          Effect.zipRight(Effect.suspend(() => take(events) ?? Effect.void)),
          Effect.zipRight(inner.mayAsk ? watching : Effect.void)
        )
      }
      yield* Pulls.forEach(runs.events(runId, access), next)
    })
  )
