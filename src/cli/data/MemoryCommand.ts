/**
 * `lexigram memory`: what is remembered of a user.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId, SessionId } from "../../domain/Ids.js"
import * as MemoryConsolidator from "../../memory/consolidation/MemoryConsolidator.js"
import type { Explanation } from "../../memory/entry/MemoryEntry.js"
import * as MemoryOwner from "../../memory/entry/MemoryOwner.js"
import type { Fact } from "../../memory/facts/Fact.js"
import * as FactStore from "../../memory/facts/FactStore.js"
import * as Flags from "../command/Flags.js"
import { CliError } from "../config/CliError.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Confirmation from "./Confirmation.js"
import * as IdArgument from "./IdArgument.js"
import * as Owner from "./Owner.js"
import * as Pages from "./Pages.js"

const HOW = "`DefaultMemory.layer()`, or a system that has memory, such as `Application.layerSqlite`"

const session = Options.text("session").pipe(
  Options.withSchema(SessionId),
  Options.withDescription("Only what this conversation has said"),
  Options.optional
)

const asked = Args.text({ name: "question" }).pipe(
  Args.withSchema(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096))),
  Args.withDescription("What to look for")
)

const round = (value: number): string => value.toFixed(3)

/** `0.713 = 0.4 × relevance 0.900 + 0.3 × recency 0.500 + …` */
const explained = ({ lexical, ranks, vector, weights, ...parts }: Explanation): string => {
  const sum = (["relevance", "recency", "importance"] as const).map(
    (name) => `${Number(weights[name].toFixed(3))} × ${name} ${round(parts[name])}`
  )
  const found = [
    ...(lexical === undefined ? [] : [`words ${round(lexical)}`]),
    ...(vector === undefined ? [] : [`vectors ${round(vector)}`]),
    ...Object.entries(ranks).map(([index, rank]) => `${TerminalText.line(index, 40)} #${rank}`)
  ]
  return `= ${sum.join(" + ")}${found.length === 0 ? "" : `   (${found.join(", ")})`}`
}

interface Item {
  readonly id: string
  readonly role: string
  readonly content: string
  readonly timestamp: number
}

interface Found {
  readonly results: ReadonlyArray<{
    readonly entry: Item
    readonly score: number
    readonly explanation?: Explanation | undefined
  }>
}

const results = ({ results }: Found, screen: Screen.Service): string =>
  results.length === 0
    ? "Nothing is remembered that fits."
    : results
        .map(({ entry, explanation, score }) => {
          const { content, id, role, timestamp } = entry
          const head = `${TerminalText.time(timestamp)}  ${role}  ${TerminalText.line(id, 256)}`
          const why =
            explanation === undefined ? [] : [TerminalText.paint(screen, "dim", `  ${explained(explanation)}`)]
          return [
            `${TerminalText.paint(screen, "bold", round(score))} ${TerminalText.paint(screen, "dim", head)}`,
            ...why,
            `  ${TerminalText.line(content, 400)}\n`
          ].join("\n")
        })
        .join("")

const search = Command.make(
  "search",
  {
    query: asked,
    limit: Options.integer("limit").pipe(
      Options.withSchema(Schema.Int.pipe(Schema.between(1, 100))),
      Options.withDescription("At most so many results, the best"),
      Options.withDefault(10)
    ),
    session,
    ...Flags.shared
  },
  Flags.handler(({ limit, query, session }) =>
    Effect.gen(function* () {
      yield* Owner.required
      const { client } = yield* Connection.open()
      const urlParams = {
        query,
        limit,
        explain: true,
        ...(Option.isSome(session) ? { sessionId: session.value } : {})
      }
      yield* Report.say(yield* client.api.memory.searchMemory({ urlParams }), results)
    })
  )
).pipe(Command.withDescription("What fits a question, the best first, and why"))

const rows = ({ entries }: { readonly entries: ReadonlyArray<Item> }, screen: Screen.Service): string =>
  entries.length === 0
    ? "Nothing is remembered."
    : TerminalText.table(
        screen,
        ["ENTRY", "TIME (UTC)", "ROLE", "TEXT"],
        entries.map(({ content, id, role, timestamp }) => [id, TerminalText.time(timestamp), role, content])
      )

const list = Command.make(
  "list",
  { limit: Pages.limit("At most so many entries, the newest", 20), session, ...Flags.shared },
  Flags.handler(({ limit, session }) =>
    Effect.gen(function* () {
      yield* Owner.required
      const { client } = yield* Connection.open()
      const { listMemory } = client.api.memory
      type Cursor = Parameters<typeof listMemory>[0]["urlParams"]["cursor"]
      const entries = yield* Pages.first(limit, (limit, cursor: Cursor) =>
        Effect.map(
          listMemory({
            urlParams: {
              limit,
              ...(cursor === undefined ? {} : { cursor }),
              ...(Option.isSome(session) ? { sessionId: session.value } : {})
            }
          }),
          ({ entries, next }) => ({ items: entries, next })
        )
      )
      yield* Report.say({ entries }, rows)
    })
  )
).pipe(Command.withDescription("What is remembered, the newest first"))

