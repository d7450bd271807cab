/**
 * `lexigram chat`: a conversation with an agent.
 *
 * @private
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionId } from "../../domain/Ids.js"
import type { ApiError } from "../../http/api/ApiError.js"
import * as Connection from "../connection/Connection.js"
import * as TerminalChat from "../follow/TerminalChat.js"
import * as LineReader from "../prompt/LineReader.js"
import * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Flags from "./Flags.js"
import * as RunCommand from "./RunCommand.js"

const options = {
  agent: Flags.agent,
  session: Options.text("session").pipe(
    Options.withAlias("s"),
    Options.withDescription("Go on with this conversation. Default: a new one"),
    Options.optional
  ),
  yes: Options.boolean("yes").pipe(Options.withAlias("y"), Options.withDescription("Approve every call")),
  ...Flags.shared
}

/** What the person said before in the conversation, for the key that goes back. */
const saidIn = ({ client }: Connection.Connection, session: Option.Option<string>) =>
  Option.isNone(session)
    ? Effect.succeed([])
    : Effect.map(
        Effect.catchIf(
          client.api.sessions.sessionTurns({
            path: { sessionId: SessionId.make(session.value) },
            urlParams: { limit: 100 }
          }),
          // The first message makes it.
          (error) => (error as ApiError).reason === "unknown" || (error as ApiError).reason === "unsupported",
          () => Effect.succeed({ turns: [] })
        ),
        ({ turns }) => turns.flatMap((turn) => (turn.role === "user" ? [turn.content] : []))
      )

const chat = ({ agent, session, yes }: Command.Command.ParseConfig<typeof options>) =>
  Effect.gen(function* () {
    const screen = yield* Screen.Screen
    const connection = yield* Connection.open(agent)
    const name = yield* RunCommand.agentOf(connection, agent)
    const history = screen.isInteractive ? yield* saidIn(connection, session) : []
    const reader = yield* LineReader.make(screen, history)
    if (screen.isInteractive) {
      const dim = (text: string): string => TerminalText.paint(screen, "dim", text)
      screen.write(
        `${TerminalText.paint(screen, "bold", TerminalText.line(name, 80))} ${dim("/help shows the commands, Ctrl-D ends")}\n`
      )
      const last = history.at(-1)
      if (last !== undefined) screen.write(`${dim(`The last question was: ${TerminalText.line(last, 100)}`)}\n`)
    }
    const held = new TerminalChat.TerminalChat(connection, screen, reader, {
      agent: name,
      session,
      approves: yes
    })
    yield* held.hold
  })

/**
 * @category constants
 */
export const command = Command.make("chat", options, Flags.handler(chat)).pipe(
  Command.withDescription("Talk with an agent")
)
