/**
 * Cases: checkpoints come newest first, and only those that may be trimmed are.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Session, SessionCheckpoint } from "../../session/turn/Session.js"
import { stateOf } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal, holds } from "../suite/SuiteAssert.js"
import { checkpoint, checkpointId, ref, session, sessionId } from "./SessionFixtures.js"
import { type Case, checkpointed, created, forked, idsOf, make, said, saved, some } from "./SessionStoreCase.js"

type Kind = SessionCheckpoint["kind"]

const listed = (
  store: SessionStore.Service,
  id: string,
  options: { readonly limit?: number; readonly before?: number; readonly kinds?: ReadonlyArray<Kind> } = {}
) => Effect.map(store.checkpoints(sessionId(id), { limit: 100, ...options }), idsOf)

const merge = (from: string, state: Session): NonNullable<SessionCheckpoint["merge"]> => ({
  sessionId: sessionId(from),
  strategy: "append",
  ours: ref("s", "t1"),
  theirs: ref(from, "t1"),
  state: stateOf(state)
})

/** One checkpoint of each kind in turn, with ids in no order. */
const several = Effect.fnUntraced(function* (store: SessionStore.Service, kinds: ReadonlyArray<Kind>, keep?: number) {
  let one = yield* created(store, session("s"))
  for (const [at, kind] of kinds.entries()) {
    one = yield* checkpointed(
      store,
      one,
      `c${(at * 7) % 10}`,
      { kind, ...(kind === "merge" ? { merge: merge("b", one) } : undefined) },
      keep
    )
  }
  return one
})

