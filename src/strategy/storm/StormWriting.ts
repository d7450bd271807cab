/**
 * The writing of STORM: outline, sections from the relevant sources, lead, and the polished whole.
 *
 * @since 0.1.0
 * @private
 */

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CitationMarks from "../../document/text/CitationMarks.js"
import type { PlanStep } from "../../domain/AgentEvent.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as Step from "../../observability/Step.js"
import * as StormOutline from "../../plan/StormOutline.js"
import * as StormPrompts from "../../prompt/defaults/StormPrompts.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type { AskOptions } from "../definition/Reasoning.js"
import * as Reasoning from "../definition/Reasoning.js"
import { MaxIterationsExceededError, type StrategyReplyError } from "../definition/StrategyError.js"
import * as StormArticle from "./StormArticle.js"
import * as StormCalls from "./StormCalls.js"
import * as StormReplies from "./StormReplies.js"
import * as StormResearch from "./StormResearch.js"
import * as StormSources from "./StormSources.js"
import type { Config, State } from "./StormState.js"

/** The calls that an answer in the task's output shape takes. */
const shaping = (config: Config, reasoning: Reasoning.Service): number =>
  config.onLimit === "answer" && reasoning.task.output !== undefined ? 1 : 0

/** Writes the first outline from the topic alone. */
export const generateOutline = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { value } = yield* StormCalls.strict(
      reasoning.askFor(StormPrompts.GenerateOutline, { topic: state.topic }, StormReplies.outline(config), {
        admit: StormCalls.admit(reasoning, config)
      })
    )
    return { draft: value }
  })

const planOf = (
  sections: ReadonlyArray<StormOutline.Section>,
  status: (index: number) => PlanStep["status"]
): ReadonlyArray<PlanStep> =>
  sections.map(({ title }, i) => ({ id: String(i + 1), description: title, status: status(i) }))

/** Refines the outline by the conversations. */
export const refineOutline = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { draft } = state
    const told = state.conversations.filter(({ turns }) => turns.some((turn) => turn.grounded))
    const reserve = config.onLimit === "answer" ? draft.sections.length + shaping(config, reasoning) : 0
    const refined =
      told.length === 0
        ? Option.some(draft)
        : Option.map(
            yield* StormCalls.withLimit(
              config,
              reasoning.askFor(
                StormPrompts.RefineOutline,
                {
                  topic: state.topic,
                  outline: StormOutline.render(draft),
                  conversations: told
                    .map(
                      ({ perspective, turns }) =>
                        `<conversation>\n${StormSources.inert(perspective.name)}\n\n${StormResearch.transcriptOf(turns)}\n</conversation>`
                    )
                    .join("\n\n"),
                  count: String(config.maxSections)
                },
                StormReplies.outline(config),
                { admit: StormCalls.admit(reasoning, config, reserve) }
              )
            ),
            ({ value }) => value
          )
    const outline = Option.getOrElse(refined, () => draft)
    yield* reasoning.run.emit({ _tag: "Plan", steps: planOf(outline.sections, () => "pending") })
    return { outline, ...(Option.isNone(refined) ? { limited: true } : {}) }
  })

type Written =
  | {
      readonly _tag: "Written"
      readonly section: StormArticle.Section
      readonly removed: ReadonlyArray<number>
      readonly step: number
      readonly isCut: boolean
    }
  /** Nothing was found, or the text was not backed by sources; `error` says why. */
  | {
      readonly _tag: "Unwritten"
      readonly section: StormArticle.Section
      readonly error?: StrategyReplyError | undefined
    }

/** What the sections of an article are written with. */
interface Writing {
  readonly config: Config
  readonly state: State
  readonly reasoning: Reasoning.Service
  readonly admit: AskOptions["admit"]
}

const unwritten = (
  title: string,
  text: string,
  sources: ReadonlyArray<number>,
  error?: StrategyReplyError | undefined
): Written => ({ _tag: "Unwritten", section: { title, text, grounded: false, sources }, error })

