/**
 * Arbitrary sessions, turns and checkpoints of every shape that their schemas allow.
 *
 * @since 0.1.0
 * @private
 */
import * as Arbitrary from "effect/Arbitrary"
import * as FastCheck from "effect/FastCheck"
import * as Session from "../../session/turn/Session.js"

/** JSON values with dangerous names. */
const key = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.string({ unit: "binary", maxLength: 8 }) },
  { weight: 1, arbitrary: FastCheck.constantFrom("__proto__", "constructor", "toString", "") }
)
const data = FastCheck.letrec<{ readonly value: unknown; readonly record: Record<string, unknown> }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 3, withCrossShrink: true },
    FastCheck.constantFrom(null, true, false, 0, -1.5, 1e21, 5e-324),
    FastCheck.string({ unit: "binary", maxLength: 12 }),
    FastCheck.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    FastCheck.array(tie("value"), { maxLength: 3 }),
    tie("record")
  ),
  record: FastCheck.array(FastCheck.tuple(key, tie("value")), { maxLength: 4 }).map((entries) =>
    // Own fields whatever their names, like `JSON.parse`.
    Object.fromEntries(entries)
  )
}))

const times = FastCheck.integer({ min: 0, max: 2 ** 42 })
const costs = FastCheck.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value + 0)

const cuts = FastCheck.array(FastCheck.record({ after: times, before: times }), { maxLength: 3 })

/** Fills open fields with JSON values, and numbers that stores compare with valid ones. */
const filled = <A extends object>(
  schema: FastCheck.Arbitrary<A>,
  fields: { readonly [K in keyof A]?: FastCheck.Arbitrary<A[K]> }
): FastCheck.Arbitrary<A> =>
  FastCheck.tuple(schema, FastCheck.record(fields as {})).map(([value, given]) => ({ ...value, ...given }))

const attributes = data.record
const state = { metadata: attributes, variables: attributes, totalCost: costs, cuts }

const calls = FastCheck.array(
  FastCheck.record(
    {
      id: FastCheck.string({ unit: "binary" }),
      name: FastCheck.string(),
      params: data.value,
      result: data.value,
      isFailure: FastCheck.boolean()
    },
    { requiredKeys: ["id", "name", "params"] }
  ),
  { maxLength: 2 }
)

const states = filled(Arbitrary.make(Session.SessionState), state)

/**
 * @since 0.1.0
 * @category constants
 */
export const sessions: FastCheck.Arbitrary<Session.Session> = filled(Arbitrary.make(Session.Session), {
  ...state,
  createdAt: times,
  updatedAt: times,
  lineage: FastCheck.constant([])
})

/**
 * @since 0.1.0
 * @category constants
 */
export const turns: FastCheck.Arbitrary<Session.SessionTurn> = filled(Arbitrary.make(Session.SessionTurn), {
  content: FastCheck.string({ unit: "binary" }),
  timestamp: times,
  toolCalls: calls,
  skillResults: FastCheck.array(attributes, { maxLength: 2 }),
  metadata: attributes,
  cost: costs,
  origin: FastCheck.option(
    FastCheck.tuple(Arbitrary.make(Session.TurnRef), times).map(([ref, timestamp]) => ({ ...ref, timestamp })),
    { nil: undefined }
  )
})

/**
 * @since 0.1.0
 * @category constants
 */
export const checkpoints: FastCheck.Arbitrary<Session.SessionCheckpoint> = filled(
  Arbitrary.make(Session.SessionCheckpoint),
  {
    createdAt: times,
    state: states,
    metadata: attributes,
    sourceCuts: FastCheck.option(cuts, { nil: undefined }),
    merge: FastCheck.option(
      FastCheck.tuple(
        Arbitrary.make(Session.TurnRef),
        FastCheck.option(Arbitrary.make(Session.TurnRef), { nil: undefined }),
        FastCheck.string(),
        states
      ).map(([theirs, ours, strategy, merged]) => ({
        sessionId: theirs.sessionId,
        strategy,
        theirs,
        ...(ours === undefined ? undefined : { ours }),
        state: merged
      })),
      { nil: undefined }
    )
  }
)
