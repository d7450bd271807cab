/**
 * Tasks that need results of other tasks: what is wrong with such a graph, and how it runs, each task as soon as all it
 * needs is there, while more of them may still come.
 *
 * @since 0.1.0
 * @internal
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Step from "../observability/Step.js"
import type { PlanIssue } from "./PlanError.js"

export interface Node {
  readonly id: string
  /** The tasks whose results it needs; each once. */
  readonly dependencies: ReadonlyArray<string>
}

const listed = (ids: ReadonlyArray<string>): string =>
  ids.length <= 10 ? ids.join(" -> ") : `${ids.slice(0, 10).join(" -> ")} -> …`

/** Ways round among tasks that all wait: each of them needs another of them, and each is passed once. */
const findCycles = (waiting: ReadonlyMap<string, Node>): ReadonlyArray<ReadonlyArray<string>> => {
  const cycles: Array<ReadonlyArray<string>> = []
  const passed = new Set<string>()
  for (const from of waiting.keys()) {
    const path = new Map<string, number>()
    let id = from
    while (!passed.has(id)) {
      passed.add(id)
      path.set(id, path.size)
      id = (waiting.get(id) as Node).dependencies.find((other) => waiting.has(other)) as string
    }
    const start = path.get(id)
    if (start !== undefined) cycles.push([...Array.from(path.keys()).slice(start), id])
  }
  return cycles
}

/**
 * References to nothing, and circles, in time linear in tasks and dependencies. `known` are ids that have results
 * already; `shown` is how an id reads in messages.
 */
export const check = (
  nodes: ReadonlyArray<Node>,
  options: { readonly known?: ReadonlySet<string> | undefined; readonly shown: (id: string) => string }
): ReadonlyArray<PlanIssue> => {
  const { known, shown } = options
  const issues: Array<PlanIssue> = []
  const byId = new Map(nodes.map((node) => [node.id, node] as const))
  const dependants = new Map<string, Array<string>>()
  const open = new Map<string, number>()
  const free: Array<string> = []
  for (const node of byId.values()) {
    let needs = 0
    for (const id of node.dependencies) {
      if (byId.has(id)) {
        needs++
        const list = dependants.get(id)
        if (list === undefined) dependants.set(id, [node.id])
        else list.push(node.id)
      } else if (known?.has(id) !== true) {
        issues.push({
          reason: "missing-reference",
          task: node.id,
          message: `${shown(node.id)} refers to ${shown(id)}, which the plan does not have`
        })
      }
    }
    open.set(node.id, needs)
    if (needs === 0) free.push(node.id)
  }
  for (let i = 0; i < free.length; i++) {
    for (const id of dependants.get(free[i] as string) ?? []) {
      const left = (open.get(id) as number) - 1
      open.set(id, left)
      if (left === 0) free.push(id)
    }
  }
  if (free.length < byId.size) {
    const done = new Set(free)
    for (const cycle of findCycles(new Map(Array.from(byId).filter(([id]) => !done.has(id))))) {
      issues.push({
        reason: "cycle",
        task: cycle[0] as string,
        message:
          cycle.length === 2
            ? `${shown(cycle[0] as string)} refers to itself`
            : `tasks wait for each other in a circle: ${listed(cycle.map(shown))}`
      })
    }
  }
  return issues
}

/** Where tasks are handed in while others run. */
export interface Pool<T> {
  /** Takes tasks; an id counts once. */
  readonly add: (tasks: ReadonlyArray<T>) => void
  /** Forgets every task so far: those that run go on, the others are never begun, and their ids are free again. */
  readonly drop: () => void
  /** Waits until no task runs. */
  readonly idle: Effect.Effect<void>
}

export interface RunOptions<T extends Node, A, E, R, E2, R2> {
  /** Tasks at a time, at least 1. */
  readonly concurrency: number
  /** Hands tasks in; when it ends, no more come. */
  readonly feed: (pool: Pool<T>) => Effect.Effect<A, E, R>
  /**
   * Does a task whose dependencies have all ended; `failed` are those that did not end well. Gives back whether it did
   * itself. A task is begun once.
   */
  readonly execute: (task: T, failed: ReadonlyArray<string>) => Effect.Effect<boolean, E2, R2>
}

/** Which tasks may begin. */
class Schedule<T extends Node> {
  readonly #settled = new Map<string, boolean>()
  #open = new Map<string, number>()
  #dependants = new Map<string, Array<T>>()
  #ready: Array<T> = []
  #head = 0
  #seen = new Set<string>()
  /** Goes up by one when everything is forgotten. */
  generation = 0

