/**
 * Lists the files of a skill's folder and hashes them all. Symbolic links are not followed.
 *
 * @private
 * @since 0.1.0
 */

import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as FolderLook from "./FolderLook.js"

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
  /** Relative to the folder, with `/`, sorted by code point. Includes links that stay within the folder. */
  readonly files: ReadonlyArray<string>
  /** SHA-256 of names and contents, hexadecimal. */
  readonly hash: string
  readonly problems: ReadonlyArray<Problem>
}

const encoder = new TextEncoder()

/** Prefixes each part with its length: no two lists of parts give the same bytes. */
const hasher = () => {
  const hash = Sha256.make()
  const length = (bytes: Uint8Array): Uint8Array => {
    const head = new Uint8Array(8)
    new DataView(head.buffer).setBigUint64(0, BigInt(bytes.length))
    return head
  }
  return {
    add: (kind: string, name: string, content: Uint8Array | string): void => {
      for (const part of [kind, name, content]) {
        const bytes = typeof part === "string" ? encoder.encode(part) : part
        hash.add(length(bytes)).add(bytes)
      }
    },
    digest: () => hash.hex()
  }
}

interface Found {
  readonly name: string
  readonly kind: FolderLook.Kind
}

type Report = (rule: Problem["rule"], message: string) => void

const MAX_PROBLEMS = 64

const quote = (name: string): string => JSON.stringify(name.slice(0, 200))

/** Lists everything below the folder, sorted by code point. */
const list = Effect.fnUntraced(function* (root: string, look: FolderLook.FolderLook, limits: Limits, report: Report) {
  const found: Array<Found> = []
  const folders = [{ at: root, name: "", depth: 0 }]
  let seen = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const listed = yield* Effect.either(look.list(folder.at))
    if (listed._tag === "Left") {
      report("folder", `The folder ${quote(folder.name)} cannot be read`)
      continue
    }
    for (const entry of listed.right) {
      const name = folder.name === "" ? entry : `${folder.name}/${entry}`
      if (++seen > limits.maxFiles) {
        report("limit", `There are more than ${limits.maxFiles} files and folders; changes in the rest go unnoticed`)
        return sort(found)
      }
      const kind = yield* Effect.either(look.kind(root, folder.at, entry))
      if (kind._tag === "Left") {
        report("folder", `${quote(name)} cannot be read`)
      } else if (kind.right._tag !== "Folder") {
        found.push({ name, kind: kind.right })
      } else if (folder.depth < limits.maxDepth) {
        folders.push({ at: kind.right.path, name, depth: folder.depth + 1 })
      } else {
        report("limit", `${quote(name)} lies deeper than ${limits.maxDepth} folders and is not read`)
      }
    }
  }
  return sort(found)
})

const sort = (found: Array<Found>): ReadonlyArray<Found> => found.sort((a, b) => FolderLook.byCodePoint(a.name, b.name))

/**
 * Reads the folder whose real path is `root`. It never fails: an entry that cannot be read, exceeds a limit or leads
 * out of the folder is a problem, and the hash covers the rest.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = Effect.fnUntraced(function* (
  fs: FileSystem.FileSystem,
  path: Path.Path,
  root: string,
  limits: Limits,
  options: {
    readonly look: FolderLook.FolderLook
    /** Files that were read before, by path: the bytes that were checked are the bytes that are hashed. */
    readonly known?: ReadonlyMap<string, Uint8Array> | undefined
  }
): Effect.fn.Return<Content> {
  const { known, look } = options
  const problems: Array<Problem> = []
  const report: Report = (rule, message) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ rule, message })
  }
  const found = yield* list(root, look, limits, report)
  const files: Array<string> = []
  const hash = hasher()
  let bytes = 0
  for (const { kind, name } of found) {
    switch (kind._tag) {
      case "File": {
        files.push(name)
        const size = yield* Effect.either(look.size(kind.path))
        bytes += size._tag === "Right" ? size.right : 0
        if (size._tag === "Right" && bytes > limits.maxBytes) {
          hash.add("size", name, String(size.right))
          continue
        }
        const held = known?.get(kind.path)
        const content =
          size._tag === "Left" || held === undefined
            ? yield* Effect.either(Effect.zipRight(size, fs.readFile(kind.path)))
            : Either.right(held)
        if (content._tag === "Right") {
          hash.add("file", name, content.right)
        } else {
          report("folder", `${quote(name)} cannot be read`)
          hash.add("unreadable", name, "")
        }
        continue
      }
      case "Link": {
        if (kind.type === "File") files.push(name)
        // Hashes the target's path: the target's content is hashed where it is.
        hash.add("link", name, path.relative(root, kind.target))
        continue
      }
      case "Outside": {
        report("link", `${quote(name)} is a link that leaves the folder or leads nowhere; it is not followed`)
        hash.add("outside", name, "")
        continue
      }
      case "Other": {
        report("folder", `${quote(name)} is neither a file nor a folder`)
        hash.add("other", name, "")
      }
    }
  }
  if (bytes > limits.maxBytes)
    report("limit", `The files have more than ${limits.maxBytes} bytes; of the rest only names and sizes are noticed`)
  return { files, hash: hash.digest(), problems }
})
