import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { EntryId } from "../../../src/domain/Ids.js"
import { FactId, type NewFact } from "../../../src/memory/facts/Fact.js"
import type { FactBackend, FactChange, FactRow, RowSelection } from "../../../src/memory/facts/FactBackend.js"
import { byPosition } from "../../../src/memory/facts/FactBackend.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as FactTable from "../../../src/memory/facts/FactTable.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as Dialect from "../../../src/persistence/engine/Dialect.js"
import * as SqlFactBackend from "../../../src/persistence/memory/SqlFactBackend.js"
import * as SqlFactRows from "../../../src/persistence/memory/SqlFactRows.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlFactTerms from "../../../src/persistence/memory/SqlFactTerms.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as FactStoreSuite from "../../../src/testing/facts/FactStoreSuite.js"
import * as QueryPlans from "../../support/QueryPlans.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const said = (object: string, validFrom: number, more?: Partial<NewFact>): NewFact => ({
  subject: "Anna",
  predicate: "lives in",
  object,
  validFrom,
  ...more
})

const everything = { includeClosed: true, at: Number.MAX_VALUE, limit: 1000 }

const ownerIds = ["ann", "ann\0", "\ud800 ' \" $1 ?"]
const subjectKeys = ["anna", "an", "anna smith", "\u{1f600}", "\uffef", "o'neill %_"]
const objects = ["green tea", "tea", "Straße", "東京都 tea tea", "o'neill %_ running"]
const wordsOf = (text: string) => ` ${text.toLowerCase()} `

const aRow = FastCheck.record({
  index: FastCheck.nat(14),
  subject: FastCheck.nat(subjectKeys.length - 1),
  predicate: FastCheck.constantFrom("likes", "is"),
  object: FastCheck.nat(objects.length - 1),
  confidence: FastCheck.constantFrom(0, 0.25, 0.5, 1),
  lasts: FastCheck.option(FastCheck.nat(6), { nil: undefined }),
  replaces: FastCheck.option(FastCheck.nat(6), { nil: undefined })
})

type RowPlan = typeof aRow extends FastCheck.Arbitrary<infer A> ? A : never

/** No two begin or replace at the same time, so that the first of some is one. */
const rowOf = (ownerId: string, plan: RowPlan): FactRow => {
  const subject = subjectKeys[plan.subject] as string
  const object = objects[plan.object] as string
  const validFrom = plan.index * 10 + plan.index / 100
  return {
    id: FactId.make(`fact ${plan.index}`),
    ownerId,
    subject: plan.index % 2 === 0 ? subject : subject.toUpperCase(),
    subjectKey: subject,
    predicateKey: plan.predicate,
    objectKey: object.toLowerCase(),
    subjectWords: wordsOf(subject),
    objectWords: wordsOf(object),
    text: `${subject} ${plan.predicate} ${object}`,
    confidence: plan.confidence,
    validFrom,
    validTo: plan.lasts === undefined ? undefined : validFrom + plan.lasts * 10,
    replacesFrom: plan.replaces === undefined ? undefined : validFrom + plan.replaces * 10,
    body: JSON.stringify({ ...plan, "\0": "\ud800\u{1f600}\0" })
  }
}

const anOwner = FastCheck.nat(ownerIds.length - 1)
const anOperation = FastCheck.oneof(
  {
    weight: 8,
    arbitrary: FastCheck.record({
      op: FastCheck.constant("apply" as const),
      owner: anOwner,
      put: FastCheck.uniqueArray(aRow, { selector: ({ index }) => index, maxLength: 6 }),
      removed: FastCheck.array(FastCheck.nat(14), { maxLength: 3 }),
      trims: FastCheck.boolean(),
      maxOpen: FastCheck.integer({ min: 1, max: 3 }),
      maxClosed: FastCheck.constantFrom(0, 1, 2, Number.POSITIVE_INFINITY),
      stale: FastCheck.constantFrom(0, 0, 0, 1)
    })
  },
  { weight: 1, arbitrary: FastCheck.record({ op: FastCheck.constant("clear" as const), owner: anOwner }) }
)

