/**
 * Asks for approvals at the terminal.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as Terminal from "@effect/platform/Terminal"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { count } from "../../internal/Count.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import * as Observation from "../definition/Observation.js"
import * as ApprovalGate from "./ApprovalGate.js"
import * as RememberedApproval from "./RememberedApproval.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Characters of the arguments that are shown; default 4,000. The prompt says how many are left out. */
  readonly maxChars?: number | undefined
}

/** The most decisions and permissions that are remembered. */
const CAPACITY = 1000
const MAX_LINE = 100_000
const MARGIN = "  | "

/** The input has ended. */
class Ended extends Data.TaggedError("Ended")<{}> {}

const keep = <A>(map: Map<string, A>, key: string, value: A): void => {
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= CAPACITY) return
    map.delete(oldest)
  }
}

const safeText = (text: string): string => VisibleText.visible(SecretText.excerpt(text, { maxLength: 200 }))

/** The arguments as JSON without credentials. None of its lines can pass for a line of the prompt. */
const argumentLines = (params: unknown, width: number, maxChars: number): ReadonlyArray<string> => {
  const json = Observation.stringify(params) ?? "(no JSON form)"
  const pretty = json.length > MAX_LINE ? json : indented(json)
  // A credential that the bound cuts in two would not be recognized.
  const safe = SecretText.redact(pretty.slice(0, maxChars + 1000)).slice(0, maxChars)
  const lines = safe.split("\n").flatMap((line) => VisibleText.wrap(VisibleText.visible(line), width))
  const hidden = pretty.length - maxChars
  return [...lines.map((line) => `${MARGIN}${line}`), ...(hidden > 0 ? [`(${hidden} more characters not shown)`] : [])]
}

const indented = (json: string): string => {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}

const prompt = (request: ApprovalGate.ApprovalRequest, columns: number, maxChars: number): string => {
  const width = Math.max(20, (columns > 0 ? columns : 80) - MARGIN.length - 1)
  return [
    "",
    `"${safeText(request.agent)}" wants to call "${safeText(request.tool)}"`,
    ...(request.reason === undefined ? [] : [`Reason: ${safeText(request.reason)}`]),
    ...argumentLines(request.params, width, maxChars),
    ""
  ].join("\n")
}

const parsed = (text: string): Option.Option<unknown> => {
  try {
    return Option.some(JSON.parse(text))
  } catch {
    return Option.none()
  }
}

/** Reads a line, and echoes it where the terminal does not. */
const reader = Effect.gen(function* () {
  const terminal = yield* Terminal.Terminal
  const keys = yield* terminal.readInput
  const echo = (yield* terminal.isTTY) ? terminal.display : () => Effect.void
  let returned = false
  return Effect.gen(function* () {
    const line: Array<string> = []
    let size = 0
    while (true) {
      const { input, key } = yield* Effect.mapError(keys.take, () => new Ended())
      // Some terminals end a line with both characters.
      const second = returned && key.name === "enter"
      returned = key.name === "return"
      if (second) continue
      if (key.name === "return" || key.name === "enter") {
        yield* echo("\n")
        return line.join("")
      }
      if (key.ctrl && (key.name === "c" || key.name === "d")) return yield* new Ended()
      if (key.name === "backspace") {
        const last = line.pop()
        size -= last?.length ?? 0
        if (last !== undefined) yield* echo("\b \b")
        continue
      }
      const text = Option.getOrElse(input, () => "")
      if (key.ctrl || key.meta || text === "" || VisibleText.visible(text) !== text) continue
      if (size + text.length > MAX_LINE) continue
      line.push(text)
      size += text.length
      yield* echo(text)
    }
  })
})

/** `remember` says which later calls of the run the decision covers. */
type Answer = {
  readonly decision: ApprovalGate.ApprovalDecision
  readonly remember?: "same arguments" | "any arguments"
}

const QUESTION =
  "Allow it? [y]es, [n]o, [e]dit the arguments, [a]lways with these arguments in this run, [t]his tool with any arguments in this run: "

