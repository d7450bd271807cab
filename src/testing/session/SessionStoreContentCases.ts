/**
 * Cases: stored data comes back unchanged.
 *
 * @since 0.1.0
 * @private
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import { SessionId, TurnId } from "../../domain/Ids.js"
import type { Session, SessionCheckpoint, SessionTurn } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal, failure } from "../suite/SuiteAssert.js"
import { checkpoints, sessions, turns } from "./SessionArbitraries.js"
import { behind, checkpoint, checkpointId, next, ref, refOf, session, sessionId, turnsOf } from "./SessionFixtures.js"
import { type Case, created, isKept, make, some } from "./SessionStoreCase.js"

const roundTrip = Effect.fnUntraced(function* (
  store: SessionStore.Service,
  name: string,
  given: {
    readonly session: Session
    readonly next: Session
    readonly turn: SessionTurn
    readonly checkpoint: SessionCheckpoint
  }
) {
  const id = SessionId.make(name)
  const { head: _, ...fields } = given.session
  const first: Session = { ...fields, id, revision: 0 }
  equal(yield* store.create({ session: first }), { session: first, isNew: true }, "what is created")
  yield* isKept(store, first, "the session as it was created")
  const { parent: __, ...said } = given.turn
  const turn: SessionTurn = { ...said, sessionId: id, id: TurnId.make("turn") }
  const after = next(first, { head: refOf(turn), depth: 1, updatedAt: given.next.updatedAt })
  yield* store.append({ session: after, turns: [turn] })
  yield* isKept(store, after, "the session behind a turn")
  equal(some(yield* store.turn(refOf(turn)), "the turn"), turn, "the turn")
  const { head: ___, ...changed } = given.next
  const saved: Session = { ...changed, id, revision: after.revision + 1, createdAt: first.createdAt }
  const kept: SessionCheckpoint = {
    ...given.checkpoint,
    id: checkpointId(name),
    sessionId: id,
    revision: saved.revision
  }
  yield* store.save({ session: saved, checkpoint: kept })
  yield* isKept(store, saved, "the session as it was saved")
  equal(some(yield* store.checkpoint(kept.id), "the checkpoint"), kept, "the checkpoint")
  equal(yield* store.list({ rootSessionId: saved.rootSessionId ?? id, limit: 1 }), [saved], "the session in a list")
  yield* store.delete(id)
})

/** Own fields with the names of built-in properties. */
const hostile = (): { readonly [key: string]: unknown } =>
  JSON.parse('{"__proto__":{"a":1},"constructor":null,"toString":{"__proto__":[]},"":{"":0},"hasOwnProperty":1,"1":2}')

const texts: ReadonlyArray<readonly [string, string]> = [
  ["nothing", ""],
  ["control characters", "\u0000\u0001\u001f\u007f\u0085 \r\n\t\u2028\u2029\ufeff"],
  ["lone surrogates", "\ud800 a \udc00 \udfff\ud800"],
  ["pairs", "\u{1f600}\u{10ffff}"],
  ["quotes", "'\"`\\u0000 \\ \\\\ {a} %s $1 :a @b"],
  ["not normalised", "e\u0301 \u00e9 \ufb01"]
]

