import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as CsvText from "../../../src/eval/dataset/CsvText.js"
import * as Growth from "../../support/Growth.js"

const folder = new URL("../../../node_modules/csv-spectrum/", import.meta.url)
const names = readdirSync(fileURLToPath(new URL("csvs", folder))).map((file) => file.replace(/\.csv$/, ""))

const rowsOf = (text: string, delimiter?: string) =>
  Either.map(CsvText.read(text, delimiter), (rows) => rows.map(({ fields }) => fields))

const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`

describe("CsvText", () => {
  for (const name of names) {
    it(`reads ${name} of csv-spectrum`, () => {
      const text = readFileSync(new URL(`csvs/${name}.csv`, folder), "utf8")
      const expected = JSON.parse(readFileSync(new URL(`json/${name}.json`, folder), "utf8"))
      // The number of the telephone in `location_coordinates` is another one in its JSON.
      const told = (row: Readonly<Record<string, string>>) => ({ ...row, "Contact Phone Number": undefined })
      assert.deepStrictEqual(Either.getOrThrow(rowsOf(text)).map(told), [expected].flat().map(told))
    })
  }

  it("reads back whatever is written with quotes", () => {
    const texts = FastCheck.string({
      unit: FastCheck.constantFrom("a", '"', ",", "\n", "\r", " ", "\u0000", "é"),
      maxLength: 8
    })
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.tuple(texts, texts), { maxLength: 6 }),
        FastCheck.constantFrom("\n", "\r\n"),
        (rows, end) => {
          const lines = [["a", "b"], ...rows].map((fields) => fields.map(quoted).join(","))
          assert.deepStrictEqual(
            Either.getOrThrow(rowsOf(lines.join(end))),
            rows.map(([a, b]) => ({ a, b }))
          )
        }
      )
    )
  })

  it("never throws", () => {
    const units = FastCheck.constantFrom("a", '"', ",", "\n", "\r", "\ufeff")
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: units, maxLength: 30 }), (text) => {
        assert.isBoolean(Either.isRight(CsvText.read(text)))
      }),
      { numRuns: 1000 }
    )
  })

  it("says the line of what is wrong", () => {
    const problem = (text: string) => Either.getOrThrow(Either.flip(CsvText.read(text)))
    assert.deepStrictEqual(problem(""), { line: 1, message: "there is no header" })
    assert.deepStrictEqual(problem("a,a\n1,2"), { line: 1, message: 'the header has "a" twice' })
    assert.deepStrictEqual(problem('a,b\n"x\ny",2\n1'), { line: 4, message: "1 fields, where the header has 2" })
    assert.deepStrictEqual(problem('a\n1\n"open'), { line: 3, message: "a quoted field has no end" })
    assert.deepStrictEqual(problem('a\n"x"y'), { line: 2, message: "a text follows the closing quote of a field" })
  })

  it("takes another delimiter, a byte order mark and names of prototypes", () => {
    assert.deepStrictEqual(Either.getOrThrow(rowsOf("\ufeffa\tb\n1\t2,3", "\t")), [{ a: "1", b: "2,3" }])
    const [row] = Either.getOrThrow(rowsOf("__proto__,constructor\n1,2"))
    assert.deepStrictEqual(Object.entries(row ?? {}), [
      ["__proto__", "1"],
      ["constructor", "2"]
    ])
  })

  it("takes linear time", () => {
    const header = 'a,"b"\n'
    for (const line of ['1,"x, ""y"" z"\n', '1,"\n\n\n"\n', `${"x".repeat(50)},y\n`]) {
      Growth.assertLinear({
        input: (size) => header + line.repeat(Math.ceil(size / line.length)),
        size: 400_000,
        run: (text) => assert.isTrue(Either.isRight(CsvText.read(text)))
      })
    }
    Growth.assertLinear({
      input: (size) => Array.from({ length: size }, (_, index) => `c${index}`).join(","),
      size: 50_000,
      run: (text) => assert.isTrue(Either.isRight(CsvText.read(text)))
    })
  })
})