/** Writes a section from its relevant sources. */
const writeSection = (
  { admit, config, reasoning, state }: Writing,
  { subsections, title }: StormOutline.Section
): Effect.Effect<Written, LlmError | Fatality> => {
  const relevant = StormSources.rank(
    state.sources,
    [title, ...subsections.flatMap(({ points, title }) => [title, ...points])].join(" "),
    config.sourcesPerSection
  )
  const ids = relevant.map(({ id }) => id)
  const allowed = new Set(ids)
  if (ids.length === 0 && !config.ungrounded) return Effect.succeed(unwritten(title, StormArticle.NO_SOURCES, ids))
  const check = (text: string): string | undefined =>
    config.ungrounded || CitationMarks.resolve(text, allowed).cited.length > 0
      ? undefined
      : `it cites none of the sources you were given; cite them by their numbers, like [${ids[0]}]`
  const parts = subsections.flatMap(({ points, title }) => [`- ${title}`, ...points.map((point) => `  - ${point}`)])
  const values = {
    topic: state.topic,
    section: title,
    subsections: parts.join("\n") || "- whatever belongs to it",
    outline: state.outline.sections.map(({ title }) => `- ${title}`).join("\n"),
    information: StormSources.render(relevant)
  }
  return Effect.map(
    reasoning.ask(StormPrompts.SynthesizeSection, values, { admit, check }),
    ({ response, step, text }): Written => {
      const { cited, removed, text: resolved } = CitationMarks.resolve(StormArticle.body(text, title), allowed)
      const grounded = cited.length > 0
      const shown = grounded ? resolved : `${StormArticle.UNGROUNDED}\n\n${resolved}`
      const isCut = response.finishReason === "length"
      return { _tag: "Written", section: { title, text: shown, grounded, sources: ids }, removed, step, isCut }
    }
  ).pipe(
    Effect.catchTag("StrategyReplyError", (error) =>
      Effect.succeed(unwritten(title, StormArticle.NOT_BACKED, ids, error))
    )
  )
}

const nothingWritten = (strategyName: string, maxModelCalls: number) =>
  new MaxIterationsExceededError({
    strategyName,
    maxIterations: maxModelCalls,
    currentIteration: maxModelCalls,
    message: `No section was written within ${maxModelCalls} model calls`,
    hint: "Raise `maxModelCalls`, or ask for less"
  })

/** Writes all sections concurrently. */
export const synthesizeSections = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { sections } = state.outline
    const admit = StormCalls.admit(reasoning, config, shaping(config, reasoning))
    const writing: Writing = { config, state, reasoning, admit }
    const statuses: Array<PlanStep["status"]> = sections.map(() => "pending")
    const written = yield* Step.forEach(
      sections,
      (section, i) =>
        Effect.tap(StormCalls.withLimit(config, writeSection(writing, section)), (one) => {
          statuses[i] = Option.isNone(one) ? "skipped" : one.value._tag === "Written" ? "completed" : "failed"
          return reasoning.run.emit({ _tag: "Plan", steps: planOf(sections, (index) => statuses[index]!) })
        }),
      { concurrency: reasoning.concurrency }
    )
    const found = written.flatMap((one) => (Option.isSome(one) ? [one.value] : []))
    const errors = found.flatMap((one) => (one._tag === "Unwritten" && one.error !== undefined ? [one.error] : []))
    const done = found.filter((one) => one._tag === "Written")
    if (done.length === 0 && errors.length > 0) return yield* errors[0]!
    if (found.length === 0) return yield* nothingWritten(reasoning.name, config.maxModelCalls)
    for (const { removed, section, step } of done) {
      if (removed.length > 0) yield* StormResearch.critique(reasoning, step, `Section "${section.title}"`, removed)
    }
    return {
      sections: found.map(({ section }) => section),
      removedCitations: done.reduce((sum, { removed }) => sum + removed.length, 0),
      isCut: done.some(({ isCut }) => isCut),
      limited: found.length < written.length
    }
  })

const isWritten = ({ text }: StormArticle.Section): boolean =>
  text !== StormArticle.NO_SOURCES && text !== StormArticle.NOT_BACKED

const citedIn = (sections: ReadonlyArray<StormArticle.Section>): ReadonlySet<number> =>
  new Set(CitationMarks.cited(StormArticle.render("", sections)))