/** Tries to mutate the caller's data; frozen data may throw. */
const tampered = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  for (const key of Object.keys(value)) {
    tampered((value as Record<string, unknown>)[key])
    Reflect.set(value, key, "tampered with")
  }
  Reflect.set(value, "added", true)
}

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("returns any session, turn or checkpoint unchanged", function* (store) {
    const runtime = yield* Effect.runtime<never>()
    const seed = yield* Random.nextIntBetween(0, 2 ** 31 - 1)
    let rounds = 0
    // A failure names the seed and the simplest failing data.
    yield* Effect.promise((signal) =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.record({ session: sessions, next: sessions, turn: turns, checkpoint: checkpoints }),
          (given) => Runtime.runPromise(runtime)(roundTrip(store, `round ${rounds++}`, given), { signal })
        ),
        { seed, numRuns: 15 }
      )
    )
  }),
  make("texts of every kind of character are kept exactly", function* (store) {
    let one = yield* created(store, session("s"))
    for (const [at, [what, text]] of texts.entries()) {
      const said = turnsOf(one, [`t${at}`]).map((turn) => ({
        ...turn,
        content: text,
        model: text,
        metadata: { [text]: text },
        toolCalls: [{ id: text, name: text, params: { [text]: [text] }, result: text }]
      }))
      const appended = behind(one, said)
      yield* store.append({ session: appended, turns: said })
      equal(yield* store.turns(ref("s", `t${at}`), { limit: 1 }), said, `a turn of ${what}`)
      one = next(appended, {
        systemPrompt: text,
        variables: { [text]: text },
        metadata: { [text]: [text] },
        branchName: text,
        activeTools: [text]
      })
      const kept = checkpoint(`c${at}`, one, { name: text, metadata: { [text]: text } })
      yield* store.save({ session: one, checkpoint: kept })
      yield* isKept(store, one, `a session of ${what}`)
      equal(some(yield* store.checkpoint(kept.id), what), kept, `a checkpoint of ${what}`)
    }
  }),
  make("a text of a million characters is kept", function* (store) {
    const text = "héllo wörld \u{1f600} ".repeat(66_667)
    const one = yield* created(store, session("s", { systemPrompt: text, variables: { text } }))
    const said = turnsOf(one, ["t1"]).map((turn) => ({ ...turn, content: text }))
    const after = behind(one, said)
    yield* store.append({ session: after, turns: said, checkpoint: checkpoint("c", after) })
    const kept = some(yield* store.load(sessionId("s")), "the session")
    equal(kept.systemPrompt === text && kept.variables.text === text, true, "the texts of the session")
    equal(some(yield* store.turn(ref("s", "t1")), "the turn").content === text, true, "the text of the turn")
    equal(
      some(yield* store.checkpoint(checkpointId("c")), "the checkpoint").state.variables.text === text,
      true,
      "the text of the checkpoint"
    )
  }),
  make("stores names of built-in properties like other keys", function* (store) {
    const exactly = (actual: unknown, what: string) =>
      equal(JSON.stringify(actual), JSON.stringify(hostile()), `the ${what}`)
    const one = yield* created(store, session("s", { metadata: hostile(), variables: hostile() }))
    const said = turnsOf(one, ["t1"]).map((turn) => ({
      ...turn,
      metadata: hostile(),
      skillResults: [hostile()],
      toolCalls: [{ id: "1", name: "n", params: hostile(), result: hostile() }]
    }))
    const after = behind(one, said)
    const full = checkpoint("c", after, {
      kind: "merge",
      metadata: hostile(),
      merge: { sessionId: sessionId("b"), strategy: "append", state: checkpoint("d", after).state }
    })
    yield* store.append({ session: after, turns: said, checkpoint: full })
    const kept = some(yield* store.load(one.id), "the session")
    exactly(kept.metadata, "metadata of the session")
    exactly(kept.variables, "variables of the session")
    const turn = some(yield* store.turn(ref("s", "t1")), "the turn")
    exactly(turn.metadata, "metadata of the turn")
    exactly(turn.skillResults[0], "result of a skill")
    exactly(turn.toolCalls[0]?.params, "parameters of a call")
    exactly(turn.toolCalls[0]?.result, "result of a call")
    const found = some(yield* store.checkpoint(full.id), "the checkpoint")
    exactly(found.metadata, "metadata of the checkpoint")
    exactly(found.state.variables, "variables of the checkpoint")
    exactly(found.merge?.state.metadata, "metadata of what was merged")
    equal(({} as { readonly a?: unknown }).a, undefined, "no other object has them")
  }),
  make("returns data beyond JSON as JSON encodes it", function* (store) {
    const data = {
      when: DateTime.toDateUtc(DateTime.unsafeMake(0)),
      nothing: undefined,
      list: [undefined, Number.NaN],
      infinite: Number.POSITIVE_INFINITY,
      call: () => 1,
      map: new Map([[1, 2]])
    }
    const asJson = { when: "1970-01-01T00:00:00.000Z", list: [null, null], infinite: null, map: {} }
    const one = yield* created(store, session("s", { variables: data }))
    equal(some(yield* store.load(one.id), "the session").variables, asJson, "variables")
    const said = turnsOf(one, ["t1"]).map((turn) => ({ ...turn, metadata: data }))
    yield* store.append({ session: behind(one, said), turns: said })
    equal(some(yield* store.turn(ref("s", "t1")), "the turn").metadata, asJson, "metadata of a turn")
  }),
  make("rejects data that JSON rejects and writes nothing", function* (store) {
    const cyclic: Record<string, unknown> = {}
    cyclic["again"] = { cyclic }
    const one = yield* created(store, session("s"))
    for (const data of [cyclic, { big: 1n }]) {
      const refused = (effect: Effect.Effect<unknown, { readonly _tag: string }>, what: string) =>
        Effect.map(failure(effect, what), (error) => equal(error._tag, "SessionStorageError", what))
      yield* refused(store.create({ session: session("new", { metadata: data }) }), "create")
      yield* refused(store.save({ session: next(one, { variables: data }) }), "save")
      const said = turnsOf(one, ["t1", "t2"]).map((turn, at) => (at === 0 ? turn : { ...turn, metadata: data }))
      const after = behind(one, said)
      yield* refused(store.append({ session: after, turns: said }), "append")
      const fine = turnsOf(one, ["t1"])
      const bad = checkpoint("c", behind(one, fine), { metadata: data })
      yield* refused(store.append({ session: behind(one, fine), turns: fine, checkpoint: bad }), "a checkpoint")
    }
    yield* isKept(store, one)
    equal(Option.isNone(yield* store.load(sessionId("new"))), true, "no new session")
    equal(Option.isNone(yield* store.turn(ref("s", "t1"))), true, "no turn")
    equal(Option.isNone(yield* store.checkpoint(checkpointId("c"))), true, "no checkpoint")
  }),
  make("mutations by callers do not change stored data", function* (store) {
    const text = JSON.stringify
    const copied = <A>(value: A): A => JSON.parse(text(value))
    const one = session("s", { variables: { deep: { list: [1, 2] } }, activeTools: ["a"], metadata: { a: { b: 1 } } })
    const given = copied(one)
    tampered(yield* store.create({ session: given }))
    tampered(given)
    yield* isKept(store, one)
    tampered(some(yield* store.load(one.id), "the session"))
    tampered(yield* store.list({ limit: 10 }))
    yield* isKept(store, one)
    const said = turnsOf(one, ["t1"]).map((turn) => ({ ...turn, metadata: { deep: { list: [1] } } }))
    const after = behind(one, said)
    const kept = checkpoint("c", after, { metadata: { deep: [1] } })
    const addition = copied({ session: after, turns: said, checkpoint: kept })
    yield* store.append(addition)
    tampered(addition)
    tampered(some(yield* store.turn(ref("s", "t1")), "the turn"))
    tampered(yield* store.turns(ref("s", "t1"), { limit: 10 }))
    tampered(some(yield* store.checkpoint(checkpointId("c")), "the checkpoint"))
    tampered(yield* store.checkpoints(one.id, { limit: 10 }))
    yield* isKept(store, after)
    equal(yield* store.turns(ref("s", "t1"), { limit: 10 }), said, "the turns")
    equal(yield* store.checkpoints(one.id, { limit: 10 }), [kept], "the checkpoints")
  }),
  make("errors do not contain the written data", function* (store) {
    const secret = "tell nobody of this"
    const one = yield* created(store, session("s"))
    const cyclic: Record<string, unknown> = { secret }
    cyclic["again"] = cyclic
    const said = turnsOf(one, ["t1"]).map((turn) => ({ ...turn, content: secret, metadata: cyclic }))
    const errors = [
      yield* failure(store.append({ session: behind(one, said), turns: said }), "append"),
      yield* failure(store.save({ session: { ...one, systemPrompt: secret } }), "save"),
      yield* failure(
        store.create({ session: session("new", { systemPrompt: secret }), limits: { perUser: 0 } }),
        "create"
      )
    ]
    for (const error of errors) {
      const told = `${String(error)} ${error.message} ${JSON.stringify(error)} ${error.stack} ${String(error.cause)}`
      equal(told.includes(secret), false, `the content in a ${error._tag}`)
    }
  })
]
