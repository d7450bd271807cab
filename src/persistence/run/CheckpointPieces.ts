/**
 * Stores checkpoints as rows, with large parts in pieces that the checkpoints of a thread share.
 *
 * A state is written as JSON part by part, with each large field by itself, so that a change of one field leaves the
 * others unchanged.
 *
 * @private
 * @since 0.1.0
 */

import * as Zlib from "node:zlib"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Checkpoint, Json } from "../../graph/Checkpointer.js"
import * as Database from "../engine/Database.js"
import * as Payloads from "../engine/Payloads.js"
import * as Rope from "../engine/Rope.js"

/** The most characters of a field that is stored with the small ones. */
const maxSmall = 1024
/** The most characters of the small fields between two large ones, and of a row. */
const maxInline = 4096
/** Shorter texts are not worth compressing. */
const maxPlain = 512
/** The most piece names in one statement. */
const page = 500

/** A part of the JSON of a state: the text itself, or the ref of a rope. */
type Part = string | readonly [ref: string]

type Body = readonly [rest: Omit<Checkpoint, "state" | "metadata">, parts: ReadonlyArray<Part>]

/**
 * @category models
 */
export interface Written {
  readonly body: string | null
  readonly ref: string | null
  readonly metadata: string
  readonly ropes: ReadonlyArray<Rope.Rope>
}

/**
 * @category models
 */
export type CheckpointRow = {
  readonly number: number
  readonly body: string | null
  readonly ref: string | null
  readonly metadata: string
}

const attempt = <A>(f: () => A): A | undefined => {
  try {
    return f()
  } catch {
    return undefined
  }
}

const isPart = (part: unknown): part is Part =>
  typeof part === "string" || (Array.isArray(part) && part.length === 1 && typeof part[0] === "string")

/** Throws if the text is not a body. */
const bodyOf = (text: string): Body => {
  const body: unknown = JSON.parse(text)
  if (Array.isArray(body) && Predicate.isReadonlyRecord(body[0]) && Array.isArray(body[1]) && body[1].every(isPart)) {
    return body as unknown as Body
  }
  throw new TypeError("No checkpoint")
}

/**
 * Throws if the text is not the metadata of a checkpoint.
 *
 * @category conversions
 */
export const metadataOf = (text: string): Checkpoint["metadata"] => {
  const metadata: unknown = JSON.parse(text)
  if (Predicate.isReadonlyRecord(metadata)) return metadata as Checkpoint["metadata"]
  throw new TypeError("No metadata")
}

const isPlain = (state: Json): state is { readonly [key: string]: Json } => {
  if (typeof state !== "object" || state === null || Array.isArray(state)) return false
  const prototype: unknown = Object.getPrototypeOf(state)
  return (
    (prototype === Object.prototype || prototype === null) &&
    typeof (state as { readonly toJSON?: unknown }).toJSON !== "function"
  )
}

/**
 * @category conversions
 */
export const write = (checkpoint: Checkpoint): Written => {
  const { metadata, state, ...rest } = checkpoint
  const ropes: Array<Rope.Rope> = []
  const parts: Array<Part> = []
  const long = (text: string): readonly [string] => {
    const rope = Rope.make(text)
    ropes.push(rope)
    return [rope.ref]
  }
  const put = (text: string): void => void parts.push(text.length > maxInline ? long(text) : text)
  if (isPlain(state)) {
    let small = "{"
    let isFirst = true
    for (const key of Object.keys(state)) {
      const value = JSON.stringify(state[key])
      if (value === undefined) continue
      small += `${isFirst ? "" : ","}${JSON.stringify(key)}:`
      isFirst = false
      if (value.length <= maxSmall) {
        small += value
        continue
      }
      put(small)
      parts.push(long(value))
      small = ""
    }
    put(`${small}}`)
  } else put(JSON.stringify(state) ?? "null")
  const text = JSON.stringify([rest, parts])
  const whole = { metadata: JSON.stringify(metadata), ropes }
  return text.length > maxInline ? { ...whole, body: null, ref: long(text)[0] } : { ...whole, body: text, ref: null }
}

const insert = Database.insertInto(
  "lex_checkpoint_pieces",
  ["thread_id", "hash", "body", "data"],
  "ON CONFLICT (thread_id, hash) DO NOTHING"
)

type PieceRow = Payloads.Kept & { readonly hash: string }

type Piece = readonly [hash: string, body: string | null, data: Uint8Array | null]

const level = { level: Zlib.constants.Z_BEST_SPEED }

const packed = (hash: string, text: string): Piece =>
  text.length <= maxPlain ? [hash, text, null] : [hash, null, Zlib.deflateRawSync(text, level)]

/**
 * The pieces to add for a checkpoint, and the stored pieces that it relies on.
 *
 * @category models
 */
export interface Plan {
  readonly missing: ReadonlyArray<Piece>
  /** Pieces that are already stored. */
  readonly there: ReadonlySet<string>
}

/**
 * @category models
 */
