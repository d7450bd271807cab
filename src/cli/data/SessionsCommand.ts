/**
 * `lexigram sessions`: the conversations of a user.
 *
 * @private
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { SessionId } from "../../domain/Ids.js"
import type * as SessionModels from "../../http/api/SessionModels.js"
import { CheckpointId, SessionStatus } from "../../session/turn/Session.js"
import * as Flags from "../command/Flags.js"
import * as Connection from "../connection/Connection.js"
import * as SessionTree from "../follow/SessionTree.js"
import * as Report from "../terminal/Report.js"
import * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Confirmation from "./Confirmation.js"
import * as IdArgument from "./IdArgument.js"
import * as Pages from "./Pages.js"

type Client = Connection.Connection["client"]

const sessionId = IdArgument.make("session", SessionId, "a session")

const checkpoint = (name: string) => IdArgument.make(name, CheckpointId, "a checkpoint")

const sessionsOf = ({ api }: Client, status: Option.Option<typeof SessionStatus.Type>) => {
  type Cursor = Parameters<typeof api.sessions.listSessions>[0]["urlParams"]["cursor"]
  return (limit: number, cursor: Cursor) =>
    Effect.map(
      api.sessions.listSessions({
        urlParams: {
          limit,
          ...(cursor === undefined ? {} : { cursor }),
          ...(Option.isSome(status) ? { status: status.value } : {})
        }
      }),
      ({ next, sessions }) => ({ items: sessions, next })
    )
}

const turnsOf = ({ api }: Client, id: SessionId) => {
  type Cursor = Parameters<typeof api.sessions.sessionTurns>[0]["urlParams"]["before"]
  return (limit: number, before: Cursor) =>
    api.sessions.sessionTurns({
      path: { sessionId: id },
      urlParams: { limit, ...(before === undefined ? {} : { before }) }
    })
}

const checkpointsOf =
  ({ api }: Client, id: SessionId) =>
  (limit: number, before: number | undefined) =>
    Effect.map(
      api.sessions.listCheckpoints({
        path: { sessionId: id },
        urlParams: { limit, ...(before === undefined ? {} : { before }) }
      }),
      ({ checkpoints }) => ({
        items: checkpoints,
        next: checkpoints.length < limit ? undefined : checkpoints.at(-1)?.revision
      })
    )

const rows = ({ sessions }: { readonly sessions: ReadonlyArray<SessionModels.SessionInfo> }, screen: Screen.Service) =>
  sessions.length === 0
    ? "No sessions."
    : TerminalText.table(
        screen,
        ["SESSION", "STATUS", "CHANGED (UTC)", "TURNS", "BRANCH"],
        sessions.map(({ branchName = "", depth, id, status, updatedAt }) => [
          id,
          status,
          TerminalText.time(updatedAt),
          String(depth),
          branchName
        ])
      )

const list = Command.make(
  "list",
  {
    status: Options.choice("status", SessionStatus.literals).pipe(
      Options.withDescription("Only sessions in this status"),
      Options.optional
    ),
    limit: Pages.limit("At most so many, those that changed last", 20),
    ...Flags.shared
  },
  Flags.handler(({ limit, status }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      yield* Report.say({ sessions: yield* Pages.first(limit, sessionsOf(client, status)) }, rows)
    })
  )
).pipe(Command.withDescription("The sessions, those that changed last first"))

const turnText =
  (screen: Screen.Service) =>
  ({ agent, content, role, timestamp, toolCalls, unanswered }: SessionModels.Turn): string => {
    const calls = toolCalls.map(({ isFailure, name }) => (isFailure === true ? `${name} (failed)` : name)).join(", ")
    const notes = [
      TerminalText.time(timestamp),
      ...(calls === "" ? [] : [`tools: ${TerminalText.line(calls, 200)}`]),
      ...(unanswered === undefined ? [] : [`not answered: ${unanswered}`])
    ]
    const name = TerminalText.paint(screen, "bold", TerminalText.line(agent ?? role, 80))
    return `${name} ${TerminalText.paint(screen, "dim", notes.join("  "))}\n${TerminalText.plain(content)}\n`
  }

interface Shown {
  readonly session: SessionModels.SessionInfo
  readonly turns: ReadonlyArray<SessionModels.Turn>
  readonly checkpoints: ReadonlyArray<SessionModels.Checkpoint>
}

const details = ({ checkpoints, session, turns }: Shown, screen: Screen.Service): string => {
  const { depth, parentSessionId = "", totalTokens } = session
  const variables = Object.entries(session.variables).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  const head = TerminalText.fields(screen, [
    ["session", session.id],
    ["status", session.status],
    ["started", `${TerminalText.time(session.createdAt)} UTC`],
    ["turns", `${depth}${turns.length < depth ? `, the last ${turns.length} below` : ""}`],
    ["tokens", String(totalTokens)],
    ["branch", session.branchName ?? ""],
    ["from", parentSessionId],
    ["values", variables.join(" ")],
    ...checkpoints.map(({ id, kind, name = kind }) => ["kept", `${id} ${name}`] as const)
  ])
  return [head, ...turns.map(turnText(screen))].join("\n")
}

const show = Command.make(
  "show",
  { id: sessionId, limit: Pages.limit("At most so many turns, the newest", 50), ...Flags.shared },
  Flags.handler(({ id, limit }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      const read = turnsOf(client, id)
      const newest = yield* Pages.first(limit, (most, before: Parameters<typeof read>[1]) =>
        // A page has its oldest turn first.
        Effect.map(read(most, before), ({ next, turns }) => ({ items: turns.toReversed(), next }))
      )
      const session = yield* client.api.sessions.getSession({ path: { sessionId: id } })
      const checkpoints = yield* Pages.first(20, checkpointsOf(client, id))
      yield* Report.say({ session, turns: newest.toReversed(), checkpoints }, details)
    })
  )
).pipe(Command.withDescription("One session with its newest turns and checkpoints"))

const tree = Command.make(
  "tree",
  { id: sessionId, ...Flags.shared },
  Flags.handler(({ id }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      const found = yield* client.api.sessions.sessionTree({ path: { sessionId: id } })
      yield* Report.say(found, (tree) => SessionTree.lines(tree, id).join("\n"))
    })
  )
).pipe(Command.withDescription("The branches of the conversation that a session belongs to"))

const changes = (name: string, change: SessionModels.Diff["variables"]): ReadonlyArray<string> =>
  change === undefined
    ? []
    : [
        ...change.removed.map((key) => `- ${name} ${TerminalText.line(key, 100)}`),
        ...change.set.map(
          ({ key, value }) => `+ ${name} ${TerminalText.line(key, 100)} = ${TerminalText.line(value, 300)}`
        )
      ]

const differences = ({ metadata, status, turns, variables }: SessionModels.Diff): string => {
  const lines = [
    ...(status === undefined ? [] : [`status ${status.from} → ${status.to}`]),
    ...(turns?.removed ?? []).map(({ turnId }) => `- turn ${TerminalText.line(turnId, 100)}`),
    ...(turns?.added ?? []).map(
      ({ agent, content, role }) => `+ ${TerminalText.line(agent ?? role, 80)}: ${TerminalText.line(content, 300)}`
    ),
    ...changes("variable", variables),
    ...changes("metadata", metadata)
  ]
  return lines.length === 0 ? "No differences." : lines.join("\n")
}

const diff = Command.make(
  "diff",
  { from: checkpoint("from"), to: checkpoint("to"), ...Flags.shared },
  Flags.handler(({ from, to }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      yield* Report.say(yield* client.api.sessions.diffCheckpoints({ path: { checkpointId: from, to } }), differences)
    })
  )
).pipe(Command.withDescription("What the second of two checkpoints of a conversation has otherwise than the first"))

const PAGE = 500

/** The pages of the turns, the oldest first: where each one begins is found on a way from the newest to the first. */
const allTurns = (client: Client, id: SessionId) => {
  const read = turnsOf(client, id)
  type Cursor = Parameters<typeof read>[1]
  const starts = Stream.runCollect(
    Stream.paginateEffect(undefined as Cursor, (before) =>
      Effect.map(read(PAGE, before), ({ next }) => [before, Option.map(Option.fromNullable(next), (n): Cursor => n)])
    )
  )
  return Stream.unwrap(
    Effect.map(starts, (found) =>
      Stream.fromIterable([...found].toReversed()).pipe(
        Stream.mapEffect((before) => read(PAGE, before)),
        Stream.flatMap(({ turns }) => Stream.fromIterable(turns))
      )
    )
  )
}

