/**
 * Writes traces for terminals.
 *
 * @private
 * @since 0.1.0
 */
import * as Count from "../internal/Count.js"
import * as Excerpt from "../internal/text/Excerpt.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import * as ItemWords from "./ItemWords.js"
import * as TraceContent from "./TraceContent.js"
import type * as Model from "./TraceModel.js"
import * as TraceWords from "./TraceWords.js"

/**
 * How to write a trace as text.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextOptions {
  /** Columns of a line, 40 at least. Default 100. */
  readonly width?: number | undefined
  /** Shows contents, without what looks like a key: all of them or these kinds. Default false: types and sizes. */
  readonly content?: TraceContent.Reveal | undefined
  /** The most characters of one content. Default 2,000. */
  readonly maxCharacters?: number | undefined
  /** The most items of all runs. Default 2,000. */
  readonly maxItems?: number | undefined
  /** Shows the nodes of graphs. Default false. */
  readonly nodes?: boolean | undefined
}

const leastWidth = 40
/** Deeper runs are not indented further. */
const deepest = 6

/**
 * Breaks a line at spaces, and within a word that is longer than half of the line. A character that is not ASCII counts
 * as two columns.
 */
const wrap = (line: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let rest = line
  while (rest.length * 2 > width) {
    // The next piece is looked for in what may be part of it alone, so that a long line takes linear time.
    const [piece = ""] = VisibleText.wrap(rest.slice(0, width + 1), width)
    if (piece.length === rest.length) break
    const space = rest[piece.length] === " " ? piece.length : piece.lastIndexOf(" ")
    const end = space > piece.length / 2 ? space : piece.length
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).replace(/^ /, "")
  }
  return [...lines, rest]
}

const marks: Readonly<Record<TraceWords.Tone, string>> = { plain: " ", good: "+", warn: "!", bad: "x" }

interface Place {
  readonly run: Model.Run
  readonly depth: number
  next: number
  /** The step that began last. */
  step?: number
}

class Writer {
  private readonly lines: Array<string> = []
  private left: number
  private omitted = 0

  constructor(
    private readonly width: number,
    private readonly reveal: TraceContent.Reveal,
    private readonly most: number,
    maxItems: number,
    private readonly isWithNodes: boolean
  ) {
    this.left = maxItems
  }

  /** Writes a line; what does not fit goes on below, two columns further in. */
  private line(text: string, indent: number): void {
    const inset = " ".repeat(indent)
    const [first = "", ...rest] = wrap(VisibleText.visible(text), this.width - indent - 2)
    this.lines.push(`${inset}${first}`.trimEnd())
    for (const more of rest) this.lines.push(`${inset}  ${more}`.trimEnd())
  }

  private part({ content, label }: TraceWords.Part, indent: number): void {
    const lines = TraceContent.textOf(content, this.most).split(/\r\n|\r|\n/)
    if (lines.length === 1) {
      this.line(`${label}: ${lines[0]}`, indent)
      return
    }
    this.line(`${label}:`, indent)
    for (const line of lines) this.line(line.replaceAll("\t", "  "), indent + 2)
  }

  /** Contents that are not shown share a line. */
  private parts(parts: ReadonlyArray<TraceWords.Part>, indent: number): void {
    const isShown = ({ content }: TraceWords.Part) => TraceContent.isRevealed(content, this.reveal)
    const shapes = parts.filter((part) => !isShown(part))
    if (shapes.length > 0)
      this.line(shapes.map(({ content, label }) => `${label}: ${TraceContent.shapeOf(content)}`).join(" · "), indent)
    for (const part of parts) if (isShown(part)) this.part(part, indent)
  }

  private failure(failure: Model.Failure, indent: number): void {
    for (const fact of TraceWords.failure(failure)) this.line(fact, indent)
    if (TraceContent.isRevealed(failure.message, this.reveal))
      this.part({ label: "message", content: failure.message }, indent)
  }

  head(run: Model.Run, depth: number): void {
    const indent = 2 * Math.min(depth, deepest)
    const { agent, attempts, durationMs, error, model, provider, runId, startedAt, strategy } = run
    const asked = [strategy, [provider, model].filter((part) => part !== undefined).join("/")].filter(
      (part) => part !== ""
    )
    const by = asked.length === 0 ? "" : ` (${asked.map((part) => TraceWords.name(part)).join(", ")})`
    this.line(`run ${TraceWords.name(runId)} of ${TraceWords.name(agent)}${by}`, indent)
    const took = `${TraceWords.state(run)} in ${TraceWords.duration(durationMs)}`
    const tries = attempts === 1 ? "" : `, in ${TraceWords.counted(attempts, "attempt")}`
    this.line(`${took}${tries}, begun ${Excerpt.time(startedAt)}`, indent + 2)
    this.line(TraceWords.totals(run.total).join(" · "), indent + 2)
    const { answer, input, output, session, user } = run
    this.parts(TraceWords.parts({ user, session, input, answer, output }), indent + 2)
    if (error !== undefined) this.failure(error, indent + 2)
    this.plan(run, indent + 2)
    this.search(run, indent + 2)
  }

