/**
 * Errors of prompts.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/prompt/PromptError"

/**
 * A template uses a variable that its step does not have, or lacks a required one.
 *
 * @since 0.1.0
 * @category errors
 */
export class PromptTemplateError extends ErrorCode.TaggedError<PromptTemplateError>(`${NAME}/PromptTemplateError`)(
  "PromptTemplateError",
  {
    ...ErrorCode.fields("LEX_ERR_PROMPT_100"),
    /** The location of the template: a file, or pattern, step and half; empty for a template on its own. */
    where: Schema.String,
    unknown: Schema.Array(Schema.String),
    missing: Schema.Array(Schema.String)
  }
) {}

/**
 * A directory of prompts could not be read or written, or an override names an unknown step.
 *
 * @since 0.1.0
 * @category errors
 */
export class PromptLibraryError extends ErrorCode.TaggedError<PromptLibraryError>(`${NAME}/PromptLibraryError`)(
  "PromptLibraryError",
  { ...ErrorCode.fields("LEX_ERR_PROMPT_101"), where: Schema.String }
) {}

/**
 * Every error of prompts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PromptError = ErrorCode.Union(PromptTemplateError, PromptLibraryError)
/**
 * @since 0.1.0
 * @category models
 */
export type PromptError = typeof PromptError.Type
