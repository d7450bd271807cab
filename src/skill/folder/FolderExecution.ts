/**
 * Wraps the execution of a skill folder: checks trust before, and adds the text of its files after.
 *
 * @private
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
 * Bounds on text returned with instructions: number of files, bytes of one, bytes of all. Other files are only named.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = { files: 50, fileBytes: 65_536, bytes: 262_144 } as const

/** Scripts are run, not read. */
const isRead = (path: string): boolean => !path.startsWith("scripts/")

/**
 * Adds the text of the skill's files to a result. Files that cannot be read as text within the limits are left out.
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
 * Fails unless the current version of the skill is trusted.
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
            hint: "Review its folder, and accept it"
          })
    )
  )