/** Writes the lead from the sections. */
export const writeLead = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    if (!state.sections.some(isWritten)) return {}
    const reasoning = yield* Reasoning.Reasoning
    const reply = yield* StormCalls.withLimit(
      config,
      reasoning.ask(
        StormPrompts.WriteLead,
        { topic: state.topic, sections: StormSources.sealed(StormArticle.render("", state.sections)) },
        { admit: StormCalls.admit(reasoning, config, shaping(config, reasoning)) }
      )
    )
    if (Option.isNone(reply)) return { limited: true }
    const { response, step, text } = reply.value
    const resolved = CitationMarks.resolve(StormArticle.body(text, ""), citedIn(state.sections))
    if (resolved.removed.length > 0) yield* StormResearch.critique(reasoning, step, "The lead", resolved.removed)
    return {
      lead: resolved.text,
      removedCitations: resolved.removed.length,
      isCut: response.finishReason === "length"
    }
  })

const articleTitle = (state: State): string => state.outline.title ?? (StormOutline.titleOf(state.topic) || "Article")

/** Polishes the parts of the article whose citations survive it. */
const polish = (config: Config, state: State) =>
  Effect.gen(function* () {
    const { lead, sections } = state
    const unchanged = { lead, sections, removed: 0, limited: false }
    if (!config.polish || !sections.some(isWritten)) return unchanged
    const reasoning = yield* Reasoning.Reasoning
    const title = articleTitle(state)
    const asked = reasoning.ask(
      StormPrompts.CompileReport,
      { topic: state.topic, sections: StormSources.sealed(`# ${title}\n\n${StormArticle.render(lead, sections)}`) },
      { admit: StormCalls.admit(reasoning, config, shaping(config, reasoning)) }
    )
    const reply = yield* StormCalls.withLimit(
      config,
      // The unpolished text is readable.
      Effect.catchTag(Effect.asSome(asked), "StrategyReplyError", () => Effect.succeedNone)
    )
    if (Option.isNone(reply)) return { ...unchanged, limited: true }
    if (Option.isNone(reply.value)) return unchanged
    const { response, step, text } = reply.value.value
    const parts = StormArticle.split(
      text,
      title,
      sections.map(({ title }) => title)
    )
    // A text cut by the token limit must not replace a complete one.
    const cutOff = response.finishReason === "length" ? (parts.last ?? "") : undefined
    const { kept, removed, texts } = StormArticle.accept(
      [
        { text: lead, allowed: citedIn(sections) },
        ...sections.map((section) => ({ text: section.text, allowed: new Set(section.sources) }))
      ],
      [
        // A text without any of the sections is not an article.
        lead === "" || cutOff === "" || parts.texts.size === 0 ? undefined : StormArticle.body(parts.lead, ""),
        ...sections.map(({ grounded, title }) => {
          const key = StormOutline.keyOf(title)
          const part = parts.texts.get(key)
          return !grounded || part === undefined || key === cutOff ? undefined : StormArticle.body(part, title)
        })
      ]
    )
    const expected = (lead === "" ? 0 : 1) + sections.filter(({ grounded }) => grounded).length
    const accepted = texts.length - kept
    yield* reasoning.run.emit({
      _tag: "Critique",
      step,
      text:
        accepted === expected
          ? "Polished as a whole"
          : `Polished ${accepted} of ${expected} parts; the others came back without citations they had, or not at all, and stay as they were`,
      accepted: accepted === expected
    })
    const [newLead, ...rest] = texts
    return {
      lead: newLead!,
      sections: sections.map((section, i) => ({ ...section, text: rest[i]! })),
      removed: removed.length,
      limited: false
    }
  })

/** Compiles the article. */
export const compileReport = (config: Config) => (state: State) =>
  Effect.map(polish(config, state), ({ lead, limited, removed, sections }) => ({
    article: StormArticle.make({
      title: articleTitle(state),
      lead,
      sections,
      sources: state.sources,
      conversations: state.conversations,
      failedQueries: state.failedQueries,
      removedCitations: state.removedCitations + removed
    }),
    limited
  }))
