/**
 * Reads the replies to the steps of Self-Discover, as JSON and as text.
 *
 * @since 0.1.0
 * @private
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ReplyForm from "../definition/ReplyForm.js"
import type { ReasoningModule } from "./ReasoningModules.js"

const marker =
  /^[ \t>*_#-]{0,8}(STEP|MODULE|SELECTED|ANSWER)\b[ \t]{0,4}([0-9]{1,4})?[ \t]{0,4}[*_]{0,3}:[*_]{0,3}(.*)$/i

interface Block {
  readonly kind: string
  readonly number: string | undefined
  /** The text after the colon, and the lines up to the next marker. */
  readonly head: string
  readonly body: string
}

/** The parts of a text that begin with one of the markers at the start of a line. */
const blocks = (text: string, kinds: ReadonlyArray<string>): ReadonlyArray<Block> => {
  const found: Array<{ kind: string; number: string | undefined; head: string; lines: Array<string> }> = []
  for (const line of text.split("\n")) {
    const match = marker.exec(line)
    const kind = match?.[1]?.toUpperCase()
    if (match !== null && kind !== undefined && kinds.includes(kind)) {
      found.push({ kind, number: match[2], head: (match[3] ?? "").trim(), lines: [] })
    } else found.at(-1)?.lines.push(line)
  }
  return found.map(({ lines, ...block }) => ({ ...block, body: lines.join("\n").trim() }))
}

const whole = (block: Block): string => `${block.head}\n${block.body}`.trim()

const keyOf = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")

const names = (modules: ReadonlyArray<ReasoningModule>): string => modules.map((one) => one.name).join(", ")

const Selected = Schema.Struct({
  selected: Schema.Array(Schema.String).annotations({ description: "Names of modules, the most useful first" })
})

const selected = ReplyForm.make({
  name: "selected_modules",
  schema: Selected,
  text: (text) => {
    const found = blocks(text, ["SELECTED"]).flatMap(({ head }) => head.split(","))
    return found.length === 0
      ? Either.left("no line begins with SELECTED: and the name of a module")
      : Either.right({ selected: found })
  }
})

/** The named modules of the pool, each once and at most `max`, and the unknown names. */
export const selection = (
  pool: ReadonlyArray<ReasoningModule>,
  max: number
): ReplyForm.ReplyForm<{
  readonly modules: ReadonlyArray<ReasoningModule>
  readonly unknown: ReadonlyArray<string>
}> => {
  const byKey = new Map(pool.map((one) => [keyOf(one.name), one]))
  const byName = new Map(pool.map((one) => [one.name, one]))
  return {
    ...selected,
    read: (text) =>
      Effect.flatMap(selected.read(text), (reply) => {
        const modules = new Set<ReasoningModule>()
        const unknown: Array<string> = []
        for (const name of reply.selected) {
          const found = byName.get(name.trim()) ?? byKey.get(keyOf(name))
          if (found !== undefined) modules.add(found)
          else if (name.trim() !== "") unknown.push(name.trim().slice(0, 64))
        }
        return modules.size === 0
          ? Effect.fail(`no module of the list was chosen; the names are: ${names(pool).slice(0, 1500)}`)
          : Effect.succeed({ modules: Array.from(modules).slice(0, max), unknown: unknown.slice(0, 20) })
      })
  }
}

const Adapted = Schema.Struct({
  modules: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      strategy: Schema.String.annotations({ description: "How the module is used on the task" })
    })
  )
})

const adapted = ReplyForm.make({
  name: "adapted_modules",
  schema: Adapted,
  text: (text) => {
    const found = blocks(text, ["MODULE"])
    return found.length === 0
      ? Either.left("no line begins with MODULE: and the name of a module")
      : Either.right({ modules: found.map(({ body, head }) => ({ name: head, strategy: body })) })
  }
})

/** The use of each module, in order. For a single module the plain text is enough. */
export const adaptation = (modules: ReadonlyArray<ReasoningModule>): ReplyForm.ReplyForm<ReadonlyArray<string>> => {
  const only = modules.length === 1
  return {
    ...adapted,
    read: (text) =>
      Effect.matchEffect(adapted.read(text), {
        onFailure: (issues) =>
          only && !/^\s*(?:```|[[{])/.test(text) ? Effect.succeed([text.trim()]) : Effect.fail(issues),
        onSuccess: (reply) => {
          const first = reply.modules[0]
          const byKey = new Map(reply.modules.map((one) => [keyOf(one.name), one.strategy.trim()]))
          const byName = new Map(reply.modules.map((one) => [one.name.trim(), one.strategy.trim()]))
          const found = modules.map(({ name }) =>
            only && reply.modules.length === 1
              ? (first?.strategy.trim() ?? "")
              : (byName.get(name) ?? byKey.get(keyOf(name)) ?? "")
          )
          const missing = modules.filter((_, index) => found[index] === "")
          return missing.length === 0
            ? Effect.succeed(found)
            : Effect.fail(`there is no adapted text for ${names(missing)}`)
        }
      })
  }
}

const Plan = Schema.Struct({
  steps: Schema.Array(Schema.String).annotations({ description: "One sentence each, in the order they are taken" })
})

const planned = ReplyForm.make({
  name: "reasoning_plan",
  schema: Plan,
  text: (text) => {
    const found = blocks(text, ["STEP"])
    return found.length === 0
      ? Either.left("no line begins with STEP and its number")
      : Either.right({ steps: found.map(whole) })
  }
})

/** The steps of the plan. */
export const plan = (max: number): ReplyForm.ReplyForm<Arr.NonEmptyReadonlyArray<string>> => ({
  ...planned,
  read: (text) =>
    Effect.flatMap(planned.read(text), (reply) => {
      const steps = reply.steps.map((step) => step.trim()).filter((step) => step !== "")
      if (!Arr.isNonEmptyReadonlyArray(steps)) return Effect.fail("the plan has no steps")
      return steps.length > max
        ? Effect.fail(`the plan has ${steps.length} steps, and at most ${max} are allowed`)
        : Effect.succeed(steps)
    })
})

const Followed = Schema.Struct({
  results: Schema.Array(Schema.String).annotations({ description: "The result of each step of the plan, in order" }),
  answer: Schema.String
})
export interface Followed extends Schema.Schema.Type<typeof Followed> {}

const filled = ReplyForm.make({
  name: "followed_structure",
  schema: Followed,
  text: (text) => {
    const found = blocks(text, ["STEP", "ANSWER"])
    // A result may contain such a line: the last one counts.
    const last = found.map(({ kind }) => kind).lastIndexOf("ANSWER")
    const answer = found[last]
    return answer === undefined
      ? Either.left("no line begins with ANSWER:")
      : Either.right({
          results: found
            .slice(0, last)
            .filter(({ kind }) => kind === "STEP")
            .map(whole),
          answer: whole(answer)
        })
  }
})

/** One result per step, and the answer. */
export const followed = (steps: number): ReplyForm.ReplyForm<Followed> => ({
  ...filled,
  read: (text) =>
    Effect.filterOrElse(
      filled.read(text),
      ({ answer, results }) =>
        answer.trim() !== "" && results.length === steps && results.every((result) => result.trim() !== ""),
      ({ answer, results }) =>
        Effect.fail(
          answer.trim() === ""
            ? "the answer is empty"
            : `the plan has ${steps} steps, and each needs a result: there are ${results.filter((result) => result.trim() !== "").length}`
        )
    )
})
