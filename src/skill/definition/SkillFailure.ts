/**
 * Failures of executions and their messages.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import { nearest } from "../../internal/text/Nearest.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { SkillDefinition } from "./SkillDefinition.js"
import {
  isSkillError,
  SkillConfirmationDeniedError,
  type SkillError,
  SkillExecutionError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "./SkillError.js"

/**
 * A failure in transit: the skill's own error, and the error for callers that know the skill only by name.
 *
 * @category models
 */
export class Failed {
  private told: SkillError | undefined

  constructor(
    readonly error: unknown,
    private readonly skillName: string,
    private readonly attempts: number
  ) {}

  asSkillError(): SkillError {
    this.told ??= isSkillError(this.error) ? this.error : executionError(this.skillName, this.attempts, this.error)
    return this.told
  }
}

/** Unwraps the error of a rejected promise, which says more than its wrapper. */
const unwrapped = (error: unknown): unknown => (Cause.isUnknownException(error) ? error.error : error)

const infoOf = (error: unknown): ErrorInfo => errorInfo(unwrapped(error))

const times = (attempts: number): string => `${attempts} attempt${attempts === 1 ? "" : "s"}`

/**
 * @category errors
 */
const executionError = (skillName: string, attempts: number, error: unknown): SkillExecutionError => {
  const { hint, message } = infoOf(error)
  return new SkillExecutionError({
    skillName,
    message: `The skill "${skillName}" failed after ${times(attempts)}: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    cause: error
  })
}

/**
 * A bug in the skill's own functions.
 *
 * @category errors
 */
export const crashed = (skillName: string, attempts: number, defect: unknown): SkillExecutionError =>
  new SkillExecutionError({
    skillName,
    message: `The skill "${skillName}" crashed${attempts === 0 ? "" : ` after ${times(attempts)}`}: ${infoOf(defect).message}`,
    hint: "This is a bug of the skill, not of its input",
    cause: defect
  })

/** Bounds on the issues in an error: their number and the length of each. */
const maxIssues = 100
const maxIssueLength = 300
const maxMessageLength = 2000

const issuesOf = (issues: ReadonlyArray<string>): ReadonlyArray<string> => {
  const errors = issues.slice(0, maxIssues).map((issue) => SecretText.excerpt(issue, { maxLength: maxIssueLength }))
  if (issues.length > maxIssues) errors.push(`… and ${issues.length - maxIssues} more`)
  return errors
}

/**
 * @category errors
 */
export const invalidParams = (skillName: string, issues: ReadonlyArray<string>): SkillValidationError => {
  const errors = issuesOf(issues)
  return new SkillValidationError({
    skillName,
    errors,
    message: `The parameters of the skill "${skillName}" are invalid: ${errors.join("; ")}`.slice(0, maxMessageLength),
    hint: "Correct the parameters and execute it again"
  })
}

/**
 * @category errors
 */
export const invalidResult = (skillName: string, issue: string): SkillValidationError => {
  const errors = issuesOf([`The result does not fit its schema: ${issue}`])
  return new SkillValidationError({
    skillName,
    errors,
    message: `The result of the skill "${skillName}" does not match its schema. ${errors[0]}`,
    hint: "Correct the skill, or the schema of its result"
  })
}

const shorten = (name: string): string => name.slice(0, 128)

/**
 * @category errors
 */
export const notFound = (name: string, known: ReadonlyArray<SkillDefinition>): SkillNotFoundError => {
  const names = known.slice(0, 1000).map((definition) => definition.name)
  const skillName = shorten(name)
  const similar = nearest(skillName, names)
  return new SkillNotFoundError({
    skillName,
    message: `There is no skill named "${skillName}"`,
    hint:
      names.length === 0
        ? "No skills are registered"
        : `${similar === undefined ? "" : `Did you mean "${similar}"? `}Registered skills: ${names.slice(0, 50).join(", ")}`
  })
}

/**
 * The registered entry is itself a placeholder for a registered skill.
 *
 * @category errors
 */
export const dangling = (name: string): SkillNotFoundError =>
  new SkillNotFoundError({
    skillName: shorten(name),
    message: `The skill "${shorten(name)}" is a reference to a skill that is not registered`,
    hint: "Register the skill itself, not a reference to it"
  })

/**
 * @category errors
 */
export const tooDeep = (skillName: string, depth: number): SkillExecutionError =>
  new SkillExecutionError({
    skillName,
    message: `The skill "${skillName}" is nested ${depth} levels deep in other skills`,
    hint: "Check whether a skill executes itself"
  })

/**
 * @category errors
 */
export const inTool = (skillName: string, toolName: string): SkillExecutionError =>
  new SkillExecutionError({
    skillName,
    message: `The tool "${toolName}" executes the skill "${skillName}": tools never invoke skills`,
    hint: "Give the agent the skill itself (`SkillTool.toTool`), or let a skill call the tool"
  })

/**
 * @category errors
 */
export const entangled = (skillName: string): SkillExecutionError =>
  new SkillExecutionError({
    skillName,
    message: `The skill "${skillName}" was not executed: it would wait for executions that wait for it`,
    hint: "Skills that execute each other need a higher maxConcurrent, or none"
  })

/**
 * @category errors
 */
export const nobody = ({ name, permissions }: SkillDefinition): SkillPermissionDeniedError =>
  new SkillPermissionDeniedError({
    skillName: name,
    required: permissions,
    message: `The skill "${name}" requires permissions, but the user is unknown`,
    hint: "Execute it for a user: userId"
  })

/**
 * @category errors
 */
export const lacking = (
  { name, permissions }: SkillDefinition,
  missing: ReadonlyArray<string>
): SkillPermissionDeniedError =>
  new SkillPermissionDeniedError({
    skillName: name,
    required: permissions,
    message: `The user may not execute the skill "${name}": missing permissions: ${missing.slice(0, 20).join(", ").slice(0, 1000)}`,
    hint: "Do not try again before the permissions are granted"
  })

/**
 * @category errors
 */
export const unchecked = ({ name, permissions }: SkillDefinition, cause: unknown): SkillPermissionDeniedError =>
  new SkillPermissionDeniedError({
    skillName: name,
    required: permissions,
    message: `The skill "${name}" was not executed: the user's permissions could not be read`,
    cause
  })

/**
 * @category errors
 */
export const unconfirmed = (skillName: string, reason: string | undefined): SkillConfirmationDeniedError =>
  new SkillConfirmationDeniedError({
    skillName,
    message: `The skill "${skillName}" was not approved${reason === undefined ? "" : `: ${SecretText.excerpt(reason, { maxLength: 1000 })}`}`,
    hint: "Do not execute it again with the same parameters; find another way or tell the user"
  })

/**
 * @category errors
 */
export const unasked = (skillName: string, cause: unknown): SkillConfirmationDeniedError =>
  new SkillConfirmationDeniedError({
    skillName,
    message: `The skill "${skillName}" was not executed: its approval could not be requested`,
    cause
  })

/**
 * @category errors
 */
export const timedOut = (skillName: string, millis: number): SkillTimeoutError =>
  new SkillTimeoutError({
    skillName,
    timeoutSeconds: millis / 1000,
    message: `The skill "${skillName}" was stopped after ${millis / 1000} s`
  })
