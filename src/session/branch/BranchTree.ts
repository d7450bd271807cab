/**
 * The branches of a conversation as a tree, as data and as text.
 *
 * @since 0.1.0
 */
import type { SessionId } from "../../domain/Ids.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { Session, SessionStatus, TurnRef } from "../turn/Session.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface BranchNode {
  readonly sessionId: SessionId
  readonly branchName?: string | undefined
  /** Absent: the session was deleted or not read; its descendants still hang on this node. */
  readonly status?: SessionStatus | undefined
  /** The number of turns on the path to its head. */
  readonly depth: number
  /** The turn it was forked at, and the depth of that turn; absent if it was forked before any turn. */
  readonly fork?: { readonly turn: TurnRef; readonly depth: number } | undefined
  /** Its branches, oldest first. */
  readonly children: ReadonlyArray<BranchNode>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface BranchTree {
  /** The session that was asked for. */
  readonly sessionId: SessionId
  readonly root: BranchNode
  /** `false`: the tree has more sessions than were read; the oldest ones are missing. */
  readonly isComplete: boolean
}

interface Growing extends BranchNode {
  readonly children: Array<Growing>
}

const nodeOf = (session: Session): Growing => {
  const from = session.lineage[session.lineage.length - 1]
  return {
    sessionId: session.id,
    ...(session.branchName === undefined ? {} : { branchName: session.branchName }),
    status: session.status,
    depth: session.depth,
    ...(from === undefined
      ? {}
      : { fork: { turn: { sessionId: from.sessionId, turnId: from.turnId }, depth: from.depth } }),
    children: []
  }
}

const missing = (sessionId: SessionId): Growing => ({ sessionId, depth: 0, children: [] })

/**
 * Builds the tree from its sessions, in any order. A session whose parent is missing hangs on a node without a status,
 * which hangs on the root.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  sessions: ReadonlyArray<Session>,
  options: {
    readonly sessionId: SessionId
    readonly rootSessionId: SessionId
    readonly isComplete?: boolean | undefined
  }
): BranchTree => {
  const ordered = sessions.slice().sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  const nodes = new Map<SessionId, Growing>()
  for (const session of ordered) nodes.set(session.id, nodeOf(session))
  const root = nodes.get(options.rootSessionId) ?? missing(options.rootSessionId)
  nodes.set(root.sessionId, root)
  for (const { id, parentSessionId } of ordered) {
    const node = nodes.get(id)
    if (node === undefined || node === root) continue
    const parentId = parentSessionId ?? root.sessionId
    let parent = nodes.get(parentId)
    if (parent === undefined) {
      parent = missing(parentId)
      nodes.set(parentId, parent)
      root.children.push(parent)
    }
    parent.children.push(node)
  }
  return { sessionId: options.sessionId, root, isComplete: options.isComplete ?? true }
}

const turns = (count: number): string => (count === 1 ? "1 turn" : `${count} turns`)

const label = (node: BranchNode, asked: SessionId): string => {
  const id = VisibleText.visible(node.sessionId)
  const name = node.branchName === undefined ? id : `${VisibleText.visible(node.branchName)} (${id})`
  const mark = node.sessionId === asked ? "* " : ""
  if (node.status === undefined) return `${mark}${name}: missing`
  const from = node.fork === undefined ? "" : `, from turn ${node.fork.depth}`
  return `${mark}${name}: ${node.status}, ${turns(node.depth)}${from}`
}

/**
 * Renders one line per session, with branches below their parent; a star marks the session that was asked for. Control
 * and invisible characters of names are shown as code points.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { BranchManager, BranchTree } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const branches = yield* BranchManager.BranchManager
 *   const tree = yield* branches.tree(Ids.SessionId.make("trip"))
 *   yield* Effect.log(BranchTree.toText(tree))
 * })
 * ```
 */
export const toText = ({ isComplete, root, sessionId }: BranchTree): string => {
  const lines: Array<string> = []
  const open: Array<{ readonly node: BranchNode; readonly before: string; readonly below: string }> = [
    { node: root, before: "", below: "" }
  ]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { before, below, node } = next
    lines.push(before + label(node, sessionId))
    for (let at = node.children.length - 1; at >= 0; at--) {
      const isLast = at === node.children.length - 1
      open.push({
        node: node.children[at] as BranchNode,
        before: `${below}${isLast ? "└─ " : "├─ "}`,
        below: `${below}${isLast ? "   " : "│  "}`
      })
    }
  }
  if (!isComplete) lines.push("… older sessions are not shown")
  return lines.join("\n")
}
