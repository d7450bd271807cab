/**
 * The terminal of the demo: text out, lines in, colors where supported.
 */
import * as Readline from "node:readline"
import * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

export interface Terminal {
  /** True for an interactive user. */
  readonly interactive: boolean
  readonly colors: boolean
  readonly write: (text: string) => void
  /** Reads the next line; none after the end of input. The prompt is shown only to an interactive user. */
  readonly readLine: (prompt: string) => Effect.Effect<Option.Option<string>>
  /** Ends when Ctrl-C is pressed. */
  readonly interrupted: Effect.Effect<void>
}

export const make = (options: { readonly reads: boolean }): Effect.Effect<Terminal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true
    const noColor = yield* Config.string("NO_COLOR").pipe(Config.withDefault(""), Effect.orDie)
    const lines = yield* Mailbox.make<string>()
    const stopped = yield* Deferred.make<void>()

    // A reader that leaves early (`| head`) is not an error. Write errors arrive late: the listener stays to the end.
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      Deferred.unsafeDone(stopped, Exit.void)
    })

    // An unused pipe must not keep the process alive.
    const readline = options.reads || interactive ? yield* open(interactive, lines, stopped) : undefined
    if (readline === undefined) yield* lines.end

    return {
      interactive,
      colors: process.stdout.isTTY === true && noColor === "",
      write: (text) => void process.stdout.write(text),
      readLine: (prompt) =>
        Effect.suspend(() => {
          if (interactive && readline !== undefined) {
            readline.setPrompt(prompt)
            readline.prompt()
          }
          return Effect.option(lines.take)
        }),
      interrupted: Deferred.await(stopped)
    }
  })

const open = (interactive: boolean, lines: Mailbox.Mailbox<string>, stopped: Deferred.Deferred<void>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const readline = Readline.createInterface({
        input: process.stdin,
        terminal: interactive,
        ...(interactive ? { output: process.stdout } : {})
      })
      readline.on("line", (line) => lines.unsafeOffer(line))
      readline.on("SIGINT", () => Deferred.unsafeDone(stopped, Exit.void))
      readline.on("close", () => lines.unsafeDone(Exit.void))
      return readline
    }),
    (readline) => Effect.sync(() => readline.close())
  )
