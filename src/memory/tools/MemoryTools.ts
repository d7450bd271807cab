/**
 * Tools by which a model keeps notes about its user: `remember`, `search_memory` and `forget`.
 *
 * The owner is the user of the run (`Requester`) and never an argument. A run without a user is refused. With
 * `namespaces`, notes of teams, projects and organizations are found too, and the model may name one that it may write.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import * as MemoryEntry from "../entry/MemoryEntry.js"
import type { RetrievalFailure } from "../entry/MemoryError.js"
import * as Scoring from "../entry/Scoring.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as SharedRanking from "../search/SharedRanking.js"
import * as MemoryBlock from "./MemoryBlock.js"
import * as MemoryNamespaces from "./MemoryNamespaces.js"
import { MemoryToolError } from "./MemoryToolError.js"
import * as Notes from "./Notes.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out R = never> {
  /** Characters of a note at most. Default 2,000, at least 1. */
  readonly maxCharacters?: number | undefined
  /** Notes of one namespace at most; then `remember` asks the model to forget some. Default 1,000, at least 1. */
  readonly maxNotes?: number | undefined
  /** Notes that one search shows at most. Default 10, at least 1. */
  readonly maxFound?: number | undefined
  /** Whose notes are read and written besides those of the user. Default: no others. */
  readonly namespaces?: MemoryNamespaces.MemoryNamespaces<R> | undefined
}

/** Ids that one call of `forget` takes. */
const MAX_IDS = 20
/** Characters of a query. */
const MAX_QUERY = 1_000

const isEntryId = Schema.is(EntryId)

const refuse = (reason: MemoryToolError["reason"], message: string): MemoryToolError =>
  new MemoryToolError({ reason, message })

const Shown = Schema.Struct({
  id: Schema.String,
  text: Schema.String,
  stored: Schema.String,
  namespace: Schema.optional(Schema.String)
})

const bounded = (text: string, most: number, what: string): Effect.Effect<string, MemoryToolError> =>
  text.trim() === ""
    ? refuse("Empty", `The ${what} is empty. Give a text`)
    : text.length > most
      ? refuse("TooLong", `The ${what} has ${text.length} characters; ${most} are allowed. Give a shorter text`)
      : Effect.succeed(Notes.textOf(text))

type Handled<A, R> = Effect.Effect<A, MemoryToolError | RetrievalFailure, MemoryStore.MemoryStore | R>

/**
 * The type of a memory tool without its parameters. Among the tools of an agent, `R` would otherwise be inferred from
 * those of any tool.
 */
type MemoryTool<P, A, R> = Tool.Tool<
  P,
  A,
  never,
  MemoryStore.MemoryStore | NoInfer<R>,
  MemoryToolError | RetrievalFailure
>

/** The name that results carry: none where only the user's own notes are found. */
const labelIn = (options: Options<any>, { label }: MemoryNamespaces.Place): string | undefined =>
  options.namespaces === undefined ? undefined : label

/** Parameters with the one that names a namespace. Their type has it always. */
const withNamespace = <P extends Schema.Struct.Fields>(parameters: P, options: Options<any>) => {
  const namespace = MemoryNamespaces.parameter(options.namespaces)
  return (namespace === undefined ? parameters : { ...parameters, namespace }) as P & {
    readonly namespace: Schema.optional<typeof Schema.String>
  }
}

interface Stored {
  readonly id: string
  readonly stored: string
  readonly namespace?: string | undefined
}

/**
 * Stores a note. The same text is one note, which a repetition renews.
 *
 * @since 0.1.0
 * @category constructors
 */
export const remember = <R = never>(
  options: Options<R> = {}
): MemoryTool<
  {
    readonly text: string
    readonly importance?: "low" | "normal" | "high" | undefined
    readonly namespace?: string | undefined
  },
  unknown,
  R
