/**
 * Adds recalled memory to the history.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as SessionMemory from "../../session/manager/SessionMemory.js"
import * as AgentMemory from "../definition/AgentMemory.js"
import { degrade, type Stage, type State } from "../definition/Stage.js"

/**
 * The owner of the memory of a run, by `SessionMemory.ownerOf`; on a branch, that of the session its tree began with.
 *
 * @since 0.1.0
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
 * Assembles working memory within its token budget. A memory that fails is skipped.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "memory",
  wrap: (state, next) => {
    const ownerId = ownerOf(state)
    if (ownerId === undefined) return next(state)
    return Effect.flatMap(assembled(state, ownerId), (found) => (found === undefined ? next(state) : next(found)))
  }
}

const assembled = (state: State, ownerId: string): Effect.Effect<State | undefined> =>
  Effect.gen(function* () {
    const { session, shown } = state.notes
    const options: WorkingMemory.AssembleOptions = {
      query: state.input,
      tokenBudget: state.uses.config.memoryTokenBudget,
      ownerId,
      shown,
      ...(session === undefined ? {} : SessionMemory.lineageOf(session)),
      ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
    }
    let answer: WorkingMemory.Assembled | undefined
    for (const memory of yield* AgentMemory.fromState(state)) {
      answer = yield* degrade(memory.assemble(options), { state, stage: "memory", orElse: undefined })
      if (answer !== undefined) break
    }
    if (answer === undefined) return undefined
    for (const { failed, source } of answer.report) if (failed !== undefined) yield* partly(state, source, failed)
    const { facts, tokens, tools } = answer
    const entries = answer.entries.filter(({ turnId }) => turnId === undefined || !shown.has(turnId))
    const remembered = WorkingMemory.toMessages({ entries, facts, tools })
    if (remembered.length === 0) return undefined
    const count = entries.length + facts.length + tools.length
    yield* state.run.emit({ _tag: "MemoryRecalled", source: "working-memory", count, tokens })
    return { ...state, history: [...remembered, ...state.history] }
  })

/** Reports a missing section as a failure. */
const partly = (state: State, source: string, failed: string): Effect.Effect<void> =>
  degrade(Effect.fail({ _tag: failed, message: `The section ${source} of memory could not be read` }), {
    state,
    stage: "memory",
    orElse: undefined
  })
