/**
 * Searches paths for skill folders and reads them.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as VisibleText from "../../internal/text/VisibleText.js"
import * as FolderLook from "../definition/FolderLook.js"
import type { Issue, LoadedSkill } from "../definition/SkillFile.js"
import * as SkillFile from "../definition/SkillFile.js"
import type { ReadOptions } from "../definition/SkillFileReader.js"
import * as SkillFileReader from "../definition/SkillFileReader.js"
import type { SkillTrustError } from "./SkillTrust.js"

/**
 * A scan, with the folders and missing paths to watch for changes of its result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Seen extends Scan {
  readonly folders: ReadonlySet<string>
  readonly missing: ReadonlySet<string>
}

/** A visited folder: `at` is its real path, `place` the path it was reached by, `name` its path below the root. */
interface Visit {
  readonly at: string
  readonly place: string
  readonly name: string
  readonly depth: number
}

/** Subfolders defined by the format: their content belongs to the skill, even if it looks like a skill. */
const ofSkill: ReadonlySet<string> = new Set(["scripts", "references", "assets"])

const isSkipped = (name: string): boolean => name.startsWith(".") || name === "node_modules"

const quote = (text: string): string => `"${VisibleText.visible(text.slice(0, 200))}"`

/** Evaluated only when a path begins with `~`. */
const homeOf = (options: ScanOptions): Effect.Effect<string | undefined> =>
  options.home !== undefined
    ? Effect.succeed(options.home)
    : Effect.catchAll(Effect.map(Config.option(Config.string("HOME")), Option.getOrUndefined), () =>
        Effect.succeed(undefined)
      )

/** Folders and files read concurrently: while one waits for the disk, another is parsed. */
const CONCURRENCY = 8

/**
 * As `Effect.forEach`, with as many fibers as work concurrently: one fiber per item costs as much as reading its
 * folder.
 */
const each = <A, B, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, never, R>
): Effect.Effect<ReadonlyArray<B>, never, R> =>
  Effect.suspend(() => {
    const results = new Array<B>(items.length)
    const rest = items.entries()
    const lane: Effect.Effect<void, never, R> = Effect.gen(function* () {
      for (const [at, item] of rest) results[at] = yield* f(item)
    })
    const lanes = Array.from({ length: Math.min(CONCURRENCY, items.length) }, () => lane)
    return Effect.as(Effect.all(lanes, { concurrency: "unbounded", discard: true }), results)
  })

/** Results so far. */
interface Found {
  readonly problems: Array<Problem>
  readonly folders: Set<string>
  readonly missing: Set<string>
  entries: number
}

interface Scanner {
  readonly fs: FileSystem.FileSystem
  readonly path: Path.Path
  readonly maxDepth: number
  readonly maxEntries: number
  readonly found: Found
}

/** A scan below one of its paths. */
interface Below extends Scanner {
  readonly look: FolderLook.FolderLook
}

interface Listed {
  readonly visit: Visit
  readonly isSkill: boolean
  readonly names: ReadonlyArray<string>
}

/** Lists folders, each once, up to the entry limit. */
const listFolders = Effect.fnUntraced(function* (scanner: Below, visits: ReadonlyArray<Visit>) {
  const { found, look, maxEntries } = scanner
  const lists = yield* each(visits, (visit) => Effect.either(look.list(visit.at)))
  const all: Array<Listed> = []
  for (const [at, visit] of visits.entries()) {
    const list = lists[at] as (typeof lists)[number]
    if (Either.isLeft(list)) {
      found.problems.push({ reason: "Unreadable", path: visit.place, message: "The folder cannot be read" })
      continue
    }
    found.folders.add(visit.at)
    const names = list.right.filter((name) => !isSkipped(name))
    const left = Math.max(0, maxEntries - found.entries)
    found.entries += names.length
    const isSkill = SkillFile.names.some((name) => list.right.includes(name))
    all.push({ visit, isSkill, names: names.slice(0, left) })
    if (found.entries > maxEntries) break
  }
  return all
})

