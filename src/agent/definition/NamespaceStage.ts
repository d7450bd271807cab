/**
 * Lets the memory of a run inherit from shared namespaces of its user.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Requester } from "../../domain/Requester.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import type * as MemoryNamespaces from "../../memory/tools/MemoryNamespaces.js"
import * as Stage from "./Stage.js"

const namespacesModule = OnDemand.make(() => import("../../memory/tools/MemoryNamespaces.js"))

/**
 * For `Agent.withStages`: recalled memory and memory blocks of a run come from the shared namespaces of its user too. A
 * run without a user inherits nothing. Memberships that cannot be read are reported, and only the user's own memory is
 * recalled.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { NamespaceStage } from "effect-lexigram/agent"
 * import { MemoryNamespaces } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const namespaces = MemoryNamespaces.make({
 *   memberships: ({ userId }) => Effect.succeed(userId === "ada" ? [{ scope: "team", id: "sales" }] : [])
 * })
 *
 * const clerk = Agent.make("clerk").pipe(Agent.withStages(NamespaceStage.make(namespaces)))
 * ```
 */
export const make = <R>(namespaces: MemoryNamespaces.MemoryNamespaces<R>): Stage.Placed<never, R> =>
  Stage.outside("memory")(
    Stage.make("memoryNamespaces", (state, next) =>
      Effect.flatMap(Requester, ({ userId }) =>
        userId === undefined
          ? next(state)
          : Effect.flatMap(
              Stage.degrade(
                Effect.flatMap(namespacesModule, ({ access }) => access(namespaces)),
                { state, stage: "memory namespaces", orElse: undefined }
              ),
              (access) => next(access === undefined ? state : { ...state, inherits: access.reads.slice(1) })
            )
      )
    )
  )
