/**
 * What goes around the execution of a skill folder: trust before, the texts of its files behind.
 *
 * @internal
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillAccess from "./SkillAccess.js"
import type { SkillOutput } from "./SkillFolders.js"
import * as SkillTrust from "./SkillTrust.js"

/**
 * Texts that come along with instructions: as many files, bytes of one, and bytes of all. The rest is named, as all
 * files are.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = { files: 50, fileBytes: 65_536, bytes: 262_144 } as const

/** Scripts are there to be run, not to be read. */
const isRead = (path: string): boolean => !path.startsWith("scripts/")

/**
 * The result with the texts of the skill's files. What cannot be read as text within the limits is left out.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withContents = (
  skill: LoadedSkill,
  output: SkillOutput
): Effect.Effect<SkillOutput, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    if (output.status !== "instruction_only") return output
    const contents: Array<readonly [string, string]> = []
    let left: number = limits.bytes
    for (const path of skill.files.filter(isRead).slice(0, limits.files)) {
      const text = yield* Effect.either(
        SkillAccess.readText(skill, path, { maxBytes: Math.min(limits.fileBytes, left) })
      )
      if (Either.isLeft(text)) continue
      left -= new TextEncoder().encode(text.right).length
      contents.push([path, text.right])
    }
    return { ...output, contents: Object.fromEntries(contents) }
  })

/**
 * Fails unless the skill is trusted, as it is now.
 *
 * @since 0.1.0
 * @category combinators
 */
export const trusted = (skill: LoadedSkill): Effect.Effect<void, SkillTrust.SkillTrustError, SkillTrust.SkillTrust> =>
  Effect.flatMap(SkillTrust.SkillTrust, (trust) =>
    Effect.flatMap(trust.isTrusted(skill), (isTrusted) =>
      isTrusted
        ? Effect.void
        : new SkillTrust.SkillTrustError({
            skillName: skill.file.name,
            reason: "Denied",
            message: `The skill "${skill.file.name}" is not trusted`,
            hint: "Look at its folder, and accept it"
          })
    )
  )
