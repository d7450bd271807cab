/**
 * What the events of a run amount to, event by event: the work for one does not grow with those before it. Items are
 * changed in place, so whoever shows them looks at `version`.
 */
import type { AgentEvent, Of, PlanStep } from "../../src/domain/AgentEvent.js"
import type { Usage } from "../../src/domain/Usage.js"
import { formatJson } from "../lib/format.js"

interface Common {
  /** The number of the first event, which no two items share. */
  readonly seq: number
  readonly at: number
}

export interface ModelItem extends Common {
  readonly kind: "model"
  readonly step: number
  readonly name: string | undefined
  text: string
  reasoning: string
  /** The text was taken back: it is no part of the answer. */
  isRetracted: boolean
  firstAt: number | undefined
  endedAt: number | undefined
  usage: Usage | undefined
  model: string | undefined
  provider: string | undefined
  role: string | undefined
  costUsd: number | undefined
  finishReason: string | undefined
  isCutOff: boolean
}

export interface ToolItem extends Common {
  readonly kind: "tool"
  readonly step: number
  readonly id: string
  readonly name: string
  readonly params: unknown
  progress: string | undefined
  result: Of<"ToolResult"> | undefined
  asked: Of<"ApprovalRequested"> | undefined
  decided: Of<"ApprovalResolved"> | undefined
}

export interface QuestionItem extends Common {
  readonly kind: "question"
  readonly asked: Of<"QuestionAsked">
  answered: Of<"QuestionAnswered"> | undefined
}

/** An event that says all by itself. */
export interface NoteItem extends Common {
  readonly kind: "note"
  readonly event: AgentEvent
}

export type Item = ModelItem | ToolItem | QuestionItem | NoteItem

/** A state of a tree search, as far as the events show it. */
export interface TreeNode {
  readonly id: number
  readonly parent: number | undefined
  readonly visits: number
  readonly value: number
  readonly label: string
  readonly isTerminal: boolean
}

export interface Section {
  readonly title: string
  readonly sections: ReadonlyArray<Section>
}

/** The end of a node of a graph in a step of the graph. */
export interface NodeEnd {
  readonly key: string
  readonly step: number
}

export interface Totals {
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  costUsd: number
  modelCalls: number
  toolCalls: number
  failures: number
  retries: number
}

/** More nodes of a search are not kept. */
const MOST_NODES = 2_000
const MOST_SECTIONS = 200

type Shape = Readonly<Record<string, unknown>>
const isShape = (value: unknown): value is Shape => typeof value === "object" && value !== null
const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

const toNode = (given: unknown): TreeNode | undefined => {
  if (!isShape(given) || typeof given["id"] !== "number") return undefined
  const data = isShape(given["data"]) ? given["data"] : {}
  const action = isShape(data["action"]) ? data["action"] : {}
  const words = [action["thought"], action["tool"], action["name"], action["answer"], action["text"]].map(textOf)
  return {
    id: given["id"],
    parent: typeof given["parent"] === "number" ? given["parent"] : undefined,
    visits: numberOf(given["visits"]),
    value: numberOf(given["value"]),
    label: words.find((word) => word !== "") ?? (given["id"] === 0 ? "root" : `state ${given["id"]}`),
    isTerminal: given["terminal"] === true
  }
}

const toSections = (given: unknown, depth = 0): ReadonlyArray<Section> =>
  !Array.isArray(given) || depth > 3
    ? []
    : given.slice(0, MOST_SECTIONS).flatMap((one): ReadonlyArray<Section> => {
        if (typeof one === "string") return [{ title: one, sections: [] }]
        if (!isShape(one)) return []
        const inner = one["subsections"] ?? one["points"] ?? one["sections"]
        return [{ title: textOf(one["title"]), sections: toSections(inner, depth + 1) }]
      })

