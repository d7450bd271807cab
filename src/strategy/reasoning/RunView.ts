/**
 * Views of a run: the same run with its events observed or changed as they are emitted.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEvent, Body } from "../../domain/AgentEvent.js"
import * as Run from "../../observability/Run.js"
import type { Service as ToolRunner } from "../../tool/ToolRunner.js"

/**
 * Maps each event by `f`, in the order of emission. If `f` returns `undefined`, the event is not emitted.
 */
export const mapped = (run: Run.Service, f: (body: Body) => Body | undefined): Run.Service => {
  if (!Run.isCurrent(run)) return run
  const unsafeEmit: Run.Service["unsafeEmit"] = (body) => {
    const changed = f(body)
    return changed === undefined ? undefined : run.unsafeEmit(changed)
  }
  return {
    ...run,
    unsafeEmit,
    emit: (body) => Effect.suspend(() => unsafeEmit(body) ?? Effect.void),
    emitAll: (bodies) =>
      Effect.suspend(() => {
        const changed: Array<Body> = []
        for (const body of bodies) {
          const one = f(body)
          if (one !== undefined) changed.push(one)
        }
        return run.emitAll(changed)
      })
  }
}

/**
 * Calls `see` for each event of the run, and of the runs it starts, as it is emitted. The emitter waits for the
 * returned Effect where it can.
 */
export const watched = (
  run: Run.Service,
  see: (body: Body | AgentEvent, own: boolean) => Effect.Effect<void> | undefined
): Run.Service => {
  const unsafeEmit: Run.Service["unsafeEmit"] = (body) => {
    const settled = run.unsafeEmit(body)
    const seen = see(body, true)
    return seen === undefined ? settled : settled === undefined ? seen : Effect.zipRight(settled, seen)
  }
  return {
    ...run,
    unsafeEmit,
    emit: (body) => Effect.suspend(() => unsafeEmit(body) ?? Effect.void),
    emitAll: (bodies) =>
      Effect.suspend(() => {
        let all: Effect.Effect<void> = run.emitAll(bodies)
        for (const body of bodies) {
          const seen = see(body, true)
          if (seen !== undefined) all = Effect.zipRight(all, seen)
        }
        return all
      }),
    sink: {
      ...run.sink,
      push: (event, whole) => {
        run.sink.push(event, whole)
        see(whole, false)
      }
    }
  }
}

/** The run and its child runs without streaming of answers. */
export const silenced = (run: Run.Service): Run.Service =>
  run.live ? { ...run, live: false, child: (runId, agent) => silenced(run.child(runId, agent)) } : run

const stepped = (body: Body, of: (step: number) => number): Body => {
  switch (body._tag) {
    case "StepStarted":
    case "Thought":
    case "Critique":
    case "ToolCall":
    case "ToolResult":
    case "ToolCompensated":
    case "TextRetracted":
    case "AnswerRejected":
      return { ...body, step: of(body.step) }
    default:
      return body
  }
}

/**
 * Step numbers for parts of one run that each count from 1. The numbers of every part continue those of the other
 * parts.
 */
export interface Numbers {
  /** The highest number assigned. */
  readonly last: () => number
  readonly part: () => (body: Body) => Body
}

export const makeNumbers = (): Numbers => {
  let last = 0
  return {
    last: () => last,
    part: () => {
      const own = new Map<number, number>()
      const of = (step: number): number => {
        let number = own.get(step)
        if (number === undefined) {
          number = ++last
          own.set(step, number)
        }
        return number
      }
      return (body) => stepped(body, of)
    }
  }
}

/**
 * A runner for one part of a run whose model may reuse call ids of another part. Events and handlers see the id with
 * the prefix, because the id tells a repetition from a new call.
 */
export const prefixed = (runner: ToolRunner, prefix: string): ToolRunner => ({
  visible: runner.visible,
  run: (tools, call, options) =>
    Effect.map(runner.run(tools, { ...call, id: `${prefix}${call.id}` }, options), (outcome) => ({
      ...outcome,
      id: call.id
    }))
})
