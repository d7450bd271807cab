/**
 * Lines of the person at the terminal, or of a pipe: with history, messages of several lines, and pasted text.
 *
 * @private
 * @since 0.1.0
 */
import * as Readline from "node:readline"
import { Writable } from "node:stream"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"

/**
 * @category models
 */
export interface LineReader {
  /**
   * A message, which may have several lines: a line that ends with a backslash goes on, and pasted text is one message.
   * None at the end of the input.
   */
  readonly message: (prompt: string) => Effect.Effect<Option.Option<string>>
  /** The answer to a question: one line that is typed after it was asked. None at the end of the input. */
  readonly answer: (prompt: string) => Effect.Effect<Option.Option<string>>
  /** Waits for the key Escape. */
  readonly escaped: Effect.Effect<void>
}

interface Line {
  readonly text: string
  /** Whether it was seen while it was typed. */
  readonly isShown: boolean
}

interface Key {
  readonly name?: string | undefined
}

const CONTINUED = "… "

/** Ctrl-C as if the terminal had sent it. */
const interruptProcess = (): void => void process.kill(process.pid, "SIGINT")

const isPasted = { "paste-start": true, "paste-end": false } as const

const keysOf = (onEscape: () => void) =>
  Effect.gen(function* () {
    const state = { isPasting: false }
    const onKey = (_: unknown, key: Key | undefined): void => {
      if (key?.name === "paste-start" || key?.name === "paste-end") state.isPasting = isPasted[key.name]
      if (key?.name === "escape") onEscape()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.stdin.on("keypress", onKey)),
      () => Effect.sync(() => process.stdin.off("keypress", onKey))
    )
    return state
  })

/**
 * Reads the input of the process while the scope is open. `history` are earlier messages, the oldest first.
 *
 * @category constructors
 */
export const make = (
  { isInteractive, note, write }: Screen.Service,
  history: ReadonlyArray<string> = []
): Effect.Effect<LineReader, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lines = yield* Mailbox.make<Line>()
    const escapes = yield* Mailbox.make<void>({ capacity: 1, strategy: "sliding" })
    let isMuted = true
    const mute = (): void => {
      isMuted = true
    }
    // What is typed while a run goes on is not shown between its words.
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!isMuted) write(chunk.toString("utf8"))
        done()
      }
    })
    Object.defineProperty(output, "columns", { get: () => process.stdout.columns })
    const keys = isInteractive ? yield* keysOf(() => escapes.unsafeOffer(undefined)) : { isPasting: false }
    const readline = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Readline.createInterface({
          input: process.stdin,
          terminal: isInteractive,
          history: history.toReversed(),
          historySize: 1000,
          removeHistoryDuplicates: true,
          ...(isInteractive ? { output } : {})
        })
      ),
      (readline) => Effect.sync(() => readline.close())
    )
    if (isInteractive) {
      yield* Effect.acquireRelease(
        Effect.sync(() => note("\u001b[?2004h")),
        () => Effect.sync(() => note("\u001b[?2004l"))
      )
      const onResize = (): void => void output.emit("resize")
      yield* Effect.acquireRelease(
        Effect.sync(() => process.stdout.on("resize", onResize)),
        () => Effect.sync(() => process.stdout.off("resize", onResize))
      )
    }
    const pasted: Array<string> = []
    readline.on("line", (line) => {
      if (keys.isPasting) pasted.push(line)
      else lines.unsafeOffer({ text: [...pasted.splice(0), line].join("\n"), isShown: !isMuted })
    })
    readline.on("SIGINT", () => {
      if (isMuted || readline.line === "") return interruptProcess()
      readline.write(null, { ctrl: true, name: "e" })
      readline.write(null, { ctrl: true, name: "u" })
    })
    readline.on("close", () => lines.unsafeDone(Exit.void))

    const read = (prompt: string): Effect.Effect<Option.Option<string>> =>
      Effect.suspend(() => {
        if (isInteractive) {
          isMuted = false
          readline.setPrompt(prompt)
          readline.prompt(true)
        }
        return Effect.option(
          Effect.map(lines.take, ({ isShown, text }) => {
            if (isInteractive && !isShown) write(`${TerminalText.plain(text)}\n`)
            return text
          })
        )
      }).pipe(Effect.ensuring(Effect.sync(mute)))

    const message = (prompt: string, before: string): Effect.Effect<Option.Option<string>> =>
      Effect.flatMap(read(prompt), (line) => {
        if (Option.isNone(line)) return Effect.succeed(before === "" ? line : Option.some(before))
        const text = before + line.value
        return text.endsWith("\\") ? message(CONTINUED, `${text.slice(0, -1)}\n`) : Effect.succeed(Option.some(text))
      })

    return {
      message: (prompt) => message(prompt, ""),
      answer: (prompt) =>
        Effect.suspend(() => {
          if (!isInteractive) return read(prompt)
          // A key that was meant for something else must not decide.
          isMuted = true
          readline.write(null, { ctrl: true, name: "e" })
          readline.write(null, { ctrl: true, name: "u" })
          return Effect.zipRight(lines.clear, read(prompt))
        }),
      escaped: Effect.orElse(Effect.zipRight(escapes.clear, escapes.take), () => Effect.never)
    }
  })
