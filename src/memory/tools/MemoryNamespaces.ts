/**
 * Which namespaces an agent reads and writes for the user of a run: its own declaration, within what the application
 * knows of that user. No argument of a model widens it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SessionId, UserId } from "../../domain/Ids.js"
import { Requester } from "../../domain/Requester.js"
import * as Attribution from "../../governance/store/Attribution.js"
import * as MemoryNamespace from "./MemoryNamespace.js"
import { MemoryToolError, owner } from "./MemoryToolError.js"

/**
 * Whom a run works for.
 *
 * @since 0.1.0
 * @category models
 */
export interface Member {
  readonly userId: UserId
  readonly sessionId: SessionId | undefined
  /** The tenant that the application named for the run. */
  readonly tenantId: string | undefined
}

/**
 * A namespace that a user belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Membership extends MemoryNamespace.MemoryNamespace {
  /** Whether the user may change what the namespace keeps. Default false. */
  readonly mayWrite?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryNamespaces<out R = never> {
  /** Shared namespaces that are read besides the user's own. */
  readonly read: ReadonlyArray<MemoryNamespace.Shared>
  /** Kinds of namespaces that a model may write to; the first one by default. */
  readonly write: ReadonlyArray<MemoryNamespace.Scope>
  readonly memberships: (member: Member) => Effect.Effect<ReadonlyArray<Membership>, MemoryToolError, R>
}

/** Shared namespaces of one run. Each costs a query. */
const MAX_NAMESPACES = 16

const order = MemoryNamespace.Scope.literals

const refuse = (reason: MemoryToolError["reason"], message: string): MemoryToolError =>
  new MemoryToolError({ reason, message })

/**
 * A declaration for `MemoryTools`, `MemoryBlock.updateTool`, `NamespaceStage` and `Remembering`.
 *
 * `memberships` answers for the verified user of each run, such as from a directory. It is not asked for a run without
 * a user, who reads and writes nothing. A namespace is read if it is a membership and its kind is in `read`; it is
 * written if it also is in `write` and the membership says `mayWrite`. The user's own namespace is always read. At most
 * 16 shared namespaces count, the narrowest first.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { MemoryNamespaces } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const namespaces = MemoryNamespaces.make({
 *   write: ["user", "team"],
 *   memberships: ({ tenantId }) =>
 *     Effect.succeed([
 *       { scope: "team", id: "payments", mayWrite: true },
 *       ...(tenantId === undefined ? [] : [{ scope: "organization" as const, id: tenantId }])
 *     ])
 * })
 * ```
 */
export const make = <E extends { readonly message: string } = never, R = never>(options: {
  /** Shared namespaces that are read. Default all. */
  readonly read?: ReadonlyArray<MemoryNamespace.Shared> | undefined
  /** Kinds that a model may write to; it writes to the first one unless it names another. Default the user's own. */
  readonly write?: ReadonlyArray<MemoryNamespace.Scope> | undefined
  readonly memberships: (member: Member) => Effect.Effect<ReadonlyArray<Membership>, E, R>
}): MemoryNamespaces<R> => ({
  read: options.read ?? MemoryNamespace.Shared.literals,
  write: options.write ?? ["user"],
  memberships: (member) =>
    Effect.mapError(
      Effect.suspend(() => options.memberships(member)),
      (cause) =>
        new MemoryToolError({ reason: "Unavailable", message: "The shared memories of the user are unknown", cause })
    )
})

/**
 * One namespace of a run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place extends MemoryNamespace.Inherited {
  readonly scope: MemoryNamespace.Scope
}

/**
 * The namespaces of a run, the narrowest first. The first one that is read is the user's own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly reads: ReadonlyArray<Place>
  /** In the order of the declaration. */
  readonly writes: ReadonlyArray<Place>
}

const isNamespace = Schema.is(MemoryNamespace.MemoryNamespace)

/** The namespaces of these memberships that the declaration reads, each once, the narrowest first. */
const shared = (
  { read }: MemoryNamespaces<any>,
  memberships: ReadonlyArray<Membership>
): ReadonlyArray<Place & { readonly mayWrite: boolean }> => {
  const known = new Map<string, Membership>()
  for (const one of memberships) {
    // Untyped callers may answer anything.
    if (!isNamespace(one) || !read.includes(one.scope)) continue
    const ownerId = MemoryNamespace.ownerOf(one)
    if (known.get(ownerId)?.mayWrite !== true) known.set(ownerId, one)
  }
  const several = (scope: MemoryNamespace.Scope) => [...known.values()].filter((one) => one.scope === scope).length > 1
  return [...known]
    .map(([ownerId, one]) => ({
      ownerId,
      scope: one.scope,
      label: several(one.scope) ? MemoryNamespace.labelOf(one) : one.scope,
      mayWrite: one.mayWrite === true
    }))
    .sort((a, b) => order.indexOf(a.scope) - order.indexOf(b.scope))
    .slice(0, MAX_NAMESPACES)
}

/**
 * What the current run may read and write. A run without a user is refused.
 *
 * @since 0.1.0
 * @category getters
 */
export const access = <R>(namespaces: MemoryNamespaces<R> | undefined): Effect.Effect<Access, MemoryToolError, R> =>
  Effect.gen(function* () {
    const own: Place = { ownerId: yield* owner, scope: "user", label: "user" }
    if (namespaces === undefined) return { reads: [own], writes: [own] }
    const { sessionId, userId } = yield* Requester
    const { tenantId } = yield* Attribution.Attribution
    const memberships = yield* namespaces.memberships({ userId: userId as UserId, sessionId, tenantId })
    const places = [{ ...own, mayWrite: true }, ...shared(namespaces, memberships)]
    return {
      reads: places.map(({ label, ownerId, scope }) => ({ label, ownerId, scope })),
      writes: namespaces.write.flatMap((scope) => places.filter((place) => place.scope === scope && place.mayWrite))
    }
  })

/**
 * The namespace that a model names for a write, or the first one that it may write to. Another one is refused, with the
 * names of those that may be written.
 *
 * @since 0.1.0
 * @category getters
 */
export const target = ({ writes }: Access, named?: string | undefined): Effect.Effect<Place, MemoryToolError> => {
  const asked = named?.trim() ?? ""
  const candidates =
    asked === "" ? writes.slice(0, 1) : writes.filter(({ label, scope }) => label === asked || scope === asked)
  const [place] = candidates
  if (place !== undefined && candidates.length === 1) return Effect.succeed(place)
  const shown = asked.length > 64 ? `${asked.slice(0, 64)}…` : asked
  const labels = writes.map(({ label }) => label).join(", ")
  return writes.length === 0
    ? refuse("Namespace", "Nothing can be written: this memory is only read")
    : refuse(
        "Namespace",
        candidates.length > 1
          ? `There are several namespaces of ${shown}. Name one of: ${labels}`
          : `The namespace ${shown} cannot be written. Name one of: ${labels}`
      )
}

/**
 * The parameter by which a model names a namespace, if there is a choice.
 *
 * @internal
 */
export const parameter = (namespaces: MemoryNamespaces<any> | undefined) =>
  namespaces === undefined || namespaces.write.length === 0
    ? undefined
    : Schema.optional(
        Schema.String.annotations({
          description: `Whose memory it is: ${namespaces.write.join(", ")}. Default ${namespaces.write[0]}`
        })
      )
