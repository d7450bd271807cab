/**
 * Restricts which participants of a group see a turn. Turns say so in their metadata: `visibleTo` (a list of names and
 * roles) wins over `hiddenFrom` (another list); without either, everybody sees the turn. Rules by role apply in
 * addition: a turn is visible only where both allow it.
 *
 * Names and roles are compared exactly. A value that is not a list of texts hides the turn from everybody.
 *
 * @since 0.1.0
 */
import type { SessionTurn } from "../turn/Session.js"

/**
 * The viewer of a turn.
 *
 * @since 0.1.0
 * @category models
 */
export interface Viewer {
  readonly name: string
  readonly role: string
}

/**
 * The fields of a turn that decide its visibility.
 *
 * @since 0.1.0
 * @category models
 */
export type Said = Pick<SessionTurn, "role" | "metadata">

/**
 * What one role sees. Entries are names and roles of authors; the user is `user`. A participant always sees its own
 * turns.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  /** Only turns of these authors. */
  readonly only?: ReadonlyArray<string> | undefined
  /** No turns of these authors. */
  readonly except?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RoleIsolation {
  readonly isVisible: (turn: Said, viewer: Viewer) => boolean
}

/**
 * The author of a turn: the name and role of a participant, or the role of the turn for both (`user`, `system`, `tool`,
 * and `assistant` for an answer outside any group).
 *
 * @since 0.1.0
 * @category getters
 */
export const authorOf = (turn: Said): Viewer => {
  if (turn.role !== "assistant") return { name: turn.role, role: turn.role }
  const name = own(turn, "agent")
  const role = own(turn, "role")
  return { name: typeof name === "string" ? name : "assistant", role: typeof role === "string" ? role : "assistant" }
}

/** Inherited properties say nothing about a turn. */
const own = (turn: Said, key: string): unknown => (Object.hasOwn(turn.metadata, key) ? turn.metadata[key] : undefined)

/** `undefined`: no list is given. */
const names = (given: unknown): ReadonlyArray<string> | "malformed" | undefined => {
  if (given === undefined) return undefined
  return Array.isArray(given) && given.every((one) => typeof one === "string") ? given : "malformed"
}

const has = (list: ReadonlyArray<string>, { name, role }: Viewer): boolean => list.includes(name) || list.includes(role)

const allowedByTurn = (turn: Said, viewer: Viewer): boolean => {
  const visibleTo = names(own(turn, "visibleTo"))
  if (visibleTo !== undefined) return visibleTo !== "malformed" && has(visibleTo, viewer)
  const hiddenFrom = names(own(turn, "hiddenFrom"))
  return hiddenFrom === undefined || (hiddenFrom !== "malformed" && !has(hiddenFrom, viewer))
}

const allowedByRule = (turn: Said, viewer: Viewer, rule: Rule): boolean => {
  const author = authorOf(turn)
  if (turn.role === "assistant" && author.name === viewer.name) return true
  if (rule.only !== undefined && !has(rule.only, author)) return false
  return rule.except === undefined || !has(rule.except, author)
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { RoleIsolation } from "effect-lexigram/session"
 *
 * // Critics see drafts, not what the user asked for; writers do not see each other's reviewers.
 * const isolation = RoleIsolation.make({ roles: { critic: { only: ["writer"] }, writer: { except: ["critic"] } } })
 * ```
 */
export const make = (
  options: {
    /** Rules by the role of the viewer. A role without a rule sees what turns allow. */
    readonly roles?: { readonly [role: string]: Rule } | undefined
  } = {}
): RoleIsolation => {
  const rules = new Map(Object.entries(options.roles ?? {}))
  return {
    isVisible: (turn, viewer) => {
      if (!allowedByTurn(turn, viewer)) return false
      const rule = rules.get(viewer.role)
      return rule === undefined || allowedByRule(turn, viewer, rule)
    }
  }
}

/**
 * Applies only the metadata of turns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const standard: RoleIsolation = make()

/**
 * The turns that a viewer sees, in their order.
 *
 * @since 0.1.0
 * @category combinators
 */
export const filter = <T extends Said>(
  isolation: RoleIsolation,
  turns: ReadonlyArray<T>,
  viewer: Viewer
): ReadonlyArray<T> => turns.filter((turn) => isolation.isVisible(turn, viewer))

/**
 * The lists as a turn carries them. The author sees its own turn too.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toMetadata = (
  given: {
    readonly visibleTo?: ReadonlyArray<string> | undefined
    readonly hiddenFrom?: ReadonlyArray<string> | undefined
  },
  author?: string | undefined
): { readonly visibleTo?: ReadonlyArray<string>; readonly hiddenFrom?: ReadonlyArray<string> } => {
  const { hiddenFrom, visibleTo } = given
  return {
    ...(visibleTo === undefined
      ? {}
      : { visibleTo: author === undefined || visibleTo.includes(author) ? visibleTo : [...visibleTo, author] }),
    ...(hiddenFrom === undefined ? {} : { hiddenFrom })
  }
}
