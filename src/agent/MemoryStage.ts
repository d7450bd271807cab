/**
 * Brings what is remembered into the context.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as CanonicalJson from "../internal/CanonicalJson.js"
import * as WorkingMemory from "../memory/WorkingMemory.js"
import * as AgentMemory from "./AgentMemory.js"
import { degrade, type Stage, type State } from "./Stage.js"

/** Owners are no longer. */
const maxOwner = 256

/** A hash stands for what is too long, behind a character that no id has. */
const bounded = (prefix: string, id: string): string =>
  prefix.length + id.length <= maxOwner ? prefix + id : `${prefix}\u001f${CanonicalJson.hash(id)}`

/**
 * Whose memory a run uses: the user's, under its id, else the session's, under a name of its own (`session:…`), so that nobody recalls what
 * belongs to the other: a user who is called like a session has `user:` before its id. A run of nobody has none: strangers share nothing.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOf = ({ sessionId, userId }: Pick<State, "sessionId" | "userId">): string | undefined => {
  if (userId !== undefined) return bounded(/^(?:session|user):/.test(userId) ? "user:" : "", userId)
  return sessionId === undefined ? undefined : bounded("session:", sessionId)
}

/**
 * Assembles working memory within its token budget. A memory that fails is passed over.
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
    const { shown } = state.notes
    const options: WorkingMemory.AssembleOptions = {
      query: state.input,
      tokenBudget: state.uses.config.memoryTokenBudget,
      ownerId,
      shown,
      ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
    }
    let answer: WorkingMemory.Assembled | undefined
    for (const memory of yield* AgentMemory.of(state)) {
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

/** A section that is missing, as the failure it is. */
const partly = (state: State, source: string, failed: string): Effect.Effect<void> =>
  degrade(Effect.fail({ _tag: failed, message: `The section ${source} of memory could not be read` }), {
    state,
    stage: "memory",
    orElse: undefined
  })
