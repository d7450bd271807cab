/**
 * Strategies for merging a branch into another session of its tree: which turns to copy, and how to combine the small
 * states.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TurnId } from "../../domain/Ids.js"
import type { Session, SessionState, SessionTurn, TurnRef } from "../turn/Session.js"
import { SessionMergeError } from "../turn/SessionError.js"
import * as StateValues from "../turn/StateValues.js"

/**
 * The mergeable part of the small state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Mergeable
  extends Pick<SessionState, "variables" | "metadata" | "activeTools" | "activeSkills" | "systemPrompt"> {}

/**
 * The input of a strategy.
 *
 * @since 0.1.0
 * @category models
 */
export interface Merging {
  /** The session to merge into, as it is. */
  readonly into: Session
  /** The branch; a merge does not change it. */
  readonly from: Session
  /** The newest common state. Empty when it is no longer stored: then everything counts as added. */
  readonly base: Mergeable
  /** Turns of the branch that the session lacks, oldest first. */
  readonly turns: ReadonlyArray<SessionTurn>
  /**
   * Turns of the branch after the last common one that the session already has, because an earlier merge copied them in
   * either direction.
   */
  readonly known: ReadonlyArray<SessionTurn>
}

/**
 * A value that both sessions changed differently since the base. None: the value is absent.
 *
 * @since 0.1.0
 * @category models
 */
export interface Conflict {
  readonly field: "variables" | "metadata" | "systemPrompt"
  /** The key of the variable or the metadata; `systemPrompt` for the system prompt. */
  readonly key: string
  readonly base: Option.Option<unknown>
  readonly ours: Option.Option<unknown>
  readonly theirs: Option.Option<unknown>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Resolved extends Conflict {
  /** The new value; none: removed. */
  readonly resolved: Option.Option<unknown>
}

/**
 * What the session takes from the branch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Plan {
  /** Some of the offered turns. They are copied in the order of the branch, each once. */
  readonly turns: ReadonlyArray<SessionTurn>
  /**
   * The new small state. An omitted field stays as it is, and the branch's changes to it are offered again at the next
   * merge; a given field counts as settled.
   */
  readonly state?:
    | {
        readonly variables?: Mergeable["variables"] | undefined
        readonly metadata?: Mergeable["metadata"] | undefined
        readonly activeTools?: ReadonlyArray<string> | undefined
        readonly activeSkills?: ReadonlyArray<string> | undefined
        readonly systemPrompt?: Option.Option<string> | undefined
      }
    | undefined
  readonly conflicts?: ReadonlyArray<Resolved> | undefined
}

/**
 * It may be called again when another writer changes the session while it decides; nothing is written before it
 * returns.
 *
 * @since 0.1.0
 * @category models
 */
export interface MergeStrategy<out E = never, out R = never> {
  /** Stored with each merge. */
  readonly name: string
  readonly merge: (merging: Merging) => Effect.Effect<Plan, SessionMergeError | E, R>
}

/**
 * Makes a custom strategy.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { MergeStrategy } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * // The answers of the branch alone, without what was asked there.
 * const answers = MergeStrategy.make("answers", ({ turns }) =>
 *   Effect.succeed({ turns: turns.filter((turn) => turn.role === "assistant") })
 * )
 * ```
 */
export const make = <E = never, R = never>(
  name: string,
  merge: (merging: Merging) => Effect.Effect<Plan, SessionMergeError | E, R>
): MergeStrategy<E, R> => ({ name, merge })

const namesOf = ({ base, from, into }: Merging) => ({
  activeTools: StateValues.mergeNames(base.activeTools, into.activeTools, from.activeTools),
  activeSkills: StateValues.mergeNames(base.activeSkills, into.activeSkills, from.activeSkills)
})

/**
 * Appends all turns of the branch. Variables that the branch changed, added or removed since the last common state
 * override the session's, and so do the tools and skills it added or removed. Metadata and system prompt stay the
 * session's.
 *
 * @since 0.1.0
 * @category constructors
 */
