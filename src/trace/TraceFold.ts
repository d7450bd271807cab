/**
 * Folds the events of one run.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent, Of, PlanStep } from "../domain/AgentEvent.js"
import * as RunJournal from "../observability/journal/RunJournal.js"
import * as TraceCalls from "./TraceCalls.js"
import * as TraceContent from "./TraceContent.js"
import * as TraceFailure from "./TraceFailure.js"
import type * as Model from "./TraceModel.js"
import * as TraceSearch from "./TraceSearch.js"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** What the fold of a run gives: the run without those inside of it. */
export interface Folded {
  readonly run: Omit<Model.Run, "total">
  readonly issues: ReadonlyArray<readonly [Model.Issue["kind"], number]>
}

const retryStage = /^model call, attempt (\d{1,6}) /

/** Takes the events of one run in their order. */
export class RunFold {
  private readonly items: Array<Model.Item> = []
  private readonly calls: TraceCalls.Calls
  private readonly search = new TraceSearch.Search()
  private readonly head: Mutable<Pick<Model.Run, "strategy" | "provider" | "model" | "session" | "user">> = {
    strategy: ""
  }
  private readonly end: Mutable<Pick<Model.Run, "finishReason" | "error">> = {}
  private readonly counts = new Map<Model.Issue["kind"], number>()
  private first: AgentEvent | undefined
  private last: AgentEvent | undefined
  private attempts = 1
  private hasStart = false
  private state: Model.Run["state"] = "open"
  private durationMs: number | undefined
  private input = ""
  private answer: string | undefined
  private output: unknown
  private streamed: Array<string> = []
  private plan: ReadonlyArray<PlanStep> = []

  constructor() {
    this.calls = new TraceCalls.Calls(this.items, () => this.count("unmatched"))
  }

