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
import * as VisibleText from "../internal/VisibleText.js"
import * as SkillContent from "./SkillContent.js"
import type { LoadedSkill } from "./SkillFile.js"
import * as SkillFile from "./SkillFile.js"
import type { Problem, Scan, ScanOptions } from "./SkillFolders.js"

/**
 * A scan, with what has to be watched to notice changes of its result: folders that there are, and paths that there are not.
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
  const maxDepth = options.maxDepth ?? 5
  const maxEntries = options.maxEntries ?? 50_000
  const skills: Array<LoadedSkill> = []
  const problems: Array<Problem> = []
  const folders = new Set<string>()
  const missing = new Set<string>()
  const directories = new Set<string>()
  const holders = new Map<string, string>()
  let entries = 0

  /** The skill folders below a root, links within it last: a folder is known by its own path rather than by a link's. */
  const candidates = Effect.fnUntraced(function* (root: string, given: string) {
    const found: Array<Visit> = []
    const visited = new Set<string>()
    const visits: Array<Visit> = [{ at: root, place: given, name: "", depth: 0 }]
    const links: Array<Visit> = []
    for (let visit = visits.pop(); visit !== undefined; visit = visits.pop() ?? links.shift()) {
      if (visited.has(visit.at)) continue
      visited.add(visit.at)
      const listed = yield* Effect.either(fs.readDirectory(visit.at))
      if (Either.isLeft(listed)) {
        problems.push({ reason: "Unreadable", path: visit.place, message: "The folder cannot be read" })
        continue
      }
      folders.add(visit.at)
      const isSkill = SkillFile.names.some((name) => listed.right.includes(name))
      if (isSkill) found.push(visit)
      for (const name of listed.right.sort(SkillContent.byCodePoint).reverse()) {
        if (isSkipped(name)) continue
        if (++entries > maxEntries) return found
        const place = path.join(visit.at, name)
        const kind = yield* Effect.either(SkillContent.kindOf(fs, path, root, visit.at, name))
        if (Either.isLeft(kind)) {
          problems.push({ reason: "Unreadable", path: place, message: `${told(name)} cannot be read` })
          continue
        }
        const { _tag, path: at } = kind.right
        const below = { place, name: visit.name === "" ? name : `${visit.name}/${name}`, depth: visit.depth + 1 }
        if (isSkill && ofSkill.has(name)) {
          if (_tag === "Folder") folders.add(at)
        } else if (_tag === "Outside") {
          // In a skill's own folder it is a warning of that skill.
          if (!isSkill)
            problems.push({
              reason: "Link",
              path: place,
              message: `${told(name)} is a link that leaves the path or leads nowhere; it is not followed`
            })
        } else if (below.depth <= maxDepth) {
          if (_tag === "Folder") visits.push({ ...below, at })
          else if (_tag === "Link" && kind.right.type === "Folder") links.push({ ...below, at: kind.right.target })
        }
      }
    }
    return found
  })

  const add = Effect.fnUntraced(function* (visit: Visit) {
    const loaded = yield* Effect.either(SkillFile.load(visit.place, options.read))
    if (Either.isLeft(loaded)) {
      const { issues } = loaded.left
      const message = issues.map(({ message }) => message).slice(0, 4)
      problems.push({ reason: "Malformed", path: visit.place, message: message.join("; "), issues })
      return
    }
    const skill = loaded.right
    // Paths may overlap.
    if (directories.has(skill.directory)) return
    directories.add(skill.directory)
    for (const file of skill.files) {
      for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1))
        folders.add(path.join(skill.directory, file.slice(0, end)))
    }
    const { name } = skill.file
    const holder = holders.get(name)
    if (holder === undefined) {
      holders.set(name, skill.directory)
      skills.push(skill)
    } else {
      problems.push({
        reason: "Duplicate",
        path: visit.place,
        skillName: name,
        message: `The skill ${told(name)} is hidden by the one in ${holder}, which comes first`
      })
    }
  })

  for (const given of options.paths) {
    let place = given
    if (given === "~" || given.startsWith("~/")) {
      const home = yield* homeOf(options)
      if (home === undefined) {
        problems.push({ reason: "Home", path: given, message: "There is no home folder: neither an option nor HOME" })
        continue
      }
      place = path.join(home, given.slice(1))
    }
    place = path.resolve(place)
    const root = yield* Effect.either(fs.realPath(place))
    if (Either.isLeft(root)) {
      missing.add(place)
      if (root.left._tag !== "SystemError" || root.left.reason !== "NotFound")
        problems.push({ reason: "Unreadable", path: place, message: "The path cannot be read" })
      continue
    }
    const found = yield* candidates(root.right, place)
    found.sort((a, b) => SkillContent.byCodePoint(a.name, b.name))
    for (const visit of found) yield* add(visit)
    if (entries > maxEntries) {
      problems.push({
        reason: "Limit",
        path: place,
        message: `There are more than ${maxEntries} files and folders; the rest is not looked at`
      })
      break
    }
  }
  return { skills, problems, folders, missing }
})
