/**
 * Grants and revokes permissions of users at run time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { UserId } from "../../domain/Ids.js"
import * as Permissions from "../definition/Permissions.js"
import * as PermissionChecker from "./PermissionChecker.js"

/**
 * A change applies from the next execution on. Permissions may be wildcards (see `Permissions.Allows`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Adds permissions to those of the user. */
  readonly grant: (userId: UserId, permissions: ReadonlyArray<string>) => Effect.Effect<void>
  /** Removes exactly these grants: `files.read` removes nothing from a user who has `files.*`. */
  readonly revoke: (userId: UserId, permissions: ReadonlyArray<string>) => Effect.Effect<void>
  /** Replaces the user's permissions; an empty list leaves the user like one that was never named. */
  readonly set: (userId: UserId, permissions: ReadonlyArray<string>) => Effect.Effect<void>
  /** Current grants, in the order in which they were granted. */
  readonly permissionsOf: (userId: UserId) => Effect.Effect<ReadonlyArray<string>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PermissionGrants extends Context.Tag("effect-lexigram/skill/PermissionGrants")<
  PermissionGrants,
  Service
>() {}

interface Granted {
  readonly permissions: ReadonlySet<string>
  readonly isAllowed: Permissions.Allows
}

/**
 * Grants in memory, with a checker over them. `initial` lists permissions by user.
 *
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { PermissionGrants } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const permissions = PermissionGrants.layer({ ada: ["files.read"] })
 *
 * const promote = Effect.flatMap(PermissionGrants.PermissionGrants, (grants) =>
 *   grants.grant(Ids.UserId.make("ada"), ["files.write"])
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  initial?: PermissionChecker.ByName | undefined
): Layer.Layer<PermissionGrants | PermissionChecker.PermissionChecker> =>
  Layer.effectContext(
    Effect.sync(() => {
      const users = new Map<string, Granted>()
      const put = (userId: string, permissions: ReadonlySet<string>): void => {
        if (permissions.size === 0) users.delete(userId)
        else users.set(userId, { permissions, isAllowed: Permissions.allows(permissions) })
      }
      const has = (userId: string): ReadonlySet<string> => users.get(userId)?.permissions ?? new Set()
      for (const [userId, permissions] of Object.entries(initial ?? {})) put(userId, new Set(permissions))

      const grants: Service = {
        grant: (userId, permissions) => Effect.sync(() => put(userId, new Set([...has(userId), ...permissions]))),
        revoke: (userId, permissions) =>
          Effect.sync(() => {
            const left = new Set(has(userId))
            for (const permission of permissions) left.delete(permission)
            put(userId, left)
          }),
        set: (userId, permissions) => Effect.sync(() => put(userId, new Set(permissions))),
        permissionsOf: (userId) => Effect.sync(() => Array.from(has(userId)))
      }
      const checker: PermissionChecker.Service = {
        enforced: true,
        missing: ({ required, userId }) =>
          Effect.sync(() => {
            const granted = users.get(userId)
            return granted === undefined ? required : required.filter((permission) => !granted.isAllowed(permission))
          })
      }
      return Context.make(PermissionGrants, grants).pipe(Context.add(PermissionChecker.PermissionChecker, checker))
    })
  )
