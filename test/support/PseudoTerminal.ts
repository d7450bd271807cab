/**
 * Programs at a terminal: a pseudo-terminal of the system, whose screen is that of xterm.js.
 */
import * as Pty from "@lydell/node-pty"
import Headless from "@xterm/headless"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

export interface PseudoTerminal {
  readonly type: (text: string) => Effect.Effect<void>
  /** The lines of the screen with those that scrolled away: as they were written, before they were wrapped. */
  readonly lines: Effect.Effect<ReadonlyArray<string>>
  /** Waits until a line of the screen, or of those that scrolled away, fits. Dies with the screen after 40 seconds. */
  readonly until: (pattern: RegExp | string) => Effect.Effect<string>
  readonly resize: (columns: number, rows: number) => Effect.Effect<void>
  /** The exit code, with the signal. */
  readonly ended: Effect.Effect<number>
  readonly hasColors: Effect.Effect<boolean>
}

export interface Options {
  readonly columns?: number
  readonly rows?: number
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export const start = (
  args: ReadonlyArray<string>,
  { columns = 100, cwd, env = {}, rows = 30 }: Options
): Effect.Effect<PseudoTerminal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const screen = new Headless.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true })
    const ended = yield* Deferred.make<number>()
    const watchers = new Set<() => void>()
    let colored = false
    const pty = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const { FORCE_COLOR: _, NO_COLOR: __, ...inherited } = process.env
        const pty = Pty.spawn(process.execPath, [...args], {
          cols: columns,
          rows,
          cwd,
          env: { ...inherited, TERM: "xterm-256color", ...env }
        })
        pty.onData((data) => {
          // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are control characters
          if (/\u001b\[\d+m/.test(data)) colored = true
          screen.write(data, () => {
            for (const watcher of watchers) watcher()
          })
        })
        pty.onExit(({ exitCode, signal }) => {
          Deferred.unsafeDone(ended, Exit.succeed(signal === undefined || signal === 0 ? exitCode : 128 + signal))
        })
        return pty
      }),
      (pty) =>
        Effect.zipRight(
          Effect.sync(() => {
            try {
              pty.kill("SIGKILL")
            } catch {
              // It has ended.
            }
          }),
          Deferred.await(ended)
        )
    )
    const read = (): ReadonlyArray<string> => {
      const { active } = screen.buffer
      const lines: Array<string> = []
      for (let i = 0; i < active.length; i++) {
        const line = active.getLine(i)
        const text = line?.translateToString(true) ?? ""
        if (line?.isWrapped === true) lines.push(`${lines.pop() ?? ""}${text}`)
        else lines.push(text)
      }
      return lines
    }
    const until = (pattern: RegExp | string): Effect.Effect<string> =>
      Effect.async<string>((resume) => {
        const look = (): void => {
          const text = read().join("\n")
          if (typeof pattern === "string" ? !text.includes(pattern) : !pattern.test(text)) return
          watchers.delete(look)
          resume(Effect.succeed(text))
        }
        watchers.add(look)
        look()
        return Effect.sync(() => void watchers.delete(look))
      }).pipe(
        Effect.timeoutFail({
          duration: "40 seconds",
          onTimeout: () => new Error(`The screen does not show ${String(pattern)}:\n${read().join("\n").trim()}`)
        }),
        Effect.orDie
      )
    return {
      type: (text) => Effect.sync(() => pty.write(text)),
      lines: Effect.sync(read),
      until,
      resize: (columns, rows) =>
        Effect.sync(() => {
          pty.resize(columns, rows)
          screen.resize(columns, rows)
        }),
      ended: Deferred.await(ended),
      hasColors: Effect.sync(() => colored)
    }
  })
