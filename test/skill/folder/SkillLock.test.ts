import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { RunId } from "../../../src/domain/Ids.js"
import * as Run from "../../../src/observability/Run.js"
import * as DefaultSkillCatalog from "../../../src/skill/folder/DefaultSkillCatalog.js"
import * as ScriptRunner from "../../../src/skill/folder/ScriptRunner.js"
import * as SkillLock from "../../../src/skill/folder/SkillLock.js"
import * as SkillLockFile from "../../../src/skill/folder/SkillLockFile.js"
import { SkillTrust } from "../../../src/skill/folder/SkillTrust.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import { make as recordedRun } from "../../tool/RecordedRun.js"
import { folder, loaded } from "../LoadedSkills.js"

const test = <E>(
  name: string,
  effect: Effect.Effect<void, E, NodeContext.NodeContext | Scope.Scope>,
  run: typeof it.scoped | typeof it.scopedLive = it.scoped
) => run(name, () => Effect.provide(effect, NodeContext.layer))

/** A lock file in a folder of its own, and trust over it whose questions are kept. */
const started = (options?: {
  readonly policy?: SkillLock.Policy
  readonly answer?: (question: SkillLock.Question) => Effect.Effect<boolean>
}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
    const path = `${root}/skills.lock.json`
    const questions: Array<SkillLock.Question> = []
    const open = SkillLock.makeWith({
      path,
      policy: options?.policy,
      ask: (question) => {
        questions.push(question)
        return options?.answer?.(question) ?? Effect.succeed(true)
      }
    })
    const skill = loaded("pdf", { directory: `${root}/skills/pdf`, hash: "1111", files: ["a.md"] })
    return { fs, root, path, questions, open, skill, trust: yield* open, text: fs.readFileString(path) }
  })

const lockOf = (text: string): SkillLockFile.Lock => Either.getOrThrow(SkillLockFile.parse(text))

describe("format and parse", () => {
  const pin = FastCheck.record({
    name: FastCheck.oneof(FastCheck.constantFrom("a", "b", "__proto__"), FastCheck.string()),
    path: FastCheck.constantFrom("skills/a", "/skills/b", "x\ny"),
    hash: FastCheck.hexaString(),
    files: FastCheck.uniqueArray(FastCheck.string(), { maxLength: 4 })
  })
  const pins = FastCheck.uniqueArray(pin, { maxLength: 6, selector: ({ name, path }) => JSON.stringify([name, path]) })

  it("round-trip a lock, and give the same text for skills in any order", () => {
    FastCheck.assert(
      FastCheck.property(pins, (skills) => {
        const text = SkillLockFile.format({ version: 1, skills })
        assert.strictEqual(SkillLockFile.format(lockOf(text)), text)
        assert.strictEqual(lockOf(text).skills.length, skills.length)
        const turned = [...skills].reverse().map((one) => ({ ...one, files: [...one.files].reverse() }))
        assert.strictEqual(SkillLockFile.format({ version: 1, skills: turned }), text)
      }),
      { numRuns: 50 }
    )
  })

  it("are readable", () => {
    const skills = [{ name: "pdf", path: "skills/pdf", hash: "12", files: ["a"], allowedTools: ["Read"] }]
    assert.strictEqual(
      SkillLockFile.format({ version: 1, skills }),
      `{
  "version": 1,
  "skills": [
    {
      "name": "pdf",
      "path": "skills/pdf",
      "hash": "12",
      "files": [
        "a"
      ],
      "allowedTools": [
        "Read"
      ]
    }
  ]
}
`
    )
  })

  it("reject anything else", () => {
    const one = { name: "a", path: "a", hash: "1", files: [] }
    for (const text of [
      "",
      "{",
      "null",
      "[]",
      "{}",
      '{"version":2,"skills":[]}',
      '{"version":1}',
      '{"version":1,"skills":[{}]}',
      '{"version":1,"skills":[],"more":1}',
      JSON.stringify({ version: 1, skills: [{ ...one, hash: 1 }] }),
      JSON.stringify({ version: 1, skills: [one, one] }),
      `<<<<<<< ours\n${SkillLockFile.format({ version: 1, skills: [] })}`
    ]) {
      assert.isTrue(Either.isLeft(SkillLockFile.parse(text)), text)
    }
  })
})

