/**
 * The research of STORM: perspectives from texts on related topics, and conversations between a writer and an expert
 * who looks everything up. All conversations advance together, one turn at a time, so that a source has the same number
 * in all of them.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CitationMarks from "../../document/text/CitationMarks.js"
import * as Step from "../../observability/Step.js"
import * as StormOutline from "../../plan/StormOutline.js"
import * as StormPrompts from "../../prompt/defaults/StormPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Conversation, Perspective, Turn } from "./StormArticle.js"
import * as StormCalls from "./StormCalls.js"
import * as StormReplies from "./StormReplies.js"
import type { Retriever } from "./StormRetrieval.js"
import * as StormSources from "./StormSources.js"
import type { Config, State } from "./StormState.js"

/** Covers what everybody should know about the topic. */
export const BASIC_FACT_WRITER: Perspective = {
  name: "Basic fact writer",
  description:
    "the basic facts about the topic, broadly: what it is, where it comes from, how it works, who is concerned"
}

/** Perspectives that suit many topics. */
export const PERSPECTIVES: ReadonlyArray<Perspective> = [
  { name: "Expert", description: "how it works in detail, and what is known for certain" },
  { name: "Practitioner", description: "how it is used, what it costs, what goes wrong" },
  { name: "Researcher", description: "what the evidence is, what is open, what comes next" },
  { name: "Critic", description: "what speaks against it, whom it harms, what the alternatives are" }
]

const NOTHING_FOUND = "Nothing was found about this."
const ANSWER_MAX = 1500
const RELATED_MAX = 12_000
const EXCERPT_MAX = 600