const kinds: ReadonlyArray<Kind> = ["manual", "fork", "auto", "merge", "manual", "auto", "merge", "auto"]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("returns a checkpoint unchanged", function* (store) {
    const one = yield* created(store, session("s", { variables: { a: [1] }, systemPrompt: "p" }))
    const two = yield* said(store, one, "t1", "t2")
    const three = yield* saved(store, two, { cuts: [{ after: 1, before: 2 }], checkpointId: checkpointId("before") })
    const after = { ...three, revision: three.revision + 1, checkpointId: checkpointId("c") }
    const full = checkpoint("c", after, {
      name: "a name",
      kind: "merge",
      metadata: { by: "me" },
      parentCheckpointId: checkpointId("before"),
      merge: merge("b", three)
    })
    yield* store.save({ session: after, checkpoint: full })
    equal(some(yield* store.checkpoint(checkpointId("c")), "the checkpoint"), full, "the checkpoint")
    equal(yield* store.checkpoints(sessionId("s"), { limit: 1 }), [full], "the checkpoints")
    equal(some(yield* store.lastMerge(sessionId("s"), sessionId("b")), "the merge"), full, "the merge")
  }),
  make("checkpoints come newest first", function* (store) {
    yield* several(store, kinds)
    const all = ["c9", "c2", "c5", "c8", "c1", "c4", "c7", "c0"]
    equal(yield* listed(store, "s"), all, "all of them")
    equal(yield* listed(store, "s", { limit: 3 }), all.slice(0, 3), "the newest three")
    equal(yield* listed(store, "s", { limit: 0 }), [], "none")
    equal(yield* listed(store, "s", { before: 6 }), all.slice(3), "those before a revision")
    equal(yield* listed(store, "s", { before: 1 }), [], "those before the first")
    equal(yield* listed(store, "s", { before: 6, limit: 2 }), ["c8", "c1"], "two of those")
  }),
  make("selects checkpoints by kind", function* (store) {
    yield* several(store, kinds)
    equal(yield* listed(store, "s", { kinds: ["auto"] }), ["c9", "c5", "c4"], "those of one kind")
    equal(yield* listed(store, "s", { kinds: ["merge", "fork", "merge"] }), ["c2", "c1", "c7"], "those of two kinds")
    equal(yield* listed(store, "s", { kinds: ["merge", "manual"], before: 7, limit: 2 }), ["c8", "c1"], "a page of two")
    equal(yield* listed(store, "s", { kinds: [] }), [], "those of no kind")
  }),
  make("pages of checkpoints together contain all", function* (store) {
    yield* several(store, kinds)
    for (const limit of [1, 3]) {
      const found: Array<string> = []
      let before: number | undefined
      for (;;) {
        const page: ReadonlyArray<SessionCheckpoint> = yield* store.checkpoints(sessionId("s"), { limit, before })
        holds(found.length <= 100, "pages come to an end", found.length)
        if (page.length === 0) break
        found.push(...idsOf(page))
        before = page[page.length - 1]?.revision
      }
      equal(found, yield* listed(store, "s"), `pages of ${limit}`)
    }
  }),
  make("keeps the newest manual and automatic checkpoints, and all of forks and merges", function* (store) {
    yield* several(store, kinds, 2)
    equal(yield* listed(store, "s"), ["c9", "c2", "c5", "c1", "c7"], "those that stay")
    for (const id of ["c0", "c4", "c8"]) {
      equal(Option.isNone(yield* store.checkpoint(checkpointId(id))), true, `${id} is gone`)
    }
    for (const id of ["c7", "c1", "c9"]) some(yield* store.checkpoint(checkpointId(id)), `${id} is there`)
  }),
  make("limits checkpoints per session", function* (store) {
    const one = yield* created(store, session("one"))
    const two = yield* checkpointed(store, yield* created(store, session("two")), "of two", {}, 1)
    yield* checkpointed(store, yield* checkpointed(store, one, "a", {}, 1), "b", {}, 1)
    equal(yield* listed(store, "one"), ["b"], "checkpoints of the one")
    equal(yield* listed(store, "two"), ["of two"], "checkpoints of the other")
    yield* checkpointed(store, two, "without a bound")
    equal(yield* listed(store, "two"), ["without a bound", "of two"], "without a bound all stay")
    yield* saved(store, { ...two, revision: two.revision + 1 })
    equal((yield* listed(store, "two")).length, 2, "a save without a checkpoint lets none go")
  }),
  make("a lower limit removes all surplus checkpoints", function* (store) {
    const one = yield* several(store, ["manual", "auto", "manual", "auto"])
    yield* checkpointed(store, one, "last", {}, 1)
    equal(yield* listed(store, "s"), ["last"], "what stays")
  }),
  make("deletes a checkpoint of any kind", function* (store) {
    yield* several(store, ["manual", "auto", "fork", "merge"])
    for (const id of ["c0", "c7", "c4", "c1"]) {
      equal(yield* store.deleteCheckpoint(checkpointId(id)), true, `deletion of ${id}`)
      equal(Option.isNone(yield* store.checkpoint(checkpointId(id))), true, `${id} is gone`)
      equal(yield* store.deleteCheckpoint(checkpointId(id)), false, `${id} is deleted again`)
    }
    equal(yield* listed(store, "s"), [], "what is left")
    equal(Option.isNone(yield* store.lastMerge(sessionId("s"), sessionId("b"))), true, "no merge is left")
    some(yield* store.load(sessionId("s")), "the session is still there")
  }),
  make("the last merge is the newest of those two sessions", function* (store) {
    let one = yield* created(store, session("s"))
    for (const [id, from] of [
      ["m1", "a"],
      ["m2", "b"],
      ["m3", "a"],
      ["m4", "A"]
    ] as const) {
      one = yield* checkpointed(store, one, id, { kind: "merge", merge: merge(from, one) })
    }
    yield* checkpointed(store, one, "later", { kind: "manual" })
    const last = (into: string, from: string) =>
      Effect.map(store.lastMerge(sessionId(into), sessionId(from)), (found) => Option.getOrUndefined(found)?.id)
    equal(yield* last("s", "a"), "m3", "the last merge of a")
    equal(yield* last("s", "b"), "m2", "the last merge of b")
    equal(yield* last("s", "A"), "m4", "the last merge of A")
    equal(yield* last("s", "c"), undefined, "of a session that was not merged")
    equal(yield* last("a", "s"), undefined, "the other way round")
    yield* store.deleteCheckpoint(checkpointId("m3"))
    equal(yield* last("s", "a"), "m1", "the last merge of a after that was deleted")
    yield* store.delete(sessionId("s"))
    equal(yield* last("s", "b"), undefined, "of a session that is deleted")
  }),
  make("a branch has its own checkpoints", function* (store) {
    const parent = yield* checkpointed(store, yield* said(store, yield* created(store, session("p")), "t1"), "of p")
    const fork = yield* forked(store, parent, "b")
    yield* checkpointed(store, fork, "of b", {}, 1)
    equal(yield* listed(store, "p"), ["of p"], "checkpoints of the parent")
    equal(yield* listed(store, "b"), ["of b", "fork of b"], "checkpoints of the branch")
    yield* store.delete(parent.id)
    equal(yield* listed(store, "b"), ["of b", "fork of b"], "after the parent was deleted")
    equal(yield* listed(store, "p"), [], "checkpoints of what was deleted")
    equal(Option.isNone(yield* store.checkpoint(checkpointId("of p"))), true, "the checkpoint went with its session")
  })
]
