/**
 * Decides who may execute which skills.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as Permissions from "../definition/Permissions.js"

/**
 * The permissions of a user could not be determined. The execution is refused.
 *
 * @since 0.1.0
 * @category errors
 */
export class PermissionCheckerError extends ErrorCode.TaggedError<PermissionCheckerError>(
  "effect-lexigram/skill/PermissionChecker/PermissionCheckerError"
)("PermissionCheckerError", ErrorCode.fields("LEX_ERR_SKILL_101")) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface PermissionRequest {
  readonly userId: UserId
  readonly sessionId?: SessionId | undefined
  readonly skillName: string
  /** At least one. */
  readonly required: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The required permissions that the user lacks; none: the skill may be executed. */
  readonly missing: (request: PermissionRequest) => Effect.Effect<ReadonlyArray<string>, PermissionCheckerError>
  /** False: permissions are not enforced, and the checker is never asked. */
  readonly enforced: boolean
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PermissionChecker extends Context.Tag("effect-lexigram/skill/PermissionChecker")<
  PermissionChecker,
  Service
>() {}

/**
 * Enforces nothing: every user may execute every skill.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<PermissionChecker> = Layer.succeed(PermissionChecker, {
  enforced: false,
  missing: () => Effect.succeed([])
})

const unknowable = (userId: string, cause: unknown): PermissionCheckerError =>
  cause instanceof PermissionCheckerError
    ? cause
    : new PermissionCheckerError({ message: `The permissions of the user "${userId}" could not be read`, cause })

/** An answer that is not a list grants nothing. */
const asList = (userId: string, answer: unknown): Effect.Effect<ReadonlyArray<string>, PermissionCheckerError> =>
  Array.isArray(answer)
    ? Effect.succeed(answer)
    : Effect.fail(unknowable(userId, new TypeError("The answer is not a list")))

/** Calls a user-supplied function with its captured context. */
const asked = <A extends { readonly userId: UserId }, R>(
  f: (request: A) => Effect.Effect<ReadonlyArray<string>, unknown, R>
): Effect.Effect<(request: A) => Effect.Effect<ReadonlyArray<string>, PermissionCheckerError>, never, R> =>
  Effect.map(
    CapturedContext.context<R>(),
    (context) => (request) =>
      CapturedContext.provide(
        Effect.suspend(() => f(request)),
        context
      ).pipe(
        Effect.mapError((cause) => unknowable(request.userId, cause)),
        Effect.flatMap((answer) => asList(request.userId, answer))
      )
  )

/**
 * A custom checker: `missing` returns the permissions that the user lacks. Its failures become
 * `PermissionCheckerError`, and the execution is refused.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E, R>(
  missing: (request: PermissionRequest) => Effect.Effect<ReadonlyArray<string>, E, R>
): Layer.Layer<PermissionChecker, never, R> =>
  Layer.effect(
    PermissionChecker,
    Effect.map(asked(missing), (missing) => ({ enforced: true, missing }))
  )

/**
 * Looks up a user's permissions, wildcards included (see `Permissions.Allows`), at each execution. A failed look-up
 * refuses the execution.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerLookup = <E, R>(
  permissionsOf: (userId: UserId) => Effect.Effect<ReadonlyArray<string>, E, R>
): Layer.Layer<PermissionChecker, never, R> =>
  layer(({ required, userId }) =>
    Effect.flatMap(permissionsOf(userId), (granted) =>
      Effect.map(asList(userId, granted), (granted) => Permissions.missing(granted, required))
    )
  )

/**
 * Lists by name. Names are data: `__proto__` and `constructor` are ordinary names.
 *
 * @since 0.1.0
 * @category models
 */
export type ByName<A extends string = string> = Readonly<Record<string, ReadonlyArray<A>>>

/**
 * Permissions by user, wildcards included (see `Permissions.Allows`). Other users have no permissions.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStatic = (users: ByName): Layer.Layer<PermissionChecker> =>
  Layer.sync(PermissionChecker, () => {
    const allowed = new Map(Object.entries(users).map(([user, granted]) => [user, Permissions.allows(granted)]))
    return {
      enforced: true,
      missing: ({ required, userId }) =>
        Effect.sync(() => {
          const isAllowed = allowed.get(userId)
          return isAllowed === undefined ? required : required.filter((permission) => !isAllowed(permission))
        })
    }
  })

/**
 * Roles of users, and permissions of roles. Users who are not listed have the roles of `everyone` only. An unknown role
 * in the configuration fails the layer; one returned by a function grants nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { PermissionChecker } from "effect-lexigram/skill"
 *
 * const permissions = PermissionChecker.layerRoles({
 *   roles: { reader: ["files.read", "web.search"], admin: ["*"] },
 *   users: { ada: ["admin"] },
 *   everyone: ["reader"]
 * })
 * ```
 */
export const layerRoles = <const Roles extends ByName, E = never, R = never>(options: {
  /** Permissions by role, wildcards included. */
  readonly roles: Roles
  /** Roles by user, or a look-up at each execution; a failed look-up refuses the execution. */
  readonly users:
    | ByName<NoInfer<keyof Roles & string>>
    | ((userId: UserId) => Effect.Effect<ReadonlyArray<string>, E, R>)
  /** Roles of all users, listed or not. Default: none. */
  readonly everyone?: ReadonlyArray<NoInfer<keyof Roles & string>> | undefined
}): Layer.Layer<PermissionChecker, PermissionCheckerError, R> =>
  Layer.effect(
    PermissionChecker,
    Effect.gen(function* () {
      const { users } = options
      const allowed = new Map(
        Object.entries<ReadonlyArray<string>>(options.roles).map(([role, granted]) => [
          role,
          Permissions.allows(granted)
        ])
      )
      const everyone: ReadonlyArray<string> = options.everyone ?? []
      const named = new Map<string, ReadonlyArray<string>>(typeof users === "function" ? [] : Object.entries(users))
      for (const role of [...everyone, ...Array.from(named.values()).flat()]) {
        if (allowed.has(role)) continue
        return yield* new PermissionCheckerError({
          message: `There is no role "${role}"`,
          hint: `Roles: ${Array.from(allowed.keys()).join(", ")}`
        })
      }
      const rolesOf =
        typeof users === "function"
          ? yield* asked(({ userId }: PermissionRequest) => users(userId))
          : ({ userId }: PermissionRequest) => Effect.sync(() => named.get(userId) ?? [])
      return {
        enforced: true,
        missing: (request) =>
          Effect.map(rolesOf(request), (roles) => {
            const all = [...everyone, ...roles].map((role) => allowed.get(role))
            return request.required.filter((permission) => !all.some((isAllowed) => isAllowed?.(permission)))
          })
      }
    })
  )
