/**
 * A conversation at the terminal: messages to an agent, and commands that begin with a slash.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionId } from "../../domain/Ids.js"
import { CheckpointId } from "../../session/turn/Session.js"
import type { Connection } from "../connection/Connection.js"
import * as Decisions from "../prompt/Decisions.js"
import type { LineReader } from "../prompt/LineReader.js"
import * as Report from "../terminal/Report.js"
import * as RunPrinter from "../terminal/RunPrinter.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Follow from "./Follow.js"
import * as SessionTree from "./SessionTree.js"

/**
 * @category models
 */
export interface Start {
  readonly agent: string
  readonly session: Option.Option<string>
  /** Whether calls are approved without asking. */
  readonly approves: boolean
}

const help: ReadonlyArray<readonly [string, string]> = [
  ["/agent [name]", "the agents, or talk with another one"],
  ["/checkpoint [name]", "keep the conversation as it is"],
  ["/cost", "what the conversation has used here"],
  ["/exit", "end, as Ctrl-D does"],
  ["/fork [name]", "go on in a branch; the conversation stays as it is"],
  ["/help", "these commands"],
  ["/new", "begin another conversation"],
  ["/restore [checkpoint]", "the checkpoints, or back to one of them"],
  ["/session [id]", "the id of the conversation, or go on with another one"],
  ["/tools", "what the agent can do"],
  ["/tree", "the branches of the conversation"]
]

const keys = [
  "A line that ends with \\ goes on in the next one. The arrows go through what you said.",
  "Escape interrupts a run. Ctrl-C leaves; a run that can go on goes on by `lexigram runs resume`."
]

type Next = "continue" | "end"

/** The session that the first message makes where the application has sessions. */
const UNMADE: Option.Option<string> = Option.none()

/**
 * @category models
 */
export class TerminalChat {
  private agent: string
  private session: Option.Option<string>
  private readonly totals = RunPrinter.noTotals()
  private readonly decide: Decisions.Decide
  /** Whether the application keeps conversations; not known before the first message. */
  private keeps = true

  constructor(
    private readonly connection: Connection,
    private readonly screen: Screen.Service,
    private readonly reader: LineReader,
    start: Start
  ) {
    this.agent = start.agent
    this.session = start.session
    this.decide =
      screen.isInteractive && !start.approves ? Decisions.ask(reader, screen) : Decisions.alone(start.approves)
  }

  /** Until the person, or the input, ends it. */
  readonly hold: Effect.Effect<void, unknown, Screen.Screen | Report.Format> = Effect.suspend(() =>
    Effect.flatMap(this.reader.message(TerminalText.paint(this.screen, "bold", "> ")), (line) => {
      if (Option.isNone(line)) return Effect.sync(() => this.screen.isInteractive && this.screen.write("\n"))
      return Effect.flatMap(this.turn(line.value.trim()), (next) => (next === "end" ? Effect.void : this.hold))
    })
  )

  /** A failure is said, and the conversation goes on. */
  private turn(text: string): Effect.Effect<Next, unknown, Screen.Screen | Report.Format> {
    if (text === "") return Effect.succeed("continue")
    const done: Effect.Effect<Next, unknown, Screen.Screen | Report.Format> = text.startsWith("/")
      ? this.command(text)
      : Effect.as(this.message(text), "continue")
    if (!this.screen.isInteractive) return done
    return Effect.catchAll(done, (error) => Effect.as(Report.failure(error), "continue"))
  }

  private readonly made: Effect.Effect<Option.Option<string>, unknown, Screen.Screen | Report.Format> = Effect.suspend(
    () => {
      if (Option.isSome(this.session) || !this.keeps) return Effect.succeed(this.session)
      return Effect.catchAll(
        Effect.map(this.connection.client.api.sessions.createSession({ payload: {} }), ({ id }) => {
          this.session = Option.some(id)
          return this.session
        }),
        (error) => {
          if ((error as { readonly reason?: unknown }).reason !== "unsupported") return Effect.fail(error)
          this.keeps = false
          return Effect.as(Report.remark("The application keeps no sessions: every message stands alone."), UNMADE)
        }
      )
    }
  )

  private message(input: string): Effect.Effect<void, unknown, Screen.Screen | Report.Format> {
    return Effect.scoped(
      Effect.gen(this, function* () {
        const { connection, reader, screen } = this
        const session = yield* this.made
        const printer = yield* RunPrinter.make(screen, this.totals, screen.isInteractive)
        let runId = ""
        const events = Follow.start(connection, {
          agent: this.agent,
          input,
          // The agent that is named answers, also after another one did.
          startWith: "called",
          ...(Option.isSome(session) ? { sessionId: session.value } : {})
        })
        const options: Follow.Options = {
          decide: this.decide,
          printer,
          onEvent: (event) => {
            runId = event.runId
          }
        }
        const escape = Effect.flatMap(reader.escaped, () =>
          runId === "" ? Effect.void : Effect.ignore(connection.client.api.runs.interruptRun({ path: { runId } }))
        )
        if (screen.isInteractive) yield* Effect.forkScoped(Effect.forever(escape))
        const ended = yield* Follow.follow(connection, events, options)
        printer.clear()
        if (ended.error !== undefined) return yield* Effect.fail({ _tag: ended.error.tag, ...ended.error })
      })
    )
  }