export interface CheckpointPieces {
  /** Call it before the transaction, because compressing takes time. */
  readonly plan: (thread: string, ropes: ReadonlyArray<Rope.Rope>) => Effect.Effect<Plan, SqlError>
  /** Call it in the transaction, while the thread is locked. */
  readonly put: (
    tx: Database.Access,
    thread: string,
    ropes: ReadonlyArray<Rope.Rope>,
    plan: Plan
  ) => Effect.Effect<void, SqlError>
  /**
   * `undefined` if something is missing or not JSON: the thread was deleted concurrently, or the data is corrupt.
   */
  readonly read: (
    thread: string,
    rows: ReadonlyArray<CheckpointRow>
  ) => Effect.Effect<ReadonlyArray<Checkpoint> | undefined, SqlError>
}

/**
 * @category constructors
 */
export const make = (database: Database.Database): CheckpointPieces => {
  const { dialect } = database
  const which = dialect.sql(`SELECT hash FROM lex_checkpoint_pieces WHERE thread_id = ? AND ${dialect.oneOf("hash")}`)
  const load = dialect.sql(
    `SELECT hash, body, data FROM lex_checkpoint_pieces WHERE thread_id = ? AND ${dialect.oneOf("hash")}`
  )

  const inPages = <R extends Database.Row>(
    access: Database.Access,
    text: string,
    thread: string,
    hashes: ReadonlyArray<string>,
    each: (row: R) => void
  ): Effect.Effect<void, SqlError> => {
    const pages: Array<ReadonlyArray<string>> = []
    for (let at = 0; at < hashes.length; at += page) pages.push(hashes.slice(at, at + page))
    return Effect.forEach(
      pages,
      (some) => Effect.map(access.rows<R>(text, [thread, dialect.list(some)]), (rows) => rows.forEach(each)),
      { discard: true }
    )
  }

  const present = (
    access: Database.Access,
    thread: string,
    hashes: Iterable<string>
  ): Effect.Effect<Set<string>, SqlError> => {
    const found = new Set<string>()
    return Effect.as(
      inPages<{ readonly hash: string }>(
        access,
        which,
        thread,
        [...new Set(hashes)],
        (row) => void found.add(row.hash)
      ),
      found
    )
  }

  const texts = Effect.fnUntraced(function* (thread: string, refs: Iterable<string>, known: Map<string, string>) {
    for (;;) {
      const { texts, wanted } = Rope.resolve(refs, known)
      if (wanted.size === 0) return texts
      let isWhole = true
      const before = known.size
      yield* inPages<PieceRow>(database, load, thread, [...wanted], (row) => {
        const text = Payloads.unpack(row)
        if (text === undefined) isWhole = false
        else known.set(row.hash, text)
      })
      if (!isWhole || known.size < before + wanted.size) return undefined
    }
  })

  return {
    plan: Effect.fnUntraced(function* (thread, ropes) {
      if (ropes.length === 0) return { missing: [], there: new Set() }
      const there = yield* present(
        database,
        thread,
        ropes.map(({ top }) => top)
      )
      const news = ropes.filter(({ top }) => !there.has(top))
      const parts = news.flatMap(({ pieces, top }) => [...pieces.keys()].filter((hash) => hash !== top))
      for (const hash of yield* present(database, thread, parts)) there.add(hash)
      const missing = new Map<string, Piece>()
      for (const { pieces } of news) {
        for (const [hash, text] of pieces) {
          if (!there.has(hash) && !missing.has(hash)) missing.set(hash, packed(hash, text))
        }
      }
      return { missing: [...missing.values()], there }
    }),
    put: Effect.fnUntraced(function* (tx, thread, ropes, plan) {
      const still = yield* present(tx, thread, plan.there)
      const gone: Array<Piece> = []
      if (still.size < plan.there.size) {
        // The thread was deleted in the meantime with all of its pieces.
        for (const { pieces } of ropes) for (const [hash, text] of pieces) gone.push(packed(hash, text))
      }
      yield* tx.insert(
        insert,
        [...plan.missing, ...gone].map((piece) => [thread, ...piece])
      )
    }),
    read: Effect.fnUntraced(function* (thread, rows) {
      const known = new Map<string, string>()
      const bodies = yield* texts(
        thread,
        rows.flatMap(({ ref }) => (ref === null ? [] : [ref])),
        known
      )
      if (bodies === undefined) return undefined
      const begun = attempt(() =>
        rows.map(({ body, metadata, ref }) => {
          const [rest, parts] = bodyOf(body ?? (bodies.get(ref as string) as string))
          return { rest, parts, metadata: metadataOf(metadata) }
        })
      )
      if (begun === undefined) return undefined
      const refs = new Set(
        begun.flatMap(({ parts }) => parts.flatMap((part) => (typeof part === "string" ? [] : part)))
      )
      const states = yield* texts(thread, refs, known)
      if (states === undefined) return undefined
      const stateOf = (parts: ReadonlyArray<Part>): Json =>
        JSON.parse(parts.map((part) => (typeof part === "string" ? part : (states.get(part[0]) as string))).join(""))
      return attempt(() =>
        begun.map(({ metadata, parts, rest }) => ({ ...rest, state: stateOf(parts), metadata }) as Checkpoint)
      )
    })
  }
}
