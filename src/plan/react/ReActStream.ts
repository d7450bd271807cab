/**
 * Reads a ReAct completion while it is written: the text that is certainly reasoning, and the text that certainly
 * belongs to the final answer. The work per piece is bounded by its length and `ReActMarker.window`, however long the
 * completion is.
 *
 * @private
 * @since 0.1.0
 */
import * as ReActAnswer from "./ReActAnswer.js"
import * as ReActMarker from "./ReActMarker.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReActStream {
  /** Takes the next piece. Certain text is passed to the two functions of `make`. */
  readonly push: (piece: string) => void
  /** The number of characters emitted as reasoning, from the beginning of the completion. */
  readonly reasoned: () => number
  /** The number of characters emitted as the answer, from its beginning, possibly with trailing white space. */
  readonly answered: () => number
}

/** An answer loses a closing fence that it did not open, so backticks at the end wait for what follows. */
const makeTail = (emit: (text: string) => void) => {
  let begun = false
  let ticks = ""
  let spaces: Array<string> = []
  const flush = () => {
    if (ticks === "") return
    emit(ticks + spaces.join(""))
    ticks = ""
    spaces = []
  }
  return (piece: string): void => {
    const text = begun ? piece : piece.trimStart()
    const end = text.trimEnd().length
    if (end === 0) {
      if (ticks !== "") spaces.push(text)
      else if (begun) emit(text)
      return
    }
    begun = true
    let from = end
    while (from > 0 && text[from - 1] === "`") from--
    if (from > 0 || spaces.length > 0) flush()
    const run = ticks + text.slice(from, end)
    ticks = run.slice(-3)
    const behind = text.slice(end)
    if (ticks !== "" && behind !== "") spaces.push(behind)
    const sure = text.slice(0, from) + run.slice(0, Math.max(0, run.length - 3)) + (ticks === "" ? behind : "")
    if (sure !== "") emit(sure)
  }
}

/**
 * An answer is certain once its marker appears without an action, orphaned input, observation or `Answer:` before it.
 * What only the end of the completion adds to an answer is left to the reader of the whole.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (to: {
  readonly reasoning: (text: string) => void
  readonly answer: (text: string) => void
}): ReActStream => {
  let mode: "thinking" | "answering" | "waiting" = "thinking"
  let fences = 0
  let reasoned = 0
  let answered = 0
  // The current line until its kind is known; afterwards its text passes through.
  let head = ""
  let through = false
  let action: Array<string> | undefined
  let answer = ReActAnswer.make(false)
  let doubtful: Array<string> = []

  const think = (text: string) => {
    if (text === "") return
    reasoned += text.length
    to.reasoning(text)
  }
  const tail = makeTail((text) => {
    answered += text.length
    to.answer(text)
  })
  const say = (text: string) => {
    if (answer.isInDoubt()) doubtful.push(text)
    else if (text !== "") tail(text)
  }

  /** A line of known kind, from its start to its current end. */
  const classify = (isWhole: boolean) => {
    const line = head
    const marker = ReActMarker.at(line, 0)
    if (mode === "answering") {
      if (marker?.kind === "action" && !isWhole) {
        action = [line]
        head = ""
        return
      }
      if (answer.push(line, 0) !== undefined) {
        mode = "waiting"
        return
      }
      if (doubtful.length > 0 && !answer.isInDoubt()) {
        const held = doubtful
        doubtful = []
        for (const text of held) tail(text)
      }
      say(line)
    } else if (marker === undefined || marker.kind === "thought") {
      if (marker === undefined && ReActMarker.isFence(line.slice(0, ReActMarker.window).trim())) fences++
      think(line)
    } else if (marker.kind === "final") {
      mode = "answering"
      answer = ReActAnswer.make(fences % 2 === 1)
      say(line.slice(marker.content))
    } else mode = "waiting"
    head = ""
    through = true
  }

  const take = (text: string) => {
    if (action !== undefined) action.push(text)
    else if (through && mode === "answering") say(text)
    else if (through) think(text)
    else {
      head += text
      if (ReActMarker.isDecided(head)) classify(false)
    }
  }

  const endLine = () => {
    if (action !== undefined) {
      head = action.join("")
      action = undefined
    }
    if (!through) classify(true)
    if (mode === "answering") say("\n")
    else if (mode === "thinking") think("\n")
    through = false
  }

  return {
    push: (piece) => {
      let from = 0
      while (mode !== "waiting" && from < piece.length) {
        const newline = piece.indexOf("\n", from)
        const end = newline === -1 ? piece.length : newline
        if (end > from) take(piece.slice(from, end))
        if (newline !== -1 && (mode as string) !== "waiting") endLine()
        from = end + 1
      }
    },
    reasoned: () => reasoned,
    answered: () => answered
  }
}
