/**
 * The ReAct text protocol (Yao et al. 2022): what a model wrote, read as an action, a final answer, or neither. Only
 * the model's own completion is ever parsed, only markers at the start of a line count, and nothing behind the first
 * observation that the model invented does; one that the completion begins with is passed over.
 *
 * @since 0.1.0
 */
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as ReActAction from "../../plan/react/ReActAction.js"
import * as ReActAnswer from "../../plan/react/ReActAnswer.js"
import * as ReActInput from "../../plan/react/ReActInput.js"
import * as ReActMarker from "../../plan/react/ReActMarker.js"

/**
 * The part of a completion that counts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cut {
  /** The completion without what stands behind the action or answer: what belongs into the conversation. */
  readonly text: string
  /** The model wrote an observation by itself. */
  readonly inventedObservation: boolean
}

/**
 * A tool call. `input` is the decoded JSON (repaired if need be), else the bare text; `{}` when the model gave none.
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
 * The end of the run.
 *
 * @since 0.1.0
 * @category models
 */
export interface FinalAnswer {
  readonly _tag: "FinalAnswer"
  readonly thought: string
  readonly answer: string
  /** The answer as the model wrote it: with the closing fence of a completion that was fenced as a whole. */
  readonly answerRaw: string
  readonly cut: Cut
}

/**
 * Neither. `message` tells the model what to do.
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
   * Names of the tools on offer: they resolve spelling (`Get Weather` for `get_weather`) and claim `Finish` for a tool.
   */
  readonly tools?: ReadonlyArray<string> | undefined
}

/**
 * Where a provider should stop writing, so that it pays for no invented observation: the spelling of the conversation
 * alone, for `Observation:` may begin a line of an answer.
 *
 * @since 0.1.0
 * @category constants
 */
export const stopSequences: ReadonlyArray<string> = ["\nOBSERVATION:"]

/**
 * Longest thought taken from text without a `Thought:` marker, in characters.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxImplicitThought = 200

/** Where an answer that begins at `from` ends. */
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

