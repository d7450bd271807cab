import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as TaskSignature from "../../../src/memory/procedural/TaskSignature.js"
import * as Growth from "../../support/Growth.js"

const same = (...tasks: ReadonlyArray<string>): void => {
  const [first = "", ...others] = tasks.map(TaskSignature.fromTask)
  assert.notStrictEqual(first, "")
  for (const other of others) assert.strictEqual(other, first)
}

describe("TaskSignature", () => {
  it("is equal for tasks that differ in numbers and ids", () => {
    same("Refund order 1234", "refund order 77", "Refund the order #A-99-x!", "refund order ORD_5", "Refund order ７７")
    same("close ticket 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "Close ticket 12")
  })

  it("is equal for tasks that differ in quoted texts", () => {
    same(
      'translate "Hello world" please',
      "translate 'it is the dogs’ food'",
      "Translate “guten Tag”",
      "translate „guten Tag“",
      "translate «bonjour»",
      "translate `code here`",
      "translate 「こんにちは」"
    )
  })

  it("is equal for tasks that differ in addresses, paths and files", () => {
    same(
      "summarise the report bob@example.com",
      "summarise the report at https://example.com/a?b=c",
      "summarise the report /etc/reports/last",
      "summarise the report ../last",
      "summarise the report C:\\reports\\last",
      "summarise the report quarter.pdf"
    )
  })

  it("is equal for tasks that differ in names within a sentence", () => {
    same("Send an invoice to Bob Miller", "send an invoice to Anna", "Please send an invoice to Mr. Smith.")
    same("Write to Anna. Then call her.", "Write to J. Then call her.")
  })

  it("keeps the first word of a sentence, abbreviations, and apostrophes within words", () => {
    assert.deepStrictEqual(TaskSignature.termsOf("Convert the file to PDF"), ["convert", "file", "pdf"])
    assert.include(TaskSignature.termsOf("Update it: Refund orders"), "refund")
    assert.deepStrictEqual(TaskSignature.termsOf("don't cancel the customer's orders"), ["cancel", "custom", "order"])
  })

  it("keeps capitals that do not mark names", () => {
    same("REFUND THE ORDER", "refund the order")
    assert.deepStrictEqual(
      TaskSignature.termsOf("Refund The Last Order Of The Customer"),
      TaskSignature.termsOf("refund the last order of the customer")
    )
    assert.include(TaskSignature.termsOf("Erstatte die Bestellung und schicke eine Quittung"), "bestellung")
  })

  it("differs for tasks that differ in words", () => {
    assert.notStrictEqual(TaskSignature.fromTask("refund order 1"), TaskSignature.fromTask("cancel order 1"))
  })

  it("is empty for a task that has only values", () => {
    for (const task of ["", "1234", '"quoted"', "the of and", "bob@example.com", "\u0000\u0000"]) {
      assert.strictEqual(TaskSignature.fromTask(task), "")
    }
  })

  it("ignores word order and repetitions", () => {
    same("refund order order", "order refund")
  })

  it("masks values on one line and keeps the rest", () => {
    assert.strictEqual(
      TaskSignature.masked('Search "big\nshoes" for Anna Lee,\n then 42 of them.'),
      "Search … for … then … of them."
    )
    assert.strictEqual(TaskSignature.masked("nothing to hide"), "nothing to hide")
  })

  it("measures what two tasks share", () => {
    const of = TaskSignature.fromTask
    assert.strictEqual(TaskSignature.similarity(of("refund order 1"), of("refund order 2")), 1)
    assert.strictEqual(TaskSignature.similarity(of("refund order"), of("refund late order")), 0.8)
    assert.strictEqual(TaskSignature.similarity(of("refund order"), of("book flight")), 0)
    assert.strictEqual(TaskSignature.similarity("", ""), 0)
  })

  it("has a symmetric similarity within 0 and 1, which is 1 for itself", () => {
    const words = FastCheck.array(FastCheck.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 6 }).map(
      (list) => Array.from(new Set(list)).sort().join(" ")
    )
    FastCheck.assert(
      FastCheck.property(words, words, (left, right) => {
        const shared = TaskSignature.similarity(left, right)
        assert.strictEqual(shared, TaskSignature.similarity(right, left))
        assert.strictEqual(TaskSignature.similarity(left, left), 1)
        assert.isTrue(shared >= 0 && shared <= 1)
      })
    )
  })

  it("contains no value of any task, whatever surrounds it", () => {
    const value = FastCheck.constantFrom(
      "4711",
      "eve@evil.example",
      "https://evil.example",
      '"evil words"',
      "/tmp/evil"
    )
    const words = FastCheck.array(FastCheck.constantFrom("refund", "order", "the", "customer"), { maxLength: 4 })
    FastCheck.assert(
      FastCheck.property(words, value, words, (before, taken, after) => {
        const terms = TaskSignature.termsOf([...before, taken, ...after].join(" "))
        assert.deepStrictEqual(terms, TaskSignature.termsOf([...before, ...after].join(" ")))
        assert.notInclude(TaskSignature.masked([...before, taken, ...after].join(" ")), taken)
      })
    )
  })

  it("never throws and stays bounded for any text", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 300 }), (text) => {
        assert.isAtMost(TaskSignature.termsOf(text).length, 64)
        assert.notInclude(TaskSignature.masked(text), "\n")
      })
    )
  })

  it("reads hostile texts in linear time", () => {
    const units = ['"', "“", "'", " '", "‘a", "`'\"", "[(<", "A. ", "../../", "a\u0000", "\ud800"]
    Growth.assertLinearTexts(units, (text) => [TaskSignature.fromTask(text), TaskSignature.masked(text)], 100_000)
  })
})