> => {
  const most = Math.min(Count.count(options.maxCharacters, 2_000, 1), MemoryEntry.maxContent)
  const maxNotes = Count.count(options.maxNotes, 1_000, 1)
  return Tool.make("remember", {
    description:
      "Keeps a fact or preference of the user for later conversations, as one short statement that is clear by itself. Never keep passwords or keys.",
    parameters: withNamespace(
      {
        text: Schema.String.annotations({ description: `The statement, ${most} characters at most` }),
        importance: Schema.optional(
          Schema.Literal("low", "normal", "high").annotations({ description: "Default normal" })
        )
      },
      options
    ),
    idempotent: true,
    handler: ({ importance = "normal", namespace, text }): Handled<Stored, R> =>
      Effect.gen(function* () {
        const place = yield* MemoryNamespaces.target(yield* MemoryNamespaces.access(options.namespaces), namespace)
        const { ownerId } = place
        const content = yield* bounded(text, most, "text")
        if (Notes.hasSecret(content)) {
          return yield* refuse("Secret", "The text contains a password or key. Leave it out")
        }
        const store = yield* MemoryStore.MemoryStore
        const id = Notes.idOf(content)
        const [known] = yield* store.getMany(ownerId, [id])
        if (known === undefined && (yield* store.count(ownerId, Notes.selection)) >= maxNotes) {
          return yield* refuse("Full", `There are ${maxNotes} notes already. Use forget for some that are not needed`)
        }
        const entry = MemoryEntry.make({
          id,
          ownerId,
          content,
          role: "assistant",
          timestamp: yield* Clock.currentTimeMillis,
          importance: Notes.importance[importance],
          metadata: { type: Notes.TYPE }
        })
        yield* store.store(entry)
        const label = labelIn(options, place)
        return { id, stored: content, ...(label === undefined ? {} : { namespace: label }) }
      })
  })
}

type FoundNotes<R> = Handled<ReadonlyArray<typeof Shown.Type>, R>

/** Recalls are counted where other recalls are: they renew a lifetime. A failure to count does not fail the search. */
const counted = (store: MemoryStore.Service, notes: ReadonlyArray<MemoryEntry.MemoryEntry>): Effect.Effect<void> =>
  Effect.forEach(
    EntryGroups.groupBy(notes, ({ ownerId }) => ownerId),
    ([ownerId, own]) =>
      Effect.catchAll(
        store.recordAccess(
          ownerId,
          own.map(({ id }) => id)
        ),
        (error) =>
          Effect.annotateLogs(Effect.logWarning("Recalled notes could not be counted"), {
            module: "MemoryTools",
            error: error._tag
          })
      ),
    { discard: true }
  )

/** The notes of all namespaces together; those of the user come first among equals. */
const found = <R>(options: Options<R>, find: typeof newest, most: number): FoundNotes<R> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const { reads } = yield* MemoryNamespaces.access(options.namespaces)
    const labels = new Map(reads.map((place) => [place.ownerId, labelIn(options, place)]))
    const notes = (yield* find(
      store,
      reads.map(({ ownerId }) => ownerId),
      most
    )).slice(0, most)
    if (find !== newest) yield* counted(store, notes)
    return notes.map((entry) => Notes.shown(entry, labels.get(entry.ownerId)))
  })

type Entries = Effect.Effect<ReadonlyArray<MemoryEntry.MemoryEntry>, RetrievalFailure>

const newest = (store: MemoryStore.Service, owners: ReadonlyArray<string>, most: number): Entries =>
  Effect.map(
    Effect.forEach(owners, (ownerId) => store.getRecent({ ownerId, n: most, selection: Notes.selection })),
    (lists) => lists.flat().sort((a, b) => b.timestamp - a.timestamp)
  )

const matching =
  (query: string): typeof newest =>
  (store, owners, most) =>
    Effect.map(
      Effect.forEach(owners, (ownerId) =>
        store.retrieve({ ownerId, query, topK: most, explain: owners.length > 1, ...Notes.selection })
      ),
      (lists) =>
        SharedRanking.results(query, lists)
          .filter(Scoring.isRelevant)
          .map(({ entry }) => entry)
    )

/**
 * Finds notes by words, or by meaning where the store has vectors; without a query it shows the newest ones. Notes that
 * a query finds count as recalled (`MemoryStore.recordAccess`).
 *
 * @since 0.1.0
 * @category constructors
 */
