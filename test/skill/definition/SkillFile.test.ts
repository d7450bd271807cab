import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePathLayer from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as SkillFile from "../../../src/skill/definition/SkillFile.js"
import * as SkillFileReader from "../../../src/skill/definition/SkillFileReader.js"

const text = (front: string, body = "Do it.") => `---\n${front}\n---\n${body}\n`
const described = (front: string) => text(`description: Does it. Use it when asked.\n${front}`)
const named = (name: string) => described(`name: ${name}`)
const with_ = (front: string) => described(`name: skill\n${front}`)

const file = (source: string, folderName?: string): SkillFile.SkillFile => {
  const parsed = SkillFileReader.parse(source, { folderName })
  return Either.isRight(parsed) ? parsed.right : assert.fail(parsed.left.message)
}

const issues = (source: string, folderName?: string): ReadonlyArray<SkillFile.Issue> => {
  const parsed = SkillFileReader.parse(source, { folderName })
  return Either.isLeft(parsed) ? parsed.left.issues : assert.fail("no issue")
}

const rules = (source: string, folderName?: string) => issues(source, folderName).map(({ rule }) => rule)

const lenient = (source: string, folderName?: string) => {
  const parsed = SkillFileReader.parseLenient(source, { folderName })
  return Either.isRight(parsed) ? parsed.right : assert.fail(parsed.left.message)
}

interface Rule {
  readonly rule: string
  readonly valid: string
  readonly invalid: string
  readonly is: SkillFile.Rule
  readonly folderName?: string
}

const table: ReadonlyArray<Rule> = [
  { rule: "begins with ---", valid: named("skill"), invalid: `\n${named("skill")}`, is: "front-matter" },
  { rule: "is closed", valid: named("skill"), invalid: "---\nname: skill\ndescription: x\n", is: "front-matter" },
  { rule: "is YAML", valid: with_("license: 'a: b'"), invalid: with_("license: a: b"), is: "yaml" },
  { rule: "is a map", valid: named("skill"), invalid: text("- name\n- description"), is: "yaml" },
  { rule: "has text keys", valid: with_("license: x"), invalid: with_("? [a]\n: x"), is: "yaml" },
  { rule: "has no tags", valid: with_("license: '!x'"), invalid: with_("license: !x MIT"), is: "yaml-feature" },
  { rule: "has no anchors", valid: with_("license: a&b"), invalid: with_("license: &a MIT"), is: "yaml-feature" },
  { rule: "has each key once", valid: named("skill"), invalid: with_("name: skill"), is: "duplicate-key" },
  { rule: "knows its keys", valid: with_("license: x"), invalid: with_("version: 1.0"), is: "unknown-field" },
  { rule: "has a name", valid: named("skill"), invalid: described("license: x"), is: "missing" },
  { rule: "has no blank name", valid: named("skill"), invalid: named('"  "'), is: "missing" },
  { rule: "has a text as name", valid: named("12"), invalid: named("[a]"), is: "text" },
  { rule: "has up to 64 in a name", valid: named("a".repeat(64)), invalid: named("a".repeat(65)), is: "length" },
  { rule: "is called in lower case", valid: named("pdf-2"), invalid: named("Pdf"), is: "lower-case" },
  { rule: "has letters of any script", valid: named("größe-отчёт-報告"), invalid: named("a_b"), is: "characters" },
  { rule: "has no hyphen first", valid: named("a-b"), invalid: named("-a"), is: "hyphens" },
  { rule: "has no hyphen last", valid: named("a-b"), invalid: named("a-"), is: "hyphens" },
  { rule: "has no two hyphens", valid: named("a-b-c"), invalid: named("a--b"), is: "hyphens" },
  {
    rule: "is called as its folder",
    valid: named("a-b"),
    invalid: named("a-c"),
    is: "folder-name",
    folderName: "a-b"
  },
  { rule: "has a description", valid: named("skill"), invalid: text("name: skill"), is: "missing" },
  {
    rule: "has no blank description",
    valid: named("skill"),
    invalid: text('name: skill\ndescription: " "'),
    is: "missing"
  },
  {
    rule: "has up to 1,024 in a description",
    valid: text(`name: skill\ndescription: ${"😀".repeat(1024)}`),
    invalid: text(`name: skill\ndescription: ${"x".repeat(1025)}`),
    is: "length"
  },
  { rule: "has a text as license", valid: with_("license: MIT"), invalid: with_("license:\n  - MIT"), is: "text" },
  {
    rule: "has up to 500 in compatibility",
    valid: with_(`compatibility: ${"x".repeat(500)}`),
    invalid: with_(`compatibility: ${"x".repeat(501)}`),
    is: "length"
  },
  {
    rule: "has something in compatibility",
    valid: with_("compatibility: x"),
    invalid: with_("compatibility:"),
    is: "length"
  },
  { rule: "has a map as metadata", valid: with_("metadata:\n  a: b"), invalid: with_("metadata: a"), is: "map" },
  {
    rule: "has texts in metadata",
    valid: with_("metadata: {a: 1}"),
    invalid: with_("metadata:\n  a:\n    - b"),
    is: "map"
  },
  {
    rule: "has each key of metadata once",
    valid: with_("metadata:\n  a: b\n  c: d"),
    invalid: with_("metadata:\n  a: b\n  a: d"),
    is: "duplicate-key"
  },
  {
    rule: "closes the parentheses of tools",
    valid: with_("allowed-tools: Bash(git:*) Read"),
    invalid: with_("allowed-tools: Bash(git:* Read"),
    is: "allowed-tools"
  },
  {
    rule: "opens the parentheses of tools",
    valid: with_("allowed-tools: Read"),
    invalid: with_("allowed-tools: Read)"),
    is: "allowed-tools"
  },
  {
    rule: "names the tools",
    valid: with_("allowed-tools: a(b)"),
    invalid: with_("allowed-tools: (b)"),
    is: "allowed-tools"
  },
  {
    rule: "parts the tools",
    valid: with_("allowed-tools: a(b) c"),
    invalid: with_("allowed-tools: a(b)c"),
    is: "allowed-tools"
  },
  {
    rule: "has texts as tools",
    valid: with_("allowed-tools: [a, b]"),
    invalid: with_("allowed-tools: {a: b}"),
    is: "text"
  },
  {
    rule: "is no longer than 1 MiB",
    valid: `${named("skill")}${"x".repeat(1e6)}`,
    invalid: `${named("skill")}${"x".repeat(1.1e6)}`,
    is: "size"
  },
  {
    rule: "has 64 KiB of front matter at most",
    valid: with_(`# ${"x".repeat(60_000)}`),
    invalid: with_(`# ${"x".repeat(70_000)}`),
    is: "yaml"
  }
]