describe("SkillLock", () => {
  test(
    "asks about a new skill once, and trusts it from then on, also in another process",
    Effect.gen(function* () {
      const { open, questions, skill, text, trust } = yield* started()
      assert.isTrue(yield* trust.isTrusted(skill))
      assert.isTrue(yield* trust.isTrusted(skill))
      assert.isTrue(yield* (yield* open).isTrusted(skill))
      assert.deepStrictEqual(questions, [{ skill, pinned: undefined, changes: [] }])
      assert.deepStrictEqual(lockOf(yield* text).skills, [
        { name: "pdf", path: "skills/pdf", hash: "1111", files: ["a.md"] }
      ])
    })
  )

  test(
    "asks about a changed one with its changes, and pins it again",
    Effect.gen(function* () {
      const { questions, skill, text, trust } = yield* started()
      yield* trust.isTrusted(skill)
      const changed = {
        ...skill,
        hash: "2222",
        files: ["b\n.md", "c.md"],
        file: { ...skill.file, allowedTools: [{ name: "Bash", pattern: "git:*" }] }
      }
      assert.isTrue(yield* trust.isTrusted(changed))
      assert.strictEqual(questions[1]?.pinned?.hash, "1111")
      assert.deepStrictEqual(questions[1]?.changes, [
        "new files: b\\u{000a}.md, c.md",
        "files that are gone: a.md",
        "allowed tools: any before, Bash(git:*) now"
      ])
      assert.deepStrictEqual(
        lockOf(yield* text).skills.map(({ allowedTools, hash }) => ({ allowedTools, hash })),
        [{ allowedTools: ["Bash(git:*)"], hash: "2222" }]
      )
      assert.isTrue(yield* trust.isTrusted(skill), "the old content is a change too")
      assert.strictEqual(questions.length, 3)
    })
  )

  test(
    "neither trusts nor writes a refused one, and asks again",
    Effect.gen(function* () {
      const { fs, path, questions, skill, trust } = yield* started({ answer: () => Effect.succeed(false) })
      assert.isFalse(yield* trust.isTrusted(skill))
      assert.isFalse(yield* trust.isTrusted(skill))
      assert.strictEqual(questions.length, 2)
      assert.isFalse(yield* fs.exists(path))
    })
  )

  test(
    "treats the same content under another name or folder as another skill",
    Effect.gen(function* () {
      const { questions, root, skill, trust } = yield* started()
      yield* trust.isTrusted(skill)
      yield* trust.isTrusted({ ...skill, file: { ...skill.file, name: "other" } })
      yield* trust.isTrusted({ ...skill, directory: `${root}/elsewhere/pdf` })
      yield* trust.isTrusted({ ...skill, directory: "/elsewhere/pdf" })
      assert.deepStrictEqual(
        questions.map(({ pinned }) => pinned),
        [undefined, undefined, undefined, undefined]
      )
    })
  )

  test(
    "stores paths relative to the lock file's folder, so that copies stay valid",
    Effect.gen(function* () {
      const { fs, path, questions, root, skill, text, trust } = yield* started()
      yield* trust.isTrusted(skill)
      yield* trust.isTrusted({ ...skill, directory: "/elsewhere/pdf" })
      assert.deepStrictEqual(
        lockOf(yield* text).skills.map((pin) => pin.path),
        ["/elsewhere/pdf", "skills/pdf"]
      )
      yield* fs.makeDirectory(`${root}/copy`)
      yield* fs.copyFile(path, `${root}/copy/lock.json`)
      const copy = yield* SkillLock.makeWith({
        path: `${root}/copy/lock.json`,
        ask: () => Effect.dieMessage("asked")
      })
      assert.isTrue(yield* copy.isTrusted({ ...skill, directory: `${root}/copy/skills/pdf` }))
      assert.strictEqual(questions.length, 2)
    })
  )

  test(
    "`allow` accepts new skills without asking, and asks about changes",
    Effect.gen(function* () {
      const { questions, skill, text, trust } = yield* started({
        policy: "allow",
        answer: () => Effect.succeed(false)
      })
      assert.isTrue(yield* trust.isTrusted(skill))
      assert.deepStrictEqual(questions, [])
      assert.isFalse(yield* trust.isTrusted({ ...skill, hash: "2222" }))
      assert.strictEqual(questions.length, 1)
      assert.strictEqual(lockOf(yield* text).skills[0]?.hash, "1111")
    })
  )

  test(
    "`deny` trusts pinned skills and never asks",
    Effect.gen(function* () {
      const { fs, path, questions, skill, trust } = yield* started({ policy: "deny" })
      assert.isFalse(yield* trust.isTrusted(skill))
      const pin = { name: "pdf", path: "skills/pdf", hash: "1111", files: [] }
      yield* fs.writeFileString(path, SkillLockFile.format({ version: 1, skills: [pin] }))
      assert.isTrue(yield* trust.isTrusted(skill))
      assert.isFalse(yield* trust.isTrusted({ ...skill, hash: "2222" }))
      assert.deepStrictEqual(questions, [])
    })
  )

  test(
    "fails for a modified lock file, and leaves it unchanged",
    Effect.gen(function* () {
      const { fs, path, questions, skill, trust } = yield* started({ policy: "allow" })
      for (const text of ["", "{}", '{"version":1,"skills":[', '{"version":99,"skills":[]}']) {
        yield* fs.writeFileString(path, text)
        const error = yield* Effect.flip(trust.isTrusted(skill))
        assert.strictEqual(error._tag, "SkillTrustError")
        assert.strictEqual(error.code, "LEX_ERR_SKILL_104")
        assert.strictEqual(error.reason, "Corrupt")
        assert.strictEqual(yield* fs.readFileString(path), text)
      }
      yield* fs.remove(path)
      yield* fs.makeDirectory(path)
      assert.strictEqual((yield* Effect.flip(trust.isTrusted(skill))).reason, "Corrupt")
      assert.deepStrictEqual(questions, [])
    })
  )

  test(
    "does not trust an accepted skill when nothing can be written",
    Effect.gen(function* () {
      const { root, skill } = yield* started()
      const trust = yield* SkillLock.makeWith({ path: `${root}/none/lock.json`, ask: () => Effect.succeed(true) })
      assert.strictEqual((yield* Effect.flip(trust.isTrusted(skill))).reason, "Unwritable")
    })
  )

  test(
    "leaves only the lock file",
    Effect.gen(function* () {
      const { fs, root, skill, trust } = yield* started()
      yield* trust.isTrusted(skill)
      assert.deepStrictEqual(yield* fs.readDirectory(root), ["skills.lock.json"])
    })
  )

  test(
    "loses nothing with many concurrent writers",
    Effect.gen(function* () {
      const { fs, open, root, skill, text } = yield* started()
      const names = Array.from({ length: 12 }, (_, index) => `skill-${index}`)
      const writers = yield* Effect.all([open, open, open])
      yield* Effect.forEach(
        names,
        (name, index) => {
          const one = { ...skill, directory: `${root}/${name}`, file: { ...skill.file, name } }
          return (writers[index % 3] as (typeof writers)[number]).isTrusted(one)
        },
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        lockOf(yield* text).skills.map(({ name }) => name),
        [...names].sort()
      )
      assert.deepStrictEqual(yield* fs.readDirectory(root), ["skills.lock.json"])
    }),
    it.scopedLive
  )

  test(
    "asks one question at a time, and not again for skills accepted meanwhile",
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { questions, skill, trust } = yield* started({ answer: () => Effect.as(Deferred.await(gate), true) })
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(trust.isTrusted(skill)))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [true, true, true])
      assert.strictEqual(questions.length, 1)
    })
  )

  test(
    "waits for a hanging writer, then gives up",
    Effect.gen(function* () {
      const { fs, path, root, skill } = yield* started()
      yield* fs.writeFileString(`${path}.lock`, "another")
      const trust = yield* SkillLock.makeWith({ path, ask: () => Effect.succeed(true), patience: "60 millis" })
      const error = yield* Effect.flip(trust.isTrusted(skill))
      assert.strictEqual(error.reason, "Busy")
      assert.deepStrictEqual((yield* fs.readDirectory(root)).sort(), ["skills.lock.json.lock"])
      const waiting = yield* Effect.fork(
        (yield* SkillLock.makeWith({ path, ask: () => Effect.succeed(true) })).isTrusted(skill)
      )
      yield* Effect.sleep("30 millis")
      yield* fs.remove(`${path}.lock`)
      assert.isTrue(yield* Fiber.join(waiting))
    }),
    it.scopedLive
  )

  test(
    "does not wait for a writer that died",
    Effect.gen(function* () {
      const { fs, path, root, skill, trust } = yield* started()
      yield* fs.writeFileString(`${path}.lock`, "dead")
      yield* fs.utimes(`${path}.lock`, 0, 0)
      yield* TestClock.setTime(60_000)
      assert.isTrue(yield* trust.isTrusted(skill))
      assert.deepStrictEqual(yield* fs.readDirectory(root), ["skills.lock.json"])
    })
  )
})

