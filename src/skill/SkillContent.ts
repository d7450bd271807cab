/**
 * The files of a skill's folder: which there are, and one hash over them all. Symbolic links are not followed.
 *
 * @internal
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly maxFiles: number
  readonly maxBytes: number
  readonly maxDepth: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly rule: "folder" | "link" | "limit"
  readonly message: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Content {
  /** Relative to the folder, with `/`, sorted by code point; links that stay within the folder are among them. */
  readonly files: ReadonlyArray<string>
  /** SHA-256 of names and contents, hexadecimal. */
  readonly hash: string
  readonly problems: ReadonlyArray<Problem>
}

/**
 * By code point, whatever the locale.
 *
 * @since 0.1.0
 * @category ordering
 */
export const byCodePoint = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates stand for code points above all others.
    const isXHigh = x >= 0xd800 && x <= 0xdfff
    const isYHigh = y >= 0xd800 && y <= 0xdfff
    return isXHigh === isYHigh ? x - y : isXHigh ? 1 : -1
  }
  return a.length - b.length
}

/**
 * What an entry of a folder is, `folder` being the folder's real path. `Outside`: a link that leaves `root`, or leads nowhere.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind =
  | { readonly _tag: "File"; readonly path: string; readonly size: number }
  | { readonly _tag: "Folder"; readonly path: string }
  | {
      readonly _tag: "Link"
      readonly path: string
      readonly target: string
      readonly type: "File" | "Folder" | "Other"
    }
  | { readonly _tag: "Outside"; readonly path: string }
  | { readonly _tag: "Other"; readonly path: string }

/**
 * Whether a path is `root` or lies below it; both are real.
 *
 * @since 0.1.0
 * @category paths
 */
export const isWithin = (path: Path.Path, root: string, target: string): boolean => {
  const relative = path.relative(root, target)
  return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative))
}

const unresolved: ReadonlySet<string> = new Set(["NotFound", "BadResource", "Unknown"])

/**
 * Looks at an entry without following it out of `root`.
 *
 * @since 0.1.0
 * @category paths
 */
export const kindOf = (
  fs: FileSystem.FileSystem,
  path: Path.Path,
  root: string,
  folder: string,
  name: string
): Effect.Effect<Kind, PlatformError> => {
  const at = path.join(folder, name)
  return Effect.flatMap(Effect.either(fs.realPath(at)), (real) => {
    if (real._tag === "Left") {
      // What is listed and has no real path is a link to nothing or to itself, or it is gone, or nobody may look at it.
      return real.left._tag === "SystemError" && unresolved.has(real.left.reason)
        ? Effect.succeed<Kind>({ _tag: "Outside", path: at })
        : Effect.fail(real.left)
    }
    const target = real.right
    if (target !== at && !isWithin(path, root, target)) return Effect.succeed<Kind>({ _tag: "Outside", path: at })
    return Effect.map(fs.stat(target), (info): Kind => {
      const type = info.type === "File" ? "File" : info.type === "Directory" ? "Folder" : "Other"
      if (target !== at) return { _tag: "Link", path: at, target, type }
      return type === "File" ? { _tag: "File", path: at, size: Number(info.size) } : { _tag: type, path: at }
    })
  })
}

/** Each part with its length before it: no two lists of parts give the same bytes. */
const hasher = () => {
  const hash = createHash("sha256")
  const part = (bytes: Uint8Array): void => {
    const length = new DataView(new ArrayBuffer(8))
    length.setBigUint64(0, BigInt(bytes.length))
    hash.update(new Uint8Array(length.buffer)).update(bytes)
  }
  const encoder = new TextEncoder()
  return {
    add: (kind: string, name: string, content: Uint8Array | string): void => {
      part(encoder.encode(kind))
      part(encoder.encode(name))
      part(typeof content === "string" ? encoder.encode(content) : content)
    },
    digest: () => hash.digest("hex")
  }
}

/**
 * Reads the folder whose real path is `root`. It never fails: what cannot be read, is too much or leads out of it is a problem, and the
 * hash covers the rest.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = Effect.fnUntraced(function* (
  fs: FileSystem.FileSystem,
  path: Path.Path,
  root: string,
  limits: Limits
): Effect.fn.Return<Content> {
  const problems: Array<Problem> = []
  const found: Array<{ readonly name: string; readonly kind: Kind }> = []
  const problem = (rule: Problem["rule"], message: string): void => {
    if (problems.length < 64) problems.push({ rule, message })
  }
  const told = (name: string): string => JSON.stringify(name.slice(0, 200))

  const folders = [{ at: root, name: "", depth: 0 }]
  let seen = 0
  let isFull = false
  for (let folder = folders.pop(); folder !== undefined && !isFull; folder = folders.pop()) {
    const listed = yield* Effect.either(fs.readDirectory(folder.at))
    if (listed._tag === "Left") {
      problem("folder", `The folder ${told(folder.name)} cannot be read`)
      continue
    }
    for (const entry of [...listed.right].sort(byCodePoint)) {
      const name = folder.name === "" ? entry : `${folder.name}/${entry}`
      if (++seen > limits.maxFiles) {
        problem("limit", `There are more than ${limits.maxFiles} files and folders; changes in the rest go unnoticed`)
        isFull = true
        break
      }
      const kind = yield* Effect.either(kindOf(fs, path, root, folder.at, entry))
      if (kind._tag === "Left") {
        problem("folder", `${told(name)} cannot be read`)
      } else if (kind.right._tag !== "Folder") {
        found.push({ name, kind: kind.right })
      } else if (folder.depth < limits.maxDepth) {
        folders.push({ at: kind.right.path, name, depth: folder.depth + 1 })
      } else {
        problem("limit", `${told(name)} lies deeper than ${limits.maxDepth} folders and is not read`)
      }
    }
  }
  found.sort((a, b) => byCodePoint(a.name, b.name))

  const files: Array<string> = []
  const hash = hasher()
  let bytes = 0
  for (const { kind, name } of found) {
    switch (kind._tag) {
      case "File": {
        files.push(name)
        bytes += kind.size
        if (bytes > limits.maxBytes) {
          hash.add("size", name, String(kind.size))
          continue
        }
        const content = yield* Effect.either(fs.readFile(kind.path))
        if (content._tag === "Right") {
          hash.add("file", name, content.right)
        } else {
          problem("folder", `${told(name)} cannot be read`)
          hash.add("unreadable", name, "")
        }
        continue
      }
      case "Link": {
        if (kind.type === "File") files.push(name)
        // By where it leads: the content is hashed where it is.
        hash.add("link", name, path.relative(root, kind.target))
        continue
      }
      case "Outside": {
        problem("link", `${told(name)} is a link that leaves the folder or leads nowhere; it is not followed`)
        hash.add("outside", name, "")
        continue
      }
      case "Other": {
        problem("folder", `${told(name)} is neither a file nor a folder`)
        hash.add("other", name, "")
      }
    }
  }
  if (bytes > limits.maxBytes)
    problem("limit", `The files have more than ${limits.maxBytes} bytes; of the rest only names and sizes are noticed`)
  return { files, hash: hash.digest(), problems }
})
