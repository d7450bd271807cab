/**
 * Reads the replies of tree search: expansions, native calls and scores.
 *
 * @since 0.1.0
 * @private
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import type { ToolCall } from "../../tool/ToolRunner.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import * as FencedText from "../reasoning/FencedText.js"
import * as ReActText from "../reasoning/ReActText.js"
import type { Action } from "./LatsAction.js"

const nullable = (description: string) => Schema.optional(Schema.NullOr(Schema.String)).annotations({ description })

const Expansion = Schema.Struct({
  thought: nullable("Why this action; on its own it is a step of reasoning"),
  tool: nullable("The name of the tool to call, if one is called"),
  // The tool validates the value.
  arguments: Schema.optional(
    Schema.Unknown.annotations({ jsonSchema: { type: "object", description: "The arguments of the call" } })
  ),
  answer: nullable("The final answer, if no tool is called and nothing is left to do")
})

type Expansion = typeof Expansion.Type

const trimmedText = (text: string | null | undefined): string => (text ?? "").trim()

const Expansions = Schema.Struct({
  expansions: Schema.NonEmptyArray(
    Expansion.pipe(
      Schema.filter(
        ({ answer, thought, tool }) =>
          trimmedText(thought) !== "" || trimmedText(tool) !== "" || trimmedText(answer) !== "",
        {
          message: () => "give a thought, a tool or an answer",
          jsonSchema: {}
        }
      )
    )
  ).annotations({ description: "As many as were asked for, each another action" })
})

/**
 * The actions of a reply. Each is an alternative to the others.
 *
 * @since 0.1.0
 * @category models
 */
export type Expansions = typeof Expansions.Type

/** An answer next to a call is a guess at the result of the call. */
const toAction = ({ answer, arguments: params, thought, tool }: Expansion): Action =>
  trimmedText(tool) !== ""
    ? { kind: "call", thought: trimmedText(thought), text: "", tool: trimmedText(tool), params: params ?? {} }
    : trimmedText(answer) !== ""
      ? { kind: "answer", thought: trimmedText(thought), text: trimmedText(answer) }
      : { kind: "step", thought: "", text: trimmedText(thought) }

/**
 * @since 0.1.0
 * @category conversions
 */
export const actions = ({ expansions }: Expansions): ReadonlyArray<Action> => expansions.map(toAction)

