/**
 * The steps of a durable run: each is an `Activity` of `@effect/workflow`, named by its place in the run.
 *
 * @private
 * @since 0.1.0
 */
import * as DurableClock from "@effect/workflow/DurableClock"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type * as Random from "effect/Random"
import * as Sha256 from "../internal/text/Sha256.js"
import * as StepFailure from "../observability/journal/StepFailure.js"
import * as Step from "../observability/Step.js"
import { BeforeCommit } from "./engine/BeforeCommit.js"
import type { ReadRecords } from "./engine/ReadRecords.js"
import * as StepActivity from "./engine/StepActivity.js"
import type { FailureCodec } from "./FailureCodec.js"
import type { Commit } from "./JournalEvents.js"
import type { PayloadLost, RunPayloads } from "./payload/RunPayloads.js"
import * as RecordedEndings from "./RecordedEndings.js"
import * as ReplayErrors from "./ReplayError.js"
import { type Codec, codecOf, exitOf, type Outcome, outcomeOf, type Record } from "./StepRecord.js"

/** What a fork takes from its run instead of asking and doing it again. */
export interface Shared {
  /** Whether the fork has not come to its step yet. */
  readonly isShared: () => boolean
  /** What the run has recorded of a step, encoded. */
  readonly result: (name: string) => Effect.Effect<Option.Option<unknown>, PayloadLost>
  /** Called with the path of a step that is taken. */
  readonly adopted: (path: string) => Effect.Effect<void>
}

/** What the steps of one attempt at a run share. */
export interface Recording {
  readonly engine: WorkflowEngine["Type"]
  readonly failures: FailureCodec
  /** The clock and the randomness of the process, for what happens inside of steps. */
  readonly clock: Clock.Clock
  readonly random: Random.Random
  /** The process is about to end: what is interrupted goes on elsewhere. */
  readonly isClosing: () => boolean
  /** Set where a replay went astray; nothing more is recorded then. */
  astray: ReplayErrors.ReplayError | undefined
  /** Called with the path of a step whose outcome was recorded before. */
  readonly replayed: (path: string) => Effect.Effect<void>
  /** What a step that runs now keeps with its outcome. */
  readonly commit: () => Commit
  readonly shared: Shared | undefined
  readonly payloads: RunPayloads
  /** Absent where each step has a commit of its own. */
  readonly reads: ReadRecords | undefined
  /** The run is about to sleep until `pending` succeeds with true. */
  readonly onWaiting: (name: string, pending: Effect.Effect<boolean>) => Effect.Effect<void>
  readonly onEnding: RecordedEndings.Attempt["onEnding"]
  readonly guard: Step.Service["guard"]
}

/** Longer names are hashed: engines index them. */
const MAX_NAME = 120

/** The first 16 digits of the SHA-256. */
export const shorten = (text: string): string => `~${Sha256.hex(text).slice(0, 32)}`

const nameOf = (kind: string, path: string): string => {
  const name = `${kind}${path}`
  return name.length > MAX_NAME ? `${kind}${shorten(path)}` : name
}

const isInterrupted = (fiber: Fiber.RuntimeFiber<any, any>): boolean =>
  !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))

/** Ends this attempt at the run without an end of the run. */
const goAstray = (
  recording: Recording,
  error: ConstructorParameters<typeof ReplayErrors.ReplayError>[0]
): Effect.Effect<never> =>
  Effect.suspend(() => {
    recording.astray ??= new ReplayErrors.ReplayError(error)
    return Effect.interrupt
  })

/** Waits in place of a step that must not run. */
const blocked = (recording: Recording, step: string): Effect.Effect<never> =>
  RecordedEndings.blocked(recording, goAstray(recording, ReplayErrors.unreached(step)))

/** A run whose records cannot be read goes on nowhere. */
const readable = <A>(recording: Recording, step: string, read: Effect.Effect<A, PayloadLost>): Effect.Effect<A> =>
  Effect.catchAll(read, (lost) => goAstray(recording, ReplayErrors.lost(step, lost)))

