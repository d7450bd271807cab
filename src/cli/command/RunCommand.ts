/**
 * `lexigram run`: one question to an agent.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as AgentEvent from "../../domain/AgentEvent.js"
import { ApiError } from "../../http/api/ApiError.js"
import { CliError } from "../config/CliError.js"
import * as Connection from "../connection/Connection.js"
import * as Follow from "../follow/Follow.js"
import * as Decisions from "../prompt/Decisions.js"
import * as LineReader from "../prompt/LineReader.js"
import * as Report from "../terminal/Report.js"
import * as RunPrinter from "../terminal/RunPrinter.js"
import * as Screen from "../terminal/Screen.js"
import * as Flags from "./Flags.js"

const options = {
  agent: Flags.agent,
  session: Options.text("session").pipe(
    Options.withAlias("s"),
    Options.withDescription("The conversation that the question goes on with"),
    Options.optional
  ),
  stream: Options.boolean("stream").pipe(
    Options.withDescription("Write the answer while it comes; with --json the events of the run, one a line")
  ),
  yes: Options.boolean("yes").pipe(
    Options.withAlias("y"),
    Options.withDescription("Approve every call. Without it, and without a person to ask, calls are denied")
  ),
  ...Flags.shared
}

const question = Args.text({ name: "question" }).pipe(
  Args.withDescription("What to ask. Without it, it is read from the input"),
  Args.repeated
)

const nothingAsked = new CliError({
  reason: "usage",
  message: "There is no question",
  hint: 'Write it behind the command: lexigram run "What is new?", or give it as the input'
})

const unknownFlag = (flag: string): CliError =>
  new CliError({
    reason: "usage",
    message: `The command has no flag ${flag.slice(0, 80)}`,
    hint: "`lexigram run --help` lists them. A question that begins with a dash is given as the input"
  })

const questionOf = (words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const flag = words.find((word) => /^--?[a-z]/i.test(word))
    if (flag !== undefined) return yield* unknownFlag(flag)
    const { input, isInteractive } = yield* Screen.Screen
    const given = words.join(" ").trim()
    const text = given !== "" ? given : isInteractive ? "" : (yield* input).trim()
    return text === "" ? yield* nothingAsked : text
  })

/**
 * The name of the agent to ask: the one that is named, or the first one there is.
 *
 * @category accessors
 */
export const agentOf = ({ client, local }: Connection.Connection, named: Option.Option<string>) =>
  Effect.gen(function* () {
    if (Option.isSome(named) && !Connection.isModule(named.value)) return named.value
    if (Option.isSome(local)) return local.value.agents[0]?.name ?? ""
    const { agents } = yield* client.api.agents.listAgents()
    return agents[0]?.name ?? ""
  })

const run = ({ agent, json, session, stream, words, yes }: Input) =>
  Effect.gen(function* () {
    const input = yield* questionOf(words)
    const screen = yield* Screen.Screen
    const connection = yield* Connection.open(agent)
    const request = {
      agent: yield* agentOf(connection, agent),
      input,
      ...(Option.isSome(session) ? { sessionId: session.value } : {})
    }
    const totals = RunPrinter.noTotals()
    const printer = json ? undefined : yield* RunPrinter.make(screen, totals, stream || screen.isInteractive)
    const asks = screen.isInteractive && !yes && !json
    const decide = asks ? Decisions.ask(yield* LineReader.make(screen), screen) : Decisions.alone(yes)
    const onEvent = (event: AgentEvent.AgentEvent): void => {
      if (json && stream) screen.write(`${Report.jsonOf(event)}\n`)
    }
    const ended = yield* Follow.follow(connection, Follow.start(connection, request), { decide, onEvent, printer })
    if (json && !stream) {
      const found = yield* connection.client.api.runs.getRun({ path: { runId: ended.runId } })
      if (found.answer === undefined) {
        return yield* new ApiError({ reason: "failed", message: "The run has ended, and its answer is not kept" })
      }
      yield* Report.say(found.answer, () => "")
    }
    if (screen.showsProgress && !json) yield* Report.remark(RunPrinter.cost(totals))
    if (ended.error !== undefined) return yield* Effect.fail({ _tag: ended.error.tag, ...ended.error })
  })

/**
 * @category constants
 */
export const command = Command.make("run", { words: question, ...options }, Flags.handler(run)).pipe(
  Command.withDescription("Ask an agent one question")
)

type Input = Command.Command.ParseConfig<typeof options> & { readonly words: ReadonlyArray<string> }
