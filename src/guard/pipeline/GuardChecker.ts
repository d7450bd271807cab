/**
 * Runs the guards of one stage on a whole text.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Services from "../../internal/fiber/Services.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import * as Findings from "./Findings.js"
import * as Guard from "./Guard.js"
import { GuardPipelineError } from "./GuardError.js"
import * as GuardEvents from "./GuardEvents.js"
import * as GuardReport from "./GuardReport.js"

/** Span of a check. */
const SPAN_GUARD_CHECK = "guard.check"

type Guards<R> = ReadonlyArray<Guard.Guard<unknown, R>>

interface Asking {
  readonly context: Guard.GuardContext
  readonly run: Run.Service
  readonly clock: Clock.Clock
}

type Asked<R> = Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError, R>

const failure = (guard: string, stage: Guard.GuardStage, cause: unknown): GuardPipelineError =>
  new GuardPipelineError({ message: `The guard ${guard} failed to judge (${stage})`, guard, stage, cause })

const millis = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1_000_000

/** Asks one guard, reports its answer, and continues with it. */
const ask = <R, A, E>(
  guard: Guard.Guard<unknown, R>,
  content: string,
  { clock, context, run }: Asking,
  next: (result: Guard.GuardResult) => Effect.Effect<A, E, R>
): Effect.Effect<A, GuardPipelineError | E, R> => {
  // Only metrics need the duration.
  const since = run.metrics === undefined ? 0 : millis(clock)
  const took = () => (run.metrics === undefined ? 0 : millis(clock) - since)
  return Effect.matchEffect(guard.check(content, context), {
    onFailure: (cause) => {
      GuardReport.failed(run, guard.name, context.stage, took())
      return Effect.fail(failure(guard.name, context.stage, cause))
    },
    onSuccess: (result) => {
      const told = GuardReport.checked(run, guard.name, context.stage, result.action, took())
      return told === undefined ? next(result) : Effect.flatMap(told, () => next(result))
    }
  })
}

/** Each guard checks the text that the previous one left. */
const inOrder = <R>(guards: Guards<R>, content: string, asking: Asking): Asked<R> => {
  const results: Array<Guard.GuardResult> = []
  const from = (index: number, current: string): Asked<R> => {
    const guard = guards[index]
    if (guard === undefined) return Effect.succeed(Guard.aggregate(results, content))
    return ask(guard, current, asking, (result) => {
      results.push(result)
      if (result.action === "block") return Effect.succeed(Guard.aggregate(results, content))
      return from(index + 1, result.action === "redact" ? result.redactedContent : current)
    })
  }
  return Effect.suspend(() => from(0, content))
}

/** Interrupts the other guards; internal to this module. */
class Blocked {
  readonly _tag = "Blocked"
}

type Redaction = Extract<Guard.GuardResult, { readonly action: "redact" }>

/** Returns the edits of a guard if its spans cover all its changes. */
const editsOf = (result: Redaction, content: string): ReadonlyArray<Findings.Edit> | undefined => {
  const edits: Array<Findings.Edit> = []
  for (const { end, replacement, start } of result.spans ?? []) {
    if (replacement !== undefined) edits.push({ start, end, replacement })
  }
  return Findings.applyEdits(content, Findings.mergeEdits(edits)) === result.redactedContent ? edits : undefined
}

const atOnce = Effect.fnUntraced(function* <R>(guards: Guards<R>, content: string, asking: Asking) {
  const ended: Array<Guard.GuardResult | undefined> = guards.map(() => undefined)
  yield* Effect.catchIf(
    Step.forEach(guards, (guard, index) =>
      Effect.suspend(() =>
        ask(guard, content, asking, (result) => {
          ended[index] = result
          return result.action === "block" ? Effect.fail(new Blocked()) : Effect.void
        })
      )
    ),
    (error) => error instanceof Blocked,
    () => Effect.succeed([])
  )
  const results = ended.filter((result) => result !== undefined)
  const total = Guard.aggregate(results, content)
  if (total.blocked || !total.redacted) return total
  const edits: Array<Findings.Edit> = []
  const redacting: Array<{ readonly guard: Guards<R>[number]; readonly result: Redaction }> = []
  let opaque: Redaction | undefined
  guards.forEach((guard, index) => {
    const result = ended[index]
    if (result?.action !== "redact") return
    redacting.push({ guard, result })
    const own = editsOf(result, content)
    if (own === undefined) opaque ??= result
    else for (const edit of own) edits.push(edit)
  })
  if (opaque === undefined) return { ...total, finalContent: Findings.applyEdits(content, Findings.mergeEdits(edits)) }
  // Where a guard does not say what it changed, the others must check its text again to add their redactions.
  const [first, ...more] = redacting.sort((a, b) => Number(b.result === opaque) - Number(a.result === opaque))
  let current = first?.result.redactedContent ?? content
  for (const { guard } of more) {
    const again = yield* Effect.mapError(guard.check(current, asking.context), (cause) =>
      failure(guard.name, asking.context.stage, cause)
    )
    if (again.action === "block") {
      yield* GuardReport.checked(asking.run, guard.name, asking.context.stage, "block", 0) ?? Effect.void
      return Guard.aggregate([...results, again], content)
    }
    if (again.action === "redact") current = again.redactedContent
  }
  return { ...total, finalContent: current }
})

/** Calls the completion hook if one is registered. */
const reportCompletion = <R>(run: Run.Service, stage: Guard.GuardStage, asked: Asked<R>): Asked<R> =>
  run.hooks.has(GuardEvents.GuardPipelineCompleted)
    ? Effect.tapBoth(asked, {
        onFailure: (error) => GuardReport.completed(run, stage, true, error.guard),
        onSuccess: (total) => GuardReport.completed(run, stage, total.blocked)
      })
    : asked

/** Makes a check from at least one guard; services around a check override those captured. */
export const make = <R>(
  guards: Guards<R>,
  stage: Guard.GuardStage,
  parallel: boolean,
  captured: Context.Context<R>
): ((content: string, context: Guard.GuardContext) => Asked<never>) => {
  const names = guards.map(({ name }) => name)
  const all = parallel && guards.length > 1 ? atOnce<R> : inOrder<R>
  const addCaptured: Services.Add = (services) =>
    captured.unsafeMap.forEach((service, key) => {
      if (!services.has(key)) services.set(key, service)
    })
  return (content, context) =>
    Effect.withFiberRuntime((fiber) => {
      const run = Context.get(fiber.currentContext, Run.Run)
      const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
      // The context of the check has what the guards require.
      const asked = reportCompletion(run, stage, all(guards, content, { context, run, clock })) as Asked<never>
      return run.telemetry.tracing
        ? Spanned.run(
            SPAN_GUARD_CHECK,
            { attributes: { "guard.stage": stage, "guard.names": names } },
            asked,
            (exit, span) => span.attribute("guard.action", Exit.isSuccess(exit) ? exit.value.action : "error"),
            addCaptured
          )
        : Effect.mapInputContext(asked, (current: Context.Context<never>) => Services.extend(current, addCaptured))
    })
}
