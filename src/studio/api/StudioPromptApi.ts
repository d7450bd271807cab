/**
 * The prompts in use, their versions, and what changed between two.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { pathParam } from "../../http/api/ApiModels.js"
import { Invalid, Unavailable, Unknown } from "../../http/api/ApiStatus.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioPromptApi"

/**
 * A prompt as it is in use, with its variables in braces.
 *
 * @category schemas
 */
export const Prompt = Schema.Struct({
  /** The pattern and the step: `ReActAgent/ThoughtStep`. */
  name: Schema.String,
  pattern: Schema.String,
  step: Schema.String,
  /** The role of the model that answers it. */
  role: Schema.String,
  variables: Schema.Array(Schema.String),
  system: Schema.String,
  user: Schema.String,
  /** What the application adds to the system half. */
  instructions: Schema.optional(Schema.String),
  /** Whether a half is another one than that of the code. */
  isChanged: Schema.Boolean
}).annotations({ identifier: `${NAME}/Prompt` })
/**
 * @category models
 */
export interface Prompt extends Schema.Schema.Type<typeof Prompt> {}

/**
 * A version: what it changes, and its names.
 *
 * @category schemas
 */
export const VersionInfo = Schema.Struct({
  number: Schema.Number,
  hash: Schema.String,
  note: Schema.optional(Schema.String),
  createdAt: Schema.optional(Schema.Number),
  labels: Schema.Array(Schema.String),
  /** The names of the prompts that it overrides. */
  overrides: Schema.Array(Schema.String)
}).annotations({ identifier: `${NAME}/VersionInfo` })
/**
 * @category models
 */
export interface VersionInfo extends Schema.Schema.Type<typeof VersionInfo> {}

/**
 * What changed in a place, line by line: the half of a step, or the instructions of a pattern.
 *
 * @category schemas
 */
export const PromptChange = Schema.Struct({
  where: Schema.String,
  lines: Schema.Array(Schema.Struct({ kind: Schema.Literal("same", "removed", "added"), text: Schema.String }))
}).annotations({ identifier: `${NAME}/PromptChange` })

const Which = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))

/**
 * @category constants
 */
export const group = HttpApiGroup.make("prompts")
  .add(
    HttpApiEndpoint.get("listPrompts", "/prompts")
      .addSuccess(
        Schema.Struct({
          prompts: Schema.Array(Prompt),
          /** The newest first. Absent: the server has no `PromptHistory`. */
          versions: Schema.optional(Schema.Array(VersionInfo))
        })
      )
      .annotate(OpenApi.Summary, "The prompts in use, and their versions")
  )
  .add(
    HttpApiEndpoint.get("diffPrompt")`/prompts/${pathParam("name", Which)}/diff`
      .setUrlParams(
        Schema.Struct({
          /** A number, a label, `code` for the prompts of the code, or `current` for those in use. Default `code`. */
          from: Schema.optional(Which),
          /** Default `current`. */
          to: Schema.optional(Which)
        })
      )
      .addSuccess(Schema.Struct({ changes: Schema.Array(PromptChange) }))
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "What changed in a prompt, in those of a pattern, or with `*` in all of them")
  )
  .addError(Unavailable)
  .middleware(Developer)
