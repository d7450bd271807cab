/**
 * Merges whose conflicts a person decides: a preview of a merge, and a merge by a decision for each conflict.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Access } from "../manager/SessionManager.js"
import { type SessionTurn, stateOf } from "../turn/Session.js"
import type * as SessionErrors from "../turn/SessionError.js"
import { SessionMergeError } from "../turn/SessionError.js"
import * as StateDiff from "../turn/StateDiff.js"
import type * as BranchManager from "./BranchManager.js"
import * as MergeStrategy from "./MergeStrategy.js"

/**
 * The side that wins each conflict, by the place of the conflict (`pathOf`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Decisions {
  readonly [path: string]: "ours" | "theirs"
}

/**
 * The place of a conflict: `variables/<key>`, `metadata/<key>` or `systemPrompt`. A key is taken as it is.
 *
 * @since 0.1.0
 * @category getters
 */
export const pathOf = ({ field, key }: Pick<MergeStrategy.Conflict, "field" | "key">): string =>
  field === "systemPrompt" ? field : `${field}/${key}`

const versionOf = (value: Option.Option<unknown>): ReadonlyArray<unknown> => (Option.isNone(value) ? [] : [value.value])

/**
 * Identifies conflicts with their values: equal for the same places and the same three values at each.
 *
 * @since 0.1.0
 * @category getters
 */
