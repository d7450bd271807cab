/**
 * Draws traces as Mermaid diagrams.
 *
 * @private
 * @since 0.1.0
 */
import * as Count from "../internal/Count.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import * as ItemWords from "./ItemWords.js"
import type * as Model from "./TraceModel.js"
import * as TraceWords from "./TraceWords.js"

/**
 * How to draw a trace.
 *
 * @since 0.1.0
 * @category models
 */
export interface MermaidOptions {
  /**
   * `sequence`: who asked whom, in order. `tree`: a flowchart of the runs with their models and tools. Default
   * `sequence`.
   */
  readonly diagram?: "sequence" | "tree" | undefined
  /** The most arrows, 400 at most, as Mermaid by itself draws no more than 500. Default 200. */
  readonly maxArrows?: number | undefined
}

const mostLabel = 48

/** Mermaid takes 50,000 characters by itself. */
const mostCharacters = 45_000
const mostEncoded = 160

/** Letters and digits, and signs that mean nothing to Mermaid. */
const safe = /[\p{L}\p{N} .…,_+()/·→$%-]/u

/** The word ends blocks of diagrams. */
const reserved = /\bend\b/gi

const code = (character: string): string => `#${character.codePointAt(0)};`

/** Text for a label. What may mean something to Mermaid becomes a code, which it shows as the character. */
export const label = (text: string): string => {
  let encoded = ""
  const shown = VisibleText.visible(TraceWords.name(text, mostLabel))
  for (const character of shown) {
    if (encoded.length > mostEncoded) break
    encoded += safe.test(character) ? character : code(character)
  }
  return encoded.replace(reserved, (word) => `${code(word.slice(0, 1))}${word.slice(1)}`)
}

/** The lines of a diagram, within its bounds. */
class Lines {
  omitted = 0
  private readonly lines: Array<string> = []
  private characters = 0

  constructor(private left: number) {}

  /** False if there is no place for lines with so many arrows. */
  add(arrows: number, lines: ReadonlyArray<string>): boolean {
    const characters = lines.reduce((sum, line) => sum + line.length + 3, 0)
    if (this.left < arrows || this.characters + characters > mostCharacters) {
      this.omitted += arrows
      return false
    }
    this.left -= arrows
    this.characters += characters
    this.lines.push(...lines)
    return true
  }

  text(head: string, more: (text: string) => string): string {
    const left = this.omitted === 0 ? [] : [more(label(`and ${TraceWords.counted(this.omitted, "more arrow")}`))]
    return [head, ...[...this.lines, ...left].map((line) => `  ${line}`), ""].join("\n")
  }
}

interface Place {
  readonly run: Model.Run
  readonly self: string
  next: number
  /** Answers to calls, which come with the event of that number. */
  readonly later: Map<number, string>
}

/** Who takes part in a sequence, once by kind and name. */
interface Participant {
  readonly id: string
  /** What makes it known, at its first arrow. */
  readonly lines: ReadonlyArray<string>
  readonly key: string
}

class Sequence {
  private readonly ids = new Map<string, string>()
  private readonly body: Lines

  constructor(most: number) {
    this.body = new Lines(most)
    this.add(0, [this.participant("person", "caller")], () => [])
  }

  private participant(kind: "person" | "run" | "model" | "tool", name: string): Participant {
    const key = `${kind} ${name}`
    const known = this.ids.get(key)
    if (known !== undefined) return { id: known, lines: [], key }
    const id = `p${this.ids.size}`
    return { id, lines: [`${kind === "person" ? "actor" : "participant"} ${id} as ${label(name) || kind}`], key }
  }

  private add(arrows: number, who: ReadonlyArray<Participant>, lines: () => ReadonlyArray<string>): boolean {
    if (!this.body.add(arrows, [...who.flatMap(({ lines }) => lines), ...lines()])) return false
    for (const { id, key } of who) this.ids.set(key, id)
    return true
  }

  /** A question and its answer: at once, with a later event, or never. */
  private asks(
    { later, self }: Place,
    to: Participant,
    question: string,
    answer: { readonly text: string; readonly isBad: boolean; readonly seq?: number | undefined } | undefined
  ): void {
    const asked = `${self}->>${to.id}: ${label(question)}`
    const back =
      answer === undefined
        ? undefined
        : `${to.id}${answer.isBad ? "--x" : "-->>"}${self}: ${label(answer.text) || "answer"}`
    const isNow = back !== undefined && answer?.seq === undefined
    const isKnown = this.add(isNow ? 2 : 1, [to], () => (isNow ? [asked, back] : [asked]))
    if (isKnown && !isNow && back !== undefined && answer?.seq !== undefined) later.set(answer.seq, back)
  }

  /** Draws the answers before an item, or all that are left. */
  answers({ later }: Place, item?: Model.Item): void {
    for (const [seq, line] of Array.from(later).sort(([a], [b]) => a - b)) {
      if (item !== undefined && seq > item.seq) continue
      later.delete(seq)
      this.add(1, [], () => [line])
    }
  }

