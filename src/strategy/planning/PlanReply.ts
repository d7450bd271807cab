/**
 * Reads the replies of `plan-execute`: plans, tool arguments and step results.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as PlanText from "../../plan/PlanText.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as ToolArguments from "../../tool/definition/ToolArguments.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import * as FencedText from "../reasoning/FencedText.js"
import type { Step } from "./Planner.js"

/** Steps, or the answer itself if the task needs none. Without either, nothing is left to do. */
export interface Drafted {
  readonly steps: ReadonlyArray<Step>
  readonly answer?: string | undefined
}

const StepSchema = Schema.Struct({
  description: Schema.String.annotations({ description: "What the step finds out, does or works out" }),
  tool: Schema.optional(
    Schema.NullOr(Schema.String).annotations({ description: "The tool that is called; null for a step of reasoning" })
  ),
  arguments: Schema.optional(
    Schema.Unknown.annotations({
      description: "The arguments of the tool, only if all of them are known now",
      jsonSchema: { type: ["object", "null"] }
    })
  )
})

const Steps = Schema.Array(StepSchema)

const Answer = Schema.optional(
  Schema.NullOr(Schema.String).annotations({ description: "The answer to the task, only where it needs no steps" })
)

const normalised = (step: typeof StepSchema.Type): Step => {
  const { arguments: args, description, tool } = step
  const name = tool?.trim() ?? ""
  return {
    description: description.trim() === "" ? `Use ${name}` : description.trim(),
    ...(name === "" ? {} : { tool: name }),
    ...(name === "" || args === undefined || args === null ? {} : { arguments: args })
  }
}

/** A JSON object at the end of a line: the arguments of its tool. */
const withArguments = ({ description, tool }: PlanText.Step): Step => {
  if (tool === undefined) return { description }
  const end = description.trimEnd()
  for (let from = end.endsWith("}") ? end.indexOf("{") : -1; from >= 0; ) {
    const value = JsonRepair.balancedAt(end, from)
    if (value?.end === end.length) {
      const args = JsonRepair.parse(value.text)
      const rest = end.slice(0, from).replace(/[\s:,;=>→-]{1,16}$/u, "")
      if (Either.isRight(args)) return { description: rest === "" ? `Use ${tool}` : rest, tool, arguments: args.right }
    }
    // Skips a balanced value or nothing, so that every character is read once.
    from = value === undefined ? -1 : end.indexOf("{", value.end)
  }
  return { description, tool }
}

const fromText = (text: string): Either.Either<{ readonly steps: ReadonlyArray<Step> }, string> =>
  Either.mapBoth(PlanText.parse(text), {
    onRight: ({ steps }) => ({ steps: steps.map(withArguments) }),
    onLeft: () => "it holds no step of a plan"
  })

const planned = ReplyForm.make({ name: "plan", schema: Schema.Struct({ steps: Steps }), text: fromText })

const plannedOrAnswered = ReplyForm.make({
  name: "plan",
  schema: Schema.Struct({ steps: Steps, answer: Answer }),
  text: fromText
})

const replanned = ReplyForm.make({
  name: "plan",
  schema: Schema.Struct({ steps: Steps }),
  text: (text) => (/^\W{0,4}NO_MORE_STEPS\W{0,4}$/.test(text.trim()) ? Either.right({ steps: [] }) : fromText(text))
})

const draft = (value: { readonly steps: ReadonlyArray<typeof StepSchema.Type>; readonly answer?: string | null }) => {
  const answer = value.answer?.trim() ?? ""
  const steps = value.steps.filter((step) => step.description.trim() !== "" || (step.tool?.trim() ?? "") !== "")
  return { steps: steps.map(normalised), ...(answer === "" ? {} : { answer }) }
}