const aSelection = FastCheck.record(
  {
    subjectPrefix: FastCheck.constantFrom("", "an", "anna", "anna ", "\u{1f600}", "\uffef", "%"),
    subjects: FastCheck.subarray(subjectKeys),
    predicateKey: FastCheck.constantFrom("likes", "is", "none"),
    objectKey: FastCheck.constantFrom("tea", "green tea"),
    words: FastCheck.constantFrom(" tea ", " green tea ", " tea green ", " anna ", " ann ", " o'neill %_ "),
    minConfidence: FastCheck.constantFrom(0, 0.5),
    at: FastCheck.integer({ min: 0, max: 200 }),
    includeClosed: FastCheck.boolean()
  },
  { requiredKeys: ["minConfidence", "at", "includeClosed"] }
) as FastCheck.Arbitrary<RowSelection>

const scored = (hits: ReadonlyArray<{ readonly row: FactRow; readonly score: number }>) =>
  hits
    .map(({ row, score }) => ({ row, score: Number(score.toFixed(9)) }))
    .sort((a, b) => b.score - a.score || byPosition(a.row, b.row))

/** Both give the same for whatever is asked. */
const agree = (
  mine: FactBackend,
  reference: FactBackend,
  questions: ReadonlyArray<{ readonly selection: RowSelection; readonly limit: number; readonly text: string }>
) =>
  Effect.gen(function* () {
    const same = <A>(ask: (backend: FactBackend) => Effect.Effect<A, unknown>, what: string) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* ask(mine), yield* ask(reference), what)
      })
    yield* same((backend) => backend.owners({ limit: 2 }), "owners")
    yield* same((backend) => backend.owners({ limit: 2, after: "ann" }), "more owners")
    for (const ownerId of ownerIds) {
      yield* same((backend) => Effect.map(backend.revision(ownerId), (revision) => revision === 0), "no rows")
      yield* same((backend) => backend.subjects(ownerId, { limit: 3 }), "subjects")
      yield* same((backend) => backend.subjects(ownerId, { limit: 9, after: "anna" }), "more subjects")
      yield* same((backend) => backend.known(ownerId, ["nobody", ...subjectKeys].reverse()), "known")
      const ids = [3, 1, 99, 7].map((index) => FactId.make(`fact ${index}`))
      yield* same((backend) => backend.get(ownerId, ids), "by id")
      for (const { limit, selection, text } of questions) {
        yield* same((backend) => backend.count(ownerId, selection), "count")
        yield* same((backend) => backend.find(ownerId, { selection, limit: 50 }), "found")
        const [first] = yield* reference.find(ownerId, { selection, limit: 1 })
        yield* same((backend) => backend.find(ownerId, { selection, limit, after: first }), "a page")
        yield* same(
          (backend) => Effect.map(backend.lexical(ownerId, { text, selection, limit: 50 }), scored),
          `by words: ${text}`
        )
        const { at } = selection
        for (const objectKey of ["tea", "green tea"]) {
          const slot = { subjectKey: "anna", predicateKey: "likes", objectKey, at }
          yield* same((backend) => Effect.map(backend.near(ownerId, slot), (rows) => rows.toSorted(byPosition)), "near")
        }
      }
    }
  })

