import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent } from "effect-lexigram"
import { CliConfig } from "effect-lexigram/cli"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as Skills from "../../src/skill/Skills.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Commands from "../support/Commands.js"

const helper = Agent.make("helper", { system: "You help." })

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

const temporary = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-skills-")))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

const write = (folder: string, name: string, text: string): void => {
  const directory = Path.join(folder, name)
  Fs.mkdirSync(directory, { recursive: true })
  Fs.writeFileSync(Path.join(directory, "SKILL.md"), text)
}

const good = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\nDo it.\n`

describe("lexigram skills", () => {
  it.scopedLive("lists those of the application, and none without any", () =>
    Effect.gen(function* () {
      const skill = Skill.make("greet", {
        description: "Greets\u001b[2J somebody",
        parameters: { name: Schema.String },
        handler: ({ name }) => Effect.succeed(`Hello ${name}`)
      })
      const base = AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>
      const config = CliConfig.make({
        agents: [helper],
        layer: Layer.merge(
          base,
          Skills.layer({
            skills: [skill],
            config: { skillPaths: [], enabledDirectories: [], projectSkills: "off" }
          }).pipe(Layer.orDie, Layer.provide(NodeContext.layer))
        )
      })
      const text = yield* Commands.runWith(config, ["skills", "list"])
      assert.strictEqual(text.code, 0, text.err)
      assert.include(text.out, "greet")
      assert.notMatch(text.out, obeyed)
      const { json } = yield* Commands.runWith(config, ["skills", "list", "--json"])
      assert.deepInclude(json.skills[0], { name: "greet", kind: "code" })
      const none = yield* Commands.runWith(CliConfig.make({ agents: [helper], layer: base }), ["skills", "list"])
      assert.strictEqual(none.out, "No skills.\n")
    })
  )

  it.scopedLive("says every problem of folders with file and line, and passes those without any", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      write(folder, "fine", good("fine"))
      const passed = yield* Commands.run(["skills", "validate", Path.join(folder, "fine")])
      assert.deepStrictEqual([passed.code, passed.out], [0, "1 skill as they should be\n"])
      write(folder, "bad", "---\nname: Bad--name\u202e\ncolour: red\n---\n")
      write(folder, "broken", "no front matter")
      write(folder, "other", good("fine"))
      const text = yield* Commands.run(["skills", "validate", folder])
      assert.strictEqual(text.code, 7)
      assert.notMatch(text.out, obeyed)
      assert.match(text.out, /bad\/SKILL\.md:2: .*lower case.*\(lower-case\)/)
      assert.match(text.out, /bad\/SKILL\.md:3: .*colour.*\(unknown-field\)/)
      assert.match(text.out, /broken\/SKILL\.md:1: .*\(front-matter\)/)
      assert.match(text.out, /other\/SKILL\.md:2: .*\(folder-name\)/)
      assert.notInclude(text.out, "fine/SKILL.md")
      const json = (yield* Commands.run(["skills", "validate", folder, "--json"])).json
      assert.strictEqual(json.skills, 4)
      assert.isTrue(json.problems.some(({ line, rule }: any) => rule === "missing" && line === undefined))
      const missing = yield* Commands.run(["skills", "validate", Path.join(folder, "none")])
      assert.strictEqual(missing.code, 7)
      assert.include(missing.out, "There is no such folder")
      assert.strictEqual((yield* Commands.run(["skills", "validate"])).code, 2)
    })
  )

  it.scopedLive("locks folders as they are, and fails when one is new or has changed", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const file = Path.join(folder, "skills.lock.json")
      const skills = Path.join(folder, "skills")
      write(skills, "one", good("one"))
      const lock = (...args: ReadonlyArray<string>) => Commands.run(["skills", "lock", skills, "--file", file, ...args])
      const unlocked = yield* lock("--check")
      assert.strictEqual(unlocked.code, 7)
      assert.isFalse(Fs.existsSync(file))
      assert.strictEqual((yield* lock()).code, 0)
      const pins = JSON.parse(Fs.readFileSync(file, "utf8")).skills
      assert.deepInclude(pins[0], { name: "one", path: "skills/one" })
      const same = yield* lock("--check", "--json")
      assert.deepStrictEqual([same.code, same.json.skills[0].state], [0, "same"])

      Fs.writeFileSync(Path.join(skills, "one", "run\u001b.sh"), "rm")
      write(skills, "two", good("two"))
      const before = Fs.readFileSync(file, "utf8")
      const changed = yield* lock("--check")
      assert.strictEqual(changed.code, 7)
      assert.include(changed.out, "changed  one")
      assert.include(changed.out, "new files: run")
      assert.include(changed.out, "new      two")
      assert.include(changed.err, "2 skills")
      assert.notMatch(changed.out, obeyed)
      assert.strictEqual(Fs.readFileSync(file, "utf8"), before)
      assert.strictEqual((yield* lock()).code, 0)
      assert.strictEqual((yield* lock("--check")).code, 0)

      Fs.writeFileSync(file, "{")
      const corrupt = yield* lock("--check")
      assert.notStrictEqual(corrupt.code, 0)
      assert.include(corrupt.err, "is no JSON")
      const none = yield* Commands.run(["skills", "lock", Path.join(folder, "none"), "--file", file])
      assert.strictEqual(none.code, 4)
    })
  )
})