const answerMarker = /^[*_#\s]{0,8}(?:final[ _]{0,2})?answer[*_]{0,3}[ \t]{0,4}[:：][*_]{0,3}[ \t]*/i

const beginsAsJson = (text: string): boolean => /^\s*(?:```[a-zA-Z]*\s*)?[[{]/.test(text.slice(0, 100))

/** A text meant as JSON is a broken plan, not an answer. */
const holdsJson = (text: string): boolean => beginsAsJson(text) || /"steps"\s{0,8}:/.test(text)

/**
 * A plan of at least one step. With `direct` also an answer, either marked as one or a text without the form of a plan.
 */
export const plan = (direct: boolean): ReplyForm.ReplyForm<Drafted> => ({
  name: "plan",
  jsonSchema: direct ? plannedOrAnswered.jsonSchema : planned.jsonSchema,
  read: (text) => {
    const marked = direct ? answerMarker.exec(text.slice(0, 200)) : null
    const behind = marked === null ? "" : text.slice(marked[0].length).trim()
    if (behind !== "") return Effect.succeed({ steps: [], answer: behind })
    const form: ReplyForm.ReplyForm<Parameters<typeof draft>[0]> = direct ? plannedOrAnswered : planned
    return Effect.matchEffect(form.read(text), {
      onSuccess: (value): Effect.Effect<Drafted, string> => {
        const drafted = draft(value)
        if (drafted.steps.length > 0) return Effect.succeed({ steps: drafted.steps })
        return direct && drafted.answer !== undefined ? Effect.succeed(drafted) : Effect.fail("the plan has no steps")
      },
      onFailure: (issues): Effect.Effect<Drafted, string> =>
        direct && !holdsJson(text) ? Effect.succeed({ steps: [], answer: text.trim() }) : Effect.fail(issues)
    })
  }
})

/** The steps after a failed one; none if nothing is left to do. */
export const replan: ReplyForm.ReplyForm<Drafted> = {
  name: "plan",
  jsonSchema: replanned.jsonSchema,
  read: (text) => Effect.map(replanned.read(text), draft)
}

/** Checks arguments against a tool; `undefined` if they fit, else the problem. */
export const problem = (tools: Bound, tool: Tool.Any, raw: unknown): Effect.Effect<string | undefined> => {
  const args = ToolArguments.normalise(raw, tool.parameters)
  const without = ToolArguments.withoutNulls(args, tool.parameters)
  const decode = (value: unknown) => tools.provide(tool.erased.decode(value))
  return Effect.match(without === args ? decode(args) : Effect.orElse(decode(args), () => decode(without)), {
    onSuccess: () => undefined,
    onFailure: (issues) =>
      issues
        .slice(0, 20)
        .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
        .join("; ")
  })
}

const inputMarker = /(?:^|\n)[ \t*_#]{0,8}action[ _-]{0,2}input[*_]{0,3}[ \t]{0,4}[:：][*_]{0,3}/i

/** The arguments of one tool, validated against its parameters. */
export const toolInput = (tools: Bound, tool: Tool.Any): ReplyForm.ReplyForm<unknown> => ({
  name: tools.names.toProvider(tool.name),
  jsonSchema: tool.parameters,
  read: (text) => {
    // In a text that begins as JSON, a marker is part of the arguments.
    const marked = beginsAsJson(text) ? null : inputMarker.exec(text)
    const raw = marked === null ? text : text.slice(marked.index + marked[0].length).trim()
    const json = JsonText.read(raw)
    if (Either.isLeft(json) && marked === null) return Effect.fail(json.left)
    const args = Either.isRight(json) ? json.right : raw
    return Effect.flatMap(problem(tools, tool, args), (issues) =>
      issues === undefined ? Effect.succeed(args) : Effect.fail(`the arguments are not valid: ${issues}`)
    )
  }
})

// A reference that a planner writes in place of a future value: $1, #E2, {{step 3}}, <result of step 1>, [output].
const reference =
  /[$#]\{?[A-Za-z_]{0,12}\d|[{<[][^{}<>[\]]{0,40}?(?:step|result|output|observation|previous)[^{}<>[\]]{0,40}?[}\]>]/i

/** Whether arguments contain a reference instead of a value. */
export const refers = (value: unknown): boolean => {
  if (typeof value === "string") return reference.test(value)
  if (typeof value !== "object" || value === null) return false
  return Object.values(value).some(refers)
}

/** The outcome of a step of reasoning. */
export interface Reasoned {
  readonly thought: string
  readonly done: boolean
  readonly result: string
}

const ReasonedSchema = Schema.Struct({
  thought: Schema.optional(Schema.NullOr(Schema.String).annotations({ description: "How you get there" })),
  status: Schema.Literal("done", "failed").annotations({ description: "failed: the step cannot be carried out" }),
  result: Schema.NonEmptyString.annotations({ description: "What the step came to; of a failed one, what is missing" })
})

const stepMarker = /(?:^|\n)[ \t*_#]{0,8}step[ _](result|failed)[*_]{0,3}[ \t]{0,4}[:：][*_]{0,3}/i

/** The first marker counts. Markers inside a fence, and those after one, are quoted. */
const reasonedText = (text: string): Either.Either<typeof ReasonedSchema.Type, string> => {
  const marker = stepMarker.exec(FencedText.blank(text))
  if (marker === null) return Either.left("STEP_RESULT: or STEP_FAILED: is missing at the start of a line")
  const result = text.slice(marker.index + marker[0].length).trim()
  if (result === "") return Either.left("nothing stands behind the marker")
  const status = marker[1]?.toLowerCase() === "failed" ? "failed" : "done"
  return Either.right({ thought: text.slice(0, marker.index).trim(), status, result })
}

const reasonedForm = ReplyForm.make({ name: "step_result", schema: ReasonedSchema, text: reasonedText })

export const reasoned: ReplyForm.ReplyForm<Reasoned> = {
  name: reasonedForm.name,
  jsonSchema: reasonedForm.jsonSchema,
  read: (text) =>
    Effect.map(reasonedForm.read(text), ({ result, status, thought }) => ({
      thought: thought?.trim() ?? "",
      done: status === "done",
      result: result.trim()
    }))
}
