/**
 * Reads the ReAct text protocol (Yao et al. 2022): a completion is an action, a final answer, or neither. Only the
 * model's own completion is parsed. Only markers at the start of a line count. Everything after the first observation
 * that the model invented is ignored; an observation at the start of the completion is skipped.
 *
 * @since 0.1.0
 */
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as ReActAction from "../../plan/react/ReActAction.js"
import * as ReActAnswer from "../../plan/react/ReActAnswer.js"
import * as ReActInput from "../../plan/react/ReActInput.js"
import * as ReActLoose from "../../plan/react/ReActLoose.js"
import * as ReActMarker from "../../plan/react/ReActMarker.js"

/**
 * The part of a completion that counts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cut {
  /** The completion up to the end of the action or answer, as it belongs in the conversation. */
  readonly text: string
  /** Whether the model wrote an observation itself. */
  readonly inventedObservation: boolean
}

/**
 * A tool call. `input` is the decoded JSON (repaired if necessary), else the bare text; `{}` if the model gave none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Action {
  readonly _tag: "Action"
  readonly thought: string
  readonly tool: string
  readonly input: unknown
  /** The input as the model wrote it. */
  readonly inputRaw: string
  readonly cut: Cut
}

/**
 * A final answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface FinalAnswer {
  readonly _tag: "FinalAnswer"
  readonly thought: string
  readonly answer: string
  /** The answer as the model wrote it, including the closing fence of a completion that was fenced as a whole. */
  readonly answerRaw: string
  readonly cut: Cut
}

/**
 * Neither an action nor an answer. `message` tells the model what to do.
 *
 * @since 0.1.0
 * @category models
 */
export interface Malformed {
  readonly _tag: "Malformed"
  readonly thought: string
  readonly reason: MalformedReason
  readonly message: string
  readonly cut: Cut
}

/**
 * `missing-action`: an input without a tool, or an action without a name.
 *
 * @since 0.1.0
 * @category models
 */
export type MalformedReason = "empty" | "no-marker" | "missing-action" | "empty-answer"

/**
 * @since 0.1.0
 * @category models
 */
export type ReActText = Action | FinalAnswer | Malformed

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Names of the available tools. They resolve spelling (`Get Weather` for `get_weather`), and make `Finish` a tool if
   * it is one of them.
   */
  readonly tools?: ReadonlyArray<string> | undefined
}

/**
 * Stop sequences for the provider, so that no invented observation is paid for. They use only the spelling of the
 * conversation, because `Observation:` may begin a line of an answer.
 *
 * @since 0.1.0
 * @category constants
 */
export const stopSequences: ReadonlyArray<string> = ["\nOBSERVATION:"]

/**
 * Maximum characters of a thought taken from text without a `Thought:` marker.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxImplicitThought = 200

/** The end of an answer that begins at `from`. */
const answerEnd = (text: string, from: number, fencedOutside: boolean): number => {
  const answer = ReActAnswer.make(fencedOutside)
  for (let line = ReActMarker.nextLine(text, from); line < text.length; line = ReActMarker.endOfLine(text, line) + 1) {
    const end = answer.push(text.slice(line, ReActMarker.endOfLine(text, line)), line)
    if (end !== undefined) return end
  }
  return answer.end() ?? text.length
}

const firstLine = (text: string): string => {
  for (let line = 0; line < text.length; line = ReActMarker.endOfLine(text, line) + 1) {
    const content = text.slice(line, Math.min(ReActMarker.endOfLine(text, line), line + 4 * maxImplicitThought)).trim()
    if (content !== "" && !ReActMarker.isFence(content))
      return content.slice(0, maxImplicitThought).replace(/[\ud800-\udbff]$/, "")
  }
  return ""
}

const format =
  "Answer with THOUGHT: and then either ACTION: with the name of one tool and ACTION_INPUT: with its input as JSON, or FINAL_ANSWER: " +
  "with your answer. Each marker stands at the start of a line. Never write an observation yourself."

const messages: { readonly [reason in MalformedReason]: string } = {
  empty: `Your message was empty. ${format}`,
  "no-marker": `Your message holds neither an action nor a final answer. ${format}`,
  "missing-action": `Your message holds an action input but no usable tool name. ${format}`,
  "empty-answer": `Your final answer was empty. ${format}`
}

/**
 * The position of the model's own text in a completion that begins with an observation. A repeated observation is no
 * reason to ask again.
 */