  private note(self: string, text: string): void {
    this.add(1, [], () => [`Note over ${self}: ${label(text)}`])
  }

  begin(run: Model.Run, from = "p0"): Place {
    const self = this.participant("run", run.agent)
    this.add(1, [self], () => [`${from}->>${self.id}: run`])
    return { run, self: this.ids.has(self.key) ? self.id : "p0", next: 0, later: new Map() }
  }

  end({ run, self }: Place, to = "p0"): void {
    const said = [TraceWords.state(run), ...(run.error === undefined ? [] : [run.error.tag])].join(", ")
    this.add(1, [], () => [`${self}${run.state === "completed" ? "-->>" : "--x"}${to}: ${label(said)}`])
  }

  item(item: Model.Item, place: Place): void {
    const { facts, kind, title, tone } = ItemWords.describe(item)
    const said = facts.join(", ")
    switch (item._tag) {
      case "ModelCall": {
        const [tokens = ""] = item.isCached ? ["answered by a cache"] : TraceWords.tokens(item.usage)
        const text = [tokens, item.finishReason ?? ""].filter((part) => part !== "").join(", ")
        this.asks(place, this.participant("model", title), item.role ?? "ask", { text, isBad: item.cutOff })
        return
      }
      case "ToolCall": {
        const text = item.error?.tag ?? said
        const answer = { text, isBad: item.isFailure === true, seq: item.endSeq }
        this.asks(place, this.participant("tool", title), "call", item.endSeq === undefined ? undefined : answer)
        return
      }
      case "ProviderTool":
        this.asks(place, this.participant("tool", title), "call", { text: said, isBad: item.isFailure })
        return
      case "Approval":
      case "Question": {
        const answer = { text: said, isBad: tone === "bad", seq: item.endSeq }
        const person = this.participant("person", "person")
        this.asks(place, person, `${kind} ${title}`, item.endSeq === undefined ? undefined : answer)
        return
      }
      case "Guard":
      case "Degraded":
      case "Resumed":
      case "Critique":
      case "Compensation":
      case "Rejected":
        this.note(place.self, `${kind} ${title}`)
        return
    }
  }

  text(): string {
    return this.body.text("sequenceDiagram", (text) => `Note over p0: ${text}`)
  }
}

const sequence = (trace: Model.Trace, most: number): string => {
  const drawn = new Sequence(most)
  for (const root of trace.runs) {
    const open = [drawn.begin(root)]
    for (let place = open.at(-1); place !== undefined; place = open.at(-1)) {
      const item = place.run.items[place.next++]
      drawn.answers(place, item)
      if (item === undefined) {
        open.pop()
        drawn.end(place, open.at(-1)?.self)
      } else if (item._tag === "SubRun" && item.run !== undefined) open.push(drawn.begin(item.run, place.self))
      else drawn.item(item, place)
    }
  }
  return drawn.text()
}

/** What a run asked, by kind and name: how often, and how often it failed. */
const askedBy = (run: Model.Run): ReadonlyMap<string, { readonly title: string; count: number; bad: number }> => {
  const asked = new Map<string, { readonly title: string; count: number; bad: number }>()
  for (const item of run.items) {
    if (item._tag !== "ModelCall" && item._tag !== "ToolCall" && item._tag !== "ProviderTool") continue
    const { kind, title, tone } = ItemWords.describe(item)
    const key = `${kind} ${title}`
    const known = asked.get(key) ?? { title: key, count: 0, bad: 0 }
    known.count += 1
    if (tone === "bad") known.bad += 1
    asked.set(key, known)
  }
  return asked
}

const tree = (trace: Model.Trace, most: number): string => {
  const body = new Lines(most)
  let count = 0
  const node = (run: Model.Run, id: string) =>
    `${id}(["${label(`${TraceWords.name(run.agent, 24)} ${TraceWords.state(run)}`)}"])`
  const waiting: Array<readonly [Model.Run, string]> = []
  for (const run of trace.runs) {
    const id = `n${count++}`
    if (body.add(0, [node(run, id)])) waiting.push([run, id])
  }
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [run, self] = next
    for (const { bad, count: calls, title } of askedBy(run).values()) {
      const id = `n${count++}`
      const times = `${TraceWords.counted(calls, "call")}${bad === 0 ? "" : `, ${TraceWords.number(bad)} failed`}`
      body.add(1, [`${id}["${label(title)}"]`, `${self} -->|"${label(times)}"| ${id}`])
    }
    for (const item of run.items) {
      if (item._tag !== "SubRun" || item.run === undefined) continue
      const id = `n${count++}`
      if (body.add(1, [node(item.run, id), `${self} ==> ${id}`])) waiting.push([item.run, id])
    }
  }
  return body.text("flowchart LR", (text) => `more["${text}"]`)
}

/** Draws a trace. */
export const print = (trace: Model.Trace, options: MermaidOptions = {}): string => {
  const most = Math.min(400, Count.count(options.maxArrows, 200, 0))
  return options.diagram === "tree" ? tree(trace, most) : sequence(trace, most)
}
