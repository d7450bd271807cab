/**
 * Tools by which a model uses a skill catalog. Their descriptions do not depend on the skills: no text of a skill gets
 * into them.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Step from "../../observability/Step.js"
import * as Tool from "../../tool/definition/Tool.js"
import { composed } from "../../tool/definition/ToolCombinators.js"
import * as SkillText from "../definition/SkillText.js"
import * as ActiveSkills from "./ActiveSkills.js"
import type { ScriptError } from "./ScriptRunner.js"
import { SkillAccessError } from "./SkillAccess.js"
import * as SkillActivation from "./SkillActivation.js"
import type { Service as SkillCatalog, UseError } from "./SkillCatalog.js"
import * as SkillFence from "./SkillFence.js"
import * as SkillListing from "./SkillListing.js"
import * as SkillSearch from "./SkillSearch.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CatalogTools {
  readonly activate: Tool.Any
  readonly readFile: Tool.Any
  /** Present if the catalog runs scripts. */
  readonly runScript: Tool.Any | undefined
  /** The tools above. */
  readonly all: ReadonlyArray<Tool.Tool<never, unknown, never, never, unknown>>
  /** Finds skills by words, for listings without room for all of them. */
  readonly search: Tool.Tool<never, unknown, never, never, unknown>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Other names for the tools. */
  readonly names?:
    | {
        readonly activate?: string | undefined
        readonly readFile?: string | undefined
        readonly runScript?: string | undefined
        readonly search?: string | undefined
      }
    | undefined
  /**
   * Maximum characters of instructions or file text in one answer, at least 100; the model calls again for the rest.
   * Keep it 2,000 below the runner's limit on results (`maxResultChars`).
   */
  readonly maxChars?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  activate: "activate_skill",
  readFile: "read_skill_file",
  runScript: "run_skill_script",
  search: "find_skills",
  maxChars: 8000
} as const

const offset = Schema.optional(
  Schema.NonNegativeInt.annotations({ description: "Where to go on reading; only when an earlier answer said so" })
)
const skillName = Schema.String.annotations({ description: "The name of the skill" })

const rest = (page: SkillText.Page): string =>
  page.end === page.length && page.offset === 0
    ? ""
    : `\n\nThese are the characters ${page.offset} to ${page.end} of ${page.length}. ${
        page.end === page.length ? "That is the end." : `Call again with offset ${page.end} for what follows.`
      }`

/** Files are the third level: instructions come first, and with them the skill's restrictions. */
const ifActive = <A, E>(
  catalogue: SkillCatalog,
  name: string,
  use: Effect.Effect<A, E>
): Effect.Effect<A, E | SkillAccessError> =>
  Effect.gen(function* () {
    const active = yield* ActiveSkills.ActiveSkills
    if (yield* active.isActive(name)) return yield* use
    const skills = yield* catalogue.skills
    // The catalog reports unknown names best.
    if (!skills.some(({ file }) => file.name === name)) return yield* use
    return yield* new SkillAccessError({
      skillName: SkillText.name(name),
      reason: "NotActive",
      message: `The skill "${SkillText.name(name)}" has not been activated`,
      hint: "Activate it first"
    })
  })

const Activation = Schema.Struct({
  name: Schema.String,
  instructions: Schema.String,
  tokens: Schema.Number,
  files: Schema.Array(Schema.String),
  allowedTools: Schema.optional(
    Schema.Array(Schema.Struct({ name: Schema.String, pattern: Schema.optional(Schema.String) }))
  ),
  text: Schema.String
})

/** An activation as a step: the folder may change before a durable run goes on. */
const recorded = <E>(
  params: unknown,
  activating: Effect.Effect<SkillActivation.SkillActivation, E>
): Effect.Effect<SkillActivation.SkillActivation, E> =>
  Effect.map(
    Step.run(
      { kind: "skill", hash: () => JSON.stringify(params), success: Activation, error: StepFailure.any },
      activating
    ),
    ({ allowedTools, ...activation }) => ({ ...activation, allowedTools })
  )