  count(kind: Model.Issue["kind"], by = 1): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + by)
  }

  push(event: AgentEvent): void {
    if (this.state !== "open") {
      this.count("after-end")
      return
    }
    this.first ??= event
    this.resume(event)
    this.last = event
    if (!this.takeRun(event) && !this.takeText(event) && !this.calls.take(event)) this.takeOther(event)
  }

  /** Another attempt leaves a gap between the numbers of events. */
  private resume({ at, seq }: AgentEvent): void {
    if (this.last === undefined || seq - this.last.seq < RunJournal.ATTEMPT_GAP) return
    this.attempts++
    const pauseMs = Math.max(0, at - this.last.at)
    this.items.push({ _tag: "Resumed", at, seq, attempt: this.attempts, pauseMs })
  }

  /** The begin and the end. */
  private takeRun(event: AgentEvent): boolean {
    switch (event._tag) {
      case "Started": {
        this.hasStart = true
        this.input = event.input
        this.head.strategy = event.strategy
        this.head.provider = event.provider
        this.head.model = event.model
        this.head.session = TraceContent.some("identity", event.sessionId)
        this.head.user = TraceContent.some("identity", event.userId)
        return true
      }
      case "InputChecked":
        this.input = event.input
        return true
      case "Error":
        this.state = event.interrupted ? "interrupted" : "failed"
        this.end.error = TraceFailure.make(event.error)
        this.answer ??= event.text
        return true
      case "Finished":
        this.state = "completed"
        this.end.finishReason = event.reason
        this.head.session ??= TraceContent.some("identity", event.sessionId)
        this.durationMs = event.durationMs
        return true
      default:
        return false
    }
  }

  private takeText(event: AgentEvent): boolean {
    switch (event._tag) {
      case "TextDelta":
        this.streamed.push(event.text)
        return true
      case "TextRetracted":
        this.streamed = []
        return true
      case "Message":
        this.answer = event.text
        this.output = event.output
        return true
      case "Steered":
        return this.note("Steered", event, TraceContent.make("input", event.text))
      case "Thought":
        this.calls.leave(event.step)
        return this.note("Thought", event, TraceContent.make("reasoning", event.text), event.step)
      case "AnswerRejected":
        this.streamed = []
        return this.note("Rejected", event, TraceContent.make("reasoning", event.message), event.step)
      default:
        return false
    }
  }

  private note(_tag: Model.Note["_tag"], { at, seq }: AgentEvent, text: TraceContent.Content, step?: number): true {
    this.items.push({ _tag, at, seq, text, ...(step === undefined ? {} : { step }) })
    return true
  }

  private takeOther(event: AgentEvent): void {
    const { at, seq } = event
    switch (event._tag) {
      case "Delegated":
        this.items.push({
          _tag: "SubRun",
          at,
          seq,
          runId: event.childRunId,
          agent: event.toAgent,
          handoff: event.handoff === true,
          message: TraceContent.some("input", event.message)
        })
        return
      case "GuardTriggered":
        this.calls.mark(at)
        this.items.push({
          _tag: "Guard",
          at,
          seq,
          stage: event.stage,
          guard: event.guard,
          action: event.action,
          reason: TraceContent.some("reasons", event.reason)
        })
        return
      case "MemoryRecalled":
        this.calls.mark(at)
        this.items.push({ _tag: "Recall", at, seq, source: event.source, count: event.count, tokens: event.tokens })
        return
      case "FilesKept":
        this.items.push({
          _tag: "Files",
          at,
          seq,
          files: TraceCalls.filesOf(event.files),
          sources: TraceContent.ofFiles("input", event.files)
        })
        return
      case "Critique": {
        const { accepted, score, step } = event
        this.calls.leave(step)
        this.items.push({
          _tag: "Critique",
          at,
          seq,
          step,
          text: TraceContent.make("reasoning", event.text),
          accepted,
          score
        })
        return
      }
      case "Plan":
        this.takePlan(event)
        return
      case "NodeFinished":
        this.search.take(event.update)
        this.node(event, true, event.update)
        return
      case "NodeEmitted":
        this.node(event, false, event.value)
        return
      case "Degraded":
        this.degraded(event)
        return
    }
  }

  private takePlan({ at, seq, steps }: Of<"Plan">): void {
    this.plan = steps
    const having = (wanted: PlanStep["status"]) => steps.filter(({ status }) => status === wanted).length
    this.items.push({
      _tag: "PlanChange",
      at,
      seq,
      steps: steps.length,
      completed: having("completed"),
      failed: having("failed"),
      skipped: having("skipped")
    })
  }

  private node({ at, graph, node, seq }: Of<"NodeFinished"> | Of<"NodeEmitted">, isEnd: boolean, value: unknown): void {
    this.items.push({ _tag: "Node", at, seq, graph, node, isEnd, value: TraceContent.make("results", value) })
  }

  private degraded({ at, error, seq, stage }: Of<"Degraded">): void {
    const attempt = retryStage.exec(stage)?.[1]
    if (attempt !== undefined) this.calls.retried()
    this.items.push({
      _tag: "Degraded",
      at,
      seq,
      stage,
      error: TraceFailure.make(error),
      ...(attempt === undefined ? {} : { attempt: Number(attempt) })
    })
  }

  /** `undefined` if there were no events. */
  result(): Folded | undefined {
    const { first, last } = this
    if (first === undefined || last === undefined) return undefined
    if (!this.hasStart) this.count("no-start")
    if (this.state === "open") this.count("no-end")
    else if (this.calls.open() > 0) this.count("open-call", this.calls.open())
    const text = this.answer ?? this.streamed.join("")
    return {
      issues: Array.from(this.counts),
      run: {
        ...this.head,
        ...this.end,
        runId: first.runId,
        parentRunId: first.parentRunId,
        agent: first.agent,
        attempts: this.attempts,
        state: this.state,
        startedAt: first.at,
        endedAt: last.at,
        durationMs: Math.max(0, this.durationMs ?? last.at - first.at),
        input: TraceContent.some("input", this.input),
        answer: TraceContent.some("answer", text),
        output: TraceContent.some("answer", this.output),
        items: this.items,
        plan: this.plan.map(({ description, ...step }) => ({
          ...step,
          description: TraceContent.make("reasoning", description)
        })),
        search: this.search.result(),
        own: this.calls.totals
      }
    }
  }
}
