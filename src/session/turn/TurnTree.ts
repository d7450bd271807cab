/**
 * The turns of all sessions in memory, and which of them remain when a session is deleted.
 *
 * A turn counts its children and the sessions forked at it. In a deleted session, a turn with a count of zero is
 * removed and its parent counts one less, so that the path to a branch remains.
 *
 * @private
 * @since 0.1.0
 */
import type { SessionId, TurnId } from "../../domain/Ids.js"
import type { SessionTurn, TurnRef } from "./Session.js"

interface Node {
  readonly turn: SessionTurn
  readonly parent: Node | undefined
  readonly writer: Writer
  needs: number
}

interface Writer {
  readonly id: SessionId
  readonly turns: Map<TurnId, Node>
  /** The turn of another session it was forked at. */
  readonly base: Node | undefined
  deleted: boolean
}

/**
 * @category models
 */
export class TurnTree {
  private readonly writers = new Map<SessionId, Writer>()

  /** Ids of deleted sessions whose turns are still needed are not free. */
  isFree(id: SessionId): boolean {
    return !this.writers.has(id)
  }

  get(ref: TurnRef): SessionTurn | undefined {
    return this.node(ref)?.turn
  }

  /** A missing head is none. */
  open(id: SessionId, head: TurnRef | undefined): void {
    const base = head === undefined ? undefined : this.node(head)
    if (base !== undefined) base.needs++
    this.writers.set(id, { id, turns: new Map(), base, deleted: false })
  }

  add(turn: SessionTurn): void {
    const writer = this.writers.get(turn.sessionId)
    if (writer === undefined) return
    const parent = turn.parent === undefined ? undefined : this.node(turn.parent)
    if (parent !== undefined) parent.needs++
    writer.turns.set(turn.id, { turn, parent, writer, needs: 0 })
  }

  window(head: TurnRef, limit: number, since: TurnRef | undefined): ReadonlyArray<SessionTurn> {
    const found: Array<SessionTurn> = []
    const until = since === undefined ? undefined : this.node(since)
    for (let node = this.node(head); node !== undefined && node !== until && found.length < limit; node = node.parent) {
      found.push(node.turn)
    }
    return found.reverse()
  }

  delete(id: SessionId): void {
    const writer = this.writers.get(id)
    if (writer === undefined) return
    writer.deleted = true
    for (const node of writer.turns.values()) if (node.needs === 0) this.prune(node)
    if (writer.turns.size === 0) this.writers.delete(id)
    if (writer.base !== undefined) {
      writer.base.needs--
      this.prune(writer.base)
    }
  }

  private node(ref: TurnRef): Node | undefined {
    return this.writers.get(ref.sessionId)?.turns.get(ref.turnId)
  }

  private prune(last: Node): void {
    let node: Node | undefined = last
    while (node !== undefined && node.needs === 0 && node.writer.deleted) {
      const { parent, turn, writer }: Node = node
      writer.turns.delete(turn.id)
      if (writer.turns.size === 0) this.writers.delete(writer.id)
      if (parent !== undefined) parent.needs--
      node = parent
    }
  }
}