const forget = Command.make(
  "forget",
  {
    id: IdArgument.make("entry", EntryId, "an entry"),
    yes: Confirmation.yes,
    ...Flags.shared
  },
  Flags.handler(({ id, yes }) =>
    Effect.gen(function* () {
      yield* Owner.required
      const { client } = yield* Connection.open()
      yield* Confirmation.ask(`Forget ${id}, and the facts that were read from it alone?`, yes)
      const forgotten = yield* client.api.memory.forgetEntry({ path: { entryId: id } })
      if (forgotten.entries === 0) {
        return yield* new CliError({
          reason: "unknown",
          message: "Nothing is remembered under this id",
          hint: "`lexigram memory list` shows the ids"
        })
      }
      yield* Report.say(
        forgotten,
        ({ entries, facts }) => `Forgot ${TerminalText.count(entries, "text")} and ${TerminalText.count(facts, "fact")}`
      )
    })
  )
).pipe(Command.withDescription("Forget an entry, and the facts that were read from it alone"))

const factRows = ({ facts }: { readonly facts: ReadonlyArray<Fact> }, screen: Screen.Service): string =>
  facts.length === 0
    ? "No facts."
    : TerminalText.table(
        screen,
        ["SUBJECT", "PREDICATE", "SURE", "SINCE (UTC)", "UNTIL (UTC)", "OBJECT"],
        facts.map(({ confidence, object, predicate, subject, validFrom, validTo }) => [
          TerminalText.line(subject, 40),
          TerminalText.line(predicate, 30),
          confidence.toFixed(2),
          TerminalText.time(validFrom),
          validTo === undefined ? "" : TerminalText.time(validTo),
          object
        ])
      )

const facts = Command.make(
  "facts",
  {
    subject: Options.text("subject").pipe(
      Options.withDescription("Only facts about names that begin with this"),
      Options.optional
    ),
    closed: Options.boolean("closed").pipe(Options.withDescription("Facts that have ended, too")),
    limit: Pages.limit("At most so many facts, the surest", 50),
    ...Flags.shared
  },
  Flags.handler(({ closed, limit, subject }) =>
    Effect.gen(function* () {
      const ownerId = MemoryOwner.ofUser(yield* Owner.user)
      const store = yield* Connection.service(yield* Connection.local, FactStore.FactStore, "store of facts", HOW)
      const facts = yield* Pages.first(limit, (limit, after: Fact | undefined) =>
        Effect.map(
          store.query(ownerId, {
            limit,
            includeClosed: closed,
            ...(after === undefined ? {} : { after }),
            ...(Option.isSome(subject) ? { subject: subject.value } : {})
          }),
          (items) => ({ items, next: items.length < limit ? undefined : items.at(-1) })
        )
      )
      yield* Report.say({ facts }, factRows)
    })
  )
).pipe(Command.withDescription("The facts that are known, the surest first"))

const consolidation = ({
  dryRun,
  entitiesExtracted,
  entriesConsolidated,
  entriesProcessed,
  entriesPruned,
  summariesStored
}: MemoryConsolidator.ConsolidationResult): string => {
  const { count } = TerminalText
  const changes = [
    `${count(entriesPruned, "text")} ${dryRun ? "would be" : "were"} removed: they say what others say, or have faded`,
    `${count(entriesConsolidated, "text")} ${dryRun ? "would become" : "became"} ${summariesStored} of summary`,
    ...(dryRun ? [] : [`${count(entitiesExtracted, "fact")} stored`])
  ]
  return [`${count(entriesProcessed, "text")} examined`, ...changes, ...(dryRun ? ["Nothing was changed."] : [])].join(
    "\n"
  )
}

const consolidate = Command.make(
  "consolidate",
  {
    dryRun: Options.boolean("dry-run").pipe(Options.withDescription("Say what would be done, and change nothing")),
    ...Flags.shared
  },
  Flags.handler(({ dryRun }) =>
    Effect.gen(function* () {
      const ownerId = MemoryOwner.ofUser(yield* Owner.user)
      const consolidator = yield* Connection.service(
        yield* Connection.local,
        MemoryConsolidator.MemoryConsolidator,
        "consolidation of memory",
        HOW
      )
      yield* Report.say(yield* consolidator.consolidate({ ownerId, dryRun }), consolidation)
    })
  )
).pipe(Command.withDescription("Remove what is said twice or has faded, and summarize what is old"))

/**
 * @category constants
 */
export const command = Command.make("memory").pipe(
  Command.withDescription("What is remembered of a user"),
  Command.withSubcommands([search, list, facts, forget, consolidate])
)