const bullets = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`

/** The minimum number of calls needed after the research. */
const reserveOf = (config: Config, reasoning: Reasoning.Service, sections: number): number =>
  config.onLimit === "fail" ? 0 : 2 + sections + (config.polish ? 1 : 0) + (reasoning.task.output === undefined ? 0 : 1)

const search = (
  reasoning: Reasoning.Service,
  config: Config,
  lookups: ReadonlyArray<{
    readonly id: string
    readonly retriever: Retriever
    readonly query: string
    readonly step: number
  }>
) =>
  Step.forEach(
    lookups,
    ({ id, query, retriever, step }) =>
      Effect.map(
        reasoning.call({ id, name: retriever.tool, params: { [retriever.parameter]: query } }, step),
        (outcome) => ({
          tool: retriever.tool,
          query,
          found: outcome.isFailure ? [] : StormSources.read(outcome.result, config.sourceMaxChars),
          failure: outcome.isFailure ? outcome.observation.slice(0, 500) : undefined
        })
      ),
    { concurrency: reasoning.concurrency }
  )

const failuresOf = (
  results: ReadonlyArray<{ readonly tool: string; readonly query: string; readonly failure?: string | undefined }>
) => results.flatMap(({ failure, query, tool }) => (failure === undefined ? [] : [{ tool, query, message: failure }]))

/** Uses the given perspectives, or those that related material suggests in addition to the basic fact writer. */
export const generatePerspectives = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    if (config.perspectives !== undefined) return { perspectives: config.perspectives }
    if (config.maxPerspectives === 0) return { perspectives: [BASIC_FACT_WRITER] }
    const reasoning = yield* Reasoning.Reasoning
    const admit = StormCalls.admit(reasoning, config, reserveOf(config, reasoning, 1))
    const { topic } = state
    const count = String(config.maxPerspectives)
    const found = yield* StormCalls.withLimit(
      config,
      Effect.gen(function* () {
        const related =
          config.maxRelatedTopics === 0
            ? undefined
            : yield* reasoning.askFor(
                StormPrompts.RelatedTopics,
                { topic, count: String(config.maxRelatedTopics) },
                StormReplies.topics(topic, config.maxRelatedTopics),
                { admit }
              )
        const lookups = (related?.value ?? []).flatMap((query) =>
          state.retrieval.map((retriever) => ({ query, retriever }))
        )
        const results = yield* search(
          reasoning,
          config,
          lookups.map((one, i) => ({ ...one, id: `storm_survey_${i + 1}`, step: related?.step ?? 0 }))
        )
        const material = results.flatMap(({ found, query }) =>
          found.map(({ text, title }) => `${query}${title === "" ? "" : ` / ${title}`}: ${truncate(text, EXCERPT_MAX)}`)
        )
        const { value } = yield* reasoning.askFor(
          StormPrompts.GeneratePerspectives,
          {
            topic,
            count,
            perspectives: bullets(PERSPECTIVES.map(({ description, name }) => `${name}: ${description}`)),
            related: material.length === 0 ? "nothing" : truncate(StormSources.inert(bullets(material)), RELATED_MAX)
          },
          StormReplies.perspectives([BASIC_FACT_WRITER], config.maxPerspectives),
          { admit }
        )
        return { related: related?.value ?? [], perspectives: value, failedQueries: failuresOf(results) }
      })
    )
    if (Option.isNone(found)) return { perspectives: [BASIC_FACT_WRITER], limited: true }
    return { ...found.value, perspectives: [BASIC_FACT_WRITER, ...found.value.perspectives] }
  })

/** The conversation so far. The prompt provides the block around it. */
export const transcriptOf = (turns: ReadonlyArray<Turn>): string =>
  turns
    .map(({ answer, grounded, question }) =>
      [
        `Question: ${StormSources.inert(question)}`,
        `Answer${grounded ? "" : " (backed by no source)"}: ${truncate(StormSources.sealed(answer), ANSWER_MAX)}`
      ].join("\n")
    )
    .join("\n\n")

const withDone = (
  conversations: ReadonlyArray<Conversation>,
  isDone: (index: number) => boolean
): ReadonlyArray<Conversation> =>
  conversations.map((conversation, i) => (isDone(i) ? { ...conversation, done: true } : conversation))

/** The writers of all open conversations ask, or end theirs. */
export const generateQuestions = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const active = state.conversations.flatMap(({ done }, i) => (done ? [] : [i]))
    const outline = bullets(
      state.draft.sections.map(
        ({ subsections, title }) =>
          `${title}${subsections.length === 0 ? "" : ` (${subsections.map(StormOutline.subsectionText).join("; ")})`}`
      )
    )
    // A turn takes three calls per conversation. A turn that cannot be finished is not begun.
    const reserve = reserveOf(config, reasoning, state.draft.sections.length)
    const asked = yield* Step.forEach(
      active,
      (index) => {
        const { perspective, turns } = state.conversations[index]!
        return StormCalls.withLimit(
          config,
          reasoning.askFor(
            StormPrompts.GenerateQuestions,
            {
              topic: state.topic,
              section: "the whole article",
              subsections: outline,
              perspective_name: perspective.name,
              perspective_description: perspective.description,
              conversation: turns.length === 0 ? "Nothing was said yet." : transcriptOf(turns),
              turns_left: String(config.maxTurns - turns.length)
            },
            StormReplies.question,
            { admit: StormCalls.admit(reasoning, config, reserve === 0 ? 0 : reserve + 2 * active.length) }
          )
        )
      },
      { concurrency: reasoning.concurrency }
    )
    const pending: Array<State["pending"][number]> = []
    for (const [i, reply] of asked.entries()) {
      const index = active[i]!
      const { perspective, turns } = state.conversations[index]!
      const question = Option.isSome(reply) ? reply.value.value : undefined
      const key = question === undefined ? "" : StormOutline.keyOf(question)
      // A writer who repeats a question has nothing left to ask.
      if (
        Option.isNone(reply) ||
        question === undefined ||
        turns.some((turn) => StormOutline.keyOf(turn.question) === key)
      ) {
        continue
      }
      const { step } = reply.value
      pending.push({ conversation: index, question, step, queries: [] })
      yield* reasoning.run.emit({ _tag: "Thought", step, text: `${perspective.name}: ${question}` })
    }
    const goesOn = new Set(pending.map(({ conversation }) => conversation))
    return {
      pending,
      conversations: withDone(state.conversations, (i) => !goesOn.has(i)),
      ...(asked.some(Option.isNone) ? { limited: true } : {})
    }
  })

/** Turns each question into a few queries. */
export const dispatchQueries = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const admit = StormCalls.admit(reasoning, config, reserveOf(config, reasoning, state.draft.sections.length))
    const form = StormReplies.queries(config.maxQueries)
    const split = yield* Step.forEach(
      state.pending,
      ({ question }) =>
        StormCalls.withLimit(
          config,
          reasoning.askFor(
            StormPrompts.GenerateQueries,
            { topic: state.topic, question, count: String(config.maxQueries) },
            form,
            { admit, context: false }
          )
        ),
      { concurrency: reasoning.concurrency }
    )
    const pending = state.pending.flatMap((one, i) => {
      const reply = split[i]!
      return Option.isNone(reply) ? [] : [{ ...one, queries: reply.value.value, step: reply.value.step }]
    })
    const goesOn = new Set(pending.map(({ conversation }) => conversation))
    return {
      pending,
      conversations: withDone(state.conversations, (i) => !goesOn.has(i)),
      ...(split.some(Option.isNone) ? { limited: true } : {})
    }
  })

const searchKey = (tool: string, query: string): string => `${tool}\n${StormOutline.keyOf(query)}`

/** Sends every query to every tool, except queries that were answered before. */
export const executeSearch = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const seen = new Set(state.searches.map(({ query, tool }) => searchKey(tool, query)))
    const lookups: Array<Parameters<typeof search>[2][number]> = []
    for (const { queries, step } of state.pending) {
      for (const query of queries) {
        for (const retriever of state.retrieval) {
          const key = searchKey(retriever.tool, query)
          if (seen.has(key)) continue
          seen.add(key)
          lookups.push({ id: `storm_search_${state.lookups + lookups.length + 1}`, retriever, query, step })
        }
      }
    }
    const results = yield* search(reasoning, config, lookups)
    return {
      lookups: state.lookups + lookups.length,
      results: results.flatMap(({ failure, found, query, tool }) =>
        failure === undefined ? [{ tool, query, found }] : []
      ),
      failedQueries: failuresOf(results)
    }
  })

/** Numbers the results, and has the experts answer from them. */
export const collectResults = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { changed, ids } = StormSources.collect(state.sources, state.results, config.sourceMaxChars)
    const searches = state.results.map(({ query, tool }, i) => ({ tool, query, ids: ids[i]! }))
    const known = new Map([...state.searches, ...searches].map((one) => [searchKey(one.tool, one.query), one.ids]))
    const byId = new Map(StormSources.merge(state.sources, changed).map((source) => [source.id, source]))
    const admit = StormCalls.admit(reasoning, config, reserveOf(config, reasoning, state.draft.sections.length))
    const answered = yield* Step.forEach(
      state.pending,
      ({ queries, question }) => {
        const numbers = new Set(
          queries.flatMap((query) => state.retrieval.flatMap(({ tool }) => known.get(searchKey(tool, query)) ?? []))
        )
        const sources = StormSources.rank(
          [...numbers].map((id) => byId.get(id)!),
          `${question} ${queries.join(" ")}`,
          config.sourcesPerSection
        )
        const turn = { question, queries }
        if (sources.length === 0) {
          return Effect.succeedSome({
            turn: { ...turn, answer: NOTHING_FOUND, grounded: false, sources: [] },
            removed: [] as ReadonlyArray<number>,
            step: 0
          })
        }
        return StormCalls.withLimit(
          config,
          Effect.map(
            reasoning.ask(
              StormPrompts.AnswerQuestion,
              { topic: state.topic, question, information: StormSources.render(sources) },
              { admit, context: false }
            ),
            ({ step, text }) => {
              const { cited, removed, text: answer } = CitationMarks.resolve(text, new Set(sources.map(({ id }) => id)))
              return { turn: { ...turn, answer, grounded: cited.length > 0, sources: cited }, removed, step }
            }
          )
        )
      },
      { concurrency: reasoning.concurrency }
    )
    let removedCitations = 0
    const turns = new Map<number, Turn>()
    for (const [i, reply] of answered.entries()) {
      if (Option.isNone(reply)) continue
      const { removed, step, turn } = reply.value
      turns.set(state.pending[i]!.conversation, turn)
      if (removed.length === 0) continue
      removedCitations += removed.length
      yield* critique(reasoning, step, `The answer to "${turn.question}"`, removed)
    }
    return {
      sources: changed,
      searches,
      results: [],
      pending: [],
      conversations: state.conversations.map((conversation, i) => {
        if (conversation.done) return conversation
        const turn = turns.get(i)
        const all = turn === undefined ? conversation.turns : [...conversation.turns, turn]
        return { ...conversation, turns: all, done: turn === undefined || all.length >= config.maxTurns }
      }),
      removedCitations,
      ...(answered.some(Option.isNone) ? { limited: true } : {})
    }
  })

/** Reports dangling citations. */
export const critique = (
  reasoning: Reasoning.Service,
  step: number,
  what: string,
  removed: ReadonlyArray<number>
): Effect.Effect<void> => {
  const numbers = [...new Set(removed)].slice(0, 20).map((number) => `[${number}]`)
  return reasoning.run.emit({
    _tag: "Critique",
    step,
    text: `${truncate(what, 200)} cites ${numbers.join(", ")}, which it was not given: taken out`,
    accepted: false
  })
}