/** The folders below the listed ones, and the links to folders. */
const below = Effect.fnUntraced(function* (scanner: Below, root: string, lists: ReadonlyArray<Listed>) {
  const { found, look, maxDepth, path } = scanner
  const entries = lists.flatMap(({ isSkill, names, visit }) => names.map((name) => ({ visit, isSkill, name })))
  const unknown = entries.filter(({ name, visit }) => !look.isKnown(visit.at, name))
  yield* each(unknown, ({ name, visit }) => Effect.either(look.kind(root, visit.at, name)))
  const visits: Array<Visit> = []
  const links: Array<Visit> = []
  for (const { isSkill, name, visit } of entries) {
    const place = path.join(visit.at, name)
    const kind = yield* Effect.either(look.kind(root, visit.at, name))
    if (Either.isLeft(kind)) {
      found.problems.push({ reason: "Unreadable", path: place, message: `${quote(name)} cannot be read` })
      continue
    }
    const { _tag, path: at } = kind.right
    const next = { place, name: visit.name === "" ? name : `${visit.name}/${name}`, depth: visit.depth + 1 }
    if (isSkill && ofSkill.has(name)) {
      if (_tag === "Folder") found.folders.add(at)
    } else if (_tag === "Outside") {
      // In a skill's own folder this is a warning of that skill.
      if (!isSkill)
        found.problems.push({
          reason: "Link",
          path: place,
          message: `${quote(name)} is a link that leaves the path or is broken; it is not followed`
        })
    } else if (next.depth <= maxDepth) {
      if (_tag === "Folder") visits.push({ ...next, at })
      else if (_tag === "Link" && kind.right.type === "Folder") links.push({ ...next, at: kind.right.target })
    }
  }
  return { visits, links }
})

/**
 * The skill folders below a root; links within it come last, so that a folder is known by its own path rather than a
 * link's.
 */
const candidates = Effect.fnUntraced(function* (scanner: Below, root: string, given: string) {
  const skills: Array<Visit> = []
  const visited = new Set<string>()
  const links: Array<Visit> = []
  const isNew = ({ at }: Visit): boolean => {
    if (visited.has(at)) return false
    visited.add(at)
    return true
  }
  let visits: ReadonlyArray<Visit> = [{ at: root, place: given, name: "", depth: 0 }]
  while (visits.length > 0) {
    const lists = yield* listFolders(scanner, visits.filter(isNew))
    for (const { isSkill, visit } of lists) if (isSkill) skills.push(visit)
    if (scanner.found.entries > scanner.maxEntries) break
    const next = yield* below(scanner, root, lists)
    links.push(...next.links)
    visits = next.visits.length > 0 ? next.visits : links.splice(0, 1)
  }
  return skills.sort((a, b) => FolderLook.byCodePoint(a.name, b.name))
})

/** The absolute path; a problem if `~` cannot be resolved. */
const placeOf = (path: Path.Path, given: string, options: ScanOptions): Effect.Effect<string | undefined> =>
  given === "~" || given.startsWith("~/")
    ? Effect.map(homeOf(options), (home) => (home === undefined ? undefined : path.resolve(home, `.${given.slice(1)}`)))
    : Effect.sync(() => path.resolve(given))

type Loaded = readonly [Visit, Either.Either<LoadedSkill, SkillFile.SkillFileError>]

/** The skills of a path, in order. */
const skillsOf = Effect.fnUntraced(function* (
  scanner: Scanner,
  given: string,
  options: ScanOptions
): Effect.fn.Return<ReadonlyArray<Loaded>, never, FileSystem.FileSystem | Path.Path> {
  const { found, fs, path } = scanner
  const place = yield* placeOf(path, given, options)
  if (place === undefined) {
    found.problems.push({
      reason: "Home",
      path: given,
      message: "There is no home folder: neither an option nor HOME is set"
    })
    return []
  }
  const root = yield* Effect.either(fs.realPath(place))
  if (Either.isLeft(root)) {
    found.missing.add(place)
    if (root.left._tag !== "SystemError" || root.left.reason !== "NotFound")
      found.problems.push({ reason: "Unreadable", path: place, message: "The path cannot be read" })
    return []
  }
  const look = yield* FolderLook.make(fs, path, root.right)
  const visits = yield* candidates({ ...scanner, look }, root.right, place)
  if (found.entries > scanner.maxEntries) {
    found.problems.push({
      reason: "Limit",
      path: place,
      message: `There are more than ${scanner.maxEntries} files and folders; the rest is skipped`
    })
  }
  return yield* each(visits, (visit) =>
    Effect.map(
      Effect.either(SkillFileReader.loadSeen(visit.place, options.read, { look, real: visit.at })),
      (loaded) => [visit, loaded] as const
    )
  )
})

/** Why a skill is excluded; `undefined` if it is not. */
const refusal = (options: ScanOptions, skill: LoadedSkill, given: string): Effect.Effect<string | undefined> => {
  const { name } = skill.file
  if (options.admit === undefined) return Effect.succeed(undefined)
  return Effect.match(options.admit(skill, given), {
    onFailure: ({ hint, message }) => (hint === undefined ? message : `${message}. ${hint}`),
    onSuccess: (isAdmitted) =>
      isAdmitted ? undefined : `The skill ${quote(name)} is not trusted and left out; look at its folder, and accept it`
  })
}

