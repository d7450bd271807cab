/**
 * Checks skill folders, and accepts them.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as Effect from "effect/Effect"
import type { SkillFileError } from "../../skill/definition/SkillFile.js"
import * as SkillFileReader from "../../skill/definition/SkillFileReader.js"
import * as SkillFolders from "../../skill/folder/SkillFolders.js"
import * as SkillLock from "../../skill/folder/SkillLock.js"
import { CliError } from "../config/CliError.js"

const issuesOf = ({ directory, issues, message }: SkillFileError, folder: string) => {
  const file = NodePath.join(directory ?? folder, "SKILL.md")
  return issues.length === 0
    ? [{ file, rule: "folder", message }]
    : issues.map(({ line, message, rule }) => ({ file, rule, message, ...(line === undefined ? {} : { line }) }))
}

/** The folders of skills in a folder, itself included, and what else is wrong there. */
const look = (folder: string) =>
  Effect.map(SkillFolders.scan({ paths: [folder] }), ({ problems, skills }) => {
    const isRead = (reason: string): boolean => reason === "Malformed" || reason === "Duplicate"
    const found = [
      ...skills.map(({ directory }) => directory),
      ...problems.flatMap(({ path, reason }) => (isRead(reason) ? [path] : []))
    ]
    return {
      // Where no skill is found, the reader says why.
      directories: found.length === 0 ? [NodePath.resolve(folder)] : Array.from(new Set(found)).sort(),
      problems: problems.flatMap(({ message, path, reason }) =>
        reason === "Malformed" ? [] : [{ file: path, rule: reason.toLowerCase(), message }]
      )
    }
  })

/**
 * Every problem of the skills in these folders, by the strict rules of the format.
 *
 * @category constructors
 */
export const validate = (folders: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const looks = yield* Effect.forEach(folders, look)
    const directories = Array.from(new Set(looks.flatMap(({ directories }) => directories)))
    const read = yield* Effect.forEach(directories, (directory) =>
      Effect.match(SkillFileReader.validate(directory), {
        onFailure: (error) => issuesOf(error, directory),
        onSuccess: () => []
      })
    )
    return { skills: directories.length, problems: [...read.flat(), ...looks.flatMap(({ problems }) => problems)] }
  })

const noSkills = new CliError({
  reason: "unknown",
  message: "There are no skills in these folders",
  hint: "`lexigram skills validate` says what is wrong with them"
})

/**
 * Accepts the skills in these folders, or with `isCheck` only compares them with what was accepted.
 *
 * @category constructors
 */
export const lock = ({
  file,
  folders,
  isCheck
}: {
  readonly file: string
  readonly folders: ReadonlyArray<string>
  readonly isCheck: boolean
}) =>
  Effect.gen(function* () {
    const { skills } = yield* SkillFolders.scan({ paths: folders })
    if (skills.length === 0) return yield* noSkills
    const asked = new Map<string, SkillLock.Question>()
    const trust = yield* SkillLock.makeWith({
      path: file,
      ask: (question) => {
        asked.set(question.skill.directory, question)
        return Effect.succeed(!isCheck)
      }
    })
    yield* Effect.forEach(skills, trust.isTrusted, { discard: true })
    return {
      file: NodePath.resolve(file),
      skills: skills.map(({ directory, file, hash }) => {
        const question = asked.get(directory)
        const state = question === undefined ? "same" : question.pinned === undefined ? "new" : "changed"
        return { name: file.name, directory, hash, state, changes: question?.changes ?? [] } as const
      })
    }
  })
