/**
 * Random operations on a session store.
 *
 * @since 0.1.0
 * @private
 */
import * as FastCheck from "effect/FastCheck"
import type { SessionCheckpoint, SessionStatus } from "../../session/turn/Session.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Operation =
  | {
      readonly do: "create"
      readonly id: string
      readonly user: string | null
      readonly at: number
      readonly limit: number
    }
  | {
      readonly do: "fork"
      readonly id: string
      readonly from: string
      readonly back: number
      readonly at: number
      readonly limit: number
    }
  | {
      readonly do: "append"
      readonly id: string
      readonly turns: ReadonlyArray<string>
      readonly at: number
      readonly stale: boolean
      readonly checkpoint: SessionCheckpoint["kind"] | null
      readonly keep: number
    }
  | {
      readonly do: "save"
      readonly id: string
      readonly status: SessionStatus
      readonly at: number
      readonly stale: boolean
      readonly checkpoint: SessionCheckpoint["kind"] | null
      readonly keep: number
      readonly limit: number
    }
  | { readonly do: "restore"; readonly id: string; readonly nth: number }
  | { readonly do: "delete"; readonly id: string }
  | { readonly do: "deleteCheckpoint"; readonly id: string; readonly nth: number }
  | { readonly do: "expire"; readonly since: number; readonly limit: number }
  | {
      readonly do: "list"
      readonly user: string | null | undefined
      readonly statuses: ReadonlyArray<SessionStatus> | undefined
      readonly parent: string | undefined
      readonly root: string | undefined
      readonly order: "created" | "updated"
      readonly limit: number
      readonly skip: number
    }
  | { readonly do: "window"; readonly nth: number; readonly limit: number; readonly since: number | undefined }

const id = FastCheck.constantFrom("a", "A", "b", "c", "__proto__")
const turnId = FastCheck.constantFrom("t1", "t2", "t3", "t4", "T1")
const user = FastCheck.constantFrom("ann", "bob", null)
const status = FastCheck.constantFrom("active", "suspended", "closed", "expired")
const kind = FastCheck.constantFrom("manual", "auto", "merge", null)
const minute = FastCheck.integer({ min: 0, max: 5 })
const limit = FastCheck.integer({ min: 0, max: 3 })
const stale = FastCheck.integer({ min: 0, max: 9 }).map((one) => one === 0)
const nth = FastCheck.nat(20)

const weighted = <A>(weight: number, what: string, fields: { readonly [key: string]: FastCheck.Arbitrary<A> }) => ({
  weight,
  arbitrary: FastCheck.record({ do: FastCheck.constant(what), ...fields })
})

/**
 * @since 0.1.0
 * @category arbitraries
 */
export const operation: FastCheck.Arbitrary<Operation> = FastCheck.oneof(
  weighted<unknown>(6, "create", { id, user, at: minute, limit: FastCheck.constantFrom(0, 2, 9, 9) }),
  weighted<unknown>(9, "fork", { id, from: id, back: FastCheck.nat(2), at: minute, limit: FastCheck.constant(9) }),
  weighted<unknown>(9, "append", {
    id,
    turns: FastCheck.uniqueArray(turnId, { minLength: 1, maxLength: 3 }),
    at: minute,
    stale,
    checkpoint: kind,
    keep: limit
  }),
  weighted<unknown>(4, "save", { id, status, at: minute, stale, checkpoint: kind, keep: limit, limit }),
  weighted<unknown>(3, "restore", { id, nth }),
  weighted<unknown>(3, "delete", { id }),
  weighted<unknown>(1, "deleteCheckpoint", { id, nth }),
  weighted<unknown>(1, "expire", { since: minute, limit }),
  weighted<unknown>(3, "list", {
    user: FastCheck.option(user, { nil: undefined }),
    statuses: FastCheck.option(FastCheck.array(status, { maxLength: 2 }), { nil: undefined }),
    parent: FastCheck.option(id, { nil: undefined, freq: 2 }),
    root: FastCheck.option(id, { nil: undefined, freq: 2 }),
    order: FastCheck.constantFrom("created", "updated"),
    limit: FastCheck.integer({ min: 0, max: 5 }),
    skip: FastCheck.nat(3)
  }),
  weighted<unknown>(3, "window", { nth, limit: FastCheck.nat(6), since: FastCheck.option(nth, { nil: undefined }) })
) as FastCheck.Arbitrary<Operation>
