/**
 * Describes errors of Redis and `ioredis` without their contents: those errors carry the command with its arguments.
 *
 * @private
 * @since 0.1.0
 */
import { DatabaseError, type Reason } from "../engine/PersistenceError.js"

/** Prefixes of error replies. */
const replies: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ["NOAUTH", "refused"],
  ["WRONGPASS", "refused"],
  ["NOPERM", "refused"],
  ["DENIED", "refused"],
  ["OOM", "full"],
  ["MISCONF", "full"],
  ["READONLY", "read-only"],
  ["LOADING", "unreachable"],
  ["MASTERDOWN", "unreachable"],
  ["CLUSTERDOWN", "unreachable"],
  ["BUSY", "busy"],
  ["TRYAGAIN", "busy"],
  ["NOREPLICAS", "busy"],
  ["WRONGTYPE", "data"]
])

const messages: { readonly [reason in Reason]: string } = {
  unreachable: "Redis does not answer",
  busy: "Redis is busy with something else",
  full: "Redis has no room, or cannot write to its disk",
  "read-only": "Redis takes no writes: it is a replica",
  refused: "Redis refuses this user or this password, or the user may not do this",
  schema: "What is kept in Redis is of another version",
  data: "Redis keeps something else under this key",
  other: "Redis did not do what it was asked to"
}

const hints: { readonly [reason in Reason]?: string } = {
  unreachable: "Whether the last command was done is not known; it is tried again by whoever asked",
  full: "Give it more memory or disk, or let it evict (for caches only)",
  "read-only": "Connect to the master",
  refused: "Check user, password and rights",
  data: "Choose another prefix"
}

/**
 * @category getters
 */
export const isMissingScript = (error: unknown): boolean =>
  error instanceof Error && error.name === "ReplyError" && error.message.startsWith("NOSCRIPT")

/**
 * Whether the command was never sent, because there was no connection.
 *
 * @category getters
 */
export const isUnsent = (error: unknown): boolean =>
  error instanceof Error && error.name !== "ReplyError" && error.message.includes("enableOfflineQueue options is false")

/**
 * @category getters
 */
const reasonOf = (error: unknown): Reason => {
  if (!(error instanceof Error) || error.name !== "ReplyError") return "unreachable"
  const first = /^[A-Z]{1,32}(?= )/.exec(error.message)?.[0] ?? ""
  if (first === "ERR" && /invalid (?:username-)?password/i.test(error.message)) return "refused"
  return replies.get(first) ?? "other"
}

/**
 * @category constructors
 */
export const of = (reason: Reason): DatabaseError => {
  const hint = hints[reason]
  return new DatabaseError({
    message: messages[reason],
    ...(hint === undefined ? {} : { hint }),
    backend: "redis",
    reason
  })
}

/**
 * @category constructors
 */
export const fromError = (error: unknown): DatabaseError => {
  // If a cluster cannot be reached, the error of its last node.
  const last = (error as { readonly lastNodeError?: unknown } | null)?.lastNodeError
  return of(reasonOf(last ?? error))
}
