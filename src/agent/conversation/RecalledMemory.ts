/**
 * Recalls the memory of the owner of a run.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as SessionMemory from "../../session/manager/SessionMemory.js"
import * as AgentMemory from "../definition/AgentMemory.js"
import type { Remembered } from "../definition/RecordedSchemas.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { degrade, type State } from "../definition/Stage.js"

/**
 * The owner of the memory of a run, by `SessionMemory.ownerOf`; on a branch, that of the session its tree began with.
 *
 * @category getters
 */
export const ownerOf = ({
  notes,
  sessionId,
  userId
}: Pick<State, "notes" | "sessionId" | "userId">): string | undefined =>
  notes.session === undefined
    ? SessionMemory.ownerOf({ userId, sessionId })
    : SessionMemory.ownerOfSession(notes.session)

/**
 * The state with recalled memory before its history; the memory is read within its token budget. One that fails, or a
 * section of it, is reported and left out.
 *
 * @category combinators
 */
export const recalled = (state: State): Effect.Effect<State> => {
  const ownerId = ownerOf(state)
  return ownerId === undefined
    ? Effect.succeed(state)
    : Effect.map(assembled(state, ownerId), (found) => found ?? state)
}

const assembled = (state: State, ownerId: string): Effect.Effect<State | undefined> =>
  Effect.gen(function* () {
    const { session, shown } = state.notes
    const options: WorkingMemory.AssembleOptions = {
      query: state.input,
      tokenBudget: state.uses.config.memoryTokenBudget,
      ownerId,
      shown,
      inherits: state.inherits,
      ...(session === undefined ? {} : SessionMemory.lineageOf(session)),
      ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
    }
    const { count, messages: remembered, tokens } = yield* RecordedStages.memory(read(state, options))
    if (remembered.length === 0) return undefined
    yield* state.run.emit({ _tag: "MemoryRecalled", source: "working-memory", count, tokens })
    return { ...state, history: [...remembered, ...state.history] }
  })

/** What the first memory that answers has. One that fails, or a section of it, is reported. */
const read = (state: State, options: WorkingMemory.AssembleOptions): Effect.Effect<Remembered> =>
  Effect.gen(function* () {
    const { shown } = state.notes
    let answer: WorkingMemory.Assembled | undefined
    for (const memory of yield* AgentMemory.fromState(state)) {
      answer = yield* degrade(memory.assemble(options), { state, stage: "memory", orElse: undefined })
      if (answer !== undefined) break
    }
    if (answer === undefined) return { messages: [], count: 0, tokens: 0 }
    for (const { failed, source } of answer.report) if (failed !== undefined) yield* partly(state, source, failed)
    const { facts, inheritedFacts = [], namespaces, tokens, tools } = answer
    const entries = answer.entries.filter(({ turnId }) => turnId === undefined || !shown.has(turnId))
    return {
      messages: WorkingMemory.toMessages({ entries, facts, inheritedFacts, namespaces, tools }),
      count: entries.length + facts.length + inheritedFacts.length + tools.length,
      tokens
    }
  })

/** Reports a missing section as a failure. */
const partly = (state: State, source: string, failed: string): Effect.Effect<void> =>
  degrade(Effect.fail({ _tag: failed, message: `The section ${source} of memory could not be read` }), {
    state,
    stage: "memory",
    orElse: undefined
  })
