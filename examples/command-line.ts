/**
 * The command line as a part of a program: what `npx lexigram run` and `npx lexigram runs list` do in the folder of
 * `command-line/lexigram.config.ts`.
 */
import * as Effect from "effect/Effect"
import { Cli } from "effect-lexigram/cli"

const lexigram = (...args: ReadonlyArray<string>) =>
  Cli.run(["node", "lexigram", ...args, "--config", "examples/command-line/lexigram.config.ts"])

const program = Effect.gen(function* () {
  const code = yield* lexigram("run", "Where is order 1017?")
  yield* lexigram("runs", "list", "--limit", "1")
  return code
})

process.exitCode = await Effect.runPromise(program)