export const search = <R = never>(
  options: Options<R> = {}
): MemoryTool<{ readonly query?: string | undefined }, unknown, R> => {
  const maxFound = Count.count(options.maxFound, 10, 1)
  return Tool.make("search_memory", {
    description: "Finds what was remembered of the user. Each note has an id, by which forget removes it.",
    parameters: {
      query: Schema.optional(
        Schema.String.annotations({ description: "What to look for, in a few words. Without it: the newest notes" })
      )
    },
    readOnly: true,
    success: Schema.Array(Shown),
    handler: ({ query = "" }): FoundNotes<R> =>
      query.trim() === ""
        ? found(options, newest, maxFound)
        : Effect.flatMap(bounded(query, MAX_QUERY, "query"), (query) => found(options, matching(query), maxFound))
  })
}

const Forgotten = Schema.Struct({
  removed: Schema.Array(Shown),
  not_found: Schema.Array(Schema.String)
})

/** An id as it is reported back, of bounded length. */
const named = (id: string): string => (id.length > 64 ? `${id.slice(0, 64)}…` : id)

/**
 * Removes notes by their ids or by their exact text, and reports which were there. It removes no turns of
 * conversations: those belong to their sessions.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forget = <R = never>(
  options: Options<R> = {}
): MemoryTool<
  {
    readonly ids?: ReadonlyArray<string> | undefined
    readonly text?: string | undefined
    readonly namespace?: string | undefined
  },
  unknown,
  R
> =>
  Tool.make("forget", {
    description: "Removes notes of the user, by ids that search_memory showed or by the exact text of one.",
    parameters: withNamespace(
      {
        ids: Schema.optional(Schema.Array(Schema.String).annotations({ description: `${MAX_IDS} ids at most` })),
        text: Schema.optional(Schema.String.annotations({ description: "The exact text of a note" }))
      },
      options
    ),
    idempotent: true,
    success: Forgotten,
    handler: ({ ids = [], namespace, text }): Handled<typeof Forgotten.Type, R> =>
      Effect.gen(function* () {
        const place = yield* MemoryNamespaces.target(yield* MemoryNamespaces.access(options.namespaces), namespace)
        const { ownerId } = place
        if (ids.length > MAX_IDS) {
          return yield* refuse("TooMany", `${ids.length} ids were given; ${MAX_IDS} are allowed at once`)
        }
        const asked = new Set(text === undefined || text.trim() === "" ? ids : [...ids, Notes.idOf(text)])
        if (asked.size === 0) return yield* refuse("Empty", "Give ids that search_memory showed, or an exact text")
        const store = yield* MemoryStore.MemoryStore
        const notes = (yield* store.getMany(ownerId, [...asked].filter(isEntryId))).filter(Notes.isNote)
        // One by one, so that of two concurrent calls each reports what it removed itself.
        const removed = yield* Effect.filter(notes, ({ id }) => store.delete(ownerId, id))
        const gone = new Set<string>(removed.map(({ id }) => id))
        return {
          removed: removed.map((entry) => Notes.shown(entry, labelIn(options, place))),
          not_found: [...asked].filter((id) => !gone.has(id)).map(named)
        }
      })
  })

/**
 * All of them, for `Agent.withTools`. They need the `MemoryStore` that the agent recalls from.
 *
 * Notes belong to the user and not to a session: every session and branch of the user finds them, and working memory
 * recalls them as data. Those of a shared namespace belong to it. They are kept as long as the store keeps its entries,
 * and are erased and exported with their owner.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { MemoryTools } from "effect-lexigram/memory"
 *
 * const agent = Agent.make("assistant").pipe(Agent.withTools(MemoryTools.make({ maxNotes: 200 })))
 * ```
 */
export const make = <R = never>(
  options: Options<R> & {
    /** The model also changes these blocks (`MemoryBlock.updateTool`). Default none. */
    readonly blocks?: ReadonlyArray<MemoryBlock.MemoryBlock<any>> | undefined
  } = {}
): ToolSet.ToolSet<never, MemoryStore.MemoryStore | NoInfer<R>> =>
  ToolSet.make(
    remember(options),
    search(options),
    forget(options),
    ...(options.blocks ?? []).map((block) => MemoryBlock.updateTool(block, { namespaces: options.namespaces }))
  )
