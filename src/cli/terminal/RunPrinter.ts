/**
 * Shows a run while it goes on: its answer on the output, and what it does meanwhile on the error output.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as AgentEvent from "../../domain/AgentEvent.js"
import * as Usage from "../../domain/Usage.js"
import type * as Screen from "./Screen.js"
import * as TerminalText from "./TerminalText.js"

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

const marks = { pending: "·", completed: "✓", failed: "✗", skipped: "-" } as const

/**
 * What runs have used so far.
 *
 * @category models
 */
export interface Totals {
  usage: Usage.Usage
  costUsd: number
  /** Calls whose price is not known. */
  unpriced: number
}

/**
 * Tokens and, as far as they are known, dollars.
 *
 * @category conversions
 */
export const cost = ({ costUsd, unpriced, usage }: Totals): string => {
  const tokens = TerminalText.count(Usage.total(usage), "token")
  const dollars = costUsd > 0 ? `, $${costUsd.toFixed(costUsd < 0.01 ? 4 : 2)}` : ""
  return `${tokens}${dollars}${unpriced > 0 && costUsd > 0 ? ` and ${TerminalText.count(unpriced, "call")} without a price` : ""}`
}

/**
 * @category constructors
 */
export const noTotals = (): Totals => ({ usage: {}, costUsd: 0, unpriced: 0 })

/**
 * Shows the events of one run.
 *
 * @category models
 */
export class RunPrinter {
  /** Text of the answer that the output shows since it was last taken back. */
  private shown = ""
  /** Whether the cursor stands behind a text. */
  private isOpen = false
  private status = ""
  private frame = 0
  private plan = ""

  constructor(
    private readonly screen: Screen.Service,
    private readonly totals: Totals,
    private readonly streams: boolean
  ) {}

  /** One more picture of what goes on. */
  tick(): void {
    const { screen, status } = this
    if (!screen.showsProgress || status === "" || this.isOpen) return
    this.frame = (this.frame + 1) % frames.length
    const text = TerminalText.line(`${frames[this.frame]} ${status}`, screen.columns() - 1)
    screen.note(`\r\u001b[2K${TerminalText.paint(screen, "dim", text)}`)
  }

  /** Leaves the line free for others. */
  clear(): void {
    if (this.isOpen) this.screen.write("\n")
    else if (this.screen.showsProgress && this.status !== "") this.screen.note("\r\u001b[2K")
    this.isOpen = false
    this.status = ""
  }

  private note(text: string, style: TerminalText.Style = "dim"): void {
    if (!this.screen.showsProgress) return
    const { status } = this
    this.clear()
    this.screen.note(`${TerminalText.paint(this.screen, style, text)}\n`)
    this.status = status
  }

  private answer(text: string): void {
    if (text === "") return
    if (!this.isOpen) this.clear()
    this.isOpen = true
    this.shown += text
    this.screen.write(TerminalText.plain(text))
  }

  show(event: AgentEvent.AgentEvent): void {
    switch (event._tag) {
      case "StepStarted": {
        const { name, step } = event
        this.status = `step ${step}${name === undefined ? "" : `, ${name}`}`
        return
      }
      case "TextDelta":
        if (this.streams) this.answer(event.text)
        return
      case "TextRetracted": {
        if (this.shown !== "") this.clear()
        this.shown = ""
        return
      }
      case "Message": {
        if (this.shown === event.text) return
        if (this.shown !== "") this.clear()
        this.shown = ""
        this.answer(event.text)
        return
      }
      case "UsageReported": {
        this.totals.usage = Usage.add(this.totals.usage, event.usage)
        if (event.costUsd === undefined) this.totals.unpriced++
        else this.totals.costUsd += event.costUsd
        return
      }
      case "Error":
      case "Finished":
        this.clear()
        return
      default:
        this.showWork(event)
        return
    }
  }

  /** What a run does besides answering. */
  private showWork(event: AgentEvent.AgentEvent): void {
    switch (event._tag) {
      case "ToolCall": {
        this.note(`→ ${TerminalText.line(event.name, 80)} ${TerminalText.line(event.params, 160)}`, "cyan")
        this.status = event.name
        return
      }
      case "ToolProgress": {
        const { done, message = "", name, total } = event
        const amount = done === undefined ? "" : ` ${done}${total === undefined ? "" : `/${total}`}`
        this.status = `${name}${amount} ${message}`
        return
      }
      case "ToolResult": {
        const text = `${TerminalText.line(event.observation, 160)} (${TerminalText.duration(event.durationMs)})`
        this.note(`${event.isFailure ? "✗" : "←"} ${text}`, event.isFailure ? "red" : "dim")
        return
      }
      case "Plan": {
        const steps = event.steps.map(
          ({ description, status }) => `  ${marks[status]} ${TerminalText.line(description, 120)}`
        )
        const plan = `plan\n${steps.join("\n")}`
        if (plan !== this.plan) this.note(plan)
        this.plan = plan
        return
      }
      case "Thought":
        this.note(`  ${TerminalText.line(event.text, 200)}`)
        return
      case "Critique":
        this.note(
          `  ${event.accepted === false ? "rejected" : "judged"}${event.score === undefined ? "" : ` ${event.score}`}: ${TerminalText.line(event.text, 160)}`
        )
        return
      case "Delegated":
        this.note(`⇢ ${TerminalText.line(event.toAgent, 80)}: ${TerminalText.line(event.message, 160)}`, "cyan")
        return
      case "GuardTriggered":
        this.note(
          `! ${TerminalText.line(event.guard, 80)}: ${event.action} ${TerminalText.line(event.reason ?? "", 160)}`,
          "yellow"
        )
        return
      case "AnswerRejected":
        this.note(`! asks again: ${TerminalText.line(event.message, 160)}`, "yellow")
        return
      case "Degraded":
        this.note(`! ${event.stage}: ${event.error.tag}, ${TerminalText.line(event.error.message, 160)}`, "yellow")
        return
      case "NodeFinished": {
        this.status = event.node
        return
      }
      default:
        return
    }
  }
}

/**
 * A printer whose picture moves while the scope is open.
 *
 * @category constructors
 */
export const make = (
  screen: Screen.Service,
  totals: Totals,
  streams: boolean
): Effect.Effect<RunPrinter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const printer = new RunPrinter(screen, totals, streams)
    if (screen.showsProgress) {
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => printer.tick()),
          Schedule.spaced("100 millis")
        )
      )
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => printer.clear()))
    return printer
  })