export const fingerprint = (conflicts: ReadonlyArray<MergeStrategy.Conflict>): string =>
  CanonicalJson.hash(
    conflicts
      .map((one) => [pathOf(one), versionOf(one.base), versionOf(one.ours), versionOf(one.theirs)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
  )

const refused = (
  { from, into }: MergeStrategy.Merging,
  reason: "conflict" | "resolver",
  message: string,
  hint: string,
  variables: ReadonlyArray<string> = []
): SessionMergeError =>
  new SessionMergeError({ message, hint, sessionId: into.id, branchSessionId: from.id, reason, variables })

const shown = (path: string): string => JSON.stringify(path.length <= 128 ? path : `${path.slice(0, 127)}…`)

/**
 * A three-way merge (`MergeStrategy.threeWay`) in which each conflict is decided in advance. It fails with
 * `SessionMergeError`, and nothing is written: `conflict` if a conflict has no decision, or if the conflicts are not
 * those of `seen` (`Preview.fingerprint`), because a session changed since; `resolver` if a decision has no conflict.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { BranchManager, MergeDecisions } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const branches = yield* BranchManager.BranchManager
 *   const [into, from] = [Ids.SessionId.make("trip"), Ids.SessionId.make("trip-cheaper")]
 *   const { conflicts, fingerprint } = yield* MergeDecisions.preview(branches, into, from)
 *   // A person has looked at the conflicts and takes the budget of the branch.
 *   yield* Effect.log(conflicts)
 *   const strategy = MergeDecisions.strategy({ "variables/budget": "theirs" }, { seen: fingerprint })
 *   return yield* branches.merge(into, from, { strategy })
 * })
 * ```
 */
export const strategy = (
  decisions: Decisions,
  options: { readonly seen?: string | undefined } = {}
): MergeStrategy.MergeStrategy =>
  MergeStrategy.make<never>("by_hand", (merging) =>
    Effect.suspend(() => {
      let found: ReadonlyArray<MergeStrategy.Conflict> = []
      const plan = MergeStrategy.threeWay({
        conflict: (conflicts) => {
          found = conflicts
          return Effect.succeed(
            conflicts.map((one) => {
              const path = pathOf(one)
              return Object.hasOwn(decisions, path) && decisions[path] === "theirs" ? one.theirs : one.ours
            })
          )
        }
      }).merge(merging)
      return Effect.flatMap(plan, (planned) => {
        const paths = new Set(found.map(pathOf))
        if (options.seen !== undefined && options.seen !== fingerprint(found)) {
          return refused(
            merging,
            "conflict",
            "The conflicts are no longer those that were decided",
            "Look at the conflicts again, and decide them as they are now"
          )
        }
        const open = found.filter((one) => !Object.hasOwn(decisions, pathOf(one)))
        if (open.length > 0) {
          return refused(
            merging,
            "conflict",
            `${open.length} of ${found.length} conflicts are not decided, such as ${open
              .slice(0, 3)
              .map((one) => shown(pathOf(one)))
              .join(", ")}`,
            'Decide "ours" or "theirs" for each of them',
            open.flatMap(({ field, key }) => (field === "variables" ? [key.slice(0, 256)] : [])).slice(0, 100)
          )
        }
        const idle = Object.keys(decisions).find((path) => !paths.has(path))
        return idle === undefined
          ? Effect.succeed(planned)
          : refused(
              merging,
              "resolver",
              `There is no conflict at ${shown(idle)}`,
              "Decide only the conflicts of the merge: `variables/<key>`, `metadata/<key>` or `systemPrompt`"
            )
      })
    })
  )

/**
 * What a merge would bring, were each conflict decided for the session (`ours`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Preview {
  /** Turns that would be copied, oldest first, as the branch has them. */
  readonly turns: ReadonlyArray<SessionTurn>
  readonly conflicts: ReadonlyArray<MergeStrategy.Conflict>
  /** The changes of the small state without the conflicts: only the fields that would change. */
  readonly changes: Pick<
    StateDiff.StateDiff,
    "systemPrompt" | "variables" | "metadata" | "activeTools" | "activeSkills"
  >
  /** Identifies the conflicts: `seen` of `strategy`. */
  readonly fingerprint: string
}

/** Ends a merge before it writes. */
class Seen {
  readonly _tag = "Seen"
  constructor(readonly preview: Preview) {}
}

const previewOf = (merging: MergeStrategy.Merging, plan: MergeStrategy.Plan): Preview => {
  const { into } = merging
  const conflicts = plan.conflicts ?? []
  const { systemPrompt: _, ...before } = stateOf(into)
  const state = plan.state ?? {}
  const prompt = state.systemPrompt === undefined ? into.systemPrompt : Option.getOrUndefined(state.systemPrompt)
  const { activeSkills, activeTools, metadata, systemPrompt, variables } = StateDiff.compute(stateOf(into), {
    ...before,
    variables: state.variables ?? into.variables,
    metadata: state.metadata ?? into.metadata,
    activeTools: state.activeTools ?? into.activeTools,
    activeSkills: state.activeSkills ?? into.activeSkills,
    ...(prompt === undefined ? {} : { systemPrompt: prompt })
  })
  return {
    turns: plan.turns,
    conflicts,
    changes: {
      ...(systemPrompt === undefined ? {} : { systemPrompt }),
      ...(variables === undefined ? {} : { variables }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(activeTools === undefined ? {} : { activeTools }),
      ...(activeSkills === undefined ? {} : { activeSkills })
    },
    fingerprint: fingerprint(conflicts)
  }
}

const previewing: MergeStrategy.MergeStrategy<Seen> = MergeStrategy.make("preview", (merging) =>
  Effect.flatMap(MergeStrategy.threeWay({ conflict: "ours" }).merge(merging), (plan) =>
    Effect.fail(new Seen(previewOf(merging, plan)))
  )
)

const nothing: Preview = { turns: [], conflicts: [], changes: {}, fingerprint: fingerprint([]) }

/**
 * What a merge would bring, and its conflicts with both sides and their common base. Nothing is written. Fails as
 * `BranchManager.merge` does.
 *
 * @since 0.1.0
 * @category combinators
 */
export const preview = (
  branches: BranchManager.Service,
  into: SessionId,
  from: SessionId,
  access: Access = {}
): Effect.Effect<
  Preview,
  | SessionErrors.SessionNotFoundError
  | SessionErrors.SessionClosedError
  | SessionErrors.SessionExpiredError
  | SessionErrors.SessionTransitionError
  | SessionErrors.SessionCapacityError
  | SessionErrors.SessionMergeError
  | SessionErrors.SessionStorageError
> =>
  Effect.matchEffect(branches.merge(into, from, { ...access, strategy: previewing }), {
    onFailure: (error) => (error instanceof Seen ? Effect.succeed(error.preview) : Effect.fail(error)),
    onSuccess: () => Effect.succeed(nothing)
  })
