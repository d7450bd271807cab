/**
 * `lexigram runs`: the runs that were and that go on.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RunRecord from "../../agent/record/RunRecord.js"
import * as Usage from "../../domain/Usage.js"
import type * as ApiModels from "../../http/api/ApiModels.js"
import * as Trace from "../../trace/Trace.js"
import * as Connection from "../connection/Connection.js"
import * as Follow from "../follow/Follow.js"
import * as Decisions from "../prompt/Decisions.js"
import * as LineReader from "../prompt/LineReader.js"
import * as Report from "../terminal/Report.js"
import * as RunPrinter from "../terminal/RunPrinter.js"
import * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Flags from "./Flags.js"

const runId = Args.text({ name: "run" }).pipe(Args.withDescription("The id of a run"))

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const rows = ({ runs }: ApiModels.RunPage, screen: Screen.Service): string =>
  runs.length === 0
    ? "No runs."
    : TerminalText.table(
        screen,
        ["RUN", "STATE", "STARTED (UTC)", "AGENT", "SESSION"],
        runs.map(({ agent, createdAt, runId, sessionId = "", state }) => [
          runId,
          state,
          TerminalText.time(createdAt),
          agent,
          sessionId
        ])
      )

const list = Command.make(
  "list",
  {
    agent: optional("agent", "Only runs of this agent"),
    session: optional("session", "Only runs of this conversation"),
    state: Options.choice("state", RunRecord.RunState.literals).pipe(
      Options.withDescription("Only runs in this state"),
      Options.optional
    ),
    limit: Options.integer("limit").pipe(
      Options.withDescription("At most so many, the newest"),
      Options.withDefault(20)
    ),
    ...Flags.shared
  },
  Flags.handler(({ agent, limit, session, state }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      const urlParams = {
        limit,
        ...(Option.isSome(agent) ? { agent: agent.value } : {}),
        ...(Option.isSome(session) ? { sessionId: session.value } : {}),
        ...(Option.isSome(state) ? { state: state.value } : {})
      }
      yield* Report.say(yield* client.api.runs.listRuns({ urlParams }), rows)
    })
  )
).pipe(Command.withDescription("The runs, the newest first"))

const details = ({ answer, run }: ApiModels.RunWithAnswer, screen: Screen.Service): string => {
  const fields: ReadonlyArray<readonly [string, string | undefined]> = [
    ["run", run.runId],
    ["agent", run.agent],
    ["state", run.state],
    ["session", run.sessionId],
    ["started", `${TerminalText.time(run.createdAt)} UTC`],
    ["took", run.endedAt === undefined ? undefined : TerminalText.duration(run.endedAt - run.createdAt)],
    [
      "labels",
      Object.entries(run.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(" ") || undefined
    ],
    [
      "tools",
      answer?.toolCalls.map(({ isFailure, name }) => (isFailure === true ? `${name} (failed)` : name)).join(", ") ||
        undefined
    ],
    ["tokens", answer === undefined ? undefined : String(Usage.total(answer.usage))],
    ["error", run.error === undefined ? undefined : `${run.error.tag}: ${run.error.message}`],
    ["hint", run.error?.hint]
  ]
  const lines = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${TerminalText.paint(screen, "dim", name.padEnd(8))} ${TerminalText.line(value, 400)}`]
  )
  const message = answer === undefined || answer.message === "" ? [] : ["", TerminalText.plain(answer.message)]
  return [...lines, ...message].join("\n")
}

const show = Command.make(
  "show",
  { runId, ...Flags.shared },
  Flags.handler(({ runId }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      yield* Report.say(yield* client.api.runs.getRun({ path: { runId } }), details)
    })
  )
).pipe(Command.withDescription("One run, with its answer"))

const format = Options.choice("format", ["text", "mermaid", "html"]).pipe(
  Options.withDescription("How to write it"),
  Options.withDefault("text" as const)
)

const content = Options.boolean("content").pipe(
  Options.withDescription("Show what people, models and tools wrote, without what looks like a key")
)

const trace = Command.make(
  "trace",
  { runId, format, content, ...Flags.shared },
  Flags.handler(({ content, format, runId }) =>
    Effect.gen(function* () {
      const screen = yield* Screen.Screen
      const { client } = yield* Connection.open()
      // One that goes on is shown as far as it is.
      const { run } = yield* client.api.runs.getRun({ path: { runId } })
      const events = client.events(runId)
      const read = RunRecord.isEnded(run.state) ? events : Stream.interruptAfter(events, "1 second")
      const made = Trace.fromEvents(yield* Stream.runCollect(read))
      yield* Report.say(made, () => {
        if (format === "html") return Trace.toHtml(made, { content })
        if (format === "mermaid") return Trace.toMermaid(made)
        return Trace.toText(made, { content, width: Math.max(40, Math.min(160, screen.columns())) })
      })
    })
  )
).pipe(Command.withDescription("What a run did: as text, as a diagram, as a page"))

const interrupt = Command.make(
  "interrupt",
  { runId, ...Flags.shared },
  Flags.handler(({ runId }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      yield* Report.say(yield* client.api.runs.interruptRun({ path: { runId } }), (run) => `${run.runId}: ${run.state}`)
    })
  )
).pipe(Command.withDescription("Interrupt a run"))

const resume = Command.make(
  "resume",
  { runId, yes: Options.boolean("yes").pipe(Options.withDescription("Approve every call")), ...Flags.shared },
  Flags.handler(({ json, runId, yes }) =>
    Effect.gen(function* () {
      const screen = yield* Screen.Screen
      const connection = yield* Connection.open()
      const { client } = connection
      const { run } = yield* client.api.runs.getRun({ path: { runId } })
      if (!RunRecord.isEnded(run.state)) yield* client.api.runs.resumeRun({ path: { runId } })
      const printer = json ? undefined : yield* RunPrinter.make(screen, RunPrinter.noTotals(), screen.isInteractive)
      const asks = screen.isInteractive && !yes && !json
      const decide = asks ? Decisions.ask(yield* LineReader.make(screen), screen) : Decisions.alone(yes)
      const ended = yield* Follow.follow(connection, client.events(runId), {
        decide,
        onEvent: () => undefined,
        printer
      })
      if (json) yield* Report.say(yield* client.api.runs.getRun({ path: { runId } }), details)
      if (ended.error !== undefined) return yield* Effect.fail({ _tag: ended.error.tag, ...ended.error })
    })
  )
).pipe(Command.withDescription("Go on with a run whose process ended, and follow it"))

/**
 * @category constants
 */
export const command = Command.make("runs").pipe(
  Command.withDescription("The runs of agents"),
  Command.withSubcommands([list, show, trace, interrupt, resume])
)
