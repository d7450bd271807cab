/**
 * Finds skills among the exports of named packages and files.
 *
 * Loading a module runs it: name only modules that you would import yourself.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import * as BoundSkill from "./definition/BoundSkill.js"
import * as Skill from "./definition/Skill.js"
import * as SkillToolkit from "./execute/SkillToolkit.js"
import { type Loaded, type SkillSource, SkillSourceError } from "./folder/SkillSource.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Base of paths that begin with `./` or `../`: a URL such as `import.meta.url`. Without it such paths are refused.
   */
  readonly base?: string | URL | undefined
  /**
   * Loads a module. Default `import`, which resolves packages from the location of this library. Pass `(specifier) =>
   * import(specifier)`, written in your program, to resolve them from there.
   */
  readonly load?: ((specifier: string) => Promise<unknown>) | undefined
  /** How long a module may take to load. Default 10 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Name of the source in logs and reports. Default `modules`. */
  readonly name?: string | undefined
}

/**
 * A skill and the module it was found in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Found {
  readonly module: string
  readonly skill: Skill.Any
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Scan {
  /** Ordered by module, and within a module by export name. Each skill is listed once. */
  readonly found: ReadonlyArray<Found>
  /** Modules that were refused, could not be loaded, or export no skills. */
  readonly problems: ReadonlyArray<SkillSourceError>
}

// A package, optionally with a path in it; no scheme and no `..`.
const packagePattern = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i
const MAX_SPECIFIER = 1024

const isPackage = (specifier: string): boolean => {
  const parts = specifier.split("/")
  const length = specifier.startsWith("@") ? 2 : 1
  return (
    packagePattern.test(parts.slice(0, length).join("/")) &&
    parts.slice(length).every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\\"))
  )
}

/** The specifier for the loader, or why it is refused. */
const resolve = (specifier: string, base: string | URL | undefined): Either.Either<string, string> => {
  if (specifier.length > MAX_SPECIFIER || VisibleText.visible(specifier) !== specifier)
    return Either.left("it is too long, or has characters that cannot be seen")
  if (specifier.startsWith("./") || specifier.startsWith("../")) {
    if (base === undefined) return Either.left("it is relative, and there is no `base`")
    return Either.try({ try: () => new URL(specifier, base).href, catch: () => "`base` is no URL" })
  }
  return specifier.startsWith("file://") || isPackage(specifier)
    ? Either.right(specifier)
    : Either.left("it is neither a package, nor a `file:` URL, nor a path that begins with ./ or ../")
}

/** Looks one level into lists: deeper lists are data. */
const skillsIn = (value: unknown): ReadonlyArray<Skill.Any> =>
  (Array.isArray(value) ? (value as ReadonlyArray<unknown>) : [value]).flatMap((value) =>
    Skill.isSkill(value) ? [value] : SkillToolkit.isSkillToolkit(value) ? value.skills : []
  )

/**
 * The skills a module exports: skills, toolkits, and lists of them, ordered by export name. A skill exported under
 * several names is listed once.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exported = (module: unknown): ReadonlyArray<Skill.Any> => {
  if (typeof module !== "object" || module === null) return []
  const exports = module as Readonly<Record<string, unknown>>
  const names = Object.keys(exports).sort()
  return [...new Set(names.flatMap((name) => skillsIn(exports[name])))]
}

/**
 * Loads modules one after another and finds the skills among their exports. Accepts packages (with or without a path),
 * `file:` URLs and relative paths, nothing else. A module that cannot be loaded is a problem; the scan goes on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const scan = (specifiers: ReadonlyArray<string>, options?: Options | undefined): Effect.Effect<Scan> =>
  Effect.gen(function* () {
    const {
      base,
      load = (specifier: string) => import(/* @vite-ignore */ specifier),
      name: source = "modules"
    } = options ?? {}
    const whole = Duration.toMillis(options?.timeout ?? "10 seconds")
    const found: Array<Found> = []
    const problems: Array<SkillSourceError> = []
    const seen = new Set<Skill.Any>()

    for (const module of new Set(specifiers)) {
      const subject = VisibleText.visible(module.slice(0, MAX_SPECIFIER))
      const problem = (reason: SkillSourceError["reason"], message: string, cause?: unknown) =>
        new SkillSourceError({
          source,
          reason,
          subject,
          message: `The module "${subject}" ${message}`,
          ...(cause === undefined ? {} : { cause })
        })
      const resolved = resolve(module, base)
      if (Either.isLeft(resolved)) {
        problems.push(problem("Refused", `is not loaded: ${resolved.left}`))
        continue
      }
      const loaded = yield* Effect.either(
        Deadline.run(
          () =>
            Effect.tryPromise({
              try: () => load(resolved.right),
              catch: (error) => problem("Unavailable", `cannot be loaded: ${errorInfo(error).message}`, error)
            }),
          { whole, onTimeout: (_, limit) => problem("Unavailable", `did not load within ${limit} ms`) }
        )
      )
      if (Either.isLeft(loaded)) {
        problems.push(loaded.left)
        continue
      }
      const skills = exported(loaded.right)
      if (skills.length === 0) problems.push(problem("NoSkills", "exports no skills"))
      for (const skill of skills) {
        if (seen.has(skill)) continue
        seen.add(skill)
        found.push({ module, skill })
      }
    }
    return { found, problems }
  })

/**
 * A source of the skills of these modules. The type of a module does not say what its skills require: they get the
 * services of the context in which the source is loaded. A skill that requires another service fails when it is
 * executed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const source = (specifiers: ReadonlyArray<string>, options?: Options | undefined): SkillSource => ({
  name: options?.name ?? "modules",
  load: Effect.flatMap(scan(specifiers, options), ({ found, problems }) =>
    Effect.map(
      BoundSkill.all(found.map(({ skill }) => skill)) as Effect.Effect<Loaded["skills"]>,
      (skills): Loaded => ({ skills, problems })
    )
  )
})
