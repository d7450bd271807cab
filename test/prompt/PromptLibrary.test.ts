import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as ReActPrompts from "../../src/prompt/defaults/ReActPrompts.js"
import * as PromptDirectory from "../../src/prompt/PromptDirectory.js"
import * as PromptLibrary from "../../src/prompt/PromptLibrary.js"
import { PromptLibraryError, PromptTemplateError } from "../../src/prompt/template/PromptError.js"
import * as PromptStep from "../../src/prompt/template/PromptStep.js"

const Translate = PromptStep.make({
  pattern: "TranslatorAgent",
  name: "Translate",
  variables: ["text", "language"],
  system: "You translate.",
  user: "Into {language}: {text}"
})

const Check = PromptStep.make({
  pattern: "TranslatorAgent",
  name: "Check",
  variables: ["text"],
  system: "You check {text}.",
  user: "Go."
})

const steps = [Translate, Check]

const values = { text: "hello", language: "German", output_format: "" }

const made = (options: PromptLibrary.Options): PromptLibrary.Service =>
  Either.getOrThrow(CustomPrompts.make({ steps, ...options }))

const refused = (options: PromptLibrary.Options) =>
  Either.getOrThrow(Either.flip(CustomPrompts.make({ steps, ...options })))

const heading = PromptLibrary.INSTRUCTIONS_HEADING

/** The values of a step, each the name of its variable. */
const valuesOf = (step: PromptStep.PromptStep): { readonly [name: string]: string } =>
  Object.fromEntries([...step.variables, PromptStep.OUTPUT_FORMAT].map((name) => [name, `<${name}>`]))

describe("sources", () => {
  it("are the halves in use with their variables, without instructions", () => {
    const library = made({
      overrides: { TranslatorAgent: { Translate: { user: "{text} in {{{language}}}" } } },
      instructions: "Be kind."
    })
    assert.deepStrictEqual(library.sources(Translate), { system: "You translate.", user: "{text} in {{{language}}}" })
    assert.deepStrictEqual(library.sources(Check), { system: "You check {text}.", user: "Go." })
    const known = new Set(library.steps)
    assert.isTrue(known.has(Translate) && known.has(Check))
    assert.isTrue(DefaultPrompts.steps.every((step) => known.has(step)))
  })
})

describe("overrides", () => {
  it("replace either half and leave the other to the layer below", () => {
    const system = made({ overrides: { TranslatorAgent: { Translate: { system: "You are a poet." } } } })
    assert.deepStrictEqual(system.render(Translate, values), { system: "You are a poet.", user: "Into German: hello" })
    const user = made({ overrides: { TranslatorAgent: { Translate: { user: "{text}!" } } } })
    assert.deepStrictEqual(user.render(Translate, values), { system: "You translate.", user: "hello!" })
    const both = made({ overrides: { TranslatorAgent: { Translate: { system: "", user: "{text}" }, Check: {} } } })
    assert.deepStrictEqual(both.render(Translate, values), { system: "", user: "hello" })
    assert.deepStrictEqual(both.render(Check, values), { system: "You check hello.", user: "Go." })
  })

  it("win over those below, half by half", () => {
    const first = made({ overrides: { TranslatorAgent: { Translate: { system: "first", user: "first {text}" } } } })
    const second = Either.getOrThrow(
      first.extend({ overrides: { TranslatorAgent: { Translate: { user: "second {text}" } } } })
    )
    assert.deepStrictEqual(second.render(Translate, values), { system: "first", user: "second hello" })
    assert.deepStrictEqual(first.render(Translate, values), { system: "first", user: "first hello" })
  })

  it("for an unknown step are rejected with the nearest one", () => {
    const error = refused({ overrides: { TranslatorAgent: { Translat: { system: "x" } } } })
    assert.instanceOf(error, PromptLibraryError)
    assert.deepInclude(error, { code: "LEX_ERR_PROMPT_101", where: "TranslatorAgent/Translat" })
    assert.include(error.hint, "Did you mean TranslatorAgent/Translate?")
    for (const name of ["__proto__", "constructor", "toString"]) {
      const overrides = JSON.parse(`{"${name}": {"${name}": {"system": "x"}}}`) as PromptLibrary.Overrides
      assert.instanceOf(refused({ overrides }), PromptLibraryError)
    }
  })

  it("with unknown variables, or without required ones, are rejected with their location", () => {
    const unknown = refused({ overrides: { TranslatorAgent: { Translate: { system: "{tongue}" } } } })
    assert.instanceOf(unknown, PromptTemplateError)
    assert.deepInclude(unknown, { where: "TranslatorAgent/Translate/system", unknown: ["tongue"] })
    const missing = refused({ overrides: { TranslatorAgent: { Translate: { user: "Into {language}" } } } })
    assert.deepInclude(missing, { where: "TranslatorAgent/Translate/user", missing: ["text"] })
    const moved = made({ overrides: { TranslatorAgent: { Check: { system: "You check.", user: "{text}" } } } })
    assert.deepStrictEqual(moved.render(Check, values), { system: "You check.", user: "hello" })
    assert.deepInclude(refused({ overrides: { TranslatorAgent: { Check: { system: "You check." } } } }), {
      where: "TranslatorAgent/Check/system",
      missing: ["text"]
    })
  })

  it("may place the form of the answer", () => {
    const library = made({ overrides: { TranslatorAgent: { Translate: { system: "Form: {output_format}" } } } })
    assert.strictEqual(library.render(Translate, { ...values, output_format: "JSON" }).system, "Form: JSON")
  })
})

