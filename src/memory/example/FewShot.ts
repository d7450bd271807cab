/**
 * Chooses examples for a prompt: those whose inputs are most like the input of the task, and unlike each other.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { EntryId } from "../../domain/Ids.js"
import type * as Embedder from "../../llm/embedding/Embedder.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { MemoryEntry, MemorySearchResult } from "../entry/MemoryEntry.js"
import type { RetrievalFailure } from "../entry/MemoryError.js"
import * as SameText from "../entry/SameText.js"
import * as Scoring from "../entry/Scoring.js"
import * as InMemoryMemoryStore from "../search/InMemoryMemoryStore.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as Retrieval from "../search/Retrieval.js"
import * as VectorIndex from "../search/VectorIndex.js"
import * as Similarity from "../text/Similarity.js"

/**
 * An input with the output that is right for it. The id is unique among the examples of an owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface Example {
  readonly id: string
  readonly input: string
  readonly output: string
}

/**
 * The examples of an owner in a store. Give examples an owner of their own: what a user's agents recall is then no
 * example, and no example is recalled as a memory.
 *
 * @since 0.1.0
 * @category models
 */
export interface Examples {
  readonly store: MemoryStore.Service
  readonly ownerId: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The input that examples are to be like. */
  readonly query: string
  /** The most examples, from 1 to 100. Default 4. */
  readonly limit?: number | undefined
  /**
   * How much the inputs of examples are to differ from one another: 0 takes the likest, 1 the most different. Default
   * 0. Maximal marginal relevance (Carbonell and Goldstein 1998) with lambda = 1 - diversity, over the words of inputs.
   */
  readonly diversity?: number | undefined
  /** The least relevance of an example to the query, from 0 to 1; above 0.05 it has something in common. Default 0. */
  readonly minRelevance?: number | undefined
  /** The tokens of all examples as messages. One that does not fit gives way to the next one. Default: no limit. */
  readonly maxTokens?: number | undefined
  /** Counts tokens. Default: the `TokenCounter` of the context, else an approximation. */
  readonly tokens?: TokenCounter.Service | undefined
  /** Whether an example is left out, such as those of the case that is evaluated. */
  readonly exclude?: ((example: Example) => boolean) | undefined
  /**
   * Whether an example may have the input of the query itself, but for case, punctuation and small words. It gives the
   * answer away, so it is left out by default.
   */
  readonly keepSame?: boolean | undefined
}

/**
 * An option of a selection is out of its bounds.
 *
 * @since 0.1.0
 * @category errors
 */
export class FewShotError extends ErrorCode.TaggedError<FewShotError>("effect-lexigram/memory/FewShot/FewShotError")(
  "FewShotError",
  ErrorCode.fields("LEX_ERR_MEM_102")
) {}

/** `metadata.type` of the entries that are examples. */
const TYPE = "example"

/** Characters of an input whose words are compared with those of others. */
const compared = 2_000

/**
 * Adds examples to those of an owner. One that is already there is replaced. Fails if an id or an input is out of the
 * bounds of a `MemoryEntry`; then none is added.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = ({ ownerId, store }: Examples, examples: Iterable<Example>): Effect.Effect<void, RetrievalFailure> =>
  Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
    store.storeMany(
      Array.from(
        examples,
        ({ id, input, output }): MemoryEntry => ({
          // The store checks it.
          id: id as EntryId,
          ownerId,
          content: input,
          role: "user",
          timestamp,
          importance: 0.5,
          metadata: { type: TYPE, output }
        })
      )
    )
  )

/**
 * Examples in this process, such as the cases of a dataset: searched by words, and with an embedder also by meaning.
 * They are embedded once. Of two examples with one id the last counts.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { FewShot } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const examples = yield* FewShot.make([
 *     { id: "1", input: "The parcel is broken", output: "damage" },
 *     { id: "2", input: "Where is my parcel?", output: "delivery" }
 *   ])
 *   const chosen = yield* FewShot.select(examples, { query: "My parcel has not come", limit: 2, maxTokens: 500 })
 *   return FewShot.toMessages(chosen)
 * })
 * ```
 */
export const make = (
  examples: Iterable<Example>,
  options: { readonly embedder?: Embedder.Service | undefined } = {}
): Effect.Effect<Examples, RetrievalFailure> =>
  Effect.gen(function* () {
    const { embedder } = options
    const vectors = embedder === undefined ? undefined : { embedder, index: yield* VectorIndex.makeMemory(embedder) }
    const self = { store: yield* InMemoryMemoryStore.make({ ttl: 0, vectors }), ownerId: "examples" }
    yield* add(self, examples)
    return self
  })