export class RunFold {
  /** Rises with every change. */
  version = 0
  readonly items: Array<Item> = []
  readonly totals: Totals = {
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    costUsd: 0,
    modelCalls: 0,
    toolCalls: 0,
    failures: 0,
    retries: 0
  }
  events = 0
  /** Steps that have begun. */
  steps = 0
  started: Of<"Started"> | undefined
  ended: Of<"Finished"> | Of<"Error"> | undefined
  message: Of<"Message"> | undefined
  plan: ReadonlyArray<PlanStep> | undefined
  readonly tree = new Map<number, TreeNode>()
  outline: ReadonlyArray<Section> | undefined
  /** How often each node of a graph ended, and the ends in their order. */
  readonly nodes = new Map<string, number>()
  readonly nodeEnds: Array<NodeEnd> = []
  /** The first delta of the run, in milliseconds after its begin. */
  firstDeltaMs: number | undefined
  private model: ModelItem | undefined
  private readonly tools = new Map<string, ToolItem>()
  private readonly questions = new Map<string, QuestionItem>()
  /** Model items with text since the last retraction. */
  private open: Array<ModelItem> = []

  private add<I extends Item>(item: I): I {
    this.items.push(item)
    return item
  }

  private note(event: AgentEvent): void {
    this.add({ kind: "note", seq: event.seq, at: event.at, event })
  }

  private modelOf({ at, seq }: AgentEvent, step: number, name?: string): ModelItem {
    this.model = this.add<ModelItem>({
      kind: "model",
      seq,
      at,
      step,
      name,
      text: "",
      reasoning: "",
      isRetracted: false,
      firstAt: undefined,
      endedAt: undefined,
      usage: undefined,
      model: undefined,
      provider: undefined,
      role: undefined,
      costUsd: undefined,
      finishReason: undefined,
      isCutOff: false
    })
    return this.model
  }

  private delta(event: Of<"TextDelta"> | Of<"ReasoningDelta">): void {
    const model =
      this.model === undefined || this.model.usage !== undefined
        ? this.modelOf(event, this.model?.step ?? 0)
        : this.model
    model.firstAt ??= event.at
    if (this.firstDeltaMs === undefined && this.started !== undefined) this.firstDeltaMs = event.at - this.started.at
    if (event._tag === "ReasoningDelta") model.reasoning += event.text
    else {
      if (model.text === "") this.open.push(model)
      model.text += event.text
    }
  }

  private usage(event: Of<"UsageReported">): void {
    // A call whose usage is known has ended: this one is another, such as that of a tool or a judge.
    const model =
      this.model === undefined || this.model.usage !== undefined
        ? this.modelOf(event, this.model?.step ?? 0)
        : this.model
    const { usage } = event
    model.usage = usage
    model.endedAt = event.at
    model.model = event.model
    model.provider = event.provider
    model.role = event.role
    model.costUsd = event.costUsd
    model.finishReason = event.finishReason
    model.isCutOff = event.cutOff === true
    const { totals } = this
    totals.modelCalls += 1
    totals.inputTokens += usage.inputTokens ?? 0
    totals.outputTokens += usage.outputTokens ?? 0
    totals.cachedTokens += usage.cachedInputTokens ?? 0
    totals.costUsd += event.costUsd ?? 0
  }

  private node({ graph, node, step, update }: Of<"NodeFinished">): void {
    const key = `${graph}\u0000${node}`
    this.nodes.set(key, (this.nodes.get(key) ?? 0) + 1)
    this.nodeEnds.push({ key, step })
    if (!isShape(update)) return
    const tree = update["tree"]
    const nodes = isShape(tree) ? tree["nodes"] : undefined
    if (Array.isArray(nodes)) {
      for (const entry of nodes) {
        const found = toNode(Array.isArray(entry) ? entry[1] : entry)
        if (found !== undefined && (this.tree.size < MOST_NODES || this.tree.has(found.id))) {
          this.tree.set(found.id, found)
        }
      }
    }
    const outline = update["outline"]
    const sections = isShape(outline) ? toSections(outline["sections"]) : []
    if (sections.length > 0) this.outline = sections
  }