// Behind the end of a sentence a marker counts even within its line, but only where nothing else was found.
const lateFinal = /[.!?)]["'*]{0,2}[ \t]{1,4}Final Answer: ?/
const sentenceEnd = /[.!?)]["'*]{0,2}$/
const plainName = /^[\w.-]{1,64}$/

/** The tool that the line before an orphaned input names within its text (`I should look. Action: search`). */
const lateAction = (text: string, line: number, tools: ReActAction.Tools): string | undefined => {
  const tail = text.slice(line, ReActMarker.endOfLine(text, line)).slice(-256)
  const index = tail.lastIndexOf("Action:")
  if (index === -1) return undefined
  const name = ReActAction.unwrapName(tail.slice(index + 7))
  const known = ReActAction.knownTool(name, tools)
  return known ?? (sentenceEnd.test(tail.slice(0, index).trimEnd()) && plainName.test(name) ? name : undefined)
}

type Bracket = NonNullable<ReturnType<typeof ReActAction.readBracket>>

/**
 * A line that is nothing but `Name[argument]`: of a tool on offer, of `Finish`, or alone in its text; or `name({…})` of
 * a tool on offer, outside of a fence.
 */
const bareCall = (text: string, end: number, tools: ReActAction.Tools): readonly [number, Bracket] | undefined => {
  const isSingle = !text.trim().includes("\n")
  let fenced = false
  for (let line = 0; line < end; line = ReActMarker.endOfLine(text, line) + 1) {
    const lineEnd = Math.min(end, ReActMarker.endOfLine(text, line))
    const content = text.slice(line, lineEnd).trim()
    if (ReActMarker.isFence(content)) fenced = !fenced
    if (content.endsWith(")") && !fenced) {
      const at = text.indexOf(content, line)
      const called = ReActAction.readParentheses(text, at, lineEnd)
      const tool = called === undefined ? undefined : ReActAction.knownTool(called.name, tools)
      if (called?.input?.raw.startsWith("{") === true && tool !== undefined) {
        return [line, { _tag: "Call", tool, input: called.input }]
      }
    }
    if (!content.endsWith("]")) continue
    const read = ReActAction.readBracket(text.slice(0, lineEnd), text.indexOf(content, line), tools)
    if (read === undefined) continue
    if (read._tag === "Finish" || isSingle || tools?.includes(read.tool) === true) return [line, read]
  }
  return undefined
}

/**
 * Where a completion that begins with an observation says something of its own: what it repeats is no reason to ask
 * again.
 */
const behindObservation = (text: string): number | undefined => {
  const first = text.length - text.trimStart().length
  const line = text.lastIndexOf("\n", first - 1) + 1
  if (ReActMarker.at(text, line)?.kind !== "observation") return undefined
  return ReActMarker.next(text, ReActMarker.nextLine(text, line + 1), own)?.line
}

const own = ReActMarker.kinds.filter((kind) => kind !== "observation")

/**
 * Reads a completion. Pure, total, and linear in the length of the text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (text: string, options?: Options | undefined): ReActText => {
  const tools = options?.tools
  const thoughts: Array<string> = []
  let openThought: number | undefined
  let firstMarker: number | undefined
  let dialect: ReActMarker.Marker | undefined
  let hasOrphan = false
  let lastLine = 0
  let fences = 0
  let end = text.length
  let invented = false

  const closeThought = (at: number): void => {
    if (openThought !== undefined) thoughts.push(text.slice(openThought, at).trim())
    openThought = undefined
  }
  const thoughtBefore = (at: number): string => {
    closeThought(at)
    return thoughts.length > 0 ? thoughts.join("\n").trim() : firstLine(text.slice(0, firstMarker ?? at))
  }
  const cutAt = (at: number): Cut => ({
    text: text.slice(0, at).trimEnd(),
    inventedObservation:
      invented || ReActMarker.next(text, ReActMarker.nextLine(text, at), ["observation"]) !== undefined
  })
  const malformed = (reason: MalformedReason, at: number): Malformed => ({
    _tag: "Malformed",
    thought: thoughtBefore(at),
    reason,
    message: messages[reason],
    cut: cutAt(at)
  })
  const final = (at: number, from: number, to: number): ReActText => {
    const answerRaw = text.slice(from, to).trim()
    if (answerRaw === "") return malformed("empty-answer", to)
    const answer = ReActInput.withoutForeignFence(answerRaw)
    return { _tag: "FinalAnswer", thought: thoughtBefore(at), answer, answerRaw, cut: cutAt(to) }
  }
  const call = (at: number, tool: string, input: ReActInput.Input): Action => ({
    _tag: "Action",
    thought: thoughtBefore(at),
    tool,
    input: input.value,
    inputRaw: input.raw,
    cut: cutAt(input.end)
  })
  const bracket = (at: number, read: Bracket): ReActText => {
    if (read._tag === "Call") return call(at, read.tool, read.input)
    if (read.answer === "") return malformed("empty-answer", read.end)
    return {
      _tag: "FinalAnswer",
      thought: thoughtBefore(at),
      answer: read.answer,
      answerRaw: read.answer,
      cut: cutAt(read.end)
    }
  }

  if (text.trim() === "") return malformed("empty", 0)
  const own = behindObservation(text)
  if (own !== undefined) {
    const parsed = parse(text.slice(own), options)
    return { ...parsed, cut: { ...parsed.cut, inventedObservation: true } }
  }
  for (let line = 0; line < text.length && !invented; line = ReActMarker.endOfLine(text, line) + 1) {
    const marker = ReActMarker.at(text, line)
    if (marker === undefined) {
      const start = text.slice(line, Math.min(ReActMarker.endOfLine(text, line), line + ReActMarker.window)).trim()
      if (ReActMarker.isFence(start)) fences++
      else if (start !== "") lastLine = line
      continue
    }
    closeThought(line)
    firstMarker ??= line
    switch (marker.kind) {
      case "thought": {
        openThought = marker.content
        lastLine = line
        break
      }
      case "answer": {
        dialect ??= marker
        break
      }
      case "final": {
        return final(line, marker.content, answerEnd(text, marker.content, fences % 2 === 1))
      }
      case "action": {
        const read = ReActAction.read(text, marker, tools)
        if (read._tag === "Nameless") return malformed("missing-action", read.end)
        if (read._tag !== "NoTool") return bracket(line, read)
        line = Math.max(line, read.end - 1)
        break
      }
      case "input": {
        const tool = lateAction(text, lastLine, tools)
        if (tool !== undefined) return call(line, tool, ReActInput.read(text, marker.content))
        hasOrphan = true
        break
      }
      case "observation": {
        invented = true
        end = line
        break
      }
    }
  }
  if (dialect !== undefined) {
    return final(dialect.line, dialect.content, Math.min(end, answerEnd(text, dialect.content, fences % 2 === 1)))
  }
  if (hasOrphan) return malformed("missing-action", end)
  const bare = bareCall(text, end, tools)
  if (bare !== undefined) return bracket(bare[0], bare[1])
  const late = lateFinal.exec(text.slice(0, end))
  return late === null ? malformed("no-marker", end) : final(late.index + 1, late.index + late[0].length, end)
}

/** The input is a value, a fenced block or a line, and the text ends with it. */
const isOneInput = (raw: string): boolean => {
  if (ReActMarker.isFence(raw)) return raw.indexOf(raw.slice(0, 3), 3) === raw.length - 3
  const balanced = JsonRepair.balancedAt(raw, 0)
  return balanced === undefined ? !raw.includes("\n") : balanced.end === raw.length
}

/**
 * Reads a completion that is one action or one final answer and nothing else: it begins with the marker of a thought,
 * an action or a final answer, nothing in it is fenced but an input as a whole, and nothing stands behind the input.
 * `undefined` for every other text, one that quotes the protocol among them.
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
 * The arguments of an action as the tool should get them: the input, but a bare number or boolean as it was written. A
 * tool that takes text gets it with its spelling (`1e5`, `007`), any other reads it as JSON again.
 *
 * @since 0.1.0
 * @category getters
 */
export const paramsOf = (action: Action): unknown =>
  typeof action.input === "number" || typeof action.input === "boolean"
    ? ReActInput.bare(action.inputRaw)
    : action.input

/**
 * Text from outside with a quotation mark (`> `) before every line that a reader could take for a marker of the
 * protocol.
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
 * The message that brings a tool's result back. Nothing inside the result reads as a marker.
 *
 * @since 0.1.0
 * @category conversions
 */
export const observation = (result: string): string => `OBSERVATION: ${neutralize(result)}`
