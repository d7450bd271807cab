/**
 * The handlers of prompts.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { ApiError } from "../../http/api/ApiError.js"
import * as OwnerEndpoints from "../../http/api/OwnerEndpoints.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as CustomPrompts from "../../prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../prompt/defaults/DefaultPrompts.js"
import * as PromptHistory from "../../prompt/PromptHistory.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import * as PromptVersions from "../../prompt/PromptVersions.js"
import type { PromptStep } from "../../prompt/template/PromptStep.js"
import { StudioApi } from "../api/StudioApi.js"
import type { Prompt, VersionInfo } from "../api/StudioPromptApi.js"

/** The steps of the code and those of the library, each once. */
const stepsOf = (library: PromptLibrary.Service): ReadonlyArray<PromptStep> =>
  Array.from(
    new Map(
      [...DefaultPrompts.steps, ...library.steps].map((step) => [PromptLibrary.keyOf(step.pattern, step.name), step])
    ).values()
  )

const fromStep =
  (library: PromptLibrary.Service) =>
  (step: PromptStep): Prompt => {
    const { system, user } = library.sources(step)
    const instructions = library.instructions(step.pattern)
    return {
      name: PromptLibrary.keyOf(step.pattern, step.name),
      pattern: step.pattern,
      step: step.name,
      role: step.role,
      variables: step.variables,
      system: SecretText.redact(system),
      user: SecretText.redact(user),
      ...(instructions === "" ? {} : { instructions: SecretText.redact(instructions) }),
      isChanged: system !== step.system.source || user !== step.user.source
    }
  }

const fromVersion =
  (labels: PromptVersions.PromptVersions["labels"]) =>
  ({ createdAt, hash, note, number, overrides }: PromptVersions.Version): VersionInfo => ({
    number,
    hash,
    ...(note === undefined ? {} : { note: SecretText.redact(note) }),
    ...(createdAt === undefined ? {} : { createdAt }),
    labels: Object.entries(labels).flatMap(([label, of]) => (of === number ? [label] : [])),
    overrides: Object.entries(overrides).flatMap(([pattern, steps]) =>
      Object.keys(steps).map((step) => PromptLibrary.keyOf(pattern, step))
    )
  })

const noVersions = new ApiError({
  reason: "unknown",
  message: "This server has no versions of prompts",
  hint: "Add `PromptHistory.layer(versions)` to its layers, or compare `code` with `current`"
})

const unknownVersion = ({ hint, message }: { readonly message: string; readonly hint?: string | undefined }) =>
  new ApiError({ reason: "unknown", message, ...(hint === undefined ? {} : { hint }) })

/** Whether a change is one of a prompt, of a pattern, or of anything. */
const isAbout =
  (name: string) =>
  ({ where }: PromptVersions.Change): boolean =>
    name === "*" ||
    where === "instructions" ||
    where.startsWith(`${name}/`) ||
    where === `${name.split("/")[0] ?? name} instructions`

const asVersion = (
  content: Pick<PromptVersions.Version, "overrides" | "instructions">,
  number: number
): PromptVersions.Version => ({ ...content, number, hash: "" })

const redacted = ({ lines, where }: PromptVersions.Change): PromptVersions.Change => ({
  where: SecretText.redact(where),
  lines: lines.map(({ kind, text }) => ({ kind, text: SecretText.redact(text) }))
})

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(StudioApi, "prompts", (handlers) =>
  Effect.gen(function* () {
    const library = yield* PromptLibrary.PromptLibrary
    const steps = stepsOf(library)
    const known = new Set(steps.flatMap(({ name, pattern }) => [pattern, PromptLibrary.keyOf(pattern, name)]))
    const history = yield* Effect.serviceOption(PromptHistory.PromptHistory)
    const versions = Effect.map(
      Effect.transposeOption(Option.map(history, (found) => OwnerEndpoints.kept(found.versions))),
      Option.getOrUndefined
    )
    /** All prompts of a version, those of the code included. */
    const contentOf = (which: string): Effect.Effect<ReturnType<typeof PromptVersions.contentOfLibrary>, ApiError> =>
      Effect.gen(function* () {
        if (which === "current") return PromptVersions.contentOfLibrary(library)
        if (which === "code") {
          const code = CustomPrompts.make({ steps })
          return PromptVersions.contentOfLibrary(Either.isRight(code) ? code.right : library)
        }
        const all = yield* versions
        if (all === undefined) return yield* noVersions
        const found = PromptVersions.library(all, /^\d{1,15}$/.test(which) ? Number(which) : which, steps)
        return Either.isRight(found) ? PromptVersions.contentOfLibrary(found.right) : yield* unknownVersion(found.left)
      })
    return handlers
      .handle("listPrompts", () =>
        Effect.map(versions, (all) => ({
          prompts: steps.map(fromStep(library)),
          ...(all === undefined ? {} : { versions: all.versions.map(fromVersion(all.labels)).reverse() })
        }))
      )
      .handle("diffPrompt", ({ path: { name }, urlParams: { from = "code", to = "current" } }) =>
        Effect.gen(function* () {
          if (name !== "*" && !known.has(name)) {
            return yield* new ApiError({
              reason: "unknown",
              message: "No prompt or pattern has this name",
              hint: "The list of prompts has the names; `*` compares all of them"
            })
          }
          const [before, after] = [asVersion(yield* contentOf(from), 1), asVersion(yield* contentOf(to), 2)]
          return { changes: PromptVersions.diff(before, after).filter(isAbout(name)).map(redacted) }
        })
      )
  })
)