const exported = Command.make(
  "export",
  { id: sessionId, ...Flags.shared },
  Flags.handler(({ id }) =>
    Effect.gen(function* () {
      const screen = yield* Screen.Screen
      const { client } = yield* Connection.open()
      const session = yield* client.api.sessions.getSession({ path: { sessionId: id } })
      const lines: Stream.Stream<unknown, unknown> = Stream.make({ session }).pipe(
        Stream.concat(Stream.map(allTurns(client, id), (turn) => ({ turn }))),
        Stream.concat(Stream.map(Pages.stream(checkpointsOf(client, id)), (checkpoint) => ({ checkpoint })))
      )
      yield* Stream.runForEachChunk(lines, (chunk) => {
        for (const line of chunk) screen.write(`${Report.jsonOf(line)}\n`)
        return Screen.drained
      })
    })
  )
).pipe(Command.withDescription("A session as lines of JSON: itself, its turns from the first on, its checkpoints"))

const erase = Command.make(
  "erase",
  { id: sessionId, yes: Confirmation.yes, ...Flags.shared },
  Flags.handler(({ id, yes }) =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      const path = { sessionId: id }
      // What is not there cannot be erased, and what is another user's looks as if it were not there.
      const { depth } = yield* client.api.sessions.getSession({ path })
      yield* Confirmation.ask(`Erase the session ${id} with ${TerminalText.count(depth, "turn")}?`, yes)
      yield* client.api.sessions.deleteSession({ path })
      yield* Report.say({ erased: id }, () => `Erased ${TerminalText.line(id, 256)}`)
    })
  )
).pipe(Command.withDescription("Erase a session, its checkpoints, and the turns that no branch shares"))

/**
 * @category constants
 */
export const command = Command.make("sessions").pipe(
  Command.withDescription("Conversations: turns, branches, checkpoints"),
  Command.withSubcommands([list, show, tree, diff, exported, erase])
)