  add(task: T): void {
    if (this.#seen.has(task.id)) return
    this.#seen.add(task.id)
    let open = 0
    for (const id of task.dependencies) {
      if (this.#settled.has(id)) continue
      open++
      const list = this.#dependants.get(id)
      if (list === undefined) this.#dependants.set(id, [task])
      else list.push(task)
    }
    this.#open.set(task.id, open)
    if (open === 0) this.#ready.push(task)
  }

  next(): T | undefined {
    const task = this.#ready[this.#head]
    if (task !== undefined) this.#head++
    return task
  }

  settle(id: string, isGood: boolean): void {
    this.#settled.set(id, isGood)
    for (const task of this.#dependants.get(id) ?? []) {
      const open = (this.#open.get(task.id) as number) - 1
      this.#open.set(task.id, open)
      if (open === 0) this.#ready.push(task)
    }
    this.#dependants.delete(id)
  }

  failed(task: T): ReadonlyArray<string> {
    return task.dependencies.filter((id) => this.#settled.get(id) === false)
  }

  forget(): void {
    this.#settled.clear()
    this.#open = new Map()
    this.#dependants = new Map()
    this.#ready = []
    this.#head = 0
    this.#seen = new Set()
    this.generation++
  }
}

/**
 * Runs tasks while they come, at most `concurrency` at a time, in the order in which they are ready. A failure of the
 * feed or of a task, and an interruption of the caller, stop the rest; either way everything has ended when this has.
 * While a durable run is recorded, everything that can go on does before a failure counts, as in `Step.forEach`, and
 * each task has a place by its id.
 */
export const run = <T extends Node, A, E, R, E2, R2>(
  options: RunOptions<T, A, E, R, E2, R2>
): Effect.Effect<A, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const recording = Step.isRecording(yield* Step.Step)
      const fork = recording ? (yield* Step.Place).fork() : undefined
      const concurrency = Math.max(1, Math.floor(options.concurrency))
      const schedule = new Schedule<T>()
      const fibers = new Set<Fiber.RuntimeFiber<unknown, E | E2>>()
      const ended: Array<Fiber.RuntimeFiber<unknown, E | E2>> = []
      let idlers: Array<() => void> = []
      let running = 0
      let fed: Exit.Exit<A, E | E2> | undefined
      let failure: Cause.Cause<E | E2> | undefined
      let hasNews = false
      let wake: (() => void) | undefined

      const tell = () => {
        hasNews = true
        wake?.()
      }
      const news = Effect.async<void>((resume) => {
        if (hasNews) resume(Effect.void)
        else wake = () => resume(Effect.void)
      })

      const start = <B>(
        place: string,
        effect: Effect.Effect<B, E | E2, R | R2>,
        onExit: (exit: Exit.Exit<B, E | E2>) => void
      ) =>
        Effect.map(
          Effect.forkDaemon(
            restore(fork === undefined ? effect : Effect.provideService(effect, Step.Place, fork(place)))
          ),
          (fiber) => {
            fibers.add(fiber)
            fiber.addObserver((exit) => {
              fibers.delete(fiber)
              if (Exit.isSuccess(exit)) ended.push(fiber)
              else failure ??= exit.cause
              onExit(exit)
              tell()
            })
          }
        )

      const begin = (task: T) => {
        const { generation } = schedule
        running++
        return start(
          `${generation}.${task.id}`,
          Effect.suspend(() => options.execute(task, schedule.failed(task))),
          (exit) => {
            running--
            if (Exit.isSuccess(exit) && generation === schedule.generation) schedule.settle(task.id, exit.value)
            if (running > 0) return
            for (const resume of idlers) resume()
            idlers = []
          }
        )
      }

      const pool: Pool<T> = {
        add: (tasks) => {
          for (const task of tasks) schedule.add(task)
          tell()
        },
        drop: () => schedule.forget(),
        idle: Effect.async<void>((resume) => {
          if (running === 0) resume(Effect.void)
          else idlers.push(() => resume(Effect.void))
        })
      }

      yield* start(
        "feed",
        Effect.suspend(() => options.feed(pool)),
        (exit) => {
          fed = exit
        }
      )
      for (;;) {
        hasNews = false
        wake = undefined
        for (const fiber of ended.splice(0)) yield* fiber.inheritAll
        if (failure !== undefined && !recording) {
          yield* Fiber.interruptAll(fibers)
          return yield* Effect.failCause(failure)
        }
        for (let task = running < concurrency ? schedule.next() : undefined; task !== undefined; ) {
          yield* begin(task)
          task = running < concurrency ? schedule.next() : undefined
        }
        // A task may have ended while others were begun.
        if (hasNews) continue
        if (fed !== undefined && running === 0) break
        const waited = yield* Effect.exit(restore(news))
        if (Exit.isFailure(waited)) {
          yield* Fiber.interruptAll(fibers)
          return yield* Effect.failCause(waited.cause)
        }
      }
      if (failure !== undefined) return yield* Effect.failCause(failure)
      return yield* fed as Exit.Exit<A, E | E2>
    })
  )