export const append: MergeStrategy = make("append", (merging) =>
  Effect.sync(() => {
    const { base, from, into, turns } = merging
    const variables: Array<readonly [string, unknown]> = []
    for (const key of StateValues.keysOf(into.variables, from.variables)) {
      const theirs = StateValues.get(from.variables, key)
      const isTheirs = !StateValues.equalOption(StateValues.get(base.variables, key), theirs)
      const value = isTheirs ? theirs : StateValues.get(into.variables, key)
      if (Option.isSome(value)) variables.push([key, value.value])
    }
    return { turns, state: { variables: StateValues.fromEntries(variables), ...namesOf(merging) } }
  })
)

const refused = (
  { from, into }: Pick<Merging, "from" | "into">,
  reason: SessionMergeError["reason"],
  message: string,
  hint: string,
  variables: ReadonlyArray<string> = []
): SessionMergeError =>
  new SessionMergeError({ message, hint, sessionId: into.id, branchSessionId: from.id, reason, variables })

/** Turns of a tool call and its results, where these are turns of their own: they are copied together. */
const groupsOf = (turns: ReadonlyArray<SessionTurn>): ReadonlyMap<SessionTurn, ReadonlyArray<SessionTurn>> => {
  const groups = new Map<SessionTurn, Array<SessionTurn>>()
  let group: Array<SessionTurn> | undefined
  for (const turn of turns) {
    if (turn.role !== "tool") group = turn.toolCalls.length === 0 ? undefined : []
    if (group === undefined) continue
    group.push(turn)
    groups.set(turn, group)
  }
  return groups
}

/**
 * Copies the named turns of the branch and nothing of its state. A turn is named by its id, or by its reference when
 * several ancestors of the branch wrote a turn with that id. A turn with the role `tool` and the turn whose calls it
 * answers are copied together. Turns that the session already has are skipped; a turn that the branch does not have
 * after the common part fails with `SessionMergeError` (`unknown_turn`).
 *
 * @since 0.1.0
 * @category constructors
 */
export const selective = (turns: ReadonlyArray<TurnId | TurnRef>): MergeStrategy =>
  make<never>("selective", (merging) =>
    Effect.suspend(() => {
      const all = [...merging.known, ...merging.turns].sort((a, b) => a.depth - b.depth)
      const groups = groupsOf(all)
      const chosen = new Set<SessionTurn>()
      for (const wanted of turns) {
        const found =
          typeof wanted === "string"
            ? all.filter((turn) => turn.id === wanted)
            : all.filter((turn) => turn.id === wanted.turnId && turn.sessionId === wanted.sessionId)
        const turn =
          found.find(({ sessionId }) => sessionId === merging.from.id) ?? (found.length === 1 ? found[0] : undefined)
        if (turn === undefined) {
          return Effect.fail(
            refused(
              merging,
              "unknown_turn",
              found.length === 0
                ? "The branch has no turn with one of these ids after the common part"
                : "Several ancestors of the branch wrote a turn with one of these ids",
              "Read the turns of the branch, and name them by session and id"
            )
          )
        }
        for (const member of groups.get(turn) ?? [turn]) chosen.add(member)
      }
      return Effect.succeed({ turns: merging.turns.filter((turn) => chosen.has(turn)) })
    })
  )

/**
 * Resolves all conflicts of a merge at once: one answer per conflict, in order; none removes the value.
 *
 * @since 0.1.0
 * @category models
 */
export type Resolver<E = never, R = never> = (
  conflicts: ReadonlyArray<Conflict>,
  merging: Merging
) => Effect.Effect<ReadonlyArray<Option.Option<unknown>>, SessionMergeError | E, R>

/**
 * @since 0.1.0
 * @category models
 */
export interface ThreeWayOptions<E = never, R = never> {
  /**
   * Which side wins a conflict: the session (`ours`), the branch (`theirs`), or the choice of the resolver. `fail`
   * rejects the merge with `SessionMergeError`, which names the variables. Default `fail`.
   */
  readonly conflict?: "ours" | "theirs" | "fail" | Resolver<E, R> | undefined
  /** Default `three_way`. */
  readonly name?: string | undefined
}

const conflictsOf = (
  field: "variables" | "metadata",
  clashes: ReadonlyArray<StateValues.Clash>
): ReadonlyArray<Conflict> => clashes.map((clash) => ({ field, ...clash }))

/** The name of a variable is not content, but it is untrusted input. */
const named = (key: string): string => (key.length <= 256 ? key : `${key.slice(0, 255)}…`)

