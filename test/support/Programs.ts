/**
 * Test programs that run as separate processes: TypeScript by `node --import tsx`, with JSON lines in both directions.
 * A test starts them in its scope, which kills those still running, each by its own id.
 *
 * ```ts
 * // test/support/programs/Counter.ts
 * Programs.main<{ readonly upTo: number }>(({ input, hear, say }) =>
 *   Effect.gen(function* () {
 *     yield* say("ready")
 *     yield* hear
 *     yield* say(input.upTo)
 *   }))
 *
 * // the test
 * const program = yield* Programs.start("Counter", { upTo: 3 })
 * yield* program.hear      // "ready"
 * yield* program.say("go")
 * yield* program.hear      // 3
 * yield* program.ended     // { code: 0, signal: null }
 * ```
 */
import * as ChildProcess from "node:child_process"
import * as Readline from "node:readline"
import { fileURLToPath } from "node:url"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Program {
  readonly pid: number
  /** The next message. Dies with the error output if the program ends first. */
  readonly hear: Effect.Effect<any>
  /** Unread messages until its end. */
  readonly rest: Effect.Effect<ReadonlyArray<any>>
  readonly say: (value: unknown) => Effect.Effect<void>
  /** Sends the signal and waits for the end. */
  readonly kill: (signal?: NodeJS.Signals) => Effect.Effect<Ended>
  readonly ended: Effect.Effect<Ended>
}

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = fileURLToPath(new URL("./programs", import.meta.url))

/**
 * Starts a program of `test/support/programs` by its name without extension, or one by its path, such as a `Bundle`, in
 * a Node with these options.
 */
export const start = (
  program: string,
  input: unknown,
  options: { readonly node?: ReadonlyArray<string> } = {}
): Effect.Effect<Program, never, Scope.Scope> =>
  Effect.gen(function* () {
    const file = program.includes("/") ? program : `${folder}/${program}.ts`
    const lines = yield* Mailbox.make<unknown>()
    const ended = yield* Deferred.make<Ended>()
    let errors = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const loader = file.endsWith(".ts") ? ["--import", "tsx"] : []
        const child = ChildProcess.spawn(
          process.execPath,
          [...(options.node ?? []), ...loader, file, JSON.stringify(input)],
          {
            cwd: root,
            stdio: ["pipe", "pipe", "pipe"]
          }
        )
        child.stdin.on("error", () => undefined)
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          errors = (errors + text).slice(-4_000)
        })
        Readline.createInterface({ input: child.stdout }).on("line", (line) => {
          lines.unsafeOffer(JSON.parse(line))
        })
        child.on("error", (error) => {
          errors += error.message
        })
        child.on("close", (code, signal) => {
          lines.unsafeDone(Exit.void)
          Deferred.unsafeDone(ended, Exit.succeed({ code, signal }))
        })
        return child
      }),
      (child) =>
        Effect.zipRight(
          Effect.sync(() => child.kill("SIGKILL")),
          Deferred.await(ended)
        )
    )
    return {
      pid: child.pid ?? -1,
      hear: Effect.catchAll(lines.take, () => Effect.dieMessage(`${program} has ended:\n${errors}`)),
      rest: Effect.zipRight(
        Deferred.await(ended),
        Effect.map(lines.takeAll, ([said]) => Chunk.toReadonlyArray(said))
      ),
      say: (value) => Effect.sync(() => void child.stdin.write(`${JSON.stringify(value)}\n`)),
      kill: (signal = "SIGKILL") =>
        Effect.zipRight(
          Effect.sync(() => child.kill(signal)),
          Deferred.await(ended)
        ),
      ended: Deferred.await(ended)
    }
  })

export interface Inside<Input> {
  readonly input: Input
  readonly hear: Effect.Effect<any>
  /** Succeeds once written. */
  readonly say: (value: unknown) => Effect.Effect<void>
}

const runPlainly = (effect: Effect.Effect<void, unknown>): void => {
  Effect.runCallback(effect, {
    onExit: (exit) => {
      if (Exit.isSuccess(exit)) return
      process.stderr.write(`${Cause.pretty(exit.cause)}\n`, () => process.exit(1))
    }
  })
}

/** Runs the effect of a program file. By default it exits with 1 and prints the cause if the effect fails. */
export const main = <Input>(
  program: (inside: Inside<Input>) => Effect.Effect<unknown, unknown>,
  run: (effect: Effect.Effect<void, unknown>) => void = runPlainly
): void => {
  const effect = Effect.gen(function* () {
    const lines = yield* Mailbox.make<unknown>()
    const reader = Readline.createInterface({ input: process.stdin })
    reader.on("line", (line) => {
      lines.unsafeOffer(JSON.parse(line))
    })
    yield* program({
      input: JSON.parse(process.argv[2] as string),
      hear: Effect.orDie(lines.take),
      say: (value) =>
        Effect.async<void>((resume) => {
          process.stdout.write(`${JSON.stringify(value)}\n`, () => resume(Effect.void))
        })
    })
    reader.close()
  })
  run(effect)
}
