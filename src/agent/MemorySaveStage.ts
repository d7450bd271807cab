/**
 * Keeps what was said, in the session and in memory.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { TurnId } from "../domain/Ids.js"
import * as Usage from "../domain/Usage.js"
import * as ProceduralMemory from "../memory/ProceduralMemory.js"
import * as StepModule from "../observability/Step.js"
import type { NewTurn } from "../session/Session.js"
import * as SessionMemory from "../session/SessionMemory.js"
import type { Answer } from "../strategy/Strategy.js"
import * as AgentMemory from "./AgentMemory.js"
import { ownerOf } from "./MemoryStage.js"
import { conclude, degrade, type Stage, type State } from "./Stage.js"

type Said = Omit<NewTurn, "timestamp">

/** In the order in which they were said; by time as well, for a memory orders what is of the same time by its id. */
const turns = (state: State, text: string, exit: Exit.Exit<Answer, unknown>, now: number): ReadonlyArray<NewTurn> =>
  said(state, text, exit).map((turn, index) => ({ ...turn, timestamp: now + index }))

/** What a provider says it used is no reason not to keep a turn. */
const amount = (value: number): number => (value > 0 && Number.isFinite(value) ? value : 0)

const said = (state: State, text: string, exit: Exit.Exit<Answer, unknown>): ReadonlyArray<Said> => {
  const { agent, run } = state
  const progress = state.progress()
  const used = {
    tokensUsed: Math.round(amount(Usage.total(progress.usage))),
    cost: amount(progress.costUsd ?? 0)
  }
  const free = { tokensUsed: 0, cost: 0 }
  const common = { skillResults: [], metadata: { agent: agent.name }, runId: run.runId }
  const user: Said = {
    ...common,
    id: TurnId.make(`${run.runId}:user`),
    role: "user",
    content: text,
    toolCalls: [],
    // Without an answer nothing else tells what the run has used.
    ...(Exit.isSuccess(exit) ? free : used),
    ...(Exit.isSuccess(exit)
      ? {}
      : {
          unanswered: state.notes.blocked
            ? ("blocked" as const)
            : Cause.isInterruptedOnly(exit.cause)
              ? ("interrupted" as const)
              : ("failed" as const)
        })
  }
  const steered = state.notes.steered.map(
    (content, index): Said => ({ ...user, ...free, content, id: TurnId.make(`${run.runId}:user:${index + 1}`) })
  )
  if (!Exit.isSuccess(exit)) return [user, ...steered]
  const model = state.settings.model ?? state.uses.client.model
  return [
    user,
    ...steered,
    {
      ...common,
      ...used,
      id: TurnId.make(`${run.runId}:assistant`),
      role: "assistant",
      content: exit.value.text,
      toolCalls: progress.toolCalls.map((call) => ({
        id: call.id,
        name: call.name,
        params: call.params,
        result: call.observation,
        isFailure: call.isFailure
      })),
      ...(model === undefined ? {} : { model }),
      provider: state.uses.client.provider
    }
  ]
}

/** Without a store of sessions a session is the only one of its tree. */
const placeOf = ({ notes, sessionId }: State): SessionMemory.Place | undefined =>
  notes.session ?? (sessionId === undefined ? undefined : { id: sessionId })

const save = (state: State, text: string, exit: Exit.Exit<Answer, unknown>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const written = turns(state, text, exit, yield* Clock.currentTimeMillis)
    const { session } = state.notes
    const access = state.userId === undefined ? {} : { userId: state.userId }
    if (session !== undefined) {
      yield* degrade(
        Effect.forEach(written, (turn) => state.uses.sessions.addTurn(session.id, turn, access), { discard: true }),
        { state, stage: "session save", orElse: undefined }
      )
    }
    const ownerId = ownerOf(state)
    if (ownerId === undefined) return
    const entries = written.map((turn) => SessionMemory.toEntry(turn, { ownerId, session: placeOf(state) }))
    const taught = lesson(state, ownerId, text, exit)
    for (const memory of yield* AgentMemory.of(state)) {
      yield* degrade(memory.addAll(entries), { state, stage: "memory save", orElse: undefined })
      if (taught !== undefined) {
        yield* degrade(memory.learn(taught), { state, stage: "memory learn", orElse: undefined })
      }
    }
  })

/** A run that was interrupted or whose answer was blocked says nothing about its steps. */
const lesson = (
  state: State,
  ownerId: string,
  task: string,
  exit: Exit.Exit<Answer, unknown>
): ProceduralMemory.Outcome | undefined => {
  const success = Exit.isSuccess(exit)
  if (!success && (state.notes.blocked || Cause.isInterruptedOnly(exit.cause))) return undefined
  const steps = ProceduralMemory.stepsOf(state.progress().toolCalls, { failed: !success })
  return steps.length === 0 ? undefined : { ownerId, task, steps, success, runId: state.run.runId }
}

/**
 * The user's message and the answer, as turns with ids of their own run. A run that failed, was interrupted or blocked keeps the message,
 * marked; one that was denied or whose message was blocked keeps nothing. A save that fails is passed over.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "memorySave",
  wrap: (state, next) => {
    if (state.sessionId === undefined && ownerOf(state) === undefined) return next(state)
    return Effect.onExit(next(state), (exit) =>
      Effect.flatMap(StepModule.Step, (step) => {
        const text = state.notes.keep
        if (text === undefined || step.isSuspended()) return Effect.void
        return conclude(save(state, text, exit), { state, stage: "memory save" })
      })
    )
  }
}