describe("custom instructions", () => {
  const instructions = { TranslatorAgent: "Be polite.", ReActAgent: "Think twice." }

  it("follow every non-empty system half, whatever its layer", () => {
    const overrides = { TranslatorAgent: { Translate: { system: "Mine." }, Check: { system: "", user: "{text}" } } }
    const library = made({ overrides, instructions: "Use {text} as it is." })
    const tail = `${heading}\n\nUse {text} as it is.`
    assert.strictEqual(library.render(Translate, values).system, `Mine.\n\n${tail}`)
    assert.strictEqual(library.render(Check, values).system, tail)
    for (const step of DefaultPrompts.steps) {
      assert.isTrue(library.render(step, valuesOf(step) as never).system.endsWith(`\n\n${tail}`), step.name)
    }
    assert.strictEqual(library.instructions("TranslatorAgent"), tail)
  })

  it("may apply to one pattern", () => {
    const library = made({ instructions })
    assert.strictEqual(library.render(Translate, values).system, `You translate.\n\n${heading}\n\nBe polite.`)
    for (const step of DefaultPrompts.steps) {
      const { system } = library.render(step, valuesOf(step) as never)
      assert.strictEqual(system.includes("Think twice."), step.pattern === "ReActAgent")
      assert.strictEqual(system.includes(heading), step.pattern === "ReActAgent")
    }
  })

  it("reach steps that the library does not know", () => {
    const library = Either.getOrThrow(CustomPrompts.make({ instructions }))
    assert.include(library.render(Translate, values).system, "Be polite.")
  })

  it("come in the order in which they were given, general or not", () => {
    let library = made({ instructions: { TranslatorAgent: "one" } })
    for (const next of ["two", { TranslatorAgent: "three", Other: "never" }, "four"]) {
      library = Either.getOrThrow(library.extend({ instructions: next }))
    }
    assert.strictEqual(
      library.render(Translate, values).system,
      `You translate.\n\n${heading}\n\none\n\ntwo\n\nthree\n\nfour`
    )
  })

  it("are ignored when empty, and accept inherited property names as patterns", () => {
    assert.strictEqual(made({ instructions: "  \n" }).render(Translate, values).system, "You translate.")
    assert.strictEqual(made({ instructions: { TranslatorAgent: "" } }).instructions("TranslatorAgent"), "")
    const poisoned = JSON.parse('{"__proto__": "x", "constructor": "y"}') as { readonly [name: string]: string }
    const library = made({ instructions: poisoned })
    assert.strictEqual(library.render(Translate, values).system, "You translate.")
    assert.strictEqual(library.instructions("__proto__"), `${heading}\n\nx`)
    assert.strictEqual(library.instructions("toString"), "")
  })
})

describe("without a layer", () => {
  it.effect("uses the defaults", () =>
    Effect.gen(function* () {
      const library = yield* PromptLibrary.PromptLibrary
      for (const step of DefaultPrompts.steps) {
        const { system, user } = library.render(step, valuesOf(step) as never)
        assert.notInclude(system, heading)
        for (const name of [...step.system.variables]) assert.include(system, `<${name}>`)
        for (const name of [...step.user.variables]) assert.include(user, `<${name}>`)
      }
    })
  )

  it.effect("fails with a layer of unusable options", () =>
    Effect.gen(function* () {
      const good = CustomPrompts.layer({ steps, instructions: "x" })
      const { system } = yield* Effect.provide(
        Effect.map(PromptLibrary.PromptLibrary, (library) => library.render(Translate, values)),
        good
      )
      assert.include(system, heading)
      const bad = CustomPrompts.layer({ overrides: { NoAgent: { Nothing: { user: "x" } } } })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(bad)))
      assert.instanceOf(error, PromptLibraryError)
    })
  )
})