  private plan({ plan }: Model.Run, indent: number): void {
    if (plan.length === 0) return
    this.line(`plan of ${TraceWords.counted(plan.length, "step")}:`, indent)
    for (const step of plan.slice(0, this.left)) {
      const tool = step.tool === undefined ? "" : ` by ${TraceWords.name(step.tool)}`
      const after = step.dependsOn?.length
        ? ` after ${step.dependsOn
            .slice(0, 20)
            .map((id) => TraceWords.name(id))
            .join(", ")}`
        : ""
      this.line(`[${step.status}] ${TraceWords.name(step.id)}${tool}${after}`, indent + 2)
      if (TraceContent.isRevealed(step.description, this.reveal))
        this.part({ label: "description", content: step.description }, indent + 4)
    }
  }

  private search({ search }: Model.Run, indent: number): void {
    if (search.length === 0) return
    this.line(`search tree of ${TraceWords.counted(search.length, "node")}:`, indent)
    const depths = new Map<number, number>()
    for (const node of search.slice(0, this.left)) {
      const depth = node.parent === undefined ? 0 : (depths.get(node.parent) ?? 0) + 1
      depths.set(node.id, depth)
      const inset = indent + 2 + 2 * Math.min(depth, deepest)
      this.line(`${node.id} ${TraceWords.searchNode(node).join(", ")}`, inset)
      if (node.text !== undefined && TraceContent.isRevealed(node.text, this.reveal))
        this.part({ label: "text", content: node.text }, inset + 2)
    }
  }

  item(item: Model.Item, { depth, run, step }: Place): void {
    if (item._tag === "Node" && !this.isWithNodes) return
    if (this.left <= 0) {
      this.omitted += 1
      return
    }
    this.left -= 1
    const indent = 2 * Math.min(depth, deepest) + 2
    const { durationMs, facts, failure, kind, parts, startedAt, title, tone } = ItemWords.describe(item)
    if (kind === "step") {
      this.line(title, indent)
      return
    }
    const at = `+${TraceWords.duration(Math.max(0, (startedAt ?? item.at) - run.startedAt))}`
    const took = durationMs === undefined ? [] : [TraceWords.duration(durationMs)]
    const said = [title, ...TraceWords.aside(item, step), ...facts, ...took].filter((fact) => fact !== "").join(" · ")
    this.line(`${marks[tone]} ${at.padEnd(8)} ${kind.padEnd(9)} ${said}`, indent)
    this.parts(parts, indent + 4)
    if (failure !== undefined) this.failure(failure, indent + 4)
  }

  issues(issues: ReadonlyArray<Model.Issue>): void {
    if (issues.length === 0) return
    this.line("This trace is not whole, or its events were not in order:", 0)
    for (const each of issues.slice(0, 50)) {
      const of = each.runId === undefined ? "" : `run ${TraceWords.name(each.runId)}: `
      this.line(`- ${of}${TraceWords.issue(each)}`, 2)
    }
    if (issues.length > 50) this.line(`- and ${TraceWords.number(issues.length - 50)} more`, 2)
  }

  gap(): void {
    if (this.lines.length > 0) this.lines.push("")
  }

  text(): string {
    if (this.omitted > 0) this.line(`… and ${TraceWords.counted(this.omitted, "more item", "more items")}`, 0)
    return this.lines.join("\n")
  }
}

/** Writes a trace. Takes no stack for nested runs. */
export const print = (trace: Model.Trace, options: TextOptions = {}): string => {
  const writer = new Writer(
    Count.count(options.width, 100, leastWidth),
    options.content ?? false,
    Count.count(options.maxCharacters, 2000, 0),
    Count.count(options.maxItems, 2000, 0),
    options.nodes === true
  )
  writer.issues(trace.issues)
  for (const root of trace.runs) {
    writer.gap()
    writer.head(root, 0)
    const open: Array<Place> = [{ run: root, depth: 0, next: 0 }]
    for (let place = open.at(-1); place !== undefined; place = open.at(-1)) {
      const item = place.run.items[place.next++]
      if (item === undefined) open.pop()
      else {
        if (item._tag === "Step") place.step = item.step
        writer.item(item, place)
        if (item._tag !== "SubRun" || item.run === undefined) continue
        writer.head(item.run, place.depth + 2)
        open.push({ run: item.run, depth: place.depth + 2, next: 0 })
      }
    }
  }
  return writer.text()
}