const heading = /^[#*_\s]*expansion\b[\s#*_]*(?:(?:\d+|[:.)])[\s:.)*_]*)?$/i
const stateMarker = /^[*_ \t]*state[*_]*[ \t]*[:：][*_]*(.*)/im
const thoughtMarker = /^[*_ \t]*thoughts?[*_]*[ \t]*[:：]/im

/** The text of each block. Text before the first heading is not a block. */
const blocksOf = (text: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  let lines: Array<string> = []
  let headings = 0
  for (const line of text.split("\n")) {
    if (line.length < 64 && heading.test(line)) {
      if (headings++ > 0) blocks.push(lines.join("\n"))
      lines = []
    } else lines.push(line)
  }
  return [...blocks, lines.join("\n")].filter((block) => block.trim() !== "")
}

const fromBlock = (block: string, tools: ReadonlyArray<string>, isOnly: boolean): Either.Either<Expansion, string> => {
  const read = ReActText.parse(block, { tools })
  if (isOnly && read._tag === "Action" && ReActText.parseOnly(block, { tools }) === undefined) {
    return Either.left("an expansion holds more than its THOUGHT, ACTION and ACTION_INPUT")
  }
  if (read._tag === "FinalAnswer") return Either.right({ thought: read.thought, answer: read.answer })
  if (read._tag === "Malformed") {
    return thoughtMarker.test(block) && read.reason === "no-marker" && read.thought !== ""
      ? Either.right({ thought: read.thought })
      : Either.left("an expansion has no usable ACTION")
  }
  if (!tools.includes(read.tool) && read.inputRaw === "") {
    // Words that name no tool are a step of reasoning; a marker of its own may say where it leads.
    const state = stateMarker.exec(block)?.[1]?.trim() ?? ""
    return Either.right({ thought: [read.tool, state].filter((part) => part !== "").join("\n") })
  }
  return Either.right({ thought: read.thought, tool: read.tool, arguments: ReActText.paramsOf(read) })
}

/** Maximum number of blocks read from a reply. */
const MAX_BLOCKS = 64

/**
 * Reads blocks under `EXPANSION n`, each with `THOUGHT:` and `ACTION:` in the ReAct form. A reply without a heading is
 * one block. `tools` are the names of the available tools; an action in words that names none of them is a step of
 * reasoning. With `isOnly`, a block with an action must hold nothing else: this is for a model that was asked for JSON,
 * whose texts may quote anything.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseExpansions = (
  text: string,
  tools: ReadonlyArray<string>,
  isOnly = false
): Either.Either<Expansions, string> => {
  const read: Array<Expansion> = []
  for (const block of blocksOf(text).slice(0, MAX_BLOCKS)) {
    const expansion = fromBlock(block, tools, isOnly)
    if (Either.isLeft(expansion)) return Either.left(expansion.left)
    read.push(expansion.right)
  }
  const [first, ...rest] = read
  return first === undefined ? Either.left("there is no EXPANSION") : Either.right({ expansions: [first, ...rest] })
}

const makeForms = () => new WeakMap<ReadonlyArray<ToolDefinition>, ReplyForm.ReplyForm<Expansions>>()

const forms = { json: makeForms(), text: makeForms() }

/**
 * The form of expansions with these tools, for a model that is asked for JSON or text. Made once per set of
 * definitions.
 *
 * @since 0.1.0
 * @category constructors
 */
export const expansionForm = (
  definitions: ReadonlyArray<ToolDefinition>,
  names: ReadonlyArray<string>,
  format: "json" | "text"
): ReplyForm.ReplyForm<Expansions> => {
  let form = forms[format].get(definitions)
  if (form === undefined) {
    form = ReplyForm.make({
      name: "expansions",
      schema: Expansions,
      text: (text) => parseExpansions(text, names, format === "json")
    })
    forms[format].set(definitions, form)
  }
  return form
}

/**
 * Reads the actions of a reply with native calls: one per call, or the text as the answer.
 *
 * @since 0.1.0
 * @category conversions
 */
export const readCalls = (text: string, calls: ReadonlyArray<ToolCall>): Either.Either<Expansions, string> => {
  const [first, ...rest] = calls.map(({ name, params }) => ({ thought: text, tool: name, arguments: params }))
  return Either.right({ expansions: first === undefined ? [{ answer: text }] : [first, ...rest] })
}

/**
 * The score of a state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Judgement {
  readonly score: number
  readonly reason: string
}

const ANOTHER_SCALE = "the score must be a number from 0 to 1"

/**
 * A value slightly outside the scale means its end. A value further outside uses another scale, on which 8 of 10 would
 * count as certain.
 */
const isOnScale = (score: number): boolean => score > -1 && score < 2

const JudgementReply = Schema.Struct({
  reason: Schema.String.annotations({ description: "What speaks for this score, in one or two sentences" }),
  score: Schema.Number.pipe(
    Schema.filter(isOnScale, { message: () => ANOTHER_SCALE, jsonSchema: { minimum: 0, maximum: 1 } })
  )
})

const scoreMarker =
  /^[#*_\s-]{0,8}score[*_]{0,3}[ \t]*[:：=][*_\s]{0,4}(-?(?:\d+(?:\.\d*)?|\.\d+))(?:[ \t]*(%|\/[ \t]*\d+(?:\.\d+)?))?[*_.\s]*$/gim

/**
 * Reads `SCORE: 0.7` from a line of its own; `70%` and `7/10` are understood. The rest of the reply is the reason.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseJudgement = (text: string): Either.Either<Judgement, string> => {
  const scores = new Set<number>()
  for (const [, number, unit] of FencedText.blank(text).matchAll(scoreMarker)) {
    const whole = unit === undefined ? 1 : unit === "%" ? 100 : Number(unit.slice(1))
    scores.add(whole > 0 ? Number(number) / whole : Number.NaN)
  }
  if (scores.size === 0) return Either.left("there is no line SCORE: with a number from 0 to 1")
  if (scores.size > 1) return Either.left("there is more than one SCORE")
  const [score] = scores
  if (score === undefined || !isOnScale(score)) return Either.left(ANOTHER_SCALE)
  const reason = text
    .replace(scoreMarker, "")
    .replace(/^[*_ \t]*reason[*_]*[ \t]*[:：][*_ \t]*/im, "")
    .trim()
  return Either.right({ score, reason })
}

/**
 * The form of scores.
 *
 * @since 0.1.0
 * @category constants
 */
export const judgementForm: ReplyForm.ReplyForm<Judgement> = ReplyForm.make({
  name: "judgement",
  schema: JudgementReply,
  text: parseJudgement
})

/**
 * The verdict of an evaluator other than the model.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Struct({
  /** In [0, 1]; values outside are clamped. */
  value: Schema.Number,
  solved: Schema.optional(Schema.Boolean),
  /** Used in events and reflections. */
  reason: Schema.optional(Schema.String)
})
