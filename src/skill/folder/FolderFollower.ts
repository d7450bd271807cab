/**
 * Scans skill folders again when something in them changes.
 *
 * Each folder has its own watcher: recursive watchers would also watch skipped folders (`node_modules`, hidden folders)
 * and follow links that the scan does not.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ScanOptions } from "./FolderScan.js"
import * as FolderScan from "./FolderScan.js"

/**
 * Returns the first scan at once and later ones when something may have changed; fails with `None` when a poll ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Next = Effect.Effect<FolderScan.Seen, Option.Option<never>, FileSystem.FileSystem | Path.Path>

const polled = (options: WatchOptions, schedule: Schedule.Schedule<unknown>): Effect.Effect<Next> =>
  Effect.map(Schedule.driver(schedule), (driver) => {
    let isFirst = true
    return Effect.suspend(() => {
      const turn = isFirst ? Effect.void : Effect.mapError(driver.next(undefined), () => Option.none())
      isFirst = false
      return Effect.andThen(turn, FolderScan.scan(options))
    })
  })

/** A folder keeps its identity until it is removed, even if another one takes its name. */
const identityOf = ({ birthtime, dev, ino }: FileSystem.File.Info): string =>
  [dev, Option.getOrElse(ino, () => 0), Option.match(birthtime, { onNone: () => 0, onSome: Number })].join(":")

const watched = Effect.fnUntraced(function* (
  options: WatchOptions
): Effect.fn.Return<Next, never, FileSystem.FileSystem | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const debounce = Duration.decode(options.debounce ?? "200 millis")
  const fallback = options.fallback ?? "5 seconds"
  const maxWatchers = options.maxWatchers ?? 1024
  const dirty = yield* Queue.sliding<void>(1)
  const watchers = yield* FiberMap.make<string>()

  const later = Effect.andThen(Effect.sleep(fallback), Queue.offer(dirty, undefined))
  // A watcher that ends without interruption has lost its folder or cannot watch.
  const watcher = (folder: string) =>
    fs.watch(folder).pipe(
      Stream.runForEach(() => Queue.offer(dirty, undefined)),
      Effect.ignore,
      Effect.andThen(later)
    )

  /** True if a folder is watched only from now on: changes since the scan may have been missed. */
  const follow = Effect.fnUntraced(function* (seen: FolderScan.Seen) {
    const wanted = new Map<string, Effect.Effect<unknown>>()
    for (const folder of seen.folders) {
      if (wanted.size === maxWatchers) {
        wanted.set("rest", later)
        break
      }
      const info = yield* Effect.option(fs.stat(folder))
      if (Option.isSome(info)) wanted.set(JSON.stringify([folder, identityOf(info.value)]), watcher(folder))
    }
    for (const path of seen.missing) wanted.set(JSON.stringify([path]), later)
    for (const [key] of [...watchers]) if (!wanted.has(key)) yield* FiberMap.remove(watchers, key)
    let isNew = false
    for (const [key, effect] of wanted) {
      if (yield* FiberMap.has(watchers, key)) continue
      yield* FiberMap.run(watchers, key, effect)
      isNew = isNew || effect !== later
    }
    return isNew
  })

  const quiet: Effect.Effect<void> = Effect.gen(function* () {
    for (let i = 0; i < 10; i++) {
      yield* Effect.sleep(debounce)
      if ((yield* Queue.takeAll(dirty)).length === 0) return
    }
  })

  let isFirst = true
  return Effect.gen(function* () {
    if (!isFirst) {
      yield* Queue.take(dirty)
      yield* quiet
    }
    isFirst = false
    const seen = yield* FolderScan.scan(options)
    if (yield* follow(seen)) yield* Queue.offer(dirty, undefined)
    return seen
  })
})

/**
 * The watchers live as long as the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: WatchOptions
): Effect.Effect<Next, never, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
  options.poll === undefined ? watched(options) : polled(options, options.poll)

/**
 * How changes are noticed: by file system events or by polling.
 *
 * @since 0.1.0
 * @category models
 */
export interface WatchOptions extends ScanOptions {
  /**
   * Quiet time before the folders are scanned again; they are scanned after ten times as long in any case. Default 200
   * ms.
   */
  readonly debounce?: Duration.DurationInput | undefined
  /**
   * Interval for scanning what cannot be watched: missing paths, or a file system without events. Default 5 s.
   */
  readonly fallback?: Duration.DurationInput | undefined
  /** Maximum number of watched folders; the rest is scanned at the `fallback` interval. Default 1,024. */
  readonly maxWatchers?: number | undefined
  /** Scans the folders on this schedule and watches none. When the schedule ends, watching ends. */
  readonly poll?: Schedule.Schedule<unknown> | undefined
}