  private toolResult(event: Of<"ToolResult">): void {
    const tool = this.tools.get(event.id)
    if (tool === undefined) this.note(event)
    else tool.result = event
    if (event.isFailure) this.totals.failures += 1
    this.totals.retries += Math.max(0, event.attempts - 1)
  }

  private toolCall({ at, id, name, params, seq, step }: Of<"ToolCall">): void {
    this.totals.toolCalls += 1
    const tool: ToolItem = {
      kind: "tool",
      seq,
      at,
      step,
      id,
      name,
      params,
      progress: undefined,
      result: undefined,
      asked: undefined,
      decided: undefined
    }
    this.tools.set(id, this.add(tool))
  }

  private toolProgress({ done, id, message, total }: Of<"ToolProgress">): void {
    const tool = this.tools.get(id)
    if (tool === undefined) return
    const share = done === undefined ? "" : total === undefined ? `${done}` : `${done} of ${total}`
    tool.progress = [message, share].filter((part) => part !== undefined && part !== "").join(" · ")
  }

  private approval(event: Of<"ApprovalRequested"> | Of<"ApprovalResolved">): void {
    const tool = this.tools.get(event.toolCallId)
    if (tool === undefined) this.note(event)
    else if (event._tag === "ApprovalRequested") tool.asked = event
    else tool.decided = event
  }

  private question(event: Of<"QuestionAsked"> | Of<"QuestionAnswered">): void {
    if (event._tag === "QuestionAsked") {
      const { at, seq } = event
      this.questions.set(event.id, this.add({ kind: "question", seq, at, asked: event, answered: undefined }))
      return
    }
    const question = this.questions.get(event.id)
    if (question === undefined) this.note(event)
    else question.answered = event
  }

  private retracted(): void {
    for (const model of this.open) {
      // What is still being written comes again, whole.
      if (model.usage === undefined) model.text = ""
      else model.isRetracted = true
    }
    this.open = []
  }

  /** What else an event that says all by itself is about. */
  private noted(event: AgentEvent): void {
    if (event._tag === "Started") this.started = event
    else if (event._tag === "Plan") this.plan = event.steps
    else if (event._tag === "NodeFinished") this.node(event)
    else if (event._tag === "Message") this.message = event
    else if (event._tag === "Error" || event._tag === "Finished") this.ended = event
    if (event._tag === "Error") this.totals.failures += 1
    this.note(event)
  }

  push(event: AgentEvent): void {
    this.version += 1
    this.events += 1
    switch (event._tag) {
      case "StepStarted":
        this.steps += 1
        this.modelOf(event, event.step, event.name)
        break
      case "TextDelta":
      case "ReasoningDelta":
        this.delta(event)
        break
      case "TextRetracted":
        this.retracted()
        break
      case "UsageReported":
        this.usage(event)
        break
      case "ToolCall":
        this.toolCall(event)
        break
      case "ToolProgress":
        this.toolProgress(event)
        break
      case "ToolResult":
        this.toolResult(event)
        break
      case "ApprovalRequested":
      case "ApprovalResolved":
        this.approval(event)
        break
      case "QuestionAsked":
      case "QuestionAnswered":
        this.question(event)
        break
      default:
        this.noted(event)
    }
  }
}

/** What of an item can be searched: lower case, at most so many characters. */
const MOST_SEARCHED = 20_000

export const searchTextOf = (item: Item): string => {
  const parts: ReadonlyArray<unknown> =
    item.kind === "model"
      ? [item.name, item.model, item.role, item.text, item.reasoning]
      : item.kind === "tool"
        ? [item.name, item.params, item.result?.observation, item.result?.result, item.result?.error?.message]
        : item.kind === "question"
          ? [item.asked.message, item.asked.name, item.answered?.content]
          : [item.event]
  return parts
    .map((part) => (part === undefined ? "" : formatJson(part)))
    .join("\n")
    .slice(0, MOST_SEARCHED)
    .toLowerCase()
}
