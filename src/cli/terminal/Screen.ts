/**
 * Where commands write: answers to the output, and what goes on meanwhile to the error output. And their input.
 *
 * @private
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import { CliError } from "../config/CliError.js"

/**
 * @category models
 */
export interface Service {
  /** To the output, as it is. */
  readonly write: (text: string) => void
  /** To the error output, as it is. */
  readonly note: (text: string) => void
  /** The whole input, as text. */
  readonly input: Effect.Effect<string, CliError>
  /** Whether a person reads the output and can be asked. */
  readonly isInteractive: boolean
  /** Whether a person sees the error output, so that progress may be shown. */
  readonly showsProgress: boolean
  readonly hasColors: boolean
  /** Of a line, now. */
  readonly columns: () => number
}

/**
 * @category tags
 */
export class Screen extends Context.Tag("effect-lexigram/cli/Screen")<Screen, Service>() {}

const unreadable = (cause: unknown): CliError =>
  new CliError({ reason: "file", message: "The input cannot be read", cause })

const flag = (name: string) => Effect.orDie(Config.string(name).pipe(Config.withDefault("")))

/** A reader that leaves early (`| head`) ends the command, and is no failure. */
const endsWithReader = (stream: NodeJS.WriteStream) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const onError = ({ code }: NodeJS.ErrnoException): void => {
        if (code === "EPIPE") process.exit(0)
      }
      stream.on("error", onError)
      return onError
    }),
    (onError) => Effect.sync(() => void stream.off("error", onError))
  )

/**
 * That of the process. Colors are for terminals: `NO_COLOR` turns them off, `FORCE_COLOR` on.
 *
 * @category layers
 */
export const layer: Layer.Layer<Screen> = Layer.scoped(
  Screen,
  Effect.gen(function* () {
    const { stderr, stdin, stdout } = process
    const [noColor, forced, term] = yield* Effect.all([flag("NO_COLOR"), flag("FORCE_COLOR"), flag("TERM")])
    yield* Effect.forEach([stdout, stderr], endsWithReader)
    return {
      write: (text) => void stdout.write(text),
      note: (text) => void stderr.write(text),
      input: Stream.fromAsyncIterable(stdin, unreadable).pipe(
        Stream.mapEffect((bytes) => (Predicate.isUint8Array(bytes) ? Effect.succeed(bytes) : unreadable(bytes))),
        Stream.decodeText(),
        Stream.mkString
      ),
      isInteractive: stdin.isTTY === true && stdout.isTTY === true,
      showsProgress: stderr.isTTY === true && term !== "dumb",
      hasColors: noColor === "" && ((forced !== "" && forced !== "0") || (stdout.isTTY === true && term !== "dumb")),
      columns: () => Math.max(20, stdout.columns ?? 80)
    }
  })
)

/**
 * Waits until the output of the process has taken what was written, so that much output needs little memory.
 *
 * @category accessors
 */
export const drained: Effect.Effect<void> = Effect.async((resume) => {
  process.stdout.write("", () => resume(Effect.void))
})
