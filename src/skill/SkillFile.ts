/**
 * Skills as folders: a file `SKILL.md` with what the skill is for and its instructions, beside scripts and other files.
 *
 * @since 0.1.0
 */

/**
 * A tool that a skill may use: by name, or only with arguments that match a pattern (`Bash(git:*)`).
 *
 * @since 0.1.0
 * @category models
 */
export interface AllowedTool {
  readonly name: string
  /** What stands in the parentheses. */
  readonly pattern?: string | undefined
}

/**
 * What stands in a `SKILL.md`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillFile {
  readonly name: string
  readonly description: string
  readonly license?: string | undefined
  readonly compatibility?: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  /** `undefined` when the file says nothing about tools. */
  readonly allowedTools?: ReadonlyArray<AllowedTool> | undefined
  /** What stands under the front matter: the instructions. */
  readonly body: string
}

/**
 * A skill folder that was read.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoadedSkill {
  readonly file: SkillFile
  /** Absolute, symbolic links resolved. */
  readonly directory: string
  /** Of all the files of the folder, names and contents: SHA-256, hexadecimal. */
  readonly hash: string
  /** Files below the folder other than `SKILL.md`, relative with `/`, sorted. */
  readonly files: ReadonlyArray<string>
  /** What a strict reader would refuse, one text each. */
  readonly warnings: ReadonlyArray<string>
}