/** Collects skills, the first of each folder and name. */
const collector = (scanner: Scanner, options: ScanOptions) => {
  const { found, path } = scanner
  const skills: Array<LoadedSkill> = []
  const directories = new Set<string>()
  const holders = new Map<string, string>()
  const add = Effect.fnUntraced(function* (visit: Visit, given: string, loaded: Loaded[1]) {
    if (Either.isLeft(loaded)) {
      const { issues } = loaded.left
      const message = issues.map(({ message }) => message).slice(0, 4)
      found.problems.push({ reason: "Malformed", path: visit.place, message: message.join("; "), issues })
      return
    }
    const skill = loaded.right
    // Paths may overlap.
    if (directories.has(skill.directory)) return
    for (const file of skill.files) {
      for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1))
        found.folders.add(path.join(skill.directory, file.slice(0, end)))
    }
    const { name } = skill.file
    const holder = holders.get(name)
    const problem = (reason: Problem["reason"], message: string): number =>
      found.problems.push({ reason, path: visit.place, skillName: name, message })
    if (holder !== undefined) {
      directories.add(skill.directory)
      problem("Duplicate", `The skill ${quote(name)} is hidden by the one in ${holder}, which comes first`)
      return
    }
    // An excluded skill hides no other, nor itself below another path.
    const refused = yield* refusal(options, skill, given)
    if (refused !== undefined) {
      problem("Untrusted", refused)
      return
    }
    directories.add(skill.directory)
    holders.set(name, skill.directory)
    skills.push(skill)
  })
  return { add, skills }
}

/**
 * Never fails: unreadable entries are problems, and the scan goes on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const scan = Effect.fnUntraced(function* (
  options: ScanOptions
): Effect.fn.Return<Seen, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found: Found = { problems: [], folders: new Set(), missing: new Set(), entries: 0 }
  const scanner: Scanner = {
    fs,
    path,
    maxDepth: options.maxDepth ?? 5,
    maxEntries: options.maxEntries ?? 50_000,
    found
  }
  const { add, skills } = collector(scanner, options)
  for (const given of options.paths) {
    for (const [visit, loaded] of yield* skillsOf(scanner, given, options)) yield* add(visit, given, loaded)
    if (found.entries > scanner.maxEntries) break
  }
  return { skills, problems: found.problems, folders: found.folders, missing: found.missing }
})

/**
 * @since 0.1.0
 * @category models
 */
export interface ScanOptions {
  /**
   * Folders to search, themselves included; if two skills share a name, the first path wins. `~` is the home folder;
   * relative paths are resolved against the working directory. A missing path is not a problem.
   */
  readonly paths: ReadonlyArray<string>
  /** Replaces `~`. Default: `HOME` of the configuration. */
  readonly home?: string | undefined
  /** Depth of folders below a path. Default 5. */
  readonly maxDepth?: number | undefined
  /** Maximum number of files and folders examined. Default 50,000. */
  readonly maxEntries?: number | undefined
  /** Limits on reading each skill. */
  readonly read?: ReadOptions | undefined
  /**
   * Whether to include a skill found below a path (as given in `paths`). Asked for the first remaining skill of each
   * name; a refused skill hides no other. Default: all are included.
   */
  readonly admit?: ((skill: LoadedSkill, path: string) => Effect.Effect<boolean, SkillTrustError>) | undefined
}

/**
 * What was left out, and why.
 *
 * - `Malformed`: an unusable skill file; `issues` say why
 * - `Duplicate`: an earlier skill has this name
 * - `Link`: a symbolic link leaves the path, or leads nowhere
 * - `Unreadable`: a path, folder or entry cannot be read
 * - `Home`: `~` cannot be resolved
 * - `Limit`: there are more entries than are examined
 * - `Untrusted`: `admit` refused the skill
 * - `NotRegistered`: the registry has another skill of this name, or refuses this one
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly reason: "Malformed" | "Duplicate" | "Link" | "Unreadable" | "Home" | "Limit" | "Untrusted" | "NotRegistered"
  readonly path: string
  readonly message: string
  readonly skillName?: string | undefined
  readonly issues?: ReadonlyArray<Issue> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Scan {
  /** Ordered by the given paths, and within each by code point of their own paths. Names are unique. */
  readonly skills: ReadonlyArray<LoadedSkill>
  readonly problems: ReadonlyArray<Problem>
}
