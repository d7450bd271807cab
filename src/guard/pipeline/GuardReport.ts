/**
 * Reports guard activity to metrics, hooks and the event bus.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as DomainEvent from "../../observability/DomainEvent.js"
import type * as Run from "../../observability/Run.js"
import type { GuardAction, GuardResult, GuardStage } from "./Guard.js"
import { severity } from "./Guard.js"
import * as GuardEvents from "./GuardEvents.js"
import * as GuardMetrics from "./GuardMetrics.js"
import type { OutputWindow, Released } from "./GuardPipeline.js"

const isIncoming = (stage: GuardStage): boolean => stage === "input" || stage === "toolInput"

const announce = (run: Run.Service, guardName: string, stage: GuardStage, action: GuardAction): void =>
  run.announce(() => {
    const about = { aggregateId: run.runId, fields: { guardName, triggered: true, action, stage } }
    return isIncoming(stage)
      ? DomainEvent.make(GuardEvents.InputGuardTriggeredEvent, about)
      : DomainEvent.make(GuardEvents.OutputGuardTriggeredEvent, about)
  })

const hook = (
  run: Run.Service,
  guardName: string,
  stage: GuardStage,
  action: GuardAction
): Effect.Effect<void> | undefined => {
  const place = isIncoming(stage) ? GuardEvents.GuardInputChecked : GuardEvents.GuardOutputChecked
  return run.hooks.has(place)
    ? run.hooks.call(place, { runId: run.runId, guardName, stage, action, blocked: action === "block" })
    : undefined
}

/** Reports that one guard judged a whole text; returns an effect to wait for, if any. */
export const checked = (
  run: Run.Service,
  guardName: string,
  stage: GuardStage,
  action: GuardAction,
  durationMs: number
): Effect.Effect<void> | undefined => {
  if (run.metrics !== undefined) {
    const metrics = GuardMetrics.forGuard(guardName, stage)
    metrics.checked(action)
    metrics.took(action, durationMs)
    if (action !== "pass") metrics.violated(action)
  }
  if (action !== "pass") announce(run, guardName, stage, action)
  return hook(run, guardName, stage, action)
}

/** Reports that one guard could not judge. */
export const failed = (run: Run.Service, guardName: string, stage: GuardStage, durationMs: number): void => {
  if (run.metrics === undefined) return
  const metrics = GuardMetrics.forGuard(guardName, stage)
  metrics.checked("error")
  metrics.took("error", durationMs)
}

/** Reports that a pipeline finished a text. */
export const completed = (
  run: Run.Service,
  stage: GuardStage,
  blocked: boolean,
  failedGuard?: string
): Effect.Effect<void> =>
  run.hooks.has(GuardEvents.GuardPipelineCompleted)
    ? run.hooks.call(GuardEvents.GuardPipelineCompleted, {
        runId: run.runId,
        stage,
        blocked,
        ...(failedGuard === undefined ? {} : { failedGuard })
      })
    : Effect.void

/**
 * Wraps a window to report its guards: each batch of findings counts as a violation, the bus receives one event per
 * guard and action, and checks are counted when the text has ended.
 */
export const watched = (window: OutputWindow, guards: ReadonlyArray<string>, run: Run.Service): OutputWindow => {
  const stage = "output"
  const worst = new Map<string, GuardAction>(guards.map((name) => [name, "pass"]))
  const told = new Set<string>()
  let blocked = false
  let isOver = false
  let isReported = false
  const note = ({ action, guardName }: GuardResult): void => {
    if (action === "pass") return
    if (run.metrics !== undefined) GuardMetrics.forGuard(guardName, stage).violated(action)
    if (severity[action] > severity[worst.get(guardName) ?? "pass"]) worst.set(guardName, action)
    const key = `${action} ${guardName}`
    if (told.has(key)) return
    told.add(key)
    announce(run, guardName, stage, action)
  }
  const over = (): void => {
    if (isOver) return
    isOver = true
    if (run.metrics === undefined) return
    for (const [name, action] of worst) GuardMetrics.forGuard(name, stage).checked(action)
  }
  const look = (released: Released): Released => {
    for (const result of released.results) note(result)
    if (released.blockingResult !== undefined) {
      blocked = true
      over()
    }
    return released
  }
  return {
    push: (text) => look(window.push(text)),
    end: () => {
      const released = look(window.end())
      over()
      return released
    },
    report: Effect.suspend(() => {
      if (isReported || !isOver) return Effect.void
      isReported = true
      return Effect.zipRight(
        Effect.forEach(worst, ([name, action]) => hook(run, name, stage, action) ?? Effect.void, { discard: true }),
        completed(run, stage, blocked)
      )
    })
  }
}
