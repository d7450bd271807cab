/**
 * The steps of the stages of a run: what a stage reads or changes outside is recorded where a run is durable.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import type * as Governance from "../../governance/Governance.js"
import type { GovernanceError, GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Step from "../../observability/Step.js"
import type { Session } from "../../session/turn/Session.js"
import type { Listing } from "../../skill/folder/SkillListing.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type * as RecordedSchemas from "./RecordedSchemas.js"
import type { Opened, Remembered } from "./RecordedSchemas.js"
import { conclude, type State } from "./Stage.js"

const schemas = OnDemand.make(() => import("./RecordedSchemas.js"))

/** Runs an effect as a step. Its schemas are loaded only where a run is recorded. */
const recorded = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: (module: typeof RecordedSchemas) => Step.StepOptions<A, E>,
  live: (effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = identity
): Effect.Effect<A, E, R> =>
  // Reads the fiber: outside of durable runs it costs one operation.
  Effect.withFiberRuntime((fiber) => {
    const step = Context.get(fiber.currentContext as Context.Context<Step.Step>, Step.Step)
    return Step.isRecording(step)
      ? Effect.flatMap(schemas, (module) => step.run(options(module), live(effect)))
      : effect
  })

/** A decision of the governance. */
export const decision = <R>(
  effect: Effect.Effect<Governance.GovernanceDecision, GovernancePersistenceError, R>
): Effect.Effect<Governance.GovernanceDecision, GovernancePersistenceError, R> =>
  recorded(effect, (module) => module.decision)

/** A reservation of the governance. `onLive` is called if it is made now. */
export const reservation = <R>(
  effect: Effect.Effect<Governance.Reservation, GovernanceError, R>,
  onLive: () => void
): Effect.Effect<Governance.Reservation, GovernanceError, R> =>
  recorded(
    effect,
    (module) => module.reservation,
    (live) => Effect.zipRight(Effect.sync(onLive), live)
  )

/** `Stage.conclude`, once. */
export const concluded = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: { readonly state: State; readonly stage: string }
): Effect.Effect<void, never, R> => recorded(conclude(effect, options), (module) => module.conclusion)

/** The turns of a run, in its session and in memory. */
export const saved = <R>(effect: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  recorded(effect, (module) => module.conclusion)

/** Messages that were added to the run. */
export const received = (effect: Effect.Effect<ReadonlyArray<string>>): Effect.Effect<ReadonlyArray<string>> =>
  recorded(effect, (module) => module.received)

/** Whether the run takes no more messages. */
export const closed = (effect: Effect.Effect<boolean>): Effect.Effect<boolean> =>
  recorded(effect, (module) => module.closed)

/** What is recalled. */
export const memory = <R>(effect: Effect.Effect<Remembered, never, R>): Effect.Effect<Remembered, never, R> =>
  recorded(effect, (module) => module.memory)

/** The session of a run. */
export const session = <E, R>(effect: Effect.Effect<Session, E, R>): Effect.Effect<Session, E, R> =>
  recorded(effect, (module) => module.session)

/** The visible part of a session, to which the message of the run is added. */
export const conversation = <E, R>(effect: Effect.Effect<Opened, E, R>): Effect.Effect<Opened, E, R> =>
  recorded(effect, (module) => module.conversation)

/** What a model is told of skills in folders. */
export const listing = <E, R>(effect: Effect.Effect<Listing, E, R>): Effect.Effect<Listing, E, R> =>
  recorded(effect, (module) => module.listing)

/** A text of a run. */
export const text = <E, R>(effect: Effect.Effect<string, E, R>): Effect.Effect<string, E, R> =>
  recorded(effect, (module) => module.text)

type Tools = ReadonlyArray<Tool.Any>

const isSame = (some: Tools, others: Tools): boolean =>
  some.length === others.length && some.every((tool, at) => tool === others[at])

/**
 * Tools that may change. `before` are those that the run had. A replay has the tools that the run had, with the
 * handlers that there are now: it asks for them where it does not have them.
 */
export const tools = <E, R>(effect: Effect.Effect<Tools, E, R>, before: Tools = []): Effect.Effect<Tools, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const step = Context.get(fiber.currentContext as Context.Context<Step.Step>, Step.Step)
    if (!Step.isRecording(step)) return effect
    return Effect.flatMap(schemas, (module) => {
      let live: Tools | undefined
      const read = Effect.map(effect, (found) => {
        live = found
        return before.length > 0 && isSame(found, before) ? undefined : found.map(module.listed)
      })
      return Effect.flatMap(step.run(module.tools, read), (then): Effect.Effect<Tools, never, R> => {
        if (live !== undefined) return Effect.succeed(live)
        if (then === undefined || module.areRemembered(before, then)) return Effect.succeed(before)
        return Effect.map(
          Effect.orElseSucceed(effect, (): Tools => []),
          (now) => module.rememberedTools(now, then)
        )
      })
    })
  })