const conflict = (merging: Merging, conflicts: ReadonlyArray<Conflict>): SessionMergeError => {
  const variables = conflicts.flatMap(({ field, key }) => (field === "variables" ? [key] : []))
  const others = [
    ...(conflicts.some(({ field }) => field === "metadata") ? ["the metadata"] : []),
    ...(conflicts.some(({ field }) => field === "systemPrompt") ? ["the system prompt"] : [])
  ]
  const counted =
    variables.length === 0 ? [] : [variables.length === 1 ? "a variable" : `${variables.length} variables`]
  return refused(
    merging,
    "conflict",
    `Both sessions changed ${[...counted, ...others].join(" and ")} differently`,
    "Let one side win, or decide with a resolver",
    variables.slice(0, 100).map(named)
  )
}

const answered = <E, R>(
  policy: "ours" | "theirs" | "fail" | Resolver<E, R>,
  conflicts: ReadonlyArray<Conflict>,
  merging: Merging
): Effect.Effect<ReadonlyArray<Option.Option<unknown>>, SessionMergeError | E, R> => {
  if (conflicts.length === 0) return Effect.succeed([])
  switch (policy) {
    case "ours":
      return Effect.succeed(conflicts.map(({ ours }) => ours))
    case "theirs":
      return Effect.succeed(conflicts.map(({ theirs }) => theirs))
    case "fail":
      return Effect.fail(conflict(merging, conflicts))
    default:
      return Effect.filterOrFail(
        policy(conflicts, merging),
        (answers) => answers.length === conflicts.length,
        () =>
          refused(
            merging,
            "resolver",
            "The resolver did not give one answer for each conflict",
            "Answer in the order of the conflicts, with none for a value to remove"
          )
      )
  }
}

/**
 * Appends all turns of the branch and combines the changes that either side made to the small state since the last
 * common state: variables and metadata by key, tools and skills by name, the system prompt as a whole. The policy
 * decides conflicts. An equal change on both sides is no conflict, and names of tools and skills never conflict.
 *
 * @since 0.1.0
 * @category constructors
 */
export const threeWay = <E = never, R = never>(options: ThreeWayOptions<E, R> = {}): MergeStrategy<E, R> =>
  make(options.name ?? "three_way", (merging) =>
    Effect.gen(function* () {
      const { base, from, into, turns } = merging
      const variables = StateValues.mergeAttributes(base.variables, into.variables, from.variables)
      const metadata = StateValues.mergeAttributes(base.metadata, into.metadata, from.metadata)
      const sides = {
        base: Option.fromNullable(base.systemPrompt),
        ours: Option.fromNullable(into.systemPrompt),
        theirs: Option.fromNullable(from.systemPrompt)
      }
      const prompt = StateValues.threeWay(sides.base, sides.ours, sides.theirs)
      const conflicts: ReadonlyArray<Conflict> = [
        ...conflictsOf("variables", variables.clashes),
        ...conflictsOf("metadata", metadata.clashes),
        ...(Option.isSome(prompt) ? [] : [{ field: "systemPrompt" as const, key: "systemPrompt", ...sides }])
      ]
      const answers = yield* answered(options.conflict ?? "fail", conflicts, merging)
      const resolved: ReadonlyArray<Resolved> = conflicts.map((conflict, at) => ({
        ...conflict,
        resolved: answers[at] ?? Option.none()
      }))
      const entries = (field: "variables" | "metadata") =>
        resolved.flatMap((one) =>
          one.field === field && Option.isSome(one.resolved) ? [[one.key, one.resolved.value] as const] : []
        )
      const spoken = Option.getOrElse(
        prompt,
        () => resolved.find(({ field }) => field === "systemPrompt")?.resolved ?? Option.none()
      )
      if (Option.isSome(spoken) && typeof spoken.value !== "string") {
        return yield* refused(merging, "resolver", "The system prompt must be a text", "Answer with a text or none")
      }
      return {
        turns,
        state: {
          variables: StateValues.fromEntries([...variables.settled, ...entries("variables")]),
          metadata: StateValues.fromEntries([...metadata.settled, ...entries("metadata")]),
          systemPrompt: spoken as Option.Option<string>,
          ...namesOf(merging)
        },
        conflicts: resolved
      }
    })
  )
