/**
 * Runs a script in a thread of its own, within a time and a memory limit. The script sees no environment and no
 * arguments of the process, and what it prints is dropped.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * @category models
 */
export interface Options {
  /** CommonJS. It reads `workerData` and answers with one message. */
  readonly script: string
  /** Packages that the script requires. The paths of their entries are members of `workerData`, by these names. */
  readonly packages: { readonly [name: string]: string }
  /** Copied to the thread as further members of `workerData`. */
  readonly data: { readonly [name: string]: unknown }
  /** The time from the start of the thread to its answer. */
  readonly millis: number
  /** Memory of the objects in the thread, in MiB. */
  readonly maxHeapMb: number
}

/**
 * @category errors
 */
export type Failure =
  /** A package is not installed, or the platform has no threads. */
  | { readonly _tag: "Missing"; readonly cause: unknown }
  | { readonly _tag: "Exceeded"; readonly limit: "time" }
  | { readonly _tag: "Exceeded"; readonly limit: "memory"; readonly cause: unknown }
  /** The script threw or ended without an answer. */
  | { readonly _tag: "Broken"; readonly cause: unknown }

const load = (packages: Options["packages"]) =>
  Effect.tryPromise({
    try: async () => {
      const [{ createRequire }, { Worker }] = await Promise.all([import("node:module"), import("node:worker_threads")])
      const { resolve } = createRequire(import.meta.url)
      const paths = Object.fromEntries(Object.entries(packages).map(([name, specifier]) => [name, resolve(specifier)]))
      return { paths, Worker }
    },
    catch: (cause): Failure => ({ _tag: "Missing", cause })
  })

const failure = (cause: unknown): Failure =>
  (cause as { readonly code?: unknown } | null)?.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? { _tag: "Exceeded", limit: "memory", cause }
    : { _tag: "Broken", cause }

/**
 * Succeeds with the message of the script. The thread has ended when this effect has, interrupted or not.
 *
 * @category constructors
 */
export const run = <A>({ data, maxHeapMb, millis, packages, script }: Options): Effect.Effect<A, Failure> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { paths, Worker } = yield* load(packages)
      const worker = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const started = new Worker(script, {
            eval: true,
            env: {},
            argv: [],
            execArgv: [],
            stdout: true,
            stderr: true,
            workerData: { ...data, ...paths },
            resourceLimits: { maxOldGenerationSizeMb: maxHeapMb }
          })
          // Output that nobody reads would be kept, and a script that waits for its output would never end.
          started.stdout.resume()
          started.stderr.resume()
          return started
        }),
        (started) => Effect.promise(() => started.terminate())
      )
      return yield* Effect.async<A, Failure>((resume) => {
        worker.once("message", (answer: A) => resume(Effect.succeed(answer)))
        worker.once("error", (cause) => resume(Effect.fail(failure(cause))))
        worker.once("exit", (code) => resume(Effect.fail(failure({ message: `The thread ended with ${code}` }))))
      }).pipe(Effect.timeoutFail({ duration: millis, onTimeout: (): Failure => ({ _tag: "Exceeded", limit: "time" }) }))
    })
  )
