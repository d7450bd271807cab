/**
 * Runs effects as promises that can be stopped, for one owner that is closed at the end.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { AgentClosedError } from "./AgentClosedError.js"

export interface Job<A> {
  readonly result: Promise<A>
  /** Interrupts the effect and waits for its finalizers; `result` rejects with the reason. The first reason counts. */
  readonly stop: (reason: unknown) => Promise<void>
}

export const closed = (what: string): AgentClosedError =>
  new AgentClosedError({ message: `${what} is closed`, hint: "Create another one, or close it after its last run" })

/** Jobs that are running. */
export class Owner {
  private readonly jobs = new Set<Job<unknown>>()
  private closing: Promise<void> | undefined

  constructor(
    readonly name: string,
    private readonly parent?: Owner | undefined
  ) {}

  get isClosed(): boolean {
    return this.closing !== undefined || this.parent?.isClosed === true
  }

  add(job: Job<unknown>): void {
    this.jobs.add(job)
    this.parent?.add(job)
  }

  remove(job: Job<unknown>): void {
    this.jobs.delete(job)
    this.parent?.remove(job)
  }

  /** Stops all jobs, then releases what the owner has. A second call waits for the first one. */
  close(release: () => Promise<void>): Promise<void> {
    this.closing ??= Promise.all(Array.from(this.jobs, (job) => job.stop(closed(this.name)))).then(release)
    return this.closing
  }
}

/** The error itself, whether it is a failure or a defect; for an interruption the reason that is known. */
const errorOf = (cause: Cause.Cause<unknown>, stopped: { readonly reason: unknown } | undefined): unknown => {
  if (stopped !== undefined && Cause.isInterrupted(cause)) return stopped.reason
  const error = Option.orElse(Cause.failureOption(cause), () => Cause.dieOption(cause))
  // Errors that crossed a span are wrapped.
  return Cause.originalError(Option.getOrElse(error, () => Cause.squash(cause)))
}

const rejected = (error: unknown): Job<never> => {
  const result = Promise.reject(error)
  return { result, stop: () => result.catch(() => undefined) }
}

/** Starts an effect. Nothing starts for a closed owner or an aborted signal. */
export const start = <A, E>(
  owner: Owner,
  fork: (effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>,
  effect: Effect.Effect<A, E>,
  signal: AbortSignal | undefined
): Job<A> => {
  if (owner.isClosed) return rejected(closed(owner.name))
  if (signal?.aborted === true) return rejected(signal.reason)
  const fiber = fork(effect)
  let stopped: { readonly reason: unknown } | undefined
  let settle: (exit: Exit.Exit<A, E>) => void = () => undefined
  const result = new Promise<A>((resolve, reject) => {
    settle = (exit) => (Exit.isSuccess(exit) ? resolve(exit.value) : reject(errorOf(exit.cause, stopped)))
  })
  const job: Job<A> = {
    result,
    stop: (reason) => {
      stopped ??= { reason }
      fiber.unsafeInterruptAsFork(FiberId.none)
      return result.then(
        () => undefined,
        () => undefined
      )
    }
  }
  const abort = () => void job.stop(signal?.reason)
  owner.add(job)
  signal?.addEventListener("abort", abort, { once: true })
  // A fiber that has ended calls it at once.
  fiber.addObserver((exit) => {
    signal?.removeEventListener("abort", abort)
    owner.remove(job)
    settle(exit)
  })
  return job
}