const behindObservation = (text: string): number | undefined => {
  const first = text.length - text.trimStart().length
  const line = text.lastIndexOf("\n", first - 1) + 1
  if (ReActMarker.at(text, line)?.kind !== "observation") return undefined
  return ReActMarker.next(text, ReActMarker.nextLine(text, line + 1), own)?.line
}

const own = ReActMarker.kinds.filter((kind) => kind !== "observation")

/** A completion while it is read line by line. */
class Completion {
  private readonly thoughts: Array<string> = []
  private openThought: number | undefined
  private firstMarker: number | undefined
  /** An `Answer:` marker, which counts only without any other. */
  private answer: ReActMarker.Marker | undefined
  private hasOrphan = false
  private line = 0
  private lastLine = 0
  private fences = 0
  private end: number
  private invented = false

  constructor(
    private readonly text: string,
    private readonly tools: ReActAction.Tools
  ) {
    this.end = text.length
  }

  private closeThought(at: number): void {
    if (this.openThought !== undefined) this.thoughts.push(this.text.slice(this.openThought, at).trim())
    this.openThought = undefined
  }

  private thoughtBefore(at: number): string {
    this.closeThought(at)
    const { firstMarker = at, text, thoughts } = this
    return thoughts.length > 0 ? thoughts.join("\n").trim() : firstLine(text.slice(0, firstMarker))
  }

  private cutAt(at: number): Cut {
    const { invented, text } = this
    return {
      text: text.slice(0, at).trimEnd(),
      inventedObservation:
        invented || ReActMarker.next(text, ReActMarker.nextLine(text, at), ["observation"]) !== undefined
    }
  }

  private malformed(reason: MalformedReason, at: number): Malformed {
    const thought = this.thoughtBefore(at)
    return { _tag: "Malformed", thought, reason, message: messages[reason], cut: this.cutAt(at) }
  }

  private final(at: number, from: number, to: number): ReActText {
    const answerRaw = this.text.slice(from, to).trim()
    if (answerRaw === "") return this.malformed("empty-answer", to)
    const answer = ReActInput.withoutForeignFence(answerRaw)
    return { _tag: "FinalAnswer", thought: this.thoughtBefore(at), answer, answerRaw, cut: this.cutAt(to) }
  }

  private call(at: number, tool: string, { end, raw, value }: ReActInput.Input): Action {
    return {
      _tag: "Action",
      thought: this.thoughtBefore(at),
      tool,
      input: value,
      inputRaw: raw,
      cut: this.cutAt(end)
    }
  }

  private bracket(at: number, read: ReActLoose.Bracket): ReActText {
    if (read._tag === "Call") return this.call(at, read.tool, read.input)
    const { answer, end } = read
    if (answer === "") return this.malformed("empty-answer", end)
    return { _tag: "FinalAnswer", thought: this.thoughtBefore(at), answer, answerRaw: answer, cut: this.cutAt(end) }
  }

  private skipLine(): void {
    const { line, text } = this
    const start = text.slice(line, Math.min(ReActMarker.endOfLine(text, line), line + ReActMarker.window)).trim()
    if (ReActMarker.isFence(start)) this.fences++
    else if (start !== "") this.lastLine = line
  }

  /** Takes a marker; an action or a final answer ends the completion. */
  private take(marker: ReActMarker.Marker): ReActText | undefined {
    const { line, text, tools } = this
    switch (marker.kind) {
      case "thought": {
        this.openThought = marker.content
        this.lastLine = line
        return undefined
      }
      case "answer": {
        this.answer ??= marker
        return undefined
      }
      case "final":
        return this.final(line, marker.content, answerEnd(text, marker.content, this.fences % 2 === 1))
      case "action": {
        const read = ReActAction.read(text, marker, tools)
        if (read._tag === "Nameless") return this.malformed("missing-action", read.end)
        if (read._tag !== "NoTool") return this.bracket(line, read)
        this.line = Math.max(line, read.end - 1)
        return undefined
      }
      case "input": {
        const tool = ReActLoose.lateAction(text, this.lastLine, tools)
        if (tool !== undefined) return this.call(line, tool, ReActInput.read(text, marker.content))
        this.hasOrphan = true
        return undefined
      }
      case "observation": {
        this.invented = true
        this.end = line
        return undefined
      }
    }
  }