/** What the run of a fork has recorded. Its input is not compared: the changes of the fork change it. */
const taken = (
  recording: Recording,
  { isShared, result, adopted }: Shared,
  { hash, name, path }: Attempt
): Effect.Effect<Option.Option<unknown>> =>
  Effect.suspend(() =>
    isShared()
      ? Effect.flatMap(readable(recording, name, result(name)), (found) =>
          Option.isNone(found)
            ? goAstray(recording, ReplayErrors.unshared(name))
            : Effect.as(
                adopted(path),
                Option.some({ ...(found.value as object), ...(hash === undefined ? {} : { hash }) })
              )
        )
      : Effect.succeedNone
  )

/** The effect inside of a step: with real time, and with steps of its own below its place. */
const inside = <A, E, R>(
  recording: Recording,
  own: WorkflowInstance["Type"],
  place: Step.PlaceService,
  effect: Effect.Effect<A, E, R>,
  maySleep: boolean
): Effect.Effect<A, E, R> =>
  effect.pipe(
    Effect.provideService(Step.Step, make(recording, own, maySleep)),
    Effect.provideService(Step.Place, place),
    Effect.withClock(recording.clock),
    Effect.withRandom(recording.random)
  )

interface Attempt {
  readonly name: string
  readonly path: string
  readonly place: Step.PlaceService
  readonly codec: Codec
  readonly hash: string | undefined
  readonly maySleep: boolean
  /** The step must not run. */
  readonly isBlocked: boolean
}

/** Runs what is recorded, and keeps events and reads with it. */
const committed = <A, E, R>(
  { reads }: Recording,
  { append, around }: Commit,
  step: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (reads === undefined) return around(Effect.provideService(step, BeforeCommit, append))
  const read = reads.commit()
  return around(
    Effect.tap(
      Effect.provideService(step, BeforeCommit, () => read.append(append())),
      () => Effect.sync(read.done)
    )
  )
}

const encodedBy = (recording: Recording, { codec, hash, name }: Attempt, outcome: Outcome<unknown, unknown>) =>
  Effect.flatMap(recording.clock.currentTimeMillis, (at) =>
    Effect.flatMap(Effect.orDie(codec.encode({ at, outcome, ...(hash === undefined ? {} : { hash }) })), (record) =>
      recording.payloads.toJournal(name, record)
    )
  )

/** Runs when an effect has ended, before its outcome is recorded: an interruption does not come between. */
type Keep = (encoded: unknown) => Effect.Effect<void>

/** Runs the effect of a step. Succeeds with its outcome as it is recorded, unless the run pauses. */
const performed = <A, E, R>(
  recording: Recording,
  instance: WorkflowInstance["Type"],
  attempt: Attempt,
  effect: Effect.Effect<A, E, R>,
  keep: Keep
): Effect.Effect<unknown, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiberRuntime<unknown, never, R>((fiber) =>
      Effect.flatMap(
        Effect.exit(restore(inside(recording, instance, attempt.place, effect, attempt.maySleep))),
        (exit) => {
          if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)) {
            // On the fiber of the activity: its engine would run the effect again after any other interruption.
            if (instance.suspended) return restore(Workflow.suspend(instance))
            if (isInterrupted(fiber) || recording.astray !== undefined) return Effect.interrupt
          }
          return Effect.tap(encodedBy(recording, attempt, outcomeOf(exit)), keep)
        }
      )
    )
  )

/** Runs the effect of a step, or takes what the run of a fork has recorded of it. */
const takenOr = <A, E, R>(
  recording: Recording,
  instance: WorkflowInstance["Type"],
  attempt: Attempt,
  effect: Effect.Effect<A, E, R>,
  keep: Keep
): Effect.Effect<unknown, never, R> => {
  const live = performed(recording, instance, attempt, effect, keep)
  return recording.shared === undefined
    ? live
    : Effect.flatMap(
        taken(recording, recording.shared, attempt),
        Option.match({ onNone: () => live, onSome: (encoded) => Effect.as(keep(encoded), encoded) })
      )
}