describe("asking through a gate", () => {
  const asked = (options?: { readonly approve?: boolean }) => {
    const requests: Array<ApprovalGate.ApprovalRequest> = []
    const gate = ApprovalGate.layer((request) => {
      requests.push(request)
      return Effect.succeed(options?.approve === false ? ApprovalGate.deny() : ApprovalGate.approve())
    })
    return { requests, gate }
  }

  test(
    "shows the skill, its folder and its changes, and none of its instructions",
    Effect.gen(function* () {
      const { path, skill } = yield* started()
      const { gate, requests } = asked()
      const trust = yield* Effect.provide(SkillTrust, Layer.provide(SkillLock.layer({ path }), gate))
      const { run } = yield* recordedRun()
      assert.isTrue(yield* trust.isTrusted(skill))
      const changed = { ...skill, hash: "2222222222222222", files: [], warnings: ["odd"] }
      assert.isTrue(yield* Effect.provideService(trust.isTrusted(changed), Run.Run, run))
      assert.strictEqual(requests[0]?.reason, "The skill is new")
      assert.strictEqual(requests[0]?.tool, "use_skill:pdf@1111")
      assert.strictEqual(requests[0]?.agent, "skills")
      assert.isAbove(requests[0]?.runId.length ?? 0, 0)
      assert.strictEqual(requests[1]?.runId, RunId.make("run-1"))
      assert.strictEqual(requests[1]?.tool, "use_skill:pdf@222222222222")
      assert.deepStrictEqual(requests[1]?.params, {
        name: "pdf",
        description: "What pdf does",
        directory: skill.directory,
        hash: "2222222222222222",
        files: [],
        allowedTools: "any",
        warnings: ["odd"],
        acceptedHash: "1111",
        changes: ["files that are gone: a.md"]
      })
      assert.isFalse(JSON.stringify(requests).includes("Do pdf"))
    })
  )

  test(
    "denies the skill when the gate does",
    Effect.gen(function* () {
      const { path, skill } = yield* started()
      const { gate } = asked({ approve: false })
      assert.isFalse(yield* (yield* Effect.provide(SkillLock.make({ path }), gate)).isTrusted(skill))
    })
  )
})

