import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { AllowedTool } from "../../../src/skill/definition/SkillFile.js"
import * as AllowedTools from "../../../src/skill/folder/AllowedTools.js"
import * as Growth from "../../support/Growth.js"

const read = (text: string): AllowedTool => {
  const at = text.indexOf("(")
  return at === -1 ? { name: text } : { name: text.slice(0, at), pattern: text.slice(at + 1, -1) }
}

const bash = (command: unknown) => ({ name: "Bash", params: { command } })
const allows = (allowed: string, call: AllowedTools.Call, options?: AllowedTools.Options) =>
  AllowedTools.allows([read(allowed)], call, options)

describe("AllowedTools", () => {
  it("allow every call of a plain name, in any notation", () => {
    assert.isTrue(allows("Read", { name: "Read", params: { path: "/etc/passwd" } }))
    assert.isTrue(allows("Read", { name: "read", params: undefined }))
    assert.isTrue(allows("mcp__git__*", { name: "mcp__git__log", params: {} }))
    assert.isFalse(allows("Read", { name: "Reader", params: {} }))
    assert.isFalse(allows("Read", { name: "", params: {} }))
    assert.isFalse(allows("mcp__git__*", { name: "mcp__gitx", params: {} }))
    assert.isFalse(AllowedTools.allows([], { name: "Read", params: {} }))
  })

  it("match patterns of commands", () => {
    const table: ReadonlyArray<readonly [pattern: string, command: string, expected: boolean]> = [
      ["git:*", "git", true],
      ["git:*", "git status", true],
      ["git:*", "git\tstatus", true],
      ["git:*", "git diff ../other", true],
      ["git:*", "gitx status", false],
      ["git:*", " git status", false],
      ["git:*", "GIT status", false],
      ["git:*", "X=1 git status", false],
      ["git:*", "", false],
      ["git log:*", "git log -1", true],
      ["git log:*", "git push", false],
      ["git *", "git status", true],
      ["git *", "git", false],
      ["npm run *:*", "npm run test --watch", true],
      ["npm test", "npm test", true],
      ["npm test", "npm test --watch", false],
      ["make && make install", "make && make install", true],
      ["*", "rm -rf / ; reboot", true],
      [":*", "rm -rf / ; reboot", true],
      ["", "", true],
      ["", "ls", false],
      ["a*b*c", "a1b2c", true],
      ["a*b*c", "abc", true],
      ["a*b*c", "acb", false],
      ["ab*ba", "aba", false],
      ["**", "x", true],
      ["git?", "gitx", false],
      ["(a+)+$*", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", false]
    ]
    for (const [pattern, command, expected] of table) {
      assert.strictEqual(allows(`Bash(${pattern})`, bash(command)), expected, `${pattern} / ${command}`)
    }
  })

  it("hide no shell syntax in a star", () => {
    const parts = [";", "&&", "||", "&", "|", "`", "$(", "${", "$[", "\n", "\r", "\u0000", "\u2028", ">", "<", "\u0085"]
    for (const part of parts) {
      for (const pattern of ["git:*", "git *", "git*", "git *:*"]) {
        for (const command of [`git status${part} rm -rf .`, `git ${part}`, `git "${part}"`]) {
          assert.isFalse(allows(`Bash(${pattern})`, bash(command)), JSON.stringify([pattern, command]))
        }
      }
    }
  })

  it("keep a star inside a path", () => {
    const reads = (path: string) => allows("Read(docs/*)", { name: "Read", params: { path } })
    assert.isTrue(reads("docs/a.md"))
    assert.isTrue(reads("docs/a..b/c"))
    for (const path of [
      "docs/../secret",
      "docs/..",
      "docs\\..\\secret",
      "docs/a\\../../secret",
      "docs/%2e%2e/secret",
      "docs/.%2E%2fsecret",
      "docs/a ../secret",
      "../docs/a",
      "/docs/a"
    ])
      assert.isFalse(reads(path), path)
  })

  it("allow syntax characters in addresses, but no white space", () => {
    const fetches = (url: string) => allows("Fetch(https://example.com/*)", { name: "Fetch", params: { url } })
    assert.isTrue(fetches("https://example.com/a?b=1&c=2;d"))
    assert.isFalse(fetches("https://example.com/a b"))
    assert.isFalse(fetches("https://example.com/a\nb"))
    assert.isFalse(fetches("https://example.com/../b"))
    assert.isFalse(fetches("https://example.com.evil.test/"))
    assert.isFalse(fetches("http://example.com/a"))
  })

  it("must match all of several texts, unless one of them is the argument", () => {
    const params = { command: "git status", options: [{ directory: "/etc" }] }
    const call = { name: "Bash", params }
    const options = { mainArguments: { Bash: "command" } }
    assert.isFalse(allows("Bash(git:*)", call))
    assert.isTrue(allows("Bash(git:*)", call, options))
    assert.isTrue(allows("Bash(git:*)", { name: "Bash", params: { a: "git log", b: ["git status"], n: 1 } }))
    assert.isFalse(allows("Bash(git:*)", { name: "Bash", params: { other: "git log" } }, options))
    assert.isFalse(allows("Bash(git:*)", { name: "Bash", params: { command: ["git log"] } }, options))
    assert.isFalse(
      allows("Bash(git:*)", { name: "Bash", params: Object.create({ command: "git log" }) }, options),
      "inherited"
    )
  })

  it("match no call without a text", () => {
    for (const params of [undefined, null, {}, [], { n: 1, on: true, none: null }]) {
      assert.isFalse(allows("Bash(git:*)", { name: "Bash", params }))
      assert.isFalse(allows("Bash(*)", { name: "Bash", params }))
      assert.isTrue(allows("Bash", { name: "Bash", params }))
    }
  })

  it("treat a bare text as the argument", () => {
    assert.isTrue(allows("Bash(git:*)", { name: "Bash", params: "git status" }))
    assert.isFalse(allows("Bash(git:*)", { name: "Bash", params: "rm" }))
  })

  it("map a name to tools of other names", () => {
    const options = { aliases: { Bash: ["run_command"] }, mainArguments: { run_command: "command" } }
    const call = { name: "run_command", params: { command: "git log", directory: "." } }
    assert.isTrue(allows("Bash(git:*)", call, options))
    assert.isFalse(allows("Bash(npm:*)", call, options))
    assert.isFalse(allows("Bash(git:*)", call))
    assert.isFalse(allows("constructor", { name: "x", params: {} }, { aliases: {} }))
    assert.isFalse(allows("__proto__", { name: "x", params: {} }, { aliases: {} }))
  })

  it("allow a call by any entry", () => {
    const allowed = ["Bash(git:*)", "Read", "Bash(npm test)"].map(read)
    assert.isTrue(AllowedTools.allows(allowed, bash("npm test")))
    assert.isTrue(AllowedTools.allows(allowed, { name: "Read", params: {} }))
    assert.isFalse(AllowedTools.allows(allowed, bash("npm install")))
    // No two entries allow together what neither allows alone.
    assert.isFalse(AllowedTools.allows(allowed, { name: "Bash", params: { a: "git log", b: "npm test" } }))
  })

  it("take no time for long texts and deep or circular parameters, and allow nothing", () => {
    const stars = `${"a*".repeat(500)}b`
    assert.isFalse(allows(`Bash(${stars})`, bash("a".repeat(100_000))))
    assert.isFalse(allows(`Bash(${"x".repeat(AllowedTools.MAX_PATTERN_LENGTH)}*)`, bash("x".repeat(100_000))))
    assert.isFalse(allows("Bash(git:*)", bash(`git ${"../../".repeat(100_000)};`)))
    assert.isFalse(allows("Bash(git *)", bash(`git ${".".repeat(100_000)}`.concat("/../"))))
    let deep: unknown = "git log"
    for (let depth = 0; depth < 200; depth++) deep = [deep]
    assert.isFalse(allows("Bash(git:*)", bash(deep)))
    const circular: Record<string, unknown> = { a: "git log" }
    circular["self"] = [circular, circular]
    assert.isTrue(allows("Bash(git:*)", bash(circular)))
    assert.isFalse(allows("Bash(npm:*)", bash(circular)))
    Growth.assertLinearTexts(["a"], (text) => allows(`Bash(${stars})`, bash(text)), 100_000)
    Growth.assertLinearTexts(["../../"], (text) => allows("Bash(git:*)", bash(`git ${text};`)), 300_000)
    Growth.assertLinearTexts(["."], (text) => allows("Bash(git *)", bash(`git ${text}/../`)), 100_000)
  })

  it("allow by a star pattern only plain words that begin as the pattern does", () => {
    const word = FastCheck.constantFrom("git", "rm", " ", ";", "|", "&", "$(", "`", "\n", "..", "/", "x", ">", "\\")
    FastCheck.assert(
      FastCheck.property(FastCheck.array(word, { maxLength: 8 }), (words) => {
        const command = words.join("")
        const expected = /^git(?:[ \t].*)?$/s.test(command) && !/[;|&`\n>]|\$\(/.test(command)
        assert.strictEqual(allows("Bash(git:*)", bash(command)), expected, command)
      }),
      { numRuns: 500 }
    )
  })

  it("render an entry as it is written in a skill", () => {
    for (const text of ["Read", "Bash(git:*)", "Bash()"]) assert.strictEqual(AllowedTools.format(read(text)), text)
  })
})