const ask = (
  request: ApprovalGate.ApprovalRequest,
  maxChars: number
): Effect.Effect<Answer, Ended | PlatformError, Terminal.Terminal | Scope.Scope> =>
  Effect.gen(function* () {
    const terminal = yield* Terminal.Terminal
    // Text typed before the question is shown does not answer it.
    yield* terminal.display(prompt(request, yield* terminal.columns, maxChars))
    const readLine = yield* reader
    const question = (text: string) => Effect.zipRight(terminal.display(text), readLine)
    while (true) {
      const line = yield* question(QUESTION)
      switch (line.trim().toLowerCase()) {
        case "y":
        case "yes":
          return { decision: ApprovalGate.approve() }
        case "a":
        case "always":
          return { decision: ApprovalGate.approve(), remember: "same arguments" }
        case "t":
        case "tool":
          return { decision: ApprovalGate.approve(), remember: "any arguments" }
        case "n":
        case "no": {
          const reason = (yield* question("Why not? (may be empty) ")).trim()
          return { decision: ApprovalGate.deny({ reason: reason === "" ? "Denied at the terminal" : reason }) }
        }
        case "e":
        case "edit": {
          const edited = parsed(yield* question("The arguments as JSON, on one line: "))
          if (Option.isSome(edited)) return { decision: ApprovalGate.approve({ params: edited.value }) }
          yield* terminal.display("That is not JSON.\n")
          break
        }
        default:
          yield* terminal.display("Please answer y, n, e, a or t.\n")
      }
    }
  })

const ended = ApprovalGate.deny({ reason: "No answer at the terminal: its input ended" })
const silent = ApprovalGate.deny({ reason: "The question could not be shown at the terminal" })

/**
 * A gate that asks at the terminal, one question at a time. `e` takes other arguments as JSON, which the tool's schema
 * checks; `a` allows the tool with equal arguments to this agent until the run at the top ends, `t` with any arguments.
 * The end of the input (Ctrl-C, Ctrl-D) denies; interruption takes the question back. Arguments are shown without
 * credentials and with every control character as its code.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<ApprovalGate.Service, never, Terminal.Terminal> =>
  Effect.gen(function* () {
    const terminal = yield* Terminal.Terminal
    const maxChars = count(options?.maxChars, 4000, 1)
    const inTurn = Permits.make(1)
    const decided = new Map<
      string,
      { request: ApprovalGate.ApprovalRequest; decision: ApprovalGate.ApprovalDecision }
    >()
    const remembered = new Map<string, ApprovalGate.ApprovalDecision>()

    const known = (request: ApprovalGate.ApprovalRequest): ApprovalGate.ApprovalDecision | undefined => {
      const earlier = decided.get(request.id)
      if (earlier !== undefined && RememberedApproval.isSameCall(earlier.request, request)) return earlier.decision
      if (remembered.size === 0) return undefined
      const key = RememberedApproval.keys(request).find((key) => remembered.has(key))
      return key === undefined ? undefined : remembered.get(key)
    }

    const keepAnswer = (request: ApprovalGate.ApprovalRequest, { decision, remember }: Answer): void => {
      keep(decided, request.id, { request, decision })
      if (remember === undefined) return
      const exact = remember === "same arguments"
      const entry = RememberedApproval.make(request, decision, { scope: "run", exact, at: 0 })
      if (entry !== null) keep(remembered, entry.key, decision)
    }

    const asked = (request: ApprovalGate.ApprovalRequest): Effect.Effect<ApprovalGate.ApprovalDecision> =>
      ask(request, maxChars).pipe(
        Effect.map((answer) => {
          keepAnswer(request, answer)
          return answer.decision
        }),
        Effect.catchTag("Ended", () =>
          Effect.as(Effect.ignore(terminal.display("\nDenied: the input ended.\n")), ended)
        ),
        Effect.catchAll((error) =>
          Effect.as(
            Effect.annotateLogs(Effect.logError("An approval could not be requested"), {
              module: "ApprovalConsole",
              error: error._tag
            }),
            silent
          )
        ),
        Effect.onInterrupt(() => Effect.ignore(terminal.display("\nThe question is withdrawn.\n"))),
        Effect.scoped,
        Effect.provideService(Terminal.Terminal, terminal)
      )

    return {
      request: (request) =>
        Effect.suspend(() => {
          const decision = known(request)
          if (decision !== undefined) return Effect.succeed(decision)
          // An earlier question in the queue may have answered this one too.
          return inTurn(
            Effect.suspend(() => {
              const decision = known(request)
              return decision === undefined ? asked(request) : Effect.succeed(decision)
            })
          )
        })
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
 * import { Agents } from "effect-lexigram"
 * import { ApprovalConsole } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * const layer = Agents.layerWith({ approvals: ApprovalConsole.layer({ maxChars: 2_000 }) }).pipe(
 *   Layer.provide(NodeTerminal.layer)
 * )
 * ```
 */
export const layer = (options?: Options): Layer.Layer<ApprovalGate.ApprovalGate, never, Terminal.Terminal> =>
  Layer.effect(ApprovalGate.ApprovalGate, make(options))