/** Results of one search. */
const FOUND = 10

/** Nothing is retried: the model acts on failures. */
const once = { timeout: Duration.infinity, retries: 0 }

/**
 * The tools for a catalog; make them once per catalog.
 *
 * Activations are recorded in `ActiveSkills`; only the files and scripts of active skills can be used.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { CatalogTools, SkillCatalog } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const clerk = Effect.map(SkillCatalog.SkillCatalog, (catalog) =>
 *   Agent.make("clerk", { system: "You help at the desk.", tools: CatalogTools.make(catalog, { maxChars: 4000 }).all })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (catalogue: SkillCatalog, options?: Options): CatalogTools => {
  const maxChars = Math.max(100, options?.maxChars ?? defaults.maxChars)
  // Its handler runs on a replay too, which restores the restriction; what it reads is a step.
  const activate = composed(
    Tool.make(options?.names?.activate ?? defaults.activate, {
      ...once,
      description:
        "Activates one of the available skills and gives its instructions. When what is asked is what a skill is for, activate it before anything else.",
      parameters: {
        name: skillName,
        arguments: Schema.optional(
          Schema.String.annotations({ description: "What the skill is to work on, if it takes something" })
        ),
        offset
      },
      success: Schema.String,
      handler: (params): Effect.Effect<string, UseError> =>
        Effect.gen(function* () {
          const activation = yield* recorded(params, catalogue.activate(params.name, params.arguments))
          const active = yield* ActiveSkills.ActiveSkills
          yield* active.activate(activation)
          const page = SkillText.page(activation.instructions, { offset: params.offset ?? 0, maxChars })
          return `${SkillActivation.present(activation, page.text)}${rest(page)}`
        })
    })
  )
  const readFile = Tool.make(options?.names?.readFile ?? defaults.readFile, {
    ...once,
    description: "Reads a text file that belongs to a skill you have activated.",
    parameters: {
      name: skillName,
      path: Schema.String.annotations({ description: "The file, relative to the skill's folder: references/guide.md" }),
      offset
    },
    success: Schema.String,
    handler: (params): Effect.Effect<string, UseError> =>
      Effect.map(ifActive(catalogue, params.name, catalogue.readFile(params.name, params.path)), (text) => {
        const page = SkillText.page(SkillText.lines(text), { offset: params.offset ?? 0, maxChars })
        return `${SkillFence.fenced("file", page.text)}${rest(page)}`
      })
  })
  const runScript = catalogue.scripts
    ? Tool.make(options?.names?.runScript ?? defaults.runScript, {
        ...once,
        description: "Runs a script that belongs to a skill you have activated, and gives what it prints.",
        parameters: {
          name: skillName,
          path: Schema.String.annotations({
            description: "The script, relative to the skill's folder: scripts/main.py"
          }),
          params: Schema.optional(
            Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
              description: "What the script reads as JSON on its standard input"
            })
          )
        },
        handler: (params): Effect.Effect<unknown, UseError | ScriptError> =>
          Effect.map(
            ifActive(catalogue, params.name, catalogue.script(params.name, params.path, params.params)),
            ({ output }) => output
          )
      })
    : undefined
  const search = Tool.make(options?.names?.search ?? defaults.search, {
    ...once,
    description:
      "Finds skills that are not listed, by words of what is to be done. Gives their names and descriptions.",
    parameters: {
      query: Schema.String.annotations({ description: "What is to be done, in a few words" })
    },
    success: Schema.String,
    handler: ({ query }) =>
      Effect.map(catalogue.skills, (skills) => {
        const found = SkillSearch.find(skills, query, FOUND)
        return found.length === 0
          ? "No skill has these words in its name or description."
          : SkillFence.fenced("skills", found.map(SkillListing.line).join("\n").slice(0, maxChars))
      })
  })
  return {
    activate,
    readFile,
    runScript,
    search,
    all: runScript === undefined ? [activate, readFile] : [activate, readFile, runScript]
  }
}
