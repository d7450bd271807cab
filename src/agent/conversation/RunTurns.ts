/**
 * Writes the turns of a run to its session and to memory.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type * as AgentResponse from "../../domain/AgentResponse.js"
import { TurnId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Usage from "../../domain/Usage.js"
import * as PlainId from "../../internal/text/PlainId.js"
import type * as ProceduralMemory from "../../memory/procedural/ProceduralMemory.js"
import * as Procedure from "../../memory/procedural/Procedure.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as StepModule from "../../observability/Step.js"
import type * as SessionManager from "../../session/manager/SessionManager.js"
import * as SessionMemory from "../../session/manager/SessionMemory.js"
import type { NewTurn, Session, TurnToolCall } from "../../session/turn/Session.js"
import { type SessionCapacityError, SessionStorageError } from "../../session/turn/SessionError.js"
import * as TurnBytes from "../../session/turn/TurnBytes.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import * as SecretParams from "../../tool/definition/SecretParams.js"
import * as ToolArguments from "../../tool/definition/ToolArguments.js"
import * as AgentMemory from "../definition/AgentMemory.js"
import { conclude, degrade, inTime, type State } from "../definition/Stage.js"
import { ownerOf } from "./RecalledMemory.js"

type Said = Omit<NewTurn, "timestamp">
type BeginFailure = Effect.Effect.Error<ReturnType<SessionManager.Service["beginExchange"]>>

/** In the order of the conversation, with increasing timestamps: a memory orders entries of the same time by id. */
const turns = (state: State, text: string, exit: Exit.Exit<Answer, unknown>, now: number): ReadonlyArray<NewTurn> =>
  turnsOf(state, text, exit).map((turn, index) => ({ ...turn, timestamp: now + index }))

/** An invalid usage of a provider must not prevent saving a turn. */
const amount = (value: number): number => (value > 0 && Number.isFinite(value) ? value : 0)

const free = { tokensUsed: 0, cost: 0 }

const commonOf = ({ agent, run }: State) => ({ skillResults: [], metadata: { agent: agent.name }, runId: run.runId })

const asked = (state: State, content: string): Said => ({
  ...commonOf(state),
  ...free,
  ...(state.notes.files.length === 0 ? {} : { files: state.notes.files }),
  id: PlainId.make(TurnId, `${state.run.runId}:user`),
  role: "user",
  content,
  toolCalls: []
})

/** Arguments as they may be kept: after the guards, without secrets. */
const paramsOf = (state: State, { id, name, params }: AgentResponse.ToolExecutionRecord): unknown => {
  const { guarded } = state.notes
  const tool = state.tools.get(name)
  const kept = guarded.has(id) ? guarded.get(id) : params
  if (tool === undefined) return kept
  return SecretParams.hideSecrets(
    tool,
    typeof kept === "string" ? ToolArguments.normalise(kept, tool.parameters) : kept
  )
}

/** All calls of a run, ended or not, in the form of a turn. */
export const callsOf = (state: State): ReadonlyArray<TurnToolCall> =>
  state.progress().toolCalls.map((call) => ({
    id: call.id,
    name: call.name,
    params: paramsOf(state, call),
    result: call.observation,
    isFailure: call.isFailure
  }))

/** Each run numbers its own calls; within a turn the ids must be unique. */
const withUniqueIds = (calls: ReadonlyArray<TurnToolCall>): ReadonlyArray<TurnToolCall> => {
  const seen = new Set<string>()
  return calls.map((call) => {
    let { id } = call
    for (let n = 2; seen.has(id); n++) id = `${call.id}_${n}`
    seen.add(id)
    return id === call.id ? call : { ...call, id }
  })
}

