/**
 * Asks the person at the terminal about calls that need approval, and what agents want to know.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as AgentEvent from "../../domain/AgentEvent.js"
import type * as ApiModels from "../../http/api/ApiModels.js"
import * as JsonText from "../../internal/text/JsonText.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import type { LineReader } from "./LineReader.js"

/**
 * A request that waits for a person.
 *
 * @category models
 */
export type Asked = AgentEvent.Of<"ApprovalRequested"> | AgentEvent.Of<"QuestionAsked">

/**
 * Decides a request.
 *
 * @category models
 */
export type Decide = (asked: Asked) => Effect.Effect<ApiModels.Decision>

const deny = (reason: string): ApiModels.Decision => ({ decision: "deny", reason })

const nobody = deny("Nobody is there to decide")

/**
 * For commands without a person: approves calls if told to, and answers no questions.
 *
 * @category constructors
 */
export const alone =
  (approves: boolean): Decide =>
  (asked) =>
    Effect.succeed(asked._tag === "ApprovalRequested" && approves ? { decision: "approve" } : nobody)

const gone = Effect.succeed(nobody)

type Field = Readonly<Record<string, unknown>>

/** A typed answer to a field of a form; left if it does not fit its type. */
const valueOf = (text: string, { enum: options, type }: Field): Either.Either<unknown, string> => {
  if (Array.isArray(options)) {
    const found = options.find((option) => String(option) === text)
    return found === undefined ? Either.left(`One of ${options.map(String).join(", ")}`) : Either.right(found)
  }
  if (type === "number" || type === "integer") {
    const number = Number(text)
    return text === "" || !Number.isFinite(number) ? Either.left("A number") : Either.right(number)
  }
  if (type === "boolean") {
    if (/^(?:y|yes|true)$/i.test(text)) return Either.right(true)
    return /^(?:n|no|false)$/i.test(text) ? Either.right(false) : Either.left("yes or no")
  }
  if (type === "array" || type === "object") return Either.mapLeft(JsonText.read(text), () => "JSON")
  return Either.right(text)
}

const kindOf = ({ enum: options, type }: Field): string =>
  Array.isArray(options) ? options.map(String).join(", ") : typeof type === "string" ? type : "text"

class Person {
  constructor(
    private readonly reader: LineReader,
    private readonly screen: Screen.Service
  ) {}

  private say(text: string, style: TerminalText.Style): void {
    this.screen.write(`${TerminalText.paint(this.screen, style, text)}\n`)
  }

  private ask(text: string): Effect.Effect<Option.Option<string>> {
    return Effect.map(
      this.reader.answer(text),
      Option.map((line) => line.trim())
    )
  }

  /** Arguments in the place of those of a call. */
  private readonly edited: Effect.Effect<ApiModels.Decision> = Effect.suspend(() =>
    Effect.flatMap(
      this.ask("  arguments as JSON: "),
      Option.match({
        onNone: () => gone,
        onSome: (text) => {
          const params = JsonText.read(text)
          if (Either.isRight(params)) return Effect.succeed({ decision: "approve", params: params.right } as const)
          this.say("  That is no JSON.", "yellow")
          return this.edited
        }
      })
    )
  )

  approval(asked: AgentEvent.Of<"ApprovalRequested">): Effect.Effect<ApiModels.Decision> {
    const { name, params, reason } = asked
    this.say(`! ${TerminalText.line(name, 80)} ${TerminalText.line(params, 500)}`, "yellow")
    if (reason !== undefined) this.say(`  ${TerminalText.line(reason, 200)}`, "dim")
    return this.decided
  }

  private readonly decided: Effect.Effect<ApiModels.Decision> = Effect.suspend(() =>
    Effect.flatMap(
      this.ask("  allow it? [y]es, [n]o, [e]dit, [a]lways in this run: "),
      Option.match({
        onNone: () => gone,
        onSome: (text): Effect.Effect<ApiModels.Decision> => {
          if (/^y(?:es)?$/i.test(text)) return Effect.succeed({ decision: "approve" })
          if (/^a(?:lways)?$/i.test(text)) return Effect.succeed({ decision: "approve", remember: "run" })
          if (/^e(?:dit)?$/i.test(text)) return this.edited
          return /^no?$/i.test(text) ? Effect.succeed(deny("The user said no")) : this.decided
        }
      })
    )
  )

  question({ form, message }: AgentEvent.Of<"QuestionAsked">): Effect.Effect<ApiModels.Decision> {
    this.say(`? ${TerminalText.plain(message)}`, "yellow")
    const { properties, required } = form
    const fields = Object.entries(Predicate.isReadonlyRecord(properties) ? properties : {})
    const needed: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
    return Effect.gen(this, function* () {
      const params: Record<string, unknown> = {}
      for (const [name, given] of fields) {
        const value = yield* this.field(name, Predicate.isReadonlyRecord(given) ? given : {}, needed.includes(name))
        if (Either.isLeft(value)) return deny("The user declined")
        if (value.right !== undefined) params[name] = value.right
      }
      return { decision: "approve", params } as const
    })
  }

  /** The value of a field; left for one that is needed and not given. */
  private field(name: string, field: Field, isNeeded: boolean): Effect.Effect<Either.Either<unknown, void>> {
    const label = TerminalText.line(typeof field["title"] === "string" ? field["title"] : name, 80)
    const hint = `${TerminalText.line(kindOf(field), 120)}${isNeeded ? "; empty declines" : "; may be empty"}`
    return Effect.flatMap(this.ask(`  ${label} (${hint}): `), (line) => {
      const text = Option.getOrElse(line, () => "")
      if (text === "") return Effect.succeed(isNeeded ? Either.left(undefined) : Either.right(undefined))
      const value = valueOf(text, field)
      if (Either.isRight(value)) return Effect.succeed(Either.right(value.right))
      this.say(`  ${value.left}, please.`, "yellow")
      return this.field(name, field, isNeeded)
    })
  }
}

/**
 * Asks the person at the terminal. A call that its caller should run is denied: the command line has no tools.
 *
 * @category constructors
 */
export const ask = (reader: LineReader, screen: Screen.Service): Decide => {
  const person = new Person(reader, screen)
  return (asked) =>
    Effect.suspend(() => {
      if (asked._tag === "ApprovalRequested") return person.approval(asked)
      if (asked.clientTool === true) return Effect.succeed(deny("The command line cannot run this tool"))
      return person.question(asked)
    })
}