  private command(text: string): Effect.Effect<Next, unknown, Screen.Screen | Report.Format> {
    const [name = "", ...words] = text.split(/\s+/)
    const argument = words.join(" ")
    switch (name) {
      case "/exit":
      case "/quit":
        return Effect.succeed("end")
      case "/help":
        return this.say([...help.map(([usage, what]) => `${usage.padEnd(22)} ${what}`), ...keys])
      case "/cost":
        return this.say([RunPrinter.cost(this.totals)])
      case "/new":
        this.session = UNMADE
        return this.say(["The next message begins a conversation."])
      case "/session":
        if (argument !== "") this.session = Option.some(argument)
        return this.say([Option.getOrElse(this.session, () => "The next message begins a conversation.")])
      case "/agent":
        return this.chooseAgent(argument)
      case "/tools":
        return this.tools
      case "/tree":
      case "/fork":
      case "/checkpoint":
      case "/restore":
        return this.ofSession(name, argument)
      default:
        return this.say([`There is no ${TerminalText.line(name, 40)}. /help shows the commands.`])
    }
  }

  private say(lines: ReadonlyArray<string>): Effect.Effect<Next> {
    return Effect.sync(() => {
      for (const line of lines) this.screen.write(`${TerminalText.plain(line)}\n`)
      return "continue"
    })
  }

  private chooseAgent(name: string): Effect.Effect<Next, unknown> {
    return Effect.flatMap(this.connection.client.api.agents.listAgents(), ({ agents }) => {
      if (agents.some((agent) => agent.name === name)) {
        this.agent = name
        return this.say([`You talk with ${name} now.`])
      }
      const rows = agents.map(
        ({ description = "", name }) =>
          `${name === this.agent ? "*" : " "} ${name}  ${TerminalText.line(description, 100)}`
      )
      return this.say(name === "" ? rows : [`There is no agent ${TerminalText.line(name, 80)}.`, ...rows])
    })
  }

  private readonly tools: Effect.Effect<Next, unknown> = Effect.suspend(() =>
    Effect.flatMap(this.connection.client.api.agents.getAgent({ path: { name: this.agent } }), ({ tools }) =>
      this.say(
        tools.length === 0
          ? ["It has no tools."]
          : tools.map(({ description, name }) => `${name}  ${TerminalText.line(description, 120)}`)
      )
    )
  )

  private ofSession(command: string, argument: string): Effect.Effect<Next, unknown, Screen.Screen | Report.Format> {
    if (Option.isNone(this.session)) return this.say(["There is no conversation yet."])
    const { sessions } = this.connection.client.api
    const path = { sessionId: SessionId.make(this.session.value) }
    switch (command) {
      case "/tree":
        return Effect.flatMap(sessions.sessionTree({ path }), (tree) =>
          this.say(SessionTree.lines(tree, path.sessionId))
        )
      case "/fork": {
        const payload = argument === "" ? {} : { branchName: argument }
        return Effect.flatMap(sessions.forkSession({ path, payload }), ({ id }) => {
          this.session = Option.some(id)
          return this.say([`The conversation goes on as ${id}.`])
        })
      }
      case "/checkpoint": {
        const payload = argument === "" ? {} : { name: argument }
        return Effect.flatMap(sessions.createCheckpoint({ path, payload }), ({ id }) => this.say([`Kept as ${id}.`]))
      }
      default:
        return argument === "" ? this.checkpoints(path.sessionId) : this.restore(argument)
    }
  }

  private checkpoints(sessionId: SessionId): Effect.Effect<Next, unknown> {
    const request = { path: { sessionId }, urlParams: { limit: 50 } }
    return Effect.flatMap(this.connection.client.api.sessions.listCheckpoints(request), ({ checkpoints }) =>
      this.say(
        checkpoints.length === 0
          ? ["There are no checkpoints. /checkpoint makes one."]
          : checkpoints.map(({ id, name = "" }) => `${id}  ${TerminalText.line(name, 80)}`)
      )
    )
  }

  private restore(checkpoint: string): Effect.Effect<Next, unknown> {
    const request = { path: { checkpointId: CheckpointId.make(checkpoint) }, payload: {} }
    return Effect.flatMap(this.connection.client.api.sessions.restoreCheckpoint(request), ({ id }) => {
      this.session = Option.some(id)
      return this.say(["The conversation is as it was then."])
    })
  }
}
