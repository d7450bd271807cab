import { readdirSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { entryOf, folderOf } from "../../scripts/layout.js"
import * as ErrorCode from "../../src/domain/ErrorCode.js"

const src = new URL("../../src/", import.meta.url)

interface ErrorInstance {
  readonly _tag: string
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly cause?: unknown
}

type ErrorClass = (new (
  props: object
) => ErrorInstance) &
  Schema.Schema<ErrorInstance, unknown> & {
    readonly _tag: string
    readonly identifier: string
    readonly fields: Schema.Struct.Fields
  }

const isErrorClass = (u: unknown): u is ErrorClass =>
  typeof u === "function" && u.prototype instanceof Error && Schema.isSchema(u) && "_tag" in u

/** Paths of modules relative to `src`, and their text. */
const modules = readdirSync(fileURLToPath(src), { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".ts") && !file.endsWith("index.ts"))
  .map((file) => [file, readFileSync(new URL(file, src), "utf8")] as const)

/** Every exported error class with the names and modules it is exported under; a module is its path without `.ts`. */
const collect = async () => {
  const found = new Map<ErrorClass, { readonly names: Set<string>; readonly modules: Set<string> }>()
  for (const [file, text] of modules) {
    if (!text.includes("ErrorCode.TaggedError")) continue
    const exported: Record<string, unknown> = await import(new URL(file, src).href)
    for (const [name, value] of Object.entries(exported)) {
      if (!isErrorClass(value)) continue
      const entry = found.get(value) ?? { names: new Set(), modules: new Set() }
      entry.names.add(name)
      entry.modules.add(`${entryOf(folderOf(file))}/${basename(file, ".ts")}`)
      found.set(value, entry)
    }
  }
  return found
}

const classes = await collect()
const table: Record<string, string> = ErrorCode.table
const families = new Set(["LEX_ERR_AGT_002", "LEX_ERR_AGT_003"])
const isFamily = (code: string) => code.endsWith("_001") || families.has(code)

const common = new Set(["_tag", "code", "message", "hint", "cause"])

/** Data fields of a class that survive JSON, and what every error has. */
const sample = (errorClass: ErrorClass): object => {
  const own = Object.fromEntries(Object.entries(errorClass.fields).filter(([name]) => !common.has(name)))
  const candidates = FastCheck.sample(Arbitrary.make(Schema.typeSchema(Schema.Struct(own))), { seed: 1, numRuns: 200 })
  const data = candidates.find((value) => {
    try {
      assert.deepStrictEqual(JSON.parse(JSON.stringify(value)), value)
      return true
    } catch {
      return false
    }
  })
  assert.isDefined(data, `no JSON-safe sample of ${errorClass._tag}`)
  return { ...(data as object), message: "what happened", hint: "what to do", cause: new Error("underneath") }
}

const codes = new Map([...classes.keys()].map((errorClass) => [errorClass, new errorClass(sample(errorClass)).code]))
const code = (errorClass: ErrorClass): string => codes.get(errorClass) ?? ""

describe("error classes", () => {
  it("are found", () => {
    assert.isAbove(classes.size, 30)
  })

  it("are all made by ErrorCode.TaggedError, which prints their hints", () => {
    const others = modules.filter(
      ([file, text]) => file !== "domain/ErrorCode.ts" && text.includes("extends Schema.TaggedError")
    )
    assert.deepStrictEqual(
      others.map(([file]) => file),
      []
    )
  })

  for (const [errorClass, { names, modules }] of classes) {
    describe(errorClass._tag, () => {
      it("has one name: class, tag, export and table entry", () => {
        assert.strictEqual(errorClass.name, errorClass._tag)
        assert.deepStrictEqual([...names], [errorClass._tag])
        assert.strictEqual(table[code(errorClass)], errorClass._tag)
        assert.match(errorClass._tag, /Error$/)
      })

      it("is identified by its entry, its module and its name", () => {
        const expected = [...modules].map((module) => `effect-lexigram/${module}/${errorClass._tag}`)
        assert.include(expected, errorClass.identifier)
      })

      it("does not take a family's or a reserved code", () => {
        assert.isFalse(isFamily(code(errorClass)))
        assert.notInclude(ErrorCode.reserved as ReadonlyArray<string>, code(errorClass))
      })

      it("prints its hint below its message, and its message without it", () => {
        const error = new errorClass(sample(errorClass))
        assert.strictEqual(error.message, "what happened")
        for (const printed of [Cause.pretty(Cause.fail(error)), inspect(error)]) {
          assert.include(printed, `${errorClass._tag}: what happened\n    hint: what to do\n`)
        }
        const { hint: _, ...withoutHint } = sample(errorClass) as { readonly hint: string }
        assert.notInclude(Cause.pretty(Cause.fail(new errorClass(withoutHint))), "hint:")
      })

      it("comes back from JSON as itself", () => {
        const props = sample(errorClass)
        const error = new errorClass(props)
        const json = JSON.stringify(Schema.encodeSync(errorClass)(error))
        const decoded = Schema.decodeUnknownSync(errorClass)(JSON.parse(json))
        assert.instanceOf(decoded, errorClass)
        assert.strictEqual(decoded._tag, errorClass._tag)
        assert.strictEqual(decoded.code, error.code)
        assert.strictEqual(decoded.message, "what happened")
        assert.strictEqual(decoded.hint, "what to do")
        assert.instanceOf(decoded.cause, Error)
        assert.strictEqual((decoded.cause as Error).message, "underneath")
        for (const name of Object.keys(props)) {
          if (name === "cause") continue
          assert.deepStrictEqual(Reflect.get(decoded, name), Reflect.get(error, name), name)
        }
      })
    })
  }
})

describe("the table", () => {
  it("names each class once", () => {
    const names = Object.values(table)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("gives each code to one class only", () => {
    const owners = new Map<string, Array<string>>()
    for (const errorClass of classes.keys()) {
      const key = code(errorClass)
      owners.set(key, [...(owners.get(key) ?? []), errorClass.identifier])
    }
    assert.deepStrictEqual(
      [...owners].filter(([, identifiers]) => identifiers.length > 1),
      []
    )
  })

  it("does not list reserved codes", () => {
    for (const reserved of ErrorCode.reserved) assert.notProperty(table, reserved)
  })

  it("has a class for every code that names no family", () => {
    const used = new Set([...classes.keys()].map(code))
    const missing = Object.entries(table).filter(([key]) => !isFamily(key) && !used.has(key))
    assert.deepStrictEqual(missing, [])
  })
})

describe("ErrorCode.TaggedError", () => {
  const made: Array<string> = []
  const watched = (name: string) =>
    Schema.String.annotations({ identifier: name }).pipe(
      Schema.filter(() => {
        made.push(name)
        return true
      })
    )
  class First extends ErrorCode.TaggedError<First>("test/First")("First", {
    ...ErrorCode.fields("LEX_ERR_DB_100"),
    name: watched("first")
  }) {
    get told() {
      return `first ${this.name}`
    }
  }
  class Second extends ErrorCode.TaggedError<Second>("test/Second")("Second", ErrorCode.fields("LEX_ERR_DB_101")) {}
  const Both = ErrorCode.Union(First, Second)
  const isBoth = ErrorCode.is(Both)

  const statics = (self: object): ReadonlySet<string | symbol> => {
    const names = new Set<string | symbol>()
    for (let at = self; at !== Function.prototype && at !== null; at = Object.getPrototypeOf(at))
      for (const name of Reflect.ownKeys(at)) names.add(name)
    return names
  }

  it("has every static of Schema.TaggedError and of Schema.Union", () => {
    class Plain extends Schema.TaggedError<Plain>("test/Plain")("Plain", {}) {}
    for (const name of statics(Plain)) if (!(name in Error)) assert.isTrue(name in First, String(name))
    const union = Schema.Union(Schema.String, Schema.Number)
    for (const name of ["ast", "annotations", "pipe", "toString", "members", Schema.TypeId])
      assert.isTrue(name in union && name in Both, String(name))
    assert.strictEqual(First._tag, "First")
    assert.strictEqual(First.identifier, "test/First")
    assert.include(String(First), "test/First")
  })

  it("is a class of errors before the first error, and makes instances of the class that extends it", () => {
    assert.instanceOf(Second.prototype, Error)
    const error = new First({ message: "no", name: "x" })
    assert.instanceOf(error, First)
    assert.instanceOf(error, Error)
    assert.strictEqual(error.told, "first x")
    assert.strictEqual(First.make({ message: "no", name: "y" }).told, "first y")
    assert.deepStrictEqual(made.length > 0, true)
    assert.throws(() => new First({ message: 1 as any, name: "x" }))
  })

  it("decodes and encodes as a class and in a union", () => {
    const encoded = { _tag: "First" as const, code: "LEX_ERR_DB_100" as const, message: "no", name: "x" }
    const decoded = Schema.decodeSync(Both)(encoded)
    assert.instanceOf(decoded, First)
    assert.deepStrictEqual(Schema.encodeSync(Both)(decoded), encoded)
    assert.isTrue(isBoth(decoded))
    assert.isFalse(isBoth(new Error("no")))
  })
})