/** A directory of its own, with these files. */
const directory = (files: { readonly [path: string]: string } = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* fs.makeTempDirectoryScoped()
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(root, name)
      yield* fs.makeDirectory(path.dirname(file), { recursive: true })
      yield* fs.writeFileString(file, text)
    }
    return root
  })

const load = (root: string, options: PromptLibrary.Options = {}) =>
  Effect.map(Layer.build(PromptDirectory.layer(root, { steps, ...options })), (context) =>
    context.unsafeMap.get(PromptLibrary.PromptLibrary.key)
  ) as Effect.Effect<PromptLibrary.Service, PromptTemplateError | PromptLibraryError, any>

const onDisk = (name: string, effect: Effect.Effect<void, unknown, any>) =>
  it.scoped(name, () =>
    Effect.provide(effect as Effect.Effect<void, unknown, NodeContext.NodeContext>, NodeContext.layer)
  )

/** Counts the reads of each file. */
const counting = Effect.map(FileSystem.FileSystem, (fs) => {
  const reads = new Map<string, number>()
  const counted: FileSystem.FileSystem = {
    ...fs,
    readFileString: (file, encoding) =>
      Effect.suspend(() => {
        reads.set(file, (reads.get(file) ?? 0) + 1)
        return fs.readFileString(file, encoding)
      })
  }
  return { counted, reads }
})

const warnings = () => {
  const texts: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel._tag === "Warning") texts.push(String(message))
  })
  return { texts, layer: Logger.replace(Logger.defaultLogger, logger) }
}

describe("a directory", () => {
  onDisk(
    "its files win over the defaults and lose against overrides, half by half",
    Effect.gen(function* () {
      const root = yield* directory({
        "TranslatorAgent/Translate/system.md": "File system {output_format}.",
        "TranslatorAgent/Translate/user.md": "File {text}",
        "TranslatorAgent/Check/user.md": "File {text}"
      })
      const library = yield* load(root, {
        overrides: { TranslatorAgent: { Translate: { user: "Code {text}" } } },
        instructions: "Be brief."
      })
      const tail = `\n\n${heading}\n\nBe brief.`
      assert.deepStrictEqual(library.render(Translate, { ...values, output_format: "X" }), {
        system: `File system X.${tail}`,
        user: "Code hello"
      })
      assert.deepStrictEqual(library.render(Check, values), { system: `You check hello.${tail}`, user: "File hello" })
    })
  )

  onDisk(
    "is read once, when its layer is built",
    Effect.gen(function* () {
      const root = yield* directory()
      yield* PromptDirectory.exportTo(root, { steps })
      const { counted, reads } = yield* counting
      const library = yield* Effect.provideService(load(root), FileSystem.FileSystem, counted)
      for (let i = 0; i < 10; i++) {
        library.render(Translate, values)
        library.render(Check, values)
      }
      assert.deepStrictEqual([...reads.values()], [1, 1, 1, 1])
      assert.isTrue([...reads.keys()].every((file) => file.startsWith(root)))
    })
  )

  onDisk(
    "with folders of nobody is loaded with a warning, files beside the folders without",
    Effect.gen(function* () {
      const root = yield* directory({
        "README.md": "about",
        "TranslatorAgent/notes.txt": "x",
        "TranslatorAgent/Translate/user.md": "File {text}",
        "TranslatorAgent/Translate/extra.md": "{nothing}",
        "TranslatorAgent/Trnslate/user.md": "{typo}",
        "OtherAgent/Step/system.md": "x"
      })
      const { layer, texts } = warnings()
      const library = yield* Effect.provide(load(root), layer)
      assert.strictEqual(library.render(Translate, values).user, "File hello")
      assert.lengthOf(texts, 1)
      assert.include(texts[0], "OtherAgent/Step, TranslatorAgent/Trnslate")
      const quiet = warnings()
      yield* Effect.provide(load(yield* directory({ "README.md": "x" })), quiet.layer)
      assert.deepStrictEqual(quiet.texts, [])
    })
  )

  onDisk(
    "that cannot be read is a typed failure that names it",
    Effect.gen(function* () {
      const root = yield* directory({ file: "x", "TranslatorAgent/Translate/user.md/inner": "x" })
      for (const place of [`${root}/nowhere`, `${root}/file`, root]) {
        const error = yield* Effect.flip(load(place))
        assert.instanceOf(error, PromptLibraryError, place)
        assert.strictEqual(error.where, place)
        assert.include(error.message, place)
      }
    })
  )

  onDisk(
    "with a prompt that cannot be used is a typed failure that names its file",
    Effect.gen(function* () {
      const path = yield* Path.Path
      const root = yield* directory({ "TranslatorAgent/Translate/user.md": "{text} {tongue}" })
      const error = yield* Effect.flip(load(root))
      assert.instanceOf(error, PromptTemplateError)
      assert.deepStrictEqual(
        [error.where, error.unknown],
        [path.join(root, "TranslatorAgent", "Translate", "user.md"), ["tongue"]]
      )
      const without = yield* directory({ "TranslatorAgent/Translate/user.md": "nothing" })
      assert.deepInclude(yield* Effect.flip(load(without)), { missing: ["text"] })
    })
  )

  onDisk(
    "may hold links to nowhere, and files with a byte order mark",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* directory({ "TranslatorAgent/Translate/user.md": "\uFEFFFile {text}" })
      yield* fs.symlink(`${root}/gone`, `${root}/.lock`)
      yield* fs.symlink(`${root}/gone`, `${root}/TranslatorAgent/.lock`)
      const library = yield* load(root)
      assert.strictEqual(library.render(Translate, values).user, "File hello")
    })
  )

  onDisk(
    "may hold steps with the names that objects bring along",
    Effect.gen(function* () {
      const named = ["__proto__", "constructor", "toString"].map((pattern) =>
        PromptStep.make({ pattern, name: pattern, variables: ["text"], system: "default", user: "{text}" })
      )
      const root = yield* directory(
        Object.fromEntries(named.map(({ name, pattern }) => [`${pattern}/${name}/system.md`, `file of ${name}`]))
      )
      const library = yield* load(root, { steps: named })
      for (const step of named) assert.strictEqual(library.render(step, values).system, `file of ${step.name}`)
      assert.isUndefined(({} as { readonly system?: unknown }).system)
    })
  )
})

