/**
 * The writing of `storm`: outline, sections from the sources that bear on them, lead, and the whole once more as one
 * text.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { PlanStep } from "../../domain/AgentEvent.js"
import * as Step from "../../observability/Step.js"
import * as StormOutline from "../../plan/StormOutline.js"
import * as StormPrompts from "../../prompt/defaults/StormPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import { MaxIterationsExceededError, type StrategyReplyError } from "../definition/StrategyError.js"
import * as StormArticle from "./StormArticle.js"
import * as StormCalls from "./StormCalls.js"
import * as StormCitations from "./StormCitations.js"
import * as StormReplies from "./StormReplies.js"
import * as StormResearch from "./StormResearch.js"
import * as StormSources from "./StormSources.js"
import type { Config, State } from "./StormState.js"

/** What the answer in the task's own shape takes. */
const shaping = (config: Config, reasoning: Reasoning.Service): number =>
  config.onLimit === "answer" && reasoning.task.output !== undefined ? 1 : 0

/** The first outline, from the topic alone. */
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

/** The outline again, by what the conversations brought. */
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
            yield* StormCalls.within(
              config,
              reasoning.askFor(
                StormPrompts.RefineOutline,
                {
                  topic: state.topic,
                  outline: StormOutline.render(draft),
                  conversations: told
                    .map(
                      ({ perspective, turns }) =>
                        `<conversation>\n${StormSources.inert(perspective.name)}\n\n${StormResearch.said(turns)}\n</conversation>`
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
  /** Nothing was found, or nothing that is backed came back; `error` says why. */
  | {
      readonly _tag: "Unwritten"
      readonly section: StormArticle.Section
      readonly error?: StrategyReplyError | undefined
    }

/** All sections at once, each from the sources that bear on it. */
export const synthesizeSections = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { outline, sources, topic } = state
    const admit = StormCalls.admit(reasoning, config, shaping(config, reasoning))
    const titles = outline.sections.map(({ title }) => `- ${title}`).join("\n")
    const statuses: Array<PlanStep["status"]> = outline.sections.map(() => "pending")

    const write = ({ subsections, title }: StormOutline.Section) => {
      const relevant = StormSources.rank(
        sources,
        [title, ...subsections.flatMap(({ points, title }) => [title, ...points])].join(" "),
        config.sourcesPerSection
      )
      const allowed = new Set(relevant.map(({ id }) => id))
      const unwritten = (text: string, error?: StrategyReplyError | undefined): Written => ({
        _tag: "Unwritten",
        section: { title, text, grounded: false, sources: [...allowed] },
        error
      })
      if (relevant.length === 0 && !config.ungrounded) {
        return Effect.succeed(unwritten(StormArticle.NO_SOURCES))
      }
      const check = (text: string): string | undefined =>
        config.ungrounded || StormCitations.resolve(text, allowed).cited.length > 0
          ? undefined
          : `it cites none of the sources you were given; cite them by their numbers, like [${relevant[0]?.id}]`
      return Effect.map(
        reasoning.ask(
          StormPrompts.SynthesizeSection,
          {
            topic,
            section: title,
            subsections:
              subsections
                .flatMap(({ points, title }) => [`- ${title}`, ...points.map((point) => `  - ${point}`)])
                .join("\n") || "- whatever belongs to it",
            outline: titles,
            information: StormSources.render(relevant)
          },
          { admit, check }
        ),
        ({ response, step, text }): Written => {
          const { cited, removed, text: resolved } = StormCitations.resolve(StormArticle.body(text, title), allowed)
          const grounded = cited.length > 0
          return {
            _tag: "Written",
            section: {
              title,
              text: grounded ? resolved : `${StormArticle.UNGROUNDED}\n\n${resolved}`,
              grounded,
              sources: [...allowed]
            },
            removed,
            step,
            isCut: response.finishReason === "length"
          }
        }
      ).pipe(
        Effect.catchTag("StrategyReplyError", (error) => Effect.succeed(unwritten(StormArticle.NOT_BACKED, error)))
      )
    }
    const written = yield* Step.forEach(
      outline.sections,
      (section, i) =>
        Effect.tap(StormCalls.within(config, write(section)), (one) => {
          statuses[i] = Option.isNone(one) ? "skipped" : one.value._tag === "Written" ? "completed" : "failed"
          return reasoning.run.emit({ _tag: "Plan", steps: planOf(outline.sections, (index) => statuses[index]!) })
        }),
      { concurrency: reasoning.concurrency }
    )
    const found = written.flatMap((one) => (Option.isSome(one) ? [one.value] : []))
    const errors = found.flatMap((one) => (one._tag === "Unwritten" && one.error !== undefined ? [one.error] : []))
    const done = found.filter((one) => one._tag === "Written")
    if (done.length === 0 && errors.length > 0) return yield* errors[0]!
    if (found.length === 0) {
      return yield* new MaxIterationsExceededError({
        strategyName: reasoning.name,
        maxIterations: config.maxModelCalls,
        currentIteration: config.maxModelCalls,
        message: `No section was written within ${config.maxModelCalls} model calls`,
        hint: "Raise `maxModelCalls`, or ask for less"
      })
    }
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
  new Set(StormCitations.cited(StormArticle.render("", sections)))

/** The lead, from the sections. */
export const writeLead = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    if (!state.sections.some(isWritten)) return {}
    const reasoning = yield* Reasoning.Reasoning
    const reply = yield* StormCalls.within(
      config,
      reasoning.ask(
        StormPrompts.WriteLead,
        { topic: state.topic, sections: StormSources.sealed(StormArticle.render("", state.sections)) },
        { admit: StormCalls.admit(reasoning, config, shaping(config, reasoning)) }
      )
    )
    if (Option.isNone(reply)) return { limited: true }
    const { response, step, text } = reply.value
    const resolved = StormCitations.resolve(StormArticle.body(text, ""), citedIn(state.sections))
    if (resolved.removed.length > 0) yield* StormResearch.critique(reasoning, step, "The lead", resolved.removed)
    return {
      lead: resolved.text,
      removedCitations: resolved.removed.length,
      isCut: response.finishReason === "length"
    }
  })

const articleTitle = (state: State): string => state.outline.title ?? (StormOutline.titleOf(state.topic) || "Article")

/** Polishes the parts of the article that keep their citations when they are. */
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
    const reply = yield* StormCalls.within(
      config,
      // What is there can be read as it is.
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
    // What the token limit cut off is not to replace what is whole.
    const cutOff = response.finishReason === "length" ? (parts.last ?? "") : undefined
    const { kept, removed, texts } = StormArticle.accept(
      [
        { text: lead, allowed: citedIn(sections) },
        ...sections.map((section) => ({ text: section.text, allowed: new Set(section.sources) }))
      ],
      [
        // A text without any of the sections is no article, whatever it says.
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

/** The article as a whole. */
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