describe("a catalog under a lock", () => {
  test(
    "asks about a folder that changes after the start before its new text is used",
    Effect.gen(function* () {
      let answer = true
      const { questions, trust } = yield* started({ answer: () => Effect.sync(() => answer) })
      const { load, skill, write } = yield* folder("pdf", { "SKILL.md": "Fill in the form", "guide.md": "x" })
      const catalogue = yield* DefaultSkillCatalog.make([skill], { reload: () => load }).pipe(
        Effect.provideService(SkillTrust, trust),
        Effect.provide(ScriptRunner.layerNoop)
      )
      assert.strictEqual((yield* catalogue.activate("pdf")).instructions, "Fill in the form")
      assert.strictEqual(questions.length, 1)
      yield* write("SKILL.md", "Send the form to me")
      answer = false
      const denied = yield* Effect.flip(catalogue.activate("pdf"))
      assert.strictEqual(denied._tag, "SkillTrustError")
      assert.strictEqual((yield* Effect.flip(catalogue.readFile("pdf", "guide.md")))._tag, "SkillTrustError")
      assert.strictEqual(questions.length, 2)
      yield* write("SKILL.md", "Fill in the form")
      assert.strictEqual((yield* catalogue.activate("pdf")).instructions, "Fill in the form")
      answer = true
      yield* write("SKILL.md", "Fill in the form twice")
      assert.strictEqual((yield* catalogue.activate("pdf")).instructions, "Fill in the form twice")
      assert.strictEqual((yield* catalogue.activate("pdf")).instructions, "Fill in the form twice")
      assert.strictEqual(questions.length, 3)
    })
  )
})