SqlBackends.suite("SqlFactStore", (database) => {
  const dialect = database.dialect === "sqlite" ? Dialect.sqlite : Dialect.postgres
  const numRuns = dialect.name === "sqlite" ? 60 : 15
  const layer = Layer.provideMerge(SqlFactStore.layer(), database.layer)
  const test = (fact: string, body: Effect.Effect<void, unknown, FactStore.FactStore | SqlClient.SqlClient>) =>
    it.effect(fact, () => Effect.provide(body, layer))
  const again = (options?: SqlFactStore.Options) => Effect.provide(SqlFactStore.make(options), database.kept)

  describe("as a FactStore", () => {
    for (const one of FactStoreSuite.cases) {
      it(one.name, () =>
        Effect.runPromise(FactStoreSuite.check(one, Layer.provide(SqlFactStore.layer(), database.layer)))
      )
    }
  })

  it.effect("answers as rows in memory for any operations", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(anOperation, { maxLength: 8 }),
          FastCheck.array(
            FastCheck.record({
              selection: aSelection,
              limit: FastCheck.integer({ min: 1, max: 4 }),
              text: FastCheck.constantFrom("tea", "green tea runs", "Anna", "京都", "", "is o'neill strasse")
            }),
            { minLength: 1, maxLength: 3 }
          ),
          (operations, questions) =>
            Effect.gen(function* () {
              const backend = SqlFactBackend.make(yield* Database.open, TextAnalyzer.english)
              const reference = FactTable.make()
              const seen = new Set<string>()
              for (const operation of operations) {
                const ownerId = ownerIds[operation.owner] as string
                if (operation.op === "clear") {
                  assert.strictEqual(yield* backend.clear(ownerId), yield* reference.clear(ownerId))
                  continue
                }
                const put = operation.put.map((plan) => rowOf(ownerId, plan))
                const change: FactChange = {
                  put,
                  delete: operation.removed.map((index) => FactId.make(`fact ${index}`)),
                  trim: operation.trims ? [...new Set(put.map(({ subjectKey }) => subjectKey))] : undefined,
                  maxOpen: operation.maxOpen,
                  maxClosed: operation.maxClosed
                }
                const { stale } = operation
                const revision = yield* backend.revision(ownerId)
                const mine = yield* backend.apply(ownerId, revision + stale, change)
                const theirs = yield* reference.apply(ownerId, (yield* reference.revision(ownerId)) + stale, change)
                const sorted = Option.map((ids: ReadonlyArray<FactId>) => ids.toSorted())
                assert.deepStrictEqual(sorted(mine), sorted(theirs))
                const now = yield* backend.revision(ownerId)
                if (Option.isSome(mine) && now !== 0) {
                  assert.isFalse(seen.has(`${ownerId} ${now}`), "a revision is that of one state")
                  seen.add(`${ownerId} ${now}`)
                }
              }
              yield* agree(backend, reference, questions)
            }).pipe(Effect.provide(database.layer), Effect.runPromise)
        ),
        { numRuns }
      )
    )
  )

  test(
    "loses nothing that 64 fibers write through two stores on one database",
    Effect.gen(function* () {
      const stores = [yield* FactStore.FactStore, yield* again()]
      yield* Effect.forEach(
        Array.from({ length: 64 }, (_, index) => index),
        (index) =>
          stores[index % 2]!.assert("ann", [
            said(`place ${index}`, index),
            said("tea", 1, { predicate: "likes", sources: [EntryId.make(`e${index}`)] })
          ]),
        { concurrency: "unbounded", discard: true }
      )
      const facts = yield* stores[0]!.query("ann", everything)
      const places = facts
        .filter(({ predicate }) => predicate === "lives in")
        .sort((a, b) => a.validFrom - b.validFrom)
        .map(({ object, validFrom, validTo }) => [object, validFrom, validTo])
      assert.deepStrictEqual(
        places,
        places.map((_, index) => [`place ${index}`, index, index === 63 ? undefined : index + 1])
      )
      assert.strictEqual(places.length, 64)
      assert.strictEqual(facts.find(({ object }) => object === "tea")?.sources.length, 64)
    })
  )

  test(
    "leaves no partial facts when others are written during a clear",
    Effect.gen(function* () {
      const stores = [yield* FactStore.FactStore, yield* again()]
      const backend = SqlFactBackend.make(yield* Database.open, TextAnalyzer.english)
      yield* Effect.forEach(
        Array.from({ length: 24 }, (_, index) => index),
        (index) =>
          index % 4 === 3
            ? Effect.asVoid(stores[index % 2]!.clear("ann"))
            : Effect.asVoid(stores[index % 2]!.assert("ann", [said(`place ${index}`, index)])),
        { concurrency: "unbounded", discard: true }
      )
      const left = yield* stores[0]!.count("ann", everything)
      assert.strictEqual((yield* backend.revision("ann")) === 0, left === 0)
      yield* stores[0]!.clear("ann")
      const sql = yield* SqlClient.SqlClient
      for (const table of ["lex_facts", "lex_fact_terms"]) {
        assert.deepStrictEqual(yield* sql.unsafe(`SELECT owner_id FROM ${table}`), [])
      }
    })
  )

  test(
    "does not repeat an earlier revision after a clear",
    Effect.gen(function* () {
      const store = yield* FactStore.FactStore
      const backend = SqlFactBackend.make(yield* Database.open, TextAnalyzer.english)
      const revisions = new Set<number>()
      for (let round = 0; round < 12; round++) {
        const [fact] = yield* store.assert("ann", [said(`place ${round}`, round)])
        revisions.add(yield* backend.revision("ann"))
        if (round % 3 === 1) yield* store.clear("ann")
        else if (round % 3 === 2) yield* store.delete("ann", Option.getOrThrow(fact!).id)
      }
      assert.strictEqual(revisions.size, 12)
      const stale = yield* backend.apply("ann", 3, { put: [], maxOpen: 1, maxClosed: 1 })
      assert.isTrue(Option.isNone(stale))
    })
  )

  test(
    "finds earlier facts with another analyzer",
    Effect.gen(function* () {
      const stemmed = yield* FactStore.FactStore
      yield* stemmed.assert("ann", [
        said("running shoes", 1, { predicate: "likes" }),
        said("boats", 1, { predicate: "owns" })
      ])
      assert.strictEqual((yield* stemmed.search("ann", "runs", { at: 9 })).length, 1)
      const plain = yield* again({ analyzer: TextAnalyzer.plain })
      assert.strictEqual((yield* plain.search("ann", "runs", { at: 9 })).length, 0)
      assert.strictEqual((yield* plain.search("ann", "running", { at: 9 })).length, 1)
      yield* stemmed.assert("ann", [said("more boats", 1, { predicate: "wants" })])
      assert.strictEqual((yield* stemmed.search("ann", "boat", { at: 9 })).length, 2)
      assert.strictEqual((yield* plain.search("ann", "boats", { at: 9 })).length, 2)
    })
  )

  test(
    "finds facts by their entries that a version without sources stored",
    Effect.gen(function* () {
      const store = yield* FactStore.FactStore
      const sql = yield* SqlClient.SqlClient
      const from = (id: string) => ({ sources: [EntryId.make(id)] })
      yield* store.assert("ann", [said("Rome", 1, from("a")), said("tea", 1, { predicate: "likes", ...from("b") })])
      const found = (id: string) =>
        Effect.map(store.query("ann", { ...everything, ...from(id) }), (facts) => facts.map(({ object }) => object))
      const asBefore = Effect.all([
        sql.unsafe("DELETE FROM lex_fact_terms WHERE kind = 2"),
        sql.unsafe(`UPDATE lex_fact_owners SET analyzer = '${TextAnalyzer.english.name}'`)
      ])
      yield* asBefore
      assert.deepStrictEqual(yield* found("a"), ["Rome"])
      assert.deepStrictEqual(yield* found("b"), ["tea"])
      yield* asBefore
      yield* store.assert("ann", [said("Oslo", 2, from("c"))])
      assert.deepStrictEqual([yield* found("a"), yield* found("b"), yield* found("c")], [["Rome"], ["tea"], ["Oslo"]])
      assert.lengthOf(yield* store.search("ann", "tea", { at: 9 }), 1)
    })
  )

  test(
    "takes the limits of subjects and single-valued predicates from options",
    Effect.gen(function* () {
      const store = yield* again({
        maxFactsPerEntity: 2,
        maxClosedPerEntity: 1,
        cardinality: (predicate) => (predicate === "likes most" ? "one" : "many")
      })
      yield* store.assert("ann", [said("a", 1), said("b", 2), said("c", 3)])
      assert.strictEqual(yield* store.count("ann", { at: 9 }), 2)
      const most = ["a", "b", "c", "d"].map((object, index) =>
        said(object, index, { predicate: "likes most", subject: "Bob" })
      )
      yield* store.assert("ann", most)
      assert.deepStrictEqual(
        (yield* store.query("ann", { ...everything, subjects: ["bob"] })).map(({ object }) => object),
        ["d", "c"]
      )
    })
  )

  test(
    "writes all or nothing when interrupted",
    Effect.gen(function* () {
      const store = yield* FactStore.FactStore
      for (let round = 0; round < 16; round++) {
        const fiber = yield* Effect.fork(
          store.assert("ann", [
            said(`a ${round}`, round, { predicate: "likes" }),
            said(`b ${round}`, round, { predicate: "likes" })
          ])
        )
        for (let turn = 0; turn < round * 4; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        const known = yield* store.query("ann", { ...everything, entity: String(round) })
        assert.include([0, 2], known.length)
        assert.strictEqual((yield* store.search("ann", String(round), everything)).length, known.length)
      }
    })
  )

  test(
    "joins the caller's transaction, only in one of the same client",
    Effect.gen(function* () {
      const store = yield* FactStore.FactStore
      const sql = yield* SqlClient.SqlClient
      const other = yield* SqliteClient.make({ file: ":memory:" })
      const work = Effect.gen(function* () {
        yield* store.assert("ann", [said("Paris", 1)])
        assert.strictEqual(yield* store.count("ann", everything), 1)
        return yield* Effect.fail("undone")
      })
      yield* Effect.flip(sql.withTransaction(work))
      assert.strictEqual(yield* store.count("ann", everything), 0)
      yield* Effect.flip(other.withTransaction(work))
      assert.strictEqual(yield* store.count("ann", everything), 1)
    }).pipe(Effect.scoped)
  )

  test(
    "finds the rows of every statement by an index, and sorts no page",
    Effect.gen(function* () {
      const list = dialect.list(["a", "b"])
      const backend = SqlFactBackend.statements(dialect)
      const terms = SqlFactTerms.statements(dialect)
      const rows = SqlFactRows.makeStatements(dialect)
      const params: Record<string, ReadonlyArray<Dialect.Param>> = {
        revision: ["a"],
        begin: ["a", TextAnalyzer.english.name],
        number: ["a", "a"],
        proceed: ["a", 1],
        count: [1, 1, "a"],
        leave: ["a"],
        remember: ["a", 1],
        owners: ["a", 9],
        remove: ["a", list],
        clear: ["a"],
        said: ["a", list],
        sizes: ["a", list],
        trimOpen: ["a", "a", list, 9],
        trimClosed: ["a", "a", list, 9],
        removeTerms: ["a"],
        claim: [TextAnalyzer.english.name, "a"],
        page: ["a", "b", 9],
        setLength: [1, "a", "b"],
        setTotal: [1, "a"],
        removeSources: ["a", "b", list],
        analyzer: ["a"],
        holders: [list, "a"]
      }
      const inserts = ["begin", "remember"]
      const sorting = ["trimOpen", "trimClosed", "holders"]
      for (const [name, text] of [...Object.entries(backend), ...Object.entries(terms)]) {
        if (dialect.name === "sqlite" && inserts.includes(name)) continue
        yield* QueryPlans.usesIndexes(name, text, params[name]!, { sorts: sorting.includes(name) })
      }
      const plain: RowSelection = { minConfidence: 0.5, at: 9, includeClosed: false }
      const after = { confidence: 1, validFrom: 1, id: FactId.make("a") }
      const slot = { subjectKey: "a", predicateKey: "b", objectKey: "c", at: 1 }
      const weighted = [{ term: "a", weight: 1 }]
      const reads: ReadonlyArray<readonly [string, SqlFactRows.Statement, boolean, RegExp?]> = [
        ["get", rows.get("a", ["b"]), false],
        ["near", rows.near("a", slot), true],
        ["find", rows.find("a", { selection: plain, limit: 9 }), false],
        ["find after", rows.find("a", { selection: { ...plain, includeClosed: true }, limit: 9, after }), false],
        [
          "find subjects",
          rows.find("a", { selection: { ...plain, subjects: ["a", "b"] }, limit: 9 }),
          true,
          /lex_facts_subject \(owner_id=\? AND subject_key=\?/
        ],
        [
          "find prefix",
          rows.find("a", { selection: { ...plain, subjectPrefix: "a" }, limit: 9 }),
          true,
          /lex_facts_subject \(owner_id=\? AND subject_key>/
        ],
        [
          "find words",
          rows.find("a", { selection: { ...plain, words: " a " }, limit: 9 }),
          true,
          /SEARCH f [^\n]*id=\?\)[\s\S]*kind=\? AND term=\?/
        ],
        [
          "find sources",
          rows.find("a", { selection: plain, limit: 9, sources: ["a", "b"] }),
          true,
          /SEARCH f [^\n]*id=\?\)[\s\S]*kind=\? AND term=\?/
        ],
        ["count", rows.count("a", { ...plain, predicateKey: "a", objectKey: "b" }), false],
        [
          "lexical",
          rows.lexical("a", { weighted, averageTerms: 3, selection: plain, limit: 9 }),
          true,
          /SEARCH t [^\n]*term=\?[\s\S]*SEARCH f [^\n]* id=\?/
        ],
        ["subjects", rows.subjects("a", { limit: 9 }), false],
        ["known", rows.known("a", ["a"]), true]
      ]
      for (const [name, { params, text }, sorts, by] of reads) {
        yield* QueryPlans.usesIndexes(name, text, params, { sorts, by })
      }
    })
  )
})

