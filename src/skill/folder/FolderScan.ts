/**
 * Looks for skill folders below paths, and reads them.
 *
 * @internal
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
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillFile from "../definition/SkillFile.js"
import type { Problem, Scan, ScanOptions } from "./SkillFolders.js"

/**
 * A scan, with what has to be watched to notice changes of its result: folders that there are, and paths that there are
 * not.
 *
 * @since 0.1.0
 * @category models
 */
export interface Seen extends Scan {
  readonly folders: ReadonlySet<string>
  readonly missing: ReadonlySet<string>
}

/** A folder on the way. `at` is its real path, `place` the one it is known by, `name` that below the root. */
interface Visit {
  readonly at: string
  readonly place: string
  readonly name: string
  readonly depth: number
}

/** Folders of a skill by the format: what lies there belongs to it, even where it looks like a skill. */
const ofSkill: ReadonlySet<string> = new Set(["scripts", "references", "assets"])

const isSkipped = (name: string): boolean => name.startsWith(".") || name === "node_modules"

const told = (text: string): string => `"${VisibleText.visible(text.slice(0, 200))}"`

/** Only asked for when a path begins with `~`. */
const homeOf = (options: ScanOptions): Effect.Effect<string | undefined> =>
  options.home !== undefined
    ? Effect.succeed(options.home)
    : Effect.catchAll(Effect.map(Config.option(Config.string("HOME")), Option.getOrUndefined), () =>
        Effect.succeed(undefined)
      )

/** Folders and files that are read at a time: while one waits for the disk, another is parsed. */
const CONCURRENCY = 8

/**
 * As `Effect.forEach`, in as many fibers as work at a time: one for each item costs as much as a look at its folder.
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

/** What a scan found so far. */
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

/** Lists folders, each once, up to the most entries that are looked at. */
const listed = Effect.fnUntraced(function* (scanner: Below, visits: ReadonlyArray<Visit>) {
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

/** The folders below those that were listed, and the links to some. */
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
      found.problems.push({ reason: "Unreadable", path: place, message: `${told(name)} cannot be read` })
      continue
    }
    const { _tag, path: at } = kind.right
    const next = { place, name: visit.name === "" ? name : `${visit.name}/${name}`, depth: visit.depth + 1 }
    if (isSkill && ofSkill.has(name)) {
      if (_tag === "Folder") found.folders.add(at)
    } else if (_tag === "Outside") {
      // In a skill's own folder it is a warning of that skill.
      if (!isSkill)
        found.problems.push({
          reason: "Link",
          path: place,
          message: `${told(name)} is a link that leaves the path or leads nowhere; it is not followed`
        })
    } else if (next.depth <= maxDepth) {
      if (_tag === "Folder") visits.push({ ...next, at })
      else if (_tag === "Link" && kind.right.type === "Folder") links.push({ ...next, at: kind.right.target })
    }
  }
  return { visits, links }
})

/** The skill folders below a root, links within it last: a folder is known by its own path rather than by a link's. */
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
    const lists = yield* listed(scanner, visits.filter(isNew))
    for (const { isSkill, visit } of lists) if (isSkill) skills.push(visit)
    if (scanner.found.entries > scanner.maxEntries) break
    const next = yield* below(scanner, root, lists)
    links.push(...next.links)
    visits = next.visits.length > 0 ? next.visits : links.splice(0, 1)
  }
  return skills.sort((a, b) => FolderLook.byCodePoint(a.name, b.name))
})

/** The absolute path that is meant; a problem where `~` stands for nothing. */
const placeOf = (path: Path.Path, given: string, options: ScanOptions): Effect.Effect<string | undefined> =>
  given === "~" || given.startsWith("~/")
    ? Effect.map(homeOf(options), (home) => (home === undefined ? undefined : path.resolve(home, `.${given.slice(1)}`)))
    : Effect.sync(() => path.resolve(given))

type Loaded = readonly [Visit, Either.Either<LoadedSkill, SkillFile.SkillFileError>]

/** The skills of a path, in their order. */
const skillsOf = Effect.fnUntraced(function* (
  scanner: Scanner,
  given: string,
  options: ScanOptions
): Effect.fn.Return<ReadonlyArray<Loaded>, never, FileSystem.FileSystem | Path.Path> {
  const { found, fs, path } = scanner
  const place = yield* placeOf(path, given, options)
  if (place === undefined) {
    found.problems.push({ reason: "Home", path: given, message: "There is no home folder: neither an option nor HOME" })
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
      message: `There are more than ${scanner.maxEntries} files and folders; the rest is not looked at`
    })
  }
  return yield* each(visits, (visit) =>
    Effect.map(
      Effect.either(SkillFile.loadSeen(visit.place, options.read, { look, real: visit.at })),
      (loaded) => [visit, loaded] as const
    )
  )
})

/** Why a skill takes no part; `undefined` when it does. */
const refusal = (options: ScanOptions, skill: LoadedSkill, given: string): Effect.Effect<string | undefined> => {
  const { name } = skill.file
  if (options.admit === undefined) return Effect.succeed(undefined)
  return Effect.match(options.admit(skill, given), {
    onFailure: ({ hint, message }) => (hint === undefined ? message : `${message}. ${hint}`),
    onSuccess: (isAdmitted) =>
      isAdmitted ? undefined : `The skill ${told(name)} is not trusted and left out; look at its folder, and accept it`
  })
}

/** Takes skills in, the first of each folder and of each name. */
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
      problem("Duplicate", `The skill ${told(name)} is hidden by the one in ${holder}, which comes first`)
      return
    }
    // One that takes no part hides no other, nor itself below another path.
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
 * Never fails: what cannot be read is a problem, and the scan goes on.
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