/** What a step has recorded, decoded. */
const recordOf = (recording: Recording, attempt: Attempt, encoded: unknown, isLive: boolean): Effect.Effect<Record> =>
  Effect.flatMap(readable(recording, attempt.name, recording.payloads.fromJournal(encoded)), (found) =>
    Effect.flatMap(Effect.orDie(attempt.codec.decode(found)), (decoded): Effect.Effect<Record> => {
      const record = decoded as Record
      if (!isLive && record.hash !== attempt.hash) return goAstray(recording, ReplayErrors.changed(attempt.name))
      attempt.place.reach(record.at)
      return isLive ? Effect.succeed(record) : Effect.as(recording.replayed(attempt.path), record)
    })
  )

/** Runs the effect as an activity, or takes what is recorded. Succeeds with the record. */
const activity = <A, E, R>(
  recording: Recording,
  instance: WorkflowInstance["Type"],
  attempt: Attempt,
  effect: Effect.Effect<A, E, R> | "lost"
): Effect.Effect<Record, never, R> =>
  Effect.suspend(() => {
    let isLive = false
    const commit = recording.commit()
    const execute = Effect.flatMap(WorkflowInstance, (own) => {
      isLive = true
      if (attempt.isBlocked) return blocked(recording, attempt.name)
      return effect === "lost"
        ? Effect.zipLeft(encodedBy(recording, attempt, { _tag: "Lost" }), commit.before)
        : takenOr(recording, own, attempt, effect, () => commit.before)
    })
    const run = StepActivity.run(recording.engine, instance, attempt.name, execute)
    return Effect.flatMap(committed(recording, commit, run), (encoded) => recordOf(recording, attempt, encoded, isLive))
  }) as Effect.Effect<Record, never, R>

/** Runs an effect that only reads, or takes what is recorded. Its record is kept with that of a later step. */
const reading = <A, E, R>(
  recording: Recording,
  reads: ReadRecords,
  instance: WorkflowInstance["Type"],
  attempt: Attempt,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Record, never, R> =>
  Effect.matchEffect(reads.find(attempt.name), {
    // An activity waits for a database that is away, and takes what is recorded.
    onFailure: () => activity(recording, instance, attempt, effect),
    onSuccess: (found): Effect.Effect<Record, never, R> => {
      if (Option.isSome(found)) return recordOf(recording, attempt, found.value, false)
      if (attempt.isBlocked) return blocked(recording, attempt.name)
      const keep = (encoded: unknown) => Effect.sync(() => reads.add(attempt.name, encoded))
      return Effect.flatMap(takenOr(recording, instance, attempt, effect, keep), (encoded) =>
        recordOf(recording, attempt, encoded, true)
      )
    }
  })

/** Marks the begin of an attempt. Succeeds with false if an attempt of a process that died has begun. */
const begins = (
  recording: Recording,
  instance: WorkflowInstance["Type"],
  name: string,
  isBlocked: boolean
): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    let isLive = false
    const began = Effect.map(recording.clock.currentTimeMillis, (at) => {
      isLive = true
      return { at }
    })
    const mark = isBlocked ? blocked(recording, name) : began
    const commit = recording.commit()
    const begun = StepActivity.run(recording.engine, instance, name, Effect.zipLeft(mark, commit.before))
    return Effect.map(committed(recording, commit, begun), () => isLive)
  })

/** An effect that must not run twice: its begin is recorded too. */
const once = <A, E, R, R2>(
  recording: Recording,
  instance: WorkflowInstance["Type"],
  attempt: Attempt,
  effect: Effect.Effect<A, E, R>,
  lost: Effect.Effect<Option.Option<A>, E, R2>,
  number: number = 0
): Effect.Effect<Outcome<A, E>, never, R | R2> => {
  const suffix = number === 0 ? "" : `~${number}`
  const numbered = { ...attempt, name: `${attempt.name}${suffix}`, maySleep: false }
  return Effect.flatMap(begins(recording, instance, `begin${attempt.name}${suffix}`, attempt.isBlocked), (isFirst) =>
    Effect.flatMap(
      activity(recording, instance, numbered, isFirst ? effect : "lost"),
      ({ outcome }): Effect.Effect<Outcome<A, E>, never, R | R2> => {
        if (outcome._tag !== "Lost") return Effect.succeed(outcome)
        const place = Step.makePlace(`${attempt.path}!${number}`, { at: attempt.place.at(), shorten })
        return Effect.matchEffect(Effect.provideService(lost, Step.Place, place), {
          onFailure: (error) => Effect.succeed<Outcome<A, E>>({ _tag: "Failure", error }),
          onSuccess: (found): Effect.Effect<Outcome<A, E>, never, R | R2> =>
            Option.isSome(found)
              ? Effect.succeed({ _tag: "Success", value: found.value })
              : once(recording, instance, attempt, effect, lost, number + 1)
        })
      }
    )
  )
}