describe("SqlFactStore", () => {
  it.effect("rejects a database without tables, or creates them", () =>
    Effect.gen(function* () {
      const client = SqliteClient.layer({ file: ":memory:" })
      const error = yield* Effect.flip(Effect.provide(FactStore.FactStore, Layer.provide(SqlFactStore.layer(), client)))
      assert.strictEqual(error._tag, "MigrationError")
      const kept = yield* FactStore.FactStore.pipe(
        Effect.flatMap((store) => store.assert("ann", [said("Paris", 1)])),
        Effect.provide(Layer.provide(SqlFactStore.layerMigrated({ maxFactsPerEntity: 3 }), client))
      )
      assert.isTrue(Option.isSome(kept[0]!))
    })
  )

  it.effect("fails with a StorageError without content when a database does not answer", () =>
    Effect.gen(function* () {
      const store = yield* SqlFactStore.make()
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe("DROP TABLE lex_fact_owners")
      for (const call of [
        store.assert("hush", [said("hush", 1)]),
        store.clear("hush"),
        store.search("hush", "hush")
      ] as ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>>) {
        const error = yield* Effect.flip(call)
        assert.strictEqual(error._tag, "StorageError")
        assert.notInclude(JSON.stringify(error), "hush")
      }
    }).pipe(
      Effect.provide(Layer.provideMerge(Layer.effectDiscard(Migrations.run), SqliteClient.layer({ file: ":memory:" })))
    )
  )
})