/**
 * The examples of an owner in the memory store of the context.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromStore = (ownerId: string): Effect.Effect<Examples, never, MemoryStore.MemoryStore> =>
  Effect.map(MemoryStore.MemoryStore, (store) => ({ store, ownerId }))

const problemOf = (options: Options): FewShotError | undefined => {
  const { diversity = 0, limit = 4, maxTokens = 0, minRelevance = 0 } = options
  const refuse = (what: string, value: number, hint: string) =>
    new FewShotError({ message: `\`${what}\` is ${value}`, hint })
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100)) {
    return refuse("limit", limit, "Give a whole number from 1 to 100")
  }
  if (!(diversity >= 0 && diversity <= 1)) return refuse("diversity", diversity, "Give a number from 0 to 1")
  if (!(minRelevance >= 0 && minRelevance <= 1))
    return refuse("minRelevance", minRelevance, "Give a number from 0 to 1")
  if (!(maxTokens >= 0)) return refuse("maxTokens", maxTokens, "Give a number of tokens from 0 on")
  return undefined
}

interface Candidate {
  readonly example: Example
  readonly relevance: number
}

const candidateOf = ({ entry, relevance }: MemorySearchResult): ReadonlyArray<Candidate> => {
  const { output } = entry.metadata
  return typeof output === "string" ? [{ example: { id: entry.id, input: entry.content, output }, relevance }] : []
}

/** Equal for texts that differ in case, punctuation and small words alone. */
const gistOf = (text: string): string => SameText.gist(text.normalize("NFKC").toLowerCase())

/** The likest examples that may be taken, best first. */
const candidatesOf = (
  { ownerId, store }: Examples,
  { exclude = () => false, keepSame = false, minRelevance = 0, query }: Options
): Effect.Effect<ReadonlyArray<Candidate>, RetrievalFailure> => {
  const gist = gistOf(query)
  const isSame = ({ input }: Example) => input === query || gistOf(input) === gist
  return Effect.map(
    store.retrieve({
      ownerId,
      query,
      topK: Retrieval.poolSize,
      minRelevance,
      relevanceWeight: 1,
      recencyWeight: 0,
      importanceWeight: 0,
      filters: { type: TYPE }
    }),
    (results) =>
      results.flatMap(candidateOf).filter(({ example }) => !exclude(example) && (keepSame || !isSame(example)))
  )
}

const arranged = (candidates: ReadonlyArray<Candidate>, diversity: number): Iterable<Candidate> => {
  if (diversity === 0) return candidates
  const words = new Map(candidates.map((one) => [one, Similarity.terms(one.example.input.slice(0, compared))]))
  const wordsOf = (one: Candidate): Similarity.Terms => words.get(one) ?? new Set()
  return Scoring.diversify(candidates, {
    lambda: 1 - diversity,
    relevance: ({ relevance }) => relevance,
    similarity: (a, b) => Similarity.jaccard(wordsOf(a), wordsOf(b))
  })
}

/**
 * The examples for an input, the best first: reverse them where the last of a prompt should be the likest. They are
 * chosen among the 200 likest; where fewer than 10 have anything in common with the input, others fill up to 10. The
 * same examples and options give the same selection. Fails if an option is out of its bounds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const select = (
  self: Examples,
  options: Options
): Effect.Effect<ReadonlyArray<Example>, FewShotError | RetrievalFailure> =>
  Effect.gen(function* () {
    const problem = problemOf(options)
    if (problem !== undefined) return yield* problem
    const { diversity = 0, limit = 4, maxTokens = Number.POSITIVE_INFINITY } = options
    const tokens = options.tokens ?? TokenCounter.inContext(yield* Effect.context<never>())
    const candidates = yield* candidatesOf(self, options)
    const chosen: Array<Example> = []
    for (const { example } of arranged(candidates, diversity)) {
      if (chosen.length >= limit) break
      const fits =
        maxTokens === Number.POSITIVE_INFINITY || tokens.countMessages(toMessages([...chosen, example])) <= maxTokens
      if (fits) chosen.push(example)
    }
    return chosen
  })

/**
 * Examples as a conversation: what a user says, and what an assistant answers.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMessages = (examples: Iterable<Example>): ReadonlyArray<Message> =>
  Array.from(examples).flatMap(
    ({ input, output }): ReadonlyArray<Message> => [
      { role: "user", content: input },
      { role: "assistant", content: output }
    ]
  )

/** The tags of `toText`, which texts of examples must not have. */
const tag = /<(?=\/?(?:examples?|input|output)\b)/gi

const escape = (text: string): string => text.replace(tag, "&lt;")

/**
 * Examples as a text within a prompt: an `<example>` with its `<input>` and `<output>` each. Such tags within examples
 * are escaped, so that none ends an example or begins one. Empty without examples.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (examples: Iterable<Example>): string =>
  Array.from(
    examples,
    ({ input, output }) =>
      `<example>\n<input>\n${escape(input)}\n</input>\n<output>\n${escape(output)}\n</output>\n</example>`
  ).join("\n")
