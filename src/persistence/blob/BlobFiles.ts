/**
 * Files of blobs in their folders.
 *
 * @private
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { BlobRef } from "../../content/BlobRef.js"
import * as BlobFolders from "./BlobFolders.js"

const Ids = Schema.parseJson(Schema.Struct({ owner: Schema.String, scope: Schema.String }))
const readIds = Schema.decodeUnknownOption(Ids)
const writeIds = Schema.encodeSync(Ids)

const Head = Schema.parseJson(Schema.Struct({ mediaType: Schema.String }))
const readHead = Schema.decodeUnknownOption(Head)
const writeHead = Schema.encodeSync(Head)

/** The most bytes of a head. */
const maxHead = 512
const NEWLINE = 0x0a
const IDS = "scope.json"
const isName = /^[0-9a-f]{64}$/

/**
 * The file name of a hash.
 *
 * @category conversions
 */
export const nameOf = (hash: string): string => hash.slice("sha256:".length)

/**
 * @category encoding
 */
export const encode = (blob: { readonly bytes: Uint8Array; readonly mediaType: string }): Uint8Array => {
  const head = new TextEncoder().encode(`${writeHead({ mediaType: blob.mediaType })}\n`)
  const content = new Uint8Array(head.length + blob.bytes.length)
  content.set(head)
  content.set(blob.bytes, head.length)
  return content
}

/**
 * The bytes behind the head. Without a head, they are not those of the hash.
 *
 * @category decoding
 */
export const bytesOf = (content: Uint8Array): Uint8Array => content.subarray(content.indexOf(NEWLINE) + 1)

type Attempt<A> = Effect.Effect<A, PlatformError>

/**
 * @category models
 */
export interface BlobFiles {
  /** Writes the whole file or nothing; keeps one that exists. */
  readonly write: (owner: string, scope: string, name: string, content: Uint8Array) => Attempt<void>
  /** The content with its head, at most one byte above `maxBytes` behind it. */
  readonly read: (owner: string, scope: string, name: string, maxBytes?: number) => Attempt<Uint8Array | undefined>
  /** Names of blobs of a scope, in order. */
  readonly names: (owner: string, scope: string) => Attempt<ReadonlyArray<string>>
  /** Scopes of an owner, in the order of their folders. */
  readonly scopes: (owner: string) => Attempt<ReadonlyArray<string>>
  readonly describe: (owner: string, scope: string, name: string) => Attempt<BlobRef | undefined>
  /** Succeeds with the number of removed blobs. */
  readonly remove: (owner: string, scope: string | undefined) => Attempt<number>
}

const makeWrite = (folders: BlobFolders.BlobFolders) => {
  const { check, fs, join, ofOwner, ofScope, temporary } = folders

  /** Writes under a temporary name, which is gone afterwards. */
  const replace = Effect.fnUntraced(function* (place: string, name: string, content: Uint8Array) {
    const file = join(place, yield* temporary)
    yield* Effect.ensuring(
      Effect.zipRight(fs.writeFile(file, content, { flag: "wx" }), fs.rename(file, join(place, name))),
      Effect.ignore(fs.remove(file, { force: true }))
    )
  })

  const attempt = Effect.fnUntraced(function* (owner: string, scope: string, name: string, content: Uint8Array) {
    const place = ofScope(owner, scope)
    yield* check(ofOwner(owner))
    if (!(yield* check(place))) yield* fs.makeDirectory(place, { recursive: true })
    if (!(yield* check(join(place, IDS)))) {
      yield* replace(place, IDS, new TextEncoder().encode(writeIds({ owner, scope })))
    }
    if (!(yield* check(join(place, name)))) yield* replace(place, name, content)
  })

  // A removal may take the folder away at any time.
  return (owner: string, scope: string, name: string, content: Uint8Array) =>
    Effect.retry(attempt(owner, scope, name, content), {
      times: 5,
      while: (error) => error._tag === "SystemError" && error.reason === "NotFound"
    })
}

/**
 * @category constructors
 */
export const make = (folders: BlobFolders.BlobFolders): BlobFiles => {
  const { check, fs, join, namesIn, ofOwner, ofScope, root } = folders

  /** The first bytes of a file; `undefined` if it is absent. */
  const leading = (file: string, most: number) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { size } = yield* fs.stat(file)
        const wanted = Math.min(Number(size), most)
        const content = new Uint8Array(wanted)
        const handle = yield* fs.open(file, { flag: "r" })
        for (let at = 0; at < wanted; ) {
          const count = Number(yield* handle.read(content.subarray(at)))
          if (count === 0) return { content: content.subarray(0, at), size: Number(size) }
          at += count
        }
        return { content, size: Number(size) }
      })
    )

  const read = Effect.fnUntraced(function* (
    owner: string,
    scope: string,
    name: string,
    maxBytes = Number.MAX_SAFE_INTEGER
  ) {
    const file = join(ofScope(owner, scope), name)
    if (!(yield* check(file))) return undefined
    return (yield* BlobFolders.orAbsent(leading(file, maxBytes + 1 + maxHead)))?.content
  })

  const names = (owner: string, scope: string) =>
    Effect.map(namesIn(ofScope(owner, scope)), (all) => all.filter((name) => isName.test(name)))

  const scopes = Effect.fnUntraced(function* (owner: string) {
    const found: Array<string> = []
    for (const folder of yield* namesIn(ofOwner(owner))) {
      const file = join(ofOwner(owner), folder, IDS)
      if (!isName.test(folder) || !(yield* check(file))) continue
      const text = yield* BlobFolders.orAbsent(fs.readFileString(file))
      const ids = text === undefined ? Option.none() : readIds(text)
      if (Option.isSome(ids) && BlobFolders.nameOf(ids.value.scope) === folder) found.push(ids.value.scope)
    }
    return found
  })

  const describe = Effect.fnUntraced(function* (owner: string, scope: string, name: string) {
    const file = join(ofScope(owner, scope), name)
    if (!(yield* check(file))) return undefined
    const found = yield* BlobFolders.orAbsent(leading(file, maxHead))
    if (found === undefined) return undefined
    const end = found.content.indexOf(NEWLINE)
    const head = readHead(new TextDecoder().decode(found.content.subarray(0, Math.max(end, 0))))
    const mediaType = Option.match(head, { onNone: () => "application/octet-stream", onSome: (_) => _.mediaType })
    return { hash: `sha256:${name}`, size: found.size - end - 1, mediaType }
  })

  const count = (owner: string, folder: string) =>
    Effect.map(namesIn(join(ofOwner(owner), folder)), (all) => all.filter((name) => isName.test(name)).length)

  const remove = Effect.fnUntraced(function* (owner: string, scope: string | undefined) {
    if (scope !== undefined) {
      const removed = yield* count(owner, BlobFolders.nameOf(scope))
      yield* folders.remove(ofOwner(owner), BlobFolders.nameOf(scope))
      return removed
    }
    let removed = 0
    for (const folder of yield* namesIn(ofOwner(owner))) if (isName.test(folder)) removed += yield* count(owner, folder)
    yield* folders.remove(root, BlobFolders.nameOf(owner))
    return removed
  })

  return { write: makeWrite(folders), read, names, scopes, describe, remove }
}
