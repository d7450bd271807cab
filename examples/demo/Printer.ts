/**
 * Prints the events of a run while they happen.
 */
import * as ConfigError from "effect/ConfigError"
import { type AgentEvent, type AgentResponse, Usage } from "effect-lexigram"
import { ErrorInfo } from "effect-lexigram/domain"
import type { Chosen } from "./Models.js"

export interface Printer {
  readonly event: (event: AgentEvent.AgentEvent) => void
  readonly error: (error: unknown) => void
  /** Prints the result of the run. */
  readonly summary: (response: AgentResponse.AgentResponse<unknown>) => void
}

/** Text of models and tools must not control the terminal: the only control characters are line breaks and tabs. */
export const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "")

const short = (value: unknown, length: number): string => {
  const text = plain(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).replace(/\s+/g, " ")
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(2)} s`

const tokens = (usage: Usage.Usage): string =>
  usage.inputTokens === undefined && usage.outputTokens === undefined
    ? `${Usage.total(usage)} tokens`
    : `${usage.inputTokens ?? "?"} tokens in, ${usage.outputTokens ?? "?"} out`

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`

export const make = (options: {
  readonly write: (text: string) => void
  readonly colors: boolean
  readonly chosen: Chosen
  /** Called after the output shows that a call waits for a decision. */
  readonly onApproval?: (() => void) | undefined
}): Printer => {
  const { chosen, colors } = options
  const paint = (code: number) => (text: string) => (colors ? `\u001b[${code}m${text}\u001b[0m` : text)
  const bold = paint(1)
  const dim = paint(2)
  const red = paint(31)
  const green = paint(32)
  const yellow = paint(33)
  const cyan = paint(36)

  let startedAt = 0
  /** Streamed text of this step; while it is not empty, the line is open. */
  let streamed = ""
  let reasoning = false

  const close = () => {
    if (streamed !== "" || reasoning) options.write("\n")
    streamed = ""
    reasoning = false
  }
  const line = (text: string) => {
    close()
    options.write(`${text}\n`)
  }

  return {
    error: (error) => {
      const { code, hint, message, tag } = ErrorInfo.errorInfo(error)
      // A ConfigError names its variable only in its text.
      const said = ConfigError.isConfigError(error) ? String(error) : message
      line(red(`${tag}${code === undefined ? "" : ` (${code})`}: ${plain(said)}`))
      if (hint !== undefined) line(yellow(`  ${plain(hint)}`))
    },
    event: (event) => {
      switch (event._tag) {
        case "Started": {
          startedAt = event.at
          line(
            `${bold(event.agent)} reasons with ${event.strategy}, ${plain(chosen.model)} (${plain(chosen.provider)}) answers`
          )
          return
        }
        case "StepStarted": {
          line(dim(`  step ${event.step}  +${seconds(event.at - startedAt)}`))
          return
        }
        case "ReasoningDelta": {
          if (!reasoning) close()
          options.write(`${reasoning ? "" : "    "}${dim(plain(event.text))}`)
          reasoning = true
          return
        }
        case "TextDelta": {
          if (streamed === "") {
            close()
            options.write("    ")
          }
          streamed += event.text
          options.write(plain(event.text).replace(/\n/g, "\n    "))
          return
        }
        case "Thought": {
          if (streamed.trim() !== event.text.trim()) line(`    ${dim(`thinks: ${short(event.text, 300)}`)}`)
          return
        }
        case "ToolCall": {
          line(`    ${cyan("→")} ${bold(plain(event.name))} ${short(event.params, 200)}`)
          return
        }
        case "ToolResult": {
          const mark = event.isFailure ? red("✗") : green("←")
          line(`    ${mark} ${short(event.observation, 160)} ${dim(`(${event.durationMs} ms)`)}`)
          return
        }
        case "ApprovalRequested": {
          line(`    ${yellow("!")} ${bold(plain(event.name))} needs a decision`)
          options.onApproval?.()
          return
        }
        case "ApprovalResolved": {
          line(`    ${yellow("!")} ${event.approved ? "allowed" : "not allowed"}`)
          return
        }
        case "UsageReported": {
          line(dim(`    ${short(event.model ?? chosen.model, 80)}: ${tokens(event.usage)}`))
          return
        }
        case "Degraded": {
          line(yellow(`    ${event.stage}: ${event.error.tag}, ${short(event.error.message, 200)}`))
          return
        }
        case "Message": {
          close()
          return
        }
      }
    },
    summary: (response) => {
      const cost = chosen.embedded
        ? "none (embedded model)"
        : response.costUsd === undefined
          ? "unknown"
          : `$${response.costUsd.toFixed(4)}`
      line(
        dim(
          `  ${response.finishReason ?? "stopped"} in ${seconds(response.durationMs)}: ` +
            `${count(response.modelCalls, "model call")}, ${count(response.toolCalls.length, "tool call")}, ` +
            `${tokens(response.usage)}, cost: ${cost}`
        )
      )
    }
  }
}