describe("exportTo", () => {
  onDisk(
    "writes every prompt that ships so that it is read back the same",
    Effect.gen(function* () {
      const root = yield* directory()
      yield* PromptDirectory.exportTo(root)
      const { layer, texts } = warnings()
      const library = yield* Effect.provide(load(root), layer)
      const defaults = Either.getOrThrow(CustomPrompts.make())
      for (const step of DefaultPrompts.steps) {
        const filled = valuesOf(step) as never
        assert.deepStrictEqual(library.render(step, filled), defaults.render(step, filled), step.name)
      }
      assert.deepStrictEqual(texts, [])
      const overrides = yield* PromptDirectory.read(root)
      const count = Object.values(overrides).reduce((sum, steps) => sum + Object.keys(steps).length, 0)
      assert.strictEqual(count, DefaultPrompts.steps.length)
    })
  )

  onDisk(
    "leaves what was edited, unless it is to overwrite it",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* directory()
      yield* PromptDirectory.exportTo(root)
      const file = `${root}/ReActAgent/ThoughtStep/system.md`
      const edited = `${yield* fs.readFileString(file)}\n\nAnswer like a pirate.`
      yield* fs.writeFileString(file, edited)
      yield* fs.remove(`${root}/ReActAgent/ThoughtStep/user.md`)
      yield* PromptDirectory.exportTo(root)
      const library = yield* load(root)
      const step = ReActPrompts.ThoughtStep
      assert.isTrue(library.render(step, valuesOf(step) as never).system.endsWith("Answer like a pirate."))
      assert.isTrue(yield* fs.exists(`${root}/ReActAgent/ThoughtStep/user.md`))
      yield* PromptDirectory.exportTo(root, { overwrite: true })
      assert.strictEqual(yield* fs.readFileString(file), step.system.source)
    })
  )

  onDisk(
    "writes the steps it is given, and nowhere but into its directory",
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* directory()
      yield* PromptDirectory.exportTo(`${root}/a/b`, { steps })
      assert.deepStrictEqual((yield* fs.readDirectory(`${root}/a/b`)).sort(), ["TranslatorAgent"])
      for (const name of ["../../outside", "..", ".", "", "x/y", "x\\y", "/tmp/x"]) {
        for (const step of [
          { ...Translate, pattern: name },
          { ...Translate, name }
        ]) {
          const error = yield* Effect.flip(PromptDirectory.exportTo(`${root}/c/d`, { steps: [Check, step] }))
          assert.instanceOf(error, PromptLibraryError, name)
        }
      }
      assert.isFalse(yield* fs.exists(`${root}/c`))
    })
  )

  onDisk(
    "into a place that cannot be written to is a typed failure",
    Effect.gen(function* () {
      const root = yield* directory({ file: "x" })
      const error = yield* Effect.flip(PromptDirectory.exportTo(`${root}/file`))
      assert.instanceOf(error, PromptLibraryError)
      assert.strictEqual(error.where, `${root}/file`)
    })
  )
})