const onDisk = Layer.merge(NodeFileSystem.layer, NodePathLayer.layer)

const withFolder = <A, E, R>(
  name: string,
  files: { readonly [path: string]: string | Uint8Array },
  use: (folder: string) => Effect.Effect<A, E, R>
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const parent = Fs.realpathSync(Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "skill-")))
      const folder = NodePath.join(parent, name)
      for (const [path, content] of Object.entries(files)) {
        const target = NodePath.join(folder, path)
        Fs.mkdirSync(NodePath.dirname(target), { recursive: true })
        Fs.writeFileSync(target, content)
      }
      return { parent, folder }
    }),
    ({ folder }) => use(folder),
    ({ parent }) => Effect.sync(() => Fs.rmSync(parent, { recursive: true }))
  ).pipe(Effect.provide(onDisk))

describe("SkillFile", () => {
  describe("rules", () => {
    for (const { folderName, invalid, is, rule, valid } of table) {
      it(`a file ${rule}`, () => {
        file(valid, folderName)
        assert.deepStrictEqual(rules(invalid, folderName), [is])
      })
    }
  })

  it("reads all fields", () => {
    assert.deepStrictEqual(
      file(
        text(
          [
            "name: pdf",
            "description: >",
            "  Reads PDFs.",
            "  Use it for PDFs.",
            "license: MIT",
            'compatibility: "Needs poppler"',
            "metadata:",
            "  author: somebody",
            "  version: 1.0",
            "  on: yes",
            "  none: ~",
            "allowed-tools: Bash(git add *) Read, Write(a (b) c)"
          ].join("\n"),
          "\n# PDF\n\nRead.\n---\nMore.\n"
        ),
        "pdf"
      ),
      {
        name: "pdf",
        description: "Reads PDFs. Use it for PDFs.",
        license: "MIT",
        compatibility: "Needs poppler",
        metadata: { author: "somebody", version: "1.0", on: "yes", none: "~" },
        allowedTools: [{ name: "Bash", pattern: "git add *" }, { name: "Read" }, { name: "Write", pattern: "a (b) c" }],
        body: "# PDF\n\nRead.\n---\nMore."
      }
    )
  })

  it("accepts flow style, lists of tools, a byte order mark and CRLF", () => {
    const { allowedTools, metadata } = file(
      `\uFEFF${text("{name: skill, description: 'x', metadata: {a: 1}, allowed-tools: [Read, 'Bash(a b)']}").replaceAll("\n", "\r\n")}`
    )
    assert.deepStrictEqual(metadata, { a: "1" })
    assert.deepStrictEqual(allowedTools, [{ name: "Read" }, { name: "Bash", pattern: "a b" }])
  })

  it("ends front matter at the first line that is ---", () => {
    assert.strictEqual(file(text("name: a\ndescription: b --- c\nlicense: |\n  ---\n  MIT")).license, "---\nMIT\n")
    assert.strictEqual(file("---\nname: a\ndescription: b\n---").body, "")
    assert.deepStrictEqual(rules("---\nname: a\ndescription: b\n----\nc"), ["front-matter"])
    assert.deepStrictEqual(rules("---\nname: a\ndescription: b\n --- \nc"), ["front-matter"])
  })

  it("compares names by NFKC", () => {
    assert.strictEqual(file(named("ﬁle"), "file").name, "file")
    assert.strictEqual(file(named("cafe\u0301"), "caf\u00e9").name, "caf\u00e9")
    // 18 characters each, normalized.
    assert.deepStrictEqual(rules(named("\uFDFA".repeat(4))).includes("length"), true)
  })

  it("reports all issues at once, with their lines", () => {
    assert.deepStrictEqual(
      issues(text("name: -Bad_\nversion: 2\nallowed_tools: Read\nmetadata:\n  a: [x]"), "bad").map(
        ({ field, line, rule }) => [rule, field, line]
      ),
      [
        ["unknown-field", "version", 3],
        ["unknown-field", "allowed_tools", 4],
        ["lower-case", "name", 2],
        ["hyphens", "name", 2],
        ["characters", "name", 2],
        ["folder-name", "name", 2],
        ["missing", "description", undefined],
        ["map", "metadata", 6]
      ]
    )
    const [version, tools] = issues(with_("version: 2\nallowed_tools: Read"))
    assert.include(version?.message, '"version" is no field')
    assert.include(version?.message, "name, description, license, compatibility, metadata, allowed-tools")
    assert.include(tools?.message, "did you mean allowed-tools?")
    assert.isAtMost(issues(text(Array.from({ length: 500 }, (_, i) => `k${i}: x`).join("\n"))).length, 64)
  })

  it("warns and continues with a lenient reader", () => {
    const read = lenient(
      text(
        "description: x\nversion: 1\nmetadata:\n  a: b\n  c:\n    - d\nlicense: &l MIT\ncompatibility: *l\nallowed-tools: Bash(git Read"
      ),
      "Some_Folder"
    )
    assert.deepStrictEqual(read.file, {
      name: "Some_Folder",
      description: "x",
      license: "MIT",
      compatibility: "MIT",
      metadata: { a: "b", c: '["d"]' },
      allowedTools: [],
      body: "Do it."
    })
    assert.deepStrictEqual(
      read.warnings.map(({ rule }) => rule),
      ["yaml-feature", "yaml-feature", "unknown-field", "missing", "map", "allowed-tools"]
    )
    assert.strictEqual(lenient(with_("name: other")).file.name, "skill")
    assert.strictEqual(lenient(named("Big"), "small").file.name, "Big")
    for (const source of ["no front matter", text("name: a"), text("description: x"), with_("license: 'x")])
      assert.isTrue(Either.isLeft(SkillFileReader.parseLenient(source)))
  })

  it("never allows a tool with an unreadable pattern without the pattern", () => {
    for (const tools of ["Bash(git:*", "Bash(a))", "Bash(a)b", "Bash)", "a(b)(c)"])
      assert.deepStrictEqual(
        lenient(with_(`allowed-tools: ${tools} Read`)).file.allowedTools?.filter((t) => t.name !== "Read"),
        []
      )
  })

  it("treats keys with a meaning in JavaScript as plain keys", () => {
    const { metadata } = file(with_("metadata:\n  __proto__: x\n  constructor: y"))
    assert.deepStrictEqual(Object.entries(metadata), [
      ["__proto__", "x"],
      ["constructor", "y"]
    ])
    assert.deepStrictEqual(rules(with_("__proto__: x")), ["unknown-field"])
    assert.strictEqual(Object.getPrototypeOf(metadata), Object.prototype)
  })

  it("renders a file that reads back the same", () => {
    const line = FastCheck.string({ unit: "binary", minLength: 1, maxLength: 60 })
    const tool = FastCheck.record({
      name: FastCheck.stringMatching(/^[A-Za-z_]{1,12}$/),
      pattern: FastCheck.option(FastCheck.stringMatching(/^[a-z:* ",'#]{0,12}$/), { nil: undefined })
    }).map(({ name, pattern }) => (pattern === undefined ? { name } : { name, pattern }))
    const word = FastCheck.constantFrom(
      "yes",
      "~",
      "1.0",
      "0x1f",
      "- a",
      "a: b",
      "# c",
      "null",
      "a ",
      "",
      "é",
      "\u2028",
      "---"
    )
    const value = FastCheck.oneof(line, word)
    const files = FastCheck.record({
      name: FastCheck.stringMatching(/^[a-zé0-9]{1,8}(-[a-z0-9]{1,8}){0,3}$/),
      description: value.map((text) => text.trim()).filter((text) => text !== ""),
      license: FastCheck.option(value, { nil: undefined }),
      compatibility: FastCheck.option(
        value.filter((text) => text !== ""),
        { nil: undefined }
      ),
      metadata: FastCheck.dictionary(value, value, { maxKeys: 4, noNullPrototype: true }),
      allowedTools: FastCheck.option(FastCheck.array(tool, { maxLength: 4 }), { nil: undefined }),
      body: FastCheck.string({ unit: "binary", maxLength: 200 }).map((text) => text.trim())
    })
    const lean = (file: SkillFile.SkillFile) =>
      Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined))
    FastCheck.assert(
      FastCheck.property(files, (given) => {
        assert.deepStrictEqual(lean(file(SkillFile.render(given))), lean(given))
      }),
      { numRuns: 200, seed: 7 }
    )
  })

  describe("folders", () => {
    const skill = with_("license: MIT").replace("name: skill", "name: pdf")

    it.effect("reads a valid folder with its files and a hash", () =>
      withFolder(
        "pdf",
        { "SKILL.md": skill, "scripts/main.py": "print()", "references/b.md": "b", "a.txt": "a" },
        (folder) =>
          Effect.gen(function* () {
            const read = yield* SkillFileReader.validate(folder)
            assert.strictEqual(read.file.name, "pdf")
            assert.strictEqual(read.directory, folder)
            assert.deepStrictEqual(read.files, ["a.txt", "references/b.md", "scripts/main.py"])
            assert.match(read.hash, /^[0-9a-f]{64}$/)
            assert.deepStrictEqual(read.warnings, [])
            assert.deepStrictEqual(yield* SkillFileReader.load(folder), read)
          })
      )
    )

    it.effect("reports the issues of file and folder together", () =>
      withFolder("pdf", { "SKILL.md": named("PDF") }, (folder) =>
        Effect.gen(function* () {
          Fs.symlinkSync("/etc/hostname", NodePath.join(folder, "host"))
          Fs.symlinkSync("nowhere", NodePath.join(folder, "nothing"))
          Fs.symlinkSync("itself", NodePath.join(folder, "itself"))
          const { directory, issues } = yield* Effect.flip(SkillFileReader.validate(folder))
          assert.deepStrictEqual(
            issues.map(({ rule }) => rule),
            ["lower-case", "folder-name", "link", "link", "link"]
          )
          assert.strictEqual(directory, folder)
          const loaded = yield* SkillFileReader.load(folder)
          assert.strictEqual(loaded.file.name, "PDF")
          assert.lengthOf(loaded.warnings, 5)
          assert.deepStrictEqual(loaded.files, [])
        })
      )
    )

    it.effect("prefers SKILL.md to skill.md", () =>
      withFolder("pdf", { "skill.md": named("pdf") }, (folder) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* SkillFileReader.validate(folder)).file.license, undefined)
          Fs.writeFileSync(NodePath.join(folder, "SKILL.md"), skill)
          const read = yield* SkillFileReader.validate(folder)
          assert.strictEqual(read.file.license, "MIT")
          assert.deepStrictEqual(read.files, ["skill.md"])
        })
      )
    )

    it.effect("rejects a folder without a readable file", () =>
      withFolder("pdf", { "other.md": skill }, (folder) =>
        Effect.gen(function* () {
          const rulesOf = (path: string) =>
            Effect.map(Effect.flip(SkillFileReader.load(path)), ({ issues }) => issues.map(({ rule }) => rule))
          assert.deepStrictEqual(yield* rulesOf(folder), ["folder"])
          assert.deepStrictEqual(yield* rulesOf(NodePath.join(folder, "nothing")), ["folder"])
          assert.deepStrictEqual(yield* rulesOf(NodePath.join(folder, "other.md")), ["folder"])
          Fs.mkdirSync(NodePath.join(folder, "SKILL.md"))
          assert.deepStrictEqual(yield* rulesOf(folder), ["folder"])
          Fs.rmdirSync(NodePath.join(folder, "SKILL.md"))
          Fs.symlinkSync("/etc/hostname", NodePath.join(folder, "SKILL.md"))
          assert.deepStrictEqual(yield* rulesOf(folder), ["link"])
          Fs.rmSync(NodePath.join(folder, "SKILL.md"))
          Fs.writeFileSync(NodePath.join(folder, "SKILL.md"), "x".repeat(4 * 1024 * 1024 + 1))
          assert.deepStrictEqual(yield* rulesOf(folder), ["size"])
        })
      )
    )

    it.effect("reports bytes that are not UTF-8", () =>
      withFolder("pdf", { "SKILL.md": new Uint8Array([...new TextEncoder().encode(skill), 0xff]) }, (folder) =>
        Effect.gen(function* () {
          const { issues } = yield* Effect.flip(SkillFileReader.validate(folder))
          assert.deepStrictEqual(issues, [{ rule: "encoding", message: "SKILL.md is not UTF-8" }])
          assert.isTrue((yield* SkillFileReader.load(folder)).file.body.endsWith("\uFFFD"))
        })
      )
    )

    it.effect("hashes names and contents, and nothing else", () => {
      const hash = (files: { readonly [path: string]: string }) =>
        withFolder("pdf", { "SKILL.md": skill, ...files }, (folder) =>
          Effect.map(SkillFileReader.load(folder), ({ hash }) => hash)
        )
      return Effect.gen(function* () {
        const different = [
          {},
          { a: "" },
          { a: "b" },
          { ab: "" },
          { a: "", b: "" },
          { a: "", ab: "" },
          { "a/b": "" },
          { a: "b", c: "d" },
          { a: "bc", d: "" },
          { a: "fileb" },
          { a: "b\0c" },
          { c: "d", a: "B" }
        ]
        const hashes = yield* Effect.forEach(different, hash)
        assert.strictEqual(new Set(hashes).size, different.length)
        assert.deepStrictEqual(yield* Effect.forEach(different, hash), hashes)
        assert.strictEqual(yield* hash({ c: "d", a: "b" }), yield* hash({ a: "b", c: "d" }))
      })
    })

    it.effect("treats links within the folder as files and bounds their cycles", () =>
      withFolder("pdf", { "SKILL.md": skill, "a/b.txt": "b" }, (folder) =>
        Effect.gen(function* () {
          const before = yield* SkillFileReader.validate(folder)
          Fs.symlinkSync("..", NodePath.join(folder, "a", "up"))
          Fs.symlinkSync("a/b.txt", NodePath.join(folder, "c.txt"))
          const read = yield* SkillFileReader.validate(folder)
          assert.deepStrictEqual(read.files, ["a/b.txt", "c.txt"])
          assert.notStrictEqual(read.hash, before.hash)
        })
      )
    )

    it.effect("bounds what is read of a folder", () =>
      withFolder("pdf", { "SKILL.md": skill, a: "aaa", "b/c/d": "ddd" }, (folder) =>
        Effect.gen(function* () {
          const rulesOf = (options: SkillFileReader.ReadOptions) =>
            Effect.map(Effect.flip(SkillFileReader.validate(folder, options)), ({ issues }) =>
              issues.map(({ rule }) => rule)
            )
          assert.deepStrictEqual(yield* rulesOf({ maxFiles: 4 }), ["limit"])
          assert.deepStrictEqual(yield* rulesOf({ maxBytes: skill.length + 5 }), ["limit"])
          assert.deepStrictEqual(yield* rulesOf({ maxDepth: 1 }), ["limit"])
          const whole = yield* SkillFileReader.validate(folder, {
            maxFiles: 5,
            maxBytes: skill.length + 6,
            maxDepth: 2
          })
          assert.deepStrictEqual(whole, yield* SkillFileReader.validate(folder))
          const part = yield* SkillFileReader.load(folder, { maxFiles: 4 })
          assert.lengthOf(part.warnings, 1)
          assert.deepStrictEqual(part.files, ["a"])
        })
      )
    )
  })
})
