/**
 * Graphs of tasks that need results of other tasks: validates them, and runs each task as soon as its dependencies have
 * ended, while further tasks may still be added.
 *
 * @since 0.1.0
 * @private
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Step from "../observability/Step.js"
import type { PlanIssue } from "./PlanError.js"

export interface Node {
  readonly id: string
  /** The tasks whose results it needs, each once. */
  readonly dependencies: ReadonlyArray<string>
}

const listIds = (ids: ReadonlyArray<string>): string =>
  ids.length <= 10 ? ids.join(" -> ") : `${ids.slice(0, 10).join(" -> ")} -> …`

/** Cycles among waiting tasks: each of them needs another one of them, and each is visited once. */
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
 * Finds dangling references and cycles, in time linear in tasks and dependencies. `known` are ids that already have
 * results; `shown` writes an id for messages.
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
            : `tasks wait for each other in a circle: ${listIds(cycle.map(shown))}`
      })
    }
  }
  return issues
}

/** Accepts tasks while others run. */
export interface Pool<T> {
  /** Adds tasks; a repeated id is ignored. */
  readonly add: (tasks: ReadonlyArray<T>) => void
  /** Forgets all tasks so far: running tasks continue, the others never begin, and their ids are free again. */
  readonly drop: () => void
  /** Waits until no task is running. */
  readonly idle: Effect.Effect<void>
}

export interface RunOptions<T extends Node, A, E, R, E2, R2> {
  /** Maximum number of concurrent tasks, at least 1. */
  readonly concurrency: number
  /** Adds tasks; once it ends, no more are added. */
  readonly feed: (pool: Pool<T>) => Effect.Effect<A, E, R>
  /**
   * Runs a task whose dependencies have all ended; `failed` are those that did not succeed. Returns whether the task
   * succeeded. A task begins once.
   */
  readonly execute: (task: T, failed: ReadonlyArray<string>) => Effect.Effect<boolean, E2, R2>
}

/** Tracks which tasks may begin. */
class Schedule<T extends Node> {
  readonly #settled = new Map<string, boolean>()
  #open = new Map<string, number>()
  #dependants = new Map<string, Array<T>>()
  #ready: Array<T> = []
  #head = 0
  #seen = new Set<string>()
  /** Incremented when all tasks are forgotten. */
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

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** One run: its fibers, and what they report to the loop that begins tasks. */
class Runner<T extends Node, A, E, R> {
  private readonly schedule = new Schedule<T>()
  private readonly fibers = new Set<Fiber.RuntimeFiber<unknown, E>>()
  private readonly ended: Array<Fiber.RuntimeFiber<unknown, E>> = []
  private readonly concurrency: number
  private idlers: Array<() => void> = []
  private running = 0
  private fed: Exit.Exit<A, E> | undefined
  private failure: Cause.Cause<E> | undefined
  private hasNews = false
  private wake: (() => void) | undefined

  constructor(
    private readonly options: RunOptions<T, A, E, R, E, R>,
    private readonly restore: Restore,
    /** Gives each task a place, while a durable run is recorded. */
    private readonly fork: ((name: string) => Step.PlaceService) | undefined
  ) {
    this.concurrency = Math.max(1, Math.floor(options.concurrency))
  }

  private tell(): void {
    this.hasNews = true
    this.wake?.()
  }

  private readonly news: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.hasNews) resume(Effect.void)
    else this.wake = () => resume(Effect.void)
  })

  private start<B>(
    place: string,
    effect: Effect.Effect<B, E, R>,
    onExit: (exit: Exit.Exit<B, E>) => void
  ): Effect.Effect<void, never, R> {
    const placed = this.fork === undefined ? effect : Effect.provideService(effect, Step.Place, this.fork(place))
    return Effect.map(Effect.forkDaemon(this.restore(placed)), (fiber) => {
      this.fibers.add(fiber)
      fiber.addObserver((exit) => {
        this.fibers.delete(fiber)
        if (Exit.isSuccess(exit)) this.ended.push(fiber)
        else this.failure ??= exit.cause
        onExit(exit)
        this.tell()
      })
    })
  }

  private begin(task: T): Effect.Effect<void, never, R> {
    const { options, schedule } = this
    const { generation } = schedule
    this.running++
    return this.start(
      `${generation}.${task.id}`,
      Effect.suspend(() => options.execute(task, schedule.failed(task))),
      (exit) => {
        this.running--
        if (Exit.isSuccess(exit) && generation === schedule.generation) schedule.settle(task.id, exit.value)
        if (this.running > 0) return
        for (const resume of this.idlers) resume()
        this.idlers = []
      }
    )
  }

  private readonly pool: Pool<T> = {
    add: (tasks) => {
      for (const task of tasks) this.schedule.add(task)
      this.tell()
    },
    drop: () => this.schedule.forget(),
    idle: Effect.async<void>((resume) => {
      if (this.running === 0) resume(Effect.void)
      else this.idlers.push(() => resume(Effect.void))
    })
  }

  private next(): T | undefined {
    return this.running < this.concurrency ? this.schedule.next() : undefined
  }

  private stop(cause: Cause.Cause<E>): Effect.Effect<never, E> {
    return Effect.zipRight(Fiber.interruptAll(this.fibers), Effect.failCause(cause))
  }

  run(): Effect.Effect<A, E, R> {
    return Effect.gen(this, function* () {
      yield* this.start(
        "feed",
        Effect.suspend(() => this.options.feed(this.pool)),
        (exit) => {
          this.fed = exit
        }
      )
      for (;;) {
        this.hasNews = false
        this.wake = undefined
        for (const fiber of this.ended.splice(0)) yield* fiber.inheritAll
        if (this.failure !== undefined && this.fork === undefined) return yield* this.stop(this.failure)
        for (let task = this.next(); task !== undefined; task = this.next()) yield* this.begin(task)
        // A task may have ended while others were begun.
        if (this.hasNews) continue
        if (this.fed !== undefined && this.running === 0) break
        const waited = yield* Effect.exit(this.restore(this.news))
        if (Exit.isFailure(waited)) return yield* this.stop(waited.cause)
      }
      if (this.failure !== undefined) return yield* Effect.failCause(this.failure)
      return yield* this.fed as Exit.Exit<A, E>
    })
  }
}

/**
 * Runs tasks as they are added, at most `concurrency` at a time, in the order in which they become ready. A failure of
 * the feed or of a task, and an interruption of the caller, stop the rest; in every case all fibers have ended when the
 * effect ends. While a durable run is recorded, everything that can proceed does so before a failure counts, as in
 * `Step.forEach`, and each task has a place by its id.
 */
export const run = <T extends Node, A, E, R, E2, R2>(
  options: RunOptions<T, A, E, R, E2, R2>
): Effect.Effect<A, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const isRecording = Step.isRecording(yield* Step.Step)
      const fork = isRecording ? (yield* Step.Place).fork() : undefined
      return yield* new Runner<T, A, E | E2, R | R2>(options, restore, fork).run()
    })
  )
