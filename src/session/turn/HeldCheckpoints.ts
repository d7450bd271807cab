/**
 * The checkpoints of one session in memory, by kind and by what was merged.
 *
 * @private
 * @since 0.1.0
 */
import type { SessionId } from "../../domain/Ids.js"
import { OrderedList } from "../../internal/OrderedList.js"
import type { CheckpointId, SessionCheckpoint } from "./Session.js"
import { newest, taken } from "./SessionIndex.js"

type Kind = SessionCheckpoint["kind"]

const kinds: ReadonlyArray<Kind> = ["manual", "auto", "fork", "merge"]

const byRevision = (a: SessionCheckpoint, b: SessionCheckpoint): number =>
  a.revision - b.revision || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const put = <K>(lists: Map<K, OrderedList<SessionCheckpoint>>, key: K, checkpoint: SessionCheckpoint): void => {
  const list = lists.get(key) ?? new OrderedList(byRevision)
  lists.set(key, list)
  list.add(checkpoint)
}

const drop = <K>(lists: Map<K, OrderedList<SessionCheckpoint>>, key: K, checkpoint: SessionCheckpoint): void => {
  const list = lists.get(key)
  list?.remove(checkpoint)
  if (list?.size === 0) lists.delete(key)
}

/**
 * @category models
 */
export class HeldCheckpoints {
  private readonly byKind = new Map<Kind, OrderedList<SessionCheckpoint>>()
  private readonly bySource = new Map<SessionId, OrderedList<SessionCheckpoint>>()

  add(checkpoint: SessionCheckpoint): void {
    put(this.byKind, checkpoint.kind, checkpoint)
    if (checkpoint.merge !== undefined) put(this.bySource, checkpoint.merge.sessionId, checkpoint)
  }

  remove(checkpoint: SessionCheckpoint): void {
    drop(this.byKind, checkpoint.kind, checkpoint)
    if (checkpoint.merge !== undefined) drop(this.bySource, checkpoint.merge.sessionId, checkpoint)
  }

  /** Removes the oldest droppable checkpoints and returns them. */
  prune(keep: number): ReadonlyArray<CheckpointId> {
    const gone: Array<CheckpointId> = []
    for (;;) {
      const manual = this.byKind.get("manual")
      const auto = this.byKind.get("auto")
      if ((manual?.size ?? 0) + (auto?.size ?? 0) <= keep) return gone
      const candidates = [manual?.first, auto?.first].filter((one) => one !== undefined).sort(byRevision)
      const oldest = candidates[0] as SessionCheckpoint
      this.remove(oldest)
      gone.push(oldest.id)
    }
  }

  list(limit: number, before: number | undefined, wanted: ReadonlyArray<Kind> | undefined) {
    const lists = [...new Set(wanted ?? kinds)].flatMap((kind) => this.byKind.get(kind) ?? [])
    return taken(newest(lists, byRevision, before === undefined ? undefined : (one) => one.revision >= before), limit)
  }

  lastMerge(from: SessionId): SessionCheckpoint | undefined {
    const list = this.bySource.get(from)
    return list === undefined ? undefined : taken(list.descending(), 1)[0]
  }

  *ids(): Generator<CheckpointId, void> {
    for (const list of this.byKind.values()) for (const one of list.ascending()) yield one.id
  }
}