const sleeping = (recording: Recording, instance: WorkflowInstance["Type"], isBlocked: boolean): Step.Sleeping => ({
  wait: ({ name, value }, pending) => {
    const self: Step.Service = make(recording, instance, true, isBlocked)
    return self.run(
      { kind: "wait", hash: () => name, success: value, error: StepFailure.none },
      Effect.flatMap(WorkflowInstance, (own) =>
        Effect.flatMap(pending, (found) => {
          if (Option.isSome(found)) return Effect.succeed(found.value)
          return Effect.contextWithEffect((context: Context.Context<any>) =>
            Effect.zipRight(
              recording.onWaiting(name, Effect.map(Effect.provide(pending, context), Option.isSome)),
              Workflow.suspend(own)
            )
          )
        })
      ) as never
    )
  },
  until: (millis) =>
    Effect.flatMap(Step.Place, (place) => {
      const name = nameOf("until", place.next())
      return Effect.flatMap(recording.clock.currentTimeMillis, (now) =>
        millis <= now
          ? Effect.sync(() => place.reach(millis))
          : isBlocked
            ? blocked(recording, name)
            : DurableClock.sleep({ name, duration: Duration.millis(millis - now), inMemoryThreshold: 1 }).pipe(
                Effect.tap(() => Effect.sync(() => place.reach(millis))),
                Effect.provideService(WorkflowInstance, instance),
                Effect.provideService(WorkflowEngine, recording.engine)
              )
      )
    })
})

/** The steps of one attempt at a run, for the instance of the workflow, or of the activity, that they run in. */
export const make = (
  recording: Recording,
  instance: WorkflowInstance["Type"],
  maySleep: boolean = true,
  isBlocked: boolean = false
): Step.Service => {
  const onlyRecorded = (): Step.Service => (isBlocked ? self : make(recording, instance, maySleep, true))
  const self: Step.Service = {
    isDetached: recording.shared !== undefined,
    isTaking: recording.shared?.isShared,
    guard: recording.guard,
    endings: RecordedEndings.make(recording, instance, onlyRecorded),
    isSuspended: () => instance.suspended || recording.isClosing() || recording.astray !== undefined,
    sleeping: maySleep ? sleeping(recording, instance, isBlocked) : undefined,
    run: (options, effect) =>
      Effect.flatMap(Step.Place, (outer) => {
        const path = outer.next()
        const attempt: Attempt = {
          name: nameOf(options.kind, path),
          path,
          place: Step.makePlace(`${path}:`, { at: outer.at(), shorten }),
          codec: codecOf(
            options.success,
            options.error === StepFailure.any ? recording.failures.schema : options.error
          ),
          hash: options.hash === undefined ? undefined : Sha256.hex(options.hash()).slice(0, 16),
          maySleep,
          isBlocked
        }
        const { reads } = recording
        const ended =
          options.lost !== undefined
            ? once(recording, instance, attempt, effect, options.lost)
            : Effect.map(
                options.isRead === true && reads !== undefined
                  ? reading(recording, reads, instance, attempt, effect)
                  : activity(recording, instance, attempt, effect),
                ({ outcome }) => outcome
              )
        return Effect.flatMap(ended, (outcome) => {
          outer.reach(attempt.place.at())
          return exitOf(outcome)
        })
      }) as never
  }
  return self
}