  /** Reads the markers of the protocol. */
  private readMarkers(): ReActText | undefined {
    const { text } = this
    for (; this.line < text.length && !this.invented; this.line = ReActMarker.endOfLine(text, this.line) + 1) {
      const marker = ReActMarker.at(text, this.line)
      if (marker === undefined) {
        this.skipLine()
        continue
      }
      this.closeThought(this.line)
      this.firstMarker ??= this.line
      const read = this.take(marker)
      if (read !== undefined) return read
    }
    return undefined
  }

  /** Reads a completion without usable markers. */
  private readRest(): ReActText {
    const { answer, end, fences, hasOrphan, text, tools } = this
    if (answer !== undefined) {
      const to = Math.min(end, answerEnd(text, answer.content, fences % 2 === 1))
      return this.final(answer.line, answer.content, to)
    }
    if (hasOrphan) return this.malformed("missing-action", end)
    const bare = ReActLoose.bareCall(text, end, tools)
    if (bare !== undefined) return this.bracket(bare[0], bare[1])
    const late = ReActLoose.lateFinal.exec(text.slice(0, end))
    if (late === null) return this.malformed("no-marker", end)
    return this.final(late.index + 1, late.index + late[0].length, end)
  }

  read(): ReActText {
    return this.text.trim() === "" ? this.malformed("empty", 0) : (this.readMarkers() ?? this.readRest())
  }
}

/**
 * Reads a completion. Pure, total, and linear in the length of the text.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { ReActText } from "effect-lexigram/strategy"
 *
 * const reply = ReActText.parse('THOUGHT: I look it up.\nACTION: Get Weather\nACTION_INPUT: {"city": "Oslo"}', {
 *   tools: ["get_weather"]
 * })
 * if (reply._tag === "Action") console.log(reply.tool, reply.input) // get_weather { city: 'Oslo' }
 * ```
 */
export const parse = (text: string, options?: Options | undefined): ReActText => {
  const from = text.trim() === "" ? undefined : behindObservation(text)
  if (from === undefined) return new Completion(text, options?.tools).read()
  const parsed = parse(text.slice(from), options)
  return { ...parsed, cut: { ...parsed.cut, inventedObservation: true } }
}

/** Whether the input is one value, one fenced block or one line, and ends the text. */
const isOneInput = (raw: string): boolean => {
  if (ReActMarker.isFence(raw)) return raw.indexOf(raw.slice(0, 3), 3) === raw.length - 3
  const balanced = JsonRepair.balancedAt(raw, 0)
  return balanced === undefined ? !raw.includes("\n") : balanced.end === raw.length
}

/**
 * Reads a completion that is exactly one action or one final answer: it begins with the marker of a thought, an action
 * or a final answer, only the input as a whole may be fenced, and nothing follows the input. Returns `undefined` for
 * every other text, including text that quotes the protocol.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseOnly = (text: string, options?: Options | undefined): Action | FinalAnswer | undefined => {
  const all = text.trim()
  const first = ReActMarker.at(all, 0)?.kind
  if (first !== "thought" && first !== "action" && first !== "final") return undefined
  const parsed = parse(all, options)
  if (parsed._tag === "Malformed" || parsed.cut.text.length < all.length) return undefined
  if (parsed.thought.includes("```") || parsed.thought.includes("~~~")) return undefined
  return parsed._tag === "FinalAnswer" || isOneInput(parsed.inputRaw) ? parsed : undefined
}

/**
 * The arguments of an action for its tool: the input, but a bare number or boolean as it was written. A tool that takes
 * text receives the spelling (`1e5`, `007`); any other tool reads it as JSON again.
 *
 * @since 0.1.0
 * @category getters
 */
export const paramsOf = (action: Action): unknown =>
  typeof action.input === "number" || typeof action.input === "boolean"
    ? ReActInput.bare(action.inputRaw)
    : action.input

/**
 * Puts a quotation mark (`> `) before every line of outside text that could be read as a marker of the protocol.
 *
 * @since 0.1.0
 * @category conversions
 */
export const neutralize = (data: string): string => {
  let result = ""
  let copied = 0
  for (let line = 0; line < data.length; line = ReActMarker.endOfLine(data, line) + 1) {
    if (ReActMarker.at(data, line) === undefined) continue
    result += `${data.slice(copied, line)}> `
    copied = line
  }
  return result + data.slice(copied)
}

/**
 * The message with a tool's result. No part of the result can be read as a marker.
 *
 * @since 0.1.0
 * @category conversions
 */
export const observation = (result: string): string => `OBSERVATION: ${neutralize(result)}`