const turnsOf = (state: State, text: string, exit: Exit.Exit<Answer, unknown>): ReadonlyArray<Said> => {
  const { run } = state
  const progress = state.progress()
  const used = {
    tokensUsed: Math.round(amount(Usage.total(progress.usage))),
    cost: amount(progress.costUsd ?? 0)
  }
  const common = commonOf(state)
  const user: Said = {
    ...asked(state, text),
    // Without an answer, only this turn records the usage of the run.
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
  const { files: _, ...withoutFiles } = user
  const steered = state.notes.steered.map(
    (content, index): Said => ({
      ...withoutFiles,
      ...free,
      content,
      id: PlainId.make(TurnId, `${run.runId}:user:${index + 1}`)
    })
  )
  if (!Exit.isSuccess(exit)) return [user, ...steered]
  const model = state.settings.model ?? state.uses.client.model
  const { agent, path } = progress
  return [
    user,
    ...steered,
    {
      ...common,
      ...used,
      ...(state.notes.toolFiles.length === 0 ? {} : { files: state.notes.toolFiles }),
      metadata: path.length > 1 ? { agent, path } : { agent },
      id: PlainId.make(TurnId, `${run.runId}:assistant`),
      role: "assistant",
      content: exit.value.text,
      toolCalls: withUniqueIds([...callsOf(state), ...state.notes.handedCalls]),
      ...(model === undefined ? {} : { model }),
      provider: state.uses.client.provider
    }
  ]
}

/** Without a session store, a session is the only one of its tree. */
const placeOf = ({ notes, sessionId }: State): SessionMemory.Place | undefined =>
  notes.session ?? (sessionId === undefined ? undefined : { id: sessionId })

/**
 * Saves the user's message in the session before the model is called. A full session loses the turns but not the
 * answer; all other failures fail the run. A durable run may continue in another process, so its message has no owning
 * process.
 */
export const begin = (
  state: State,
  session: Session
): Effect.Effect<void, Exclude<BeginFailure, SessionCapacityError>> =>
  Effect.gen(function* () {
    const text = state.notes.keep
    if (text === undefined) return
    const step = yield* StepModule.Step
    const begun = state.uses.sessions.beginExchange(session.id, {
      ...(state.userId === undefined ? {} : { userId: state.userId }),
      runId: state.run.runId,
      turns: [{ ...asked(state, text), timestamp: yield* Clock.currentTimeMillis }],
      durable: StepModule.isRecording(step)
    })
    yield* Effect.catchTag(step.guard?.(begun) ?? begun, "SessionCapacityError", (full) =>
      degrade(Effect.fail(full), { state, stage: "session save", orElse: undefined })
    )
  })

const isPassing = (error: unknown): boolean =>
  error instanceof SessionStorageError || error instanceof Cause.TimeoutException

/**
 * Repeats a write of a durable run while its store is away, for up to an hour: no other process would make it later.
 * Interrupted if the run goes on elsewhere.
 */
const repeated = <A, E>(
  step: StepModule.Service,
  write: Effect.Effect<A, E>
): Effect.Effect<A, E | Cause.TimeoutException> =>
  Effect.retry(inTime(write), {
    while: (error) => isPassing(error) && !step.isSuspended(),
    schedule: Schedule.exponential("100 millis").pipe(
      Schedule.union(Schedule.spaced("10 seconds")),
      Schedule.upTo("1 hour")
    )
  }).pipe(
    Effect.catchIf(
      (error) => isPassing(error) && step.isSuspended(),
      () => Effect.interrupt
    )
  )

/** Saves the turns in the session of the run, if it has one. Returns them as stored; if they could not be, as given. */
const endExchange = (
  state: State,
  written: ReadonlyArray<NewTurn>,
  savedTo: ReadonlyArray<WorkingMemory.Service>,
  step: StepModule.Service
): Effect.Effect<ReadonlyArray<NewTurn>> => {
  const { session } = state.notes
  if (session === undefined) return Effect.succeed(written)
  const { sessions } = state.uses
  const ended = sessions.endExchange(session.id, {
    ...(state.userId === undefined ? {} : { userId: state.userId }),
    runId: state.run.runId,
    turns: written.map((turn) => TurnBytes.truncate(turn, sessions.maxTurnBytes)),
    savedTo
  })
  const write = SystemAccess.holding(state.held)(ended)
  return degrade(StepModule.isRecording(step) ? repeated(step, step.guard?.(write) ?? write) : write, {
    state,
    stage: "session save",
    orElse: written
  })
}

/** Saves the turns of a run that has ended, in its session and in memory. */
export const save = (
  state: State,
  text: string,
  exit: Exit.Exit<Answer, unknown>,
  step: StepModule.Service
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const written = turns(state, text, exit, yield* Clock.currentTimeMillis)
    const ownerId = ownerOf(state)
    const memories = ownerId === undefined ? [] : yield* AgentMemory.fromState(state)
    const stored = yield* endExchange(state, written, memories, step)
    if (ownerId === undefined) return
    const remembered = Effect.gen(function* () {
      const said = stored.map((turn) => SessionMemory.toEntry(turn, { ownerId, session: placeOf(state) }))
      const entries = state.judged === undefined || memories.length === 0 ? said : yield* state.judged(said)
      const taught = lesson(state, ownerId, text, exit)
      for (const memory of memories) {
        yield* degrade(memory.addAll(entries), { state, stage: "memory save", orElse: undefined })
        if (taught !== undefined) {
          yield* degrade(memory.learn(taught), { state, stage: "memory learn", orElse: undefined })
        }
      }
    })
    // That the turns are in the session takes the time that it takes; only memory has a limit in a durable run.
    yield* StepModule.isRecording(step) ? conclude(remembered, { state, stage: "memory save" }) : remembered
  })

/** Nothing is learned from the steps of a run that was interrupted or whose answer was blocked. */
const lesson = (
  state: State,
  ownerId: string,
  task: string,
  exit: Exit.Exit<Answer, unknown>
): ProceduralMemory.Outcome | undefined => {
  const success = Exit.isSuccess(exit)
  if (!success && (state.notes.blocked || Cause.isInterruptedOnly(exit.cause))) return undefined
  const steps = Procedure.stepsOf(state.progress().toolCalls, { failed: !success })
  return steps.length === 0 ? undefined : { ownerId, task, steps, success, runId: state.run.runId }
}
