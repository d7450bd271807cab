/**
 * Registers the skills of the configured folders.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { LoadedSkill } from "./definition/SkillFile.js"
import * as FolderExecution from "./folder/FolderExecution.js"
import type * as FolderScan from "./folder/FolderScan.js"
import * as SkillFolders from "./folder/SkillFolders.js"
import * as SkillSource from "./folder/SkillSource.js"
import * as SkillTrust from "./folder/SkillTrust.js"
import * as SkillsConfig from "./SkillsConfig.js"

/**
 * Options of folder discovery beyond the configuration.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options
  extends Omit<SkillFolders.RegisterOptions, "paths" | "admit" | "allowedScriptTypes" | "around"> {
  /** Follows changes to the folders. Default false: the folders are scanned once. */
  readonly watch?: boolean | undefined
}

const mainScript = /^scripts\/main\.(?:py|js|sh)$/

/** An attempt may last longer than its script, so that the script's own timeout is the one reported. */
const traitsOf =
  ({ scriptTimeoutSeconds }: SkillsConfig.SkillsConfig, given: Options["traits"]) =>
  (skill: LoadedSkill): SkillFolders.Traits => {
    const traits = typeof given === "function" ? given(skill) : given
    return skill.files.some((file) => mainScript.test(file))
      ? { ...traits, timeout: traits?.timeout ?? Duration.seconds(scriptTimeoutSeconds + 5) }
      : { ...traits }
  }

const reasons: { readonly [Reason in FolderScan.Problem["reason"]]: SkillSource.SkillSourceError["reason"] } = {
  Malformed: "Refused",
  Link: "Refused",
  Duplicate: "NotRegistered",
  NotRegistered: "NotRegistered",
  Unreadable: "Unavailable",
  Home: "Unavailable",
  Limit: "Unavailable",
  Untrusted: "Refused"
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const FOLDERS = "folders"

const reportOf = ({ problems, skills }: FolderScan.Scan): SkillSource.Report => {
  const without = new Set(problems.filter(({ reason }) => reason === "NotRegistered").map(({ skillName }) => skillName))
  return {
    source: FOLDERS,
    registered: skills.map(({ file }) => file.name).filter((name) => !without.has(name)),
    problems: problems.map(
      ({ message, path, reason }) =>
        new SkillSource.SkillSourceError({ source: FOLDERS, reason: reasons[reason], subject: path, message })
    )
  }
}

/**
 * Asks whether skills of the project are trusted. A refusal holds for the content: a changed folder is asked about
 * again.
 */
const admitting = (trust: SkillTrust.Service, places: ReadonlyArray<SkillsConfig.Place>) => {
  const strange = new Set(places.filter(({ origin }) => origin === "project").map(({ path }) => path))
  const refused = new Set<string>()
  return (skill: LoadedSkill, path: string): Effect.Effect<boolean, SkillTrust.SkillTrustError> =>
    Effect.suspend(() => {
      if (!strange.has(path)) return Effect.succeed(true)
      const key = JSON.stringify([skill.file.name, skill.directory, skill.hash])
      if (refused.has(key)) return Effect.succeed(false)
      return Effect.tap(trust.isTrusted(skill), (isTrusted) => Effect.sync(() => isTrusted || refused.add(key)))
    })
}

/** Reports project folders that exist but are not read because no trust service was given. */
const passedOver = (places: ReadonlyArray<SkillsConfig.Place>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const there = yield* Effect.filter(places, (place) =>
      Effect.orElseSucceed(fs.exists(path.resolve(place.path)), () => false)
    )
    const problems = there.map(
      ({ path }) =>
        new SkillSource.SkillSourceError({
          source: FOLDERS,
          reason: "Refused",
          subject: path,
          message: `The project skills in ${path} are skipped: no trust is configured`,
          hint: 'Give `Skills.layer` a `trust`, for example `SkillLock.layer`, or set `projectSkills: "off"`'
        })
    )
    yield* Effect.forEach(problems, SkillSource.warn, { discard: true })
    return problems
  })

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const register = (config: SkillsConfig.SkillsConfig, given: Options | undefined, hasTrust: boolean) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<SkillTrust.SkillTrust | FileSystem.FileSystem | Path.Path>()
    const all = SkillsConfig.placesOf(config)
    const places = hasTrust ? all : all.filter(({ origin }) => origin !== "project")
    const left = hasTrust ? [] : yield* passedOver(all.filter(({ origin }) => origin === "project"))
    const { scan } = yield* SkillFolders.register({
      ...given,
      watch: given?.watch ?? false,
      paths: places.map(({ path }) => path),
      admit: admitting(yield* SkillTrust.SkillTrust, places),
      allowedScriptTypes: config.allowedScriptTypes,
      traits: traitsOf(config, given?.traits),
      around: (skill, execute) =>
        Effect.zipRight(
          Effect.provide(FolderExecution.trusted(skill), context),
          config.lazyLoadContext
            ? execute
            : Effect.flatMap(execute, (output) => Effect.provide(FolderExecution.withContents(skill, output), context))
        )
    })
    return Effect.map(scan, (scan) => {
      const report = reportOf(scan)
      return { ...report, problems: [...report.problems, ...left] }
    })
  })
