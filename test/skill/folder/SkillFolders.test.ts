import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePathLayer from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillFileReader from "../../../src/skill/definition/SkillFileReader.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import type * as FolderFollower from "../../../src/skill/folder/FolderFollower.js"
import type * as FolderScan from "../../../src/skill/folder/FolderScan.js"
import * as ScriptRunner from "../../../src/skill/folder/ScriptRunner.js"
import * as SkillFolders from "../../../src/skill/folder/SkillFolders.js"
import { SkillTrustError } from "../../../src/skill/folder/SkillTrust.js"

const onDisk = Layer.merge(NodeFileSystem.layer, NodePathLayer.layer)

const text = (name: string, body = "Do it.") => `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}`

const put = (root: string, files: { readonly [path: string]: string }): void => {
  for (const [path, content] of Object.entries(files)) {
    const target = NodePath.join(root, path)
    Fs.mkdirSync(NodePath.dirname(target), { recursive: true })
    Fs.writeFileSync(target, content)
  }
}

const remove = (root: string, path: string): void => Fs.rmSync(NodePath.join(root, path), { recursive: true })

const folder = (files: { readonly [path: string]: string } = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const root = Fs.realpathSync(Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "skills-")))
      put(root, files)
      return root
    }),
    (root) => Effect.sync(() => Fs.rmSync(root, { recursive: true, force: true }))
  )

const names = ({ skills }: FolderScan.Scan) => skills.map(({ file }) => file.name)
const reasons = ({ problems }: FolderScan.Scan) => problems.map(({ reason }) => reason)

const loaded = (files: { readonly [path: string]: string }) =>
  Effect.gen(function* () {
    const root = yield* folder(files)
    const { skills } = yield* SkillFolders.scan({ paths: [root] })
    return skills[0] ?? assert.fail("no skill")
  })

const execute = (
  skill: Skill.Skill<Readonly<Record<string, unknown>>, unknown, unknown, ScriptRunner.ScriptRunner>,
  params: unknown
) =>
  Effect.flatMap(skill.erased.decode(params), (decoded) =>
    skill.erased.handle(decoded, { skillName: skill.definition.name, id: "1", attempt: 1 }, () =>
      Effect.die("not used")
    )
  )

/** Says what it was asked to run. */
const told: Layer.Layer<ScriptRunner.ScriptRunner> = Layer.succeed(ScriptRunner.ScriptRunner, {
  run: ({ params, script, skillName }) =>
    Effect.succeed({ stdout: "", stderr: "", output: { skillName, script, params }, durationMs: 1 })
})

/** A file system whose watchers are counted, and whose events are those that the test tells. */
const counted = () => {
  const open = new Map<string, number>()
  const listeners = new Set<{ readonly path: string; readonly queue: Queue.Queue<FileSystem.WatchEvent> }>()
  const watch: FileSystem.FileSystem["watch"] = (path) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const queue = yield* Queue.unbounded<FileSystem.WatchEvent>()
        const listener = { path, queue }
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            listeners.add(listener)
            open.set(path, (open.get(path) ?? 0) + 1)
          }),
          () =>
            Effect.sync(() => {
              listeners.delete(listener)
              open.set(path, (open.get(path) ?? 0) - 1)
            })
        )
        return Stream.fromQueue(queue)
      })
    )
  const layer = Layer.merge(
    Layer.map(NodeFileSystem.layer, (context) => {
      const fs = Context.get(context, FileSystem.FileSystem)
      return Context.make(FileSystem.FileSystem, { ...fs, watch })
    }),
    NodePathLayer.layer
  )
  return {
    layer,
    listeners,
    open: () =>
      [...open]
        .filter(([, count]) => count !== 0)
        .map(([path]) => path)
        .sort(),
    most: () => Math.max(0, ...open.values())
  }
}

const labelOf = (change: SkillFolders.Change): string => `${change._tag} ${change.skill.file.name}`

/** The changes of a stream, to be taken one by one. */
const follow = (options: FolderFollower.WatchOptions) =>
  Effect.gen(function* () {
    const changes = yield* Queue.unbounded<string>()
    yield* Effect.forkScoped(
      Stream.runForEach(SkillFolders.watch(options), (change) => Queue.offer(changes, labelOf(change)))
    )
    return Queue.take(changes).pipe(
      Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => "no change was told" as const })
    )
  })

describe("SkillFolders", () => {
  describe("scan", () => {
    it.scoped("finds skills up to a depth, in the order of their paths", () =>
      Effect.gen(function* () {
        const root = yield* folder({
          "b/SKILL.md": text("b"),
          "a/SKILL.md": text("a"),
          "B/SKILL.md": text("B"),
          "é/SKILL.md": text("é"),
          "group/c/SKILL.md": text("c"),
          "1/2/3/4/5/SKILL.md": text("5"),
          "1/2/3/4/5/6/SKILL.md": text("6"),
          ".hidden/d/SKILL.md": text("d"),
          "node_modules/e/SKILL.md": text("e"),
          "README.md": "no skill"
        })
        const scan = yield* SkillFolders.scan({ paths: [root] })
        assert.deepStrictEqual(names(scan), ["5", "B", "a", "b", "c", "é"])
        assert.deepStrictEqual(reasons(scan), [])
        assert.deepStrictEqual(names(yield* SkillFolders.scan({ paths: [root], maxDepth: 1 })), ["B", "a", "b", "é"])
        assert.deepStrictEqual(names(yield* SkillFolders.scan({ paths: [NodePath.join(root, "b")] })), ["b"])
        assert.deepStrictEqual(yield* SkillFolders.scan({ paths: [root] }), scan)
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("finds skills within a skill, but not in its scripts, references and assets", () =>
      Effect.gen(function* () {
        const root = yield* folder({
          "a/SKILL.md": text("a"),
          "a/b/SKILL.md": text("b"),
          "a/assets/c/SKILL.md": text("c"),
          "assets/d/SKILL.md": text("d")
        })
        assert.deepStrictEqual(names(yield* SkillFolders.scan({ paths: [root] })), ["a", "b", "d"])
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("prefers the first path for two skills with one name, and accepts overlapping paths", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "x/a/SKILL.md": text("a", "x"), "y/a/SKILL.md": text("a", "y") })
        const [x, y] = [NodePath.join(root, "x"), NodePath.join(root, "y")]
        const scan = yield* SkillFolders.scan({ paths: [y, x, y, root] })
        assert.deepStrictEqual(
          scan.skills.map(({ file }) => file.body),
          ["y"]
        )
        assert.deepStrictEqual(
          scan.problems.map(({ path, reason, skillName }) => [reason, path, skillName]),
          [["Duplicate", NodePath.join(x, "a"), "a"]]
        )
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("reports a malformed file with its path, and continues", () =>
      Effect.gen(function* () {
        const root = yield* folder({
          "a/SKILL.md": "no front matter",
          "b/SKILL.md": text("b"),
          "c/SKILL.md": text("other")
        })
        const scan = yield* SkillFolders.scan({ paths: [root] })
        assert.deepStrictEqual(names(scan), ["b", "other"])
        assert.deepStrictEqual(scan.skills[1]?.warnings.length, 1)
        assert.deepStrictEqual(
          scan.problems.map(({ issues, path, reason }) => [reason, path, issues?.map(({ rule }) => rule)]),
          [["Malformed", NodePath.join(root, "a"), ["front-matter"]]]
        )
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("follows links within a path once, and never out of it", () =>
      Effect.gen(function* () {
        const outside = yield* folder({ "z/SKILL.md": text("z") })
        const root = yield* folder({ "b/SKILL.md": text("b"), ".store/c/SKILL.md": text("c") })
        Fs.symlinkSync("b", NodePath.join(root, "a"))
        Fs.symlinkSync(".store/c", NodePath.join(root, "c"))
        Fs.symlinkSync("..", NodePath.join(root, "b", "up"))
        Fs.symlinkSync(".", NodePath.join(root, "loop"))
        Fs.symlinkSync(outside, NodePath.join(root, "out"))
        Fs.symlinkSync("nowhere", NodePath.join(root, "nothing"))
        const scan = yield* SkillFolders.scan({ paths: [root] })
        assert.deepStrictEqual(names(scan), ["b", "c"])
        assert.deepStrictEqual(scan.problems.map(({ path, reason }) => [reason, NodePath.basename(path)]).sort(), [
          ["Link", "nothing"],
          ["Link", "out"]
        ])
        const link = NodePath.join(outside, "link")
        Fs.symlinkSync(root, link)
        assert.deepStrictEqual(names(yield* SkillFolders.scan({ paths: [link] })), ["b", "c"])
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("ignores a missing path, and reports one that is not a folder", () =>
      Effect.gen(function* () {
        const root = yield* folder({ file: "x" })
        const scan = yield* SkillFolders.scan({ paths: [NodePath.join(root, "none"), NodePath.join(root, "file")] })
        assert.deepStrictEqual(
          scan.problems.map(({ path, reason }) => [reason, path]),
          [["Unreadable", NodePath.join(root, "file")]]
        )
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("resolves ~ to the home of the options, else of the configuration", () =>
      Effect.gen(function* () {
        const home = yield* folder({ "skills/a/SKILL.md": text("a"), "~x/b/SKILL.md": text("b") })
        const withHome = (values: ReadonlyArray<readonly [string, string]>) =>
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(values)))
        assert.deepStrictEqual(names(yield* SkillFolders.scan({ paths: ["~/skills"], home })), ["a"])
        assert.deepStrictEqual(names(yield* withHome([["HOME", home]])(SkillFolders.scan({ paths: ["~"] }))), [
          "a",
          "b"
        ])
        assert.deepStrictEqual(reasons(yield* withHome([])(SkillFolders.scan({ paths: ["~/skills"] }))), ["Home"])
        assert.deepStrictEqual(reasons(yield* withHome([])(SkillFolders.scan({ paths: ["~x"] }))), [])
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("reports a refused skill, which hides none of its name or itself under another path", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "x/a/SKILL.md": text("a", "x"), "y/a/SKILL.md": text("a", "y") })
        const [x, y] = [NodePath.join(root, "x"), NodePath.join(root, "y")]
        const asked: Array<string> = []
        const scan = (options: Pick<FolderScan.ScanOptions, "paths" | "admit">) =>
          Effect.map(SkillFolders.scan(options), ({ problems, skills }) => [
            skills.map(({ file }) => file.body),
            problems.map(({ message, path, reason }) => [reason, path, message.replace(/^.*accept it$/, "denied")])
          ])
        const admit = (_: unknown, path: string) =>
          Effect.suspend(() => {
            asked.push(path)
            return path === x ? Effect.succeed(false) : Effect.succeed(true)
          })
        assert.deepStrictEqual(yield* scan({ paths: [x, y], admit }), [
          ["y"],
          [["Untrusted", NodePath.join(x, "a"), "denied"]]
        ])
        assert.deepStrictEqual(asked, [x, y])
        assert.deepStrictEqual((yield* scan({ paths: [x, root], admit }))[0], ["x"])
        const error = new SkillTrustError({ skillName: "a", reason: "Busy", message: "Not now", hint: "Wait" })
        assert.deepStrictEqual(yield* scan({ paths: [x], admit: () => error }), [
          [],
          [["Untrusted", NodePath.join(x, "a"), "Not now. Wait"]]
        ])
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("reads no more entries than the options allow", () =>
      Effect.gen(function* () {
        const root = yield* folder({ "a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "c/SKILL.md": text("c") })
        const scan = yield* SkillFolders.scan({ paths: [root, root], maxEntries: 4 })
        assert.deepStrictEqual(names(scan), ["a", "b"])
        assert.deepStrictEqual(reasons(scan), ["Limit"])
        assert.deepStrictEqual(reasons(yield* SkillFolders.scan({ paths: [root], maxEntries: 6 })), [])
        const part = yield* SkillFolders.scan({ paths: [root], read: { maxFiles: 0 } })
        assert.lengthOf(part.skills[0]?.warnings ?? [], 1)
      }).pipe(Effect.provide(onDisk))
    )
  })

  describe("the file system calls of a scan", () => {
    const operations = ["readDirectory", "readFile", "readLink", "realPath", "stat"] as const
    type Operation = (typeof operations)[number]

    /** Counts what is asked for by path. A disk that says nothing of its inodes is none that Node sees. */
    const counting = (options: { readonly isNode: boolean }) => {
      const calls: Array<readonly [Operation, string]> = []
      const layer = Layer.merge(
        Layer.map(NodeFileSystem.layer, (context) => {
          const fs = Context.get(context, FileSystem.FileSystem)
          const told =
            <A extends ReadonlyArray<unknown>, B>(name: Operation, f: (path: string, ...rest: A) => B) =>
            (path: string, ...rest: A): B => {
              calls.push([name, path])
              return f(path, ...rest)
            }
          return Context.make(FileSystem.FileSystem, {
            ...fs,
            readDirectory: told("readDirectory", fs.readDirectory),
            readFile: told("readFile", fs.readFile),
            readLink: told("readLink", fs.readLink),
            realPath: told("realPath", fs.realPath),
            stat: told("stat", (path) =>
              Effect.map(fs.stat(path), (info) => (options.isNode ? info : { ...info, ino: Option.none() }))
            )
          })
        }),
        NodePathLayer.layer
      )
      const count = () =>
        Object.fromEntries(operations.map((name) => [name, calls.filter(([called]) => called === name).length]))
      return { calls, count, layer }
    }

    it.scoped("list each folder once, read each file once, and resolve only the root", () => {
      const node = counting({ isNode: true })
      const other = counting({ isNode: false })
      return Effect.gen(function* () {
        const names = Array.from({ length: 40 }, (_, i) => `s${i}`)
        const root = yield* folder(
          Object.fromEntries(
            names.flatMap((name) => [
              [`${name}/SKILL.md`, text(name)],
              [`${name}/scripts/main.sh`, "echo"]
            ])
          )
        )
        const scan = SkillFolders.scan({ paths: [root] })
        const first = yield* Effect.provide(scan, node.layer)
        assert.deepStrictEqual([first.skills.length, first.problems.length], [40, 0])
        // Node lists. The size of each file is asked for, and whether Node sees the same root.
        assert.deepStrictEqual(node.count(), { readDirectory: 0, readFile: 80, readLink: 0, realPath: 1, stat: 81 })
        assert.deepStrictEqual(yield* Effect.provide(scan, other.layer), first)
        // A folder and its scripts, the file and the script; of files the size as well.
        assert.deepStrictEqual(other.count(), {
          readDirectory: 81,
          readFile: 80,
          readLink: 160,
          realPath: 1,
          stat: 241
        })
        assert.strictEqual(new Set(node.calls.map((call) => call.join(" "))).size, node.calls.length)
      })
    })

    it.scoped("hash the very bytes that were read, including links within a skill", () => {
      return Effect.gen(function* () {
        const root = yield* folder({ "a/text.md": text("a"), "a/references/b.md": "b" })
        Fs.symlinkSync("text.md", NodePath.join(root, "a", "SKILL.md"))
        Fs.symlinkSync("../../outside.md", NodePath.join(root, "a", "references", "out.md"))
        put(root, { "outside.md": "x" })
        for (const isNode of [true, false]) {
          const { layer } = counting({ isNode })
          const [skill] = (yield* Effect.provide(SkillFolders.scan({ paths: [root] }), layer)).skills
          assert.deepStrictEqual(skill, yield* Effect.provide(SkillFileReader.load(NodePath.join(root, "a")), layer))
          assert.deepStrictEqual(skill?.files, ["references/b.md", "text.md"])
          assert.lengthOf(skill?.warnings ?? [], 1)
        }
      })
    })

    it.scoped("resolve an entry that does not say whether it is a link", () =>
      Effect.gen(function* () {
        const outside = yield* folder({ "z/SKILL.md": text("z") })
        const root = yield* folder({ "a/SKILL.md": text("a") })
        Fs.symlinkSync(outside, NodePath.join(root, "out"))
        const mute = Layer.merge(
          Layer.map(NodeFileSystem.layer, (context) =>
            Context.make(FileSystem.FileSystem, {
              ...Context.get(context, FileSystem.FileSystem),
              stat: (path) =>
                Effect.map(Context.get(context, FileSystem.FileSystem).stat(path), (info) => ({
                  ...info,
                  ino: Option.none()
                })),
              readLink: FileSystem.makeNoop({}).readLink
            })
          ),
          NodePathLayer.layer
        )
        const scan = yield* Effect.provide(SkillFolders.scan({ paths: [root] }), mute)
        assert.deepStrictEqual([names(scan), reasons(scan)], [["a"], ["Link"]])
      }).pipe(Effect.provide(onDisk))
    )
  })

  describe("toSkill", () => {
    it.scoped("returns the instructions of a skill without a script", () =>
      Effect.gen(function* () {
        const one = yield* loaded({ "a/SKILL.md": text("a", "Read $ARGUMENTS."), "a/references/b.md": "b" })
        const skill = SkillFolders.toSkill(one)
        const said = (params: unknown) => Effect.map(execute(skill, params), (output) => (output as any).instructions)
        assert.deepStrictEqual(yield* execute(skill, { arguments: "the file" }), {
          status: "instruction_only",
          instructions: "Read the file.",
          skillDir: one.directory,
          files: ["references/b.md"]
        })
        assert.strictEqual(yield* said({ path: "x", arguments: "y" }), "Read path='x', arguments='y'.")
        assert.strictEqual(yield* said({}), "Read .")
        assert.isNotEmpty(yield* Skill.validate(skill, { arguments: 1 }))
      }).pipe(Effect.provide(Layer.merge(onDisk, ScriptRunner.layerNoop)))
    )

    it.scoped("records the origin in the definition, which the file cannot change", () =>
      Effect.gen(function* () {
        const front =
          "name: a\ndescription: b\nlicense: MIT\nallowed-tools: Read\nmetadata:\n  author: c\n  skillDir: /etc\n  license: d\n  compatibility: e"
        const one = yield* loaded({ "a/SKILL.md": `---\n${front}\n---\n` })
        const { category, metadata, permissions } = SkillFolders.toSkill(one).definition
        assert.strictEqual(category, "skill_source")
        assert.deepStrictEqual(metadata, {
          author: "c",
          skillDir: one.directory,
          license: "MIT",
          allowedTools: [{ name: "Read" }],
          files: [],
          hash: one.hash
        })
        assert.deepStrictEqual(permissions, [])
        const treated = SkillFolders.toSkill(one, { traits: ({ file }) => ({ permissions: [`skills.${file.name}`] }) })
        assert.deepStrictEqual(treated.definition.permissions, ["skills.a"])
        assert.strictEqual(SkillFolders.toSkill(one, { traits: { category: "x" } }).definition.category, "x")
      }).pipe(Effect.provide(onDisk))
    )

    it.scoped("runs the first main script of an allowed type with the parameters", () =>
      Effect.gen(function* () {
        const one = yield* loaded({
          "a/SKILL.md": text("a"),
          "a/scripts/main.sh": "",
          "a/scripts/main.js": "",
          "a/scripts/main.py": ""
        })
        const script = (options?: SkillFolders.SkillOptions) =>
          Effect.map(execute(SkillFolders.toSkill(one, options), { n: 1 }), (output) => output as any)
        assert.deepStrictEqual(yield* script(), {
          status: "success",
          output: { skillName: "a", script: "scripts/main.py", params: { n: 1 } },
          skillDir: one.directory
        })
        assert.strictEqual((yield* script({ allowedScriptTypes: ["sh", "js"] })).output.script, "scripts/main.js")
        assert.strictEqual((yield* script({ allowedScriptTypes: ["sh"] })).output.script, "scripts/main.sh")
        assert.strictEqual((yield* script({ allowedScriptTypes: [] })).status, "instruction_only")
      }).pipe(Effect.provide(Layer.merge(onDisk, told)))
    )
  })

  describe("watch", () => {
    it.scopedLive(
      "reports added, changed and removed skills from file system events",
      () =>
        Effect.gen(function* () {
          const root = yield* folder({ "a/SKILL.md": text("a") })
          const next = yield* follow({ paths: [root], debounce: "20 millis" })
          assert.strictEqual(yield* next, "Added a")
          put(root, { "b/SKILL.md": text("b") })
          assert.strictEqual(yield* next, "Added b")
          put(root, { "b/scripts/main.py": "print(1)" })
          assert.strictEqual(yield* next, "Changed b")
          put(root, { "b/scripts/main.py": "print(2)" })
          assert.strictEqual(yield* next, "Changed b")
          remove(root, "a")
          assert.strictEqual(yield* next, "Removed a")
        }).pipe(Effect.provide(onDisk)),
      60_000
    )

    it.scopedLive(
      "looks for a path that does not exist yet",
      () =>
        Effect.gen(function* () {
          const root = yield* folder()
          const next = yield* follow({
            paths: [NodePath.join(root, "later")],
            debounce: "20 millis",
            fallback: "50 millis"
          })
          put(root, { "later/a/SKILL.md": text("a") })
          assert.strictEqual(yield* next, "Added a")
          remove(root, "later")
          assert.strictEqual(yield* next, "Removed a")
          put(root, { "later/a/SKILL.md": text("a") })
          assert.strictEqual(yield* next, "Added a")
        }).pipe(Effect.provide(onDisk)),
      60_000
    )

    it.scopedLive(
      "polls a file system without events",
      () => {
        const still = Layer.merge(
          Layer.map(NodeFileSystem.layer, (context) => {
            const fs = Context.get(context, FileSystem.FileSystem)
            return Context.make(FileSystem.FileSystem, { ...fs, watch: FileSystem.makeNoop({}).watch })
          }),
          NodePathLayer.layer
        )
        return Effect.gen(function* () {
          const root = yield* folder({ "a/SKILL.md": text("a") })
          const next = yield* follow({ paths: [root], debounce: "10 millis", fallback: "30 millis" })
          assert.strictEqual(yield* next, "Added a")
          put(root, { "a/SKILL.md": text("a", "Other.") })
          assert.strictEqual(yield* next, "Changed a")
        }).pipe(Effect.provide(still))
      },
      300_000
    )

    it.scopedLive(
      "watches each folder once, within a bound, and closes with the stream",
      () => {
        const file = counted()
        return Effect.gen(function* () {
          const root = yield* folder({
            "a/SKILL.md": text("a"),
            "a/scripts/x/main.py": "",
            "node_modules/b/SKILL.md": text("b"),
            ".git/objects/x": ""
          })
          const scope = yield* Scope.make()
          const next = yield* Scope.extend(follow({ paths: [root], debounce: "10 millis" }), scope)
          assert.strictEqual(yield* next, "Added a")
          const below = (...paths: ReadonlyArray<string>) => paths.map((path) => NodePath.join(root, path)).sort()
          const opened = (count: number) =>
            Effect.repeat(Effect.sleep("5 millis"), { until: () => file.open().length === count, times: 2000 })
          yield* opened(4)
          assert.deepStrictEqual(file.open(), below("", "a", "a/scripts", "a/scripts/x"))
          remove(root, "a/scripts")
          for (const { queue } of file.listeners) yield* Queue.offer(queue, FileSystem.WatchEventUpdate({ path: "x" }))
          assert.strictEqual(yield* next, "Changed a")
          yield* opened(2)
          assert.deepStrictEqual(file.open(), below("", "a"))
          assert.strictEqual(file.most(), 1)
          yield* Scope.close(scope, Exit.void)
          assert.deepStrictEqual(file.open(), [])
          const few = yield* Scope.make()
          const bounded = yield* Scope.extend(
            follow({ paths: [root], debounce: "10 millis", fallback: "20 millis", maxWatchers: 1 }),
            few
          )
          assert.strictEqual(yield* bounded, "Added a")
          put(root, { "a/new": "x" })
          assert.strictEqual(yield* bounded, "Changed a")
          assert.lengthOf(file.open(), 1)
          yield* Scope.close(few, Exit.void)
          assert.deepStrictEqual(file.open(), [])
        }).pipe(Effect.provide(file.layer))
      },
      300_000
    )

    it.scoped("polls on its schedule, watches nothing, and ends with it", () => {
      const file = counted()
      return Effect.gen(function* () {
        const root = yield* folder({ "a/SKILL.md": text("a") })
        const changes: Array<string> = []
        const done = yield* Effect.forkScoped(
          Stream.runForEach(
            SkillFolders.watch({
              paths: [root],
              poll: Schedule.intersect(Schedule.spaced("10 seconds"), Schedule.recurs(3))
            }),
            (change) =>
              Effect.sync(() => {
                changes.push(labelOf(change))
                if (changes.length === 1) put(root, { "b/SKILL.md": text("b") })
              })
          )
        )
        // Files are read in real time: the clock is moved until the schedule has come to its end.
        while (Option.isNone(yield* done.poll)) yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(changes, ["Added a", "Added b"])
        assert.deepStrictEqual(file.open(), [])
        assert.strictEqual(file.most(), 0)
      }).pipe(Effect.provide(file.layer))
    })
  })

  describe("register", () => {
    const manual = (name: string) =>
      Skill.make(name, { description: "By hand", handler: () => Effect.succeed("by hand") })

    it.scopedLive(
      "keeps the registry in step and leaves other skills alone",
      () => {
        const logs: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => logs.push(`${logLevel.label} ${String(message)}`))
        return Effect.gen(function* () {
          const root = yield* folder({ "a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "c/SKILL.md": "malformed" })
          const registry = yield* SkillRegistry.SkillRegistry
          yield* registry.register(manual("b"))
          const scope = yield* Scope.make()
          const { scan } = yield* Scope.extend(
            SkillFolders.register({ paths: [root], debounce: "20 millis", traits: { permissions: ["skills"] } }),
            scope
          )
          const listed = Effect.map(registry.list(), (skills) =>
            skills.map(({ description, name }) => `${name}: ${description}`).sort()
          )
          const becomes = (...wanted: ReadonlyArray<string>) =>
            listed.pipe(
              Effect.repeat({
                until: (now) => JSON.stringify(now) === JSON.stringify(wanted),
                schedule: Schedule.intersect(Schedule.spaced("10 millis"), Schedule.recurs(2000))
              }),
              Effect.andThen(listed),
              Effect.tap((now) => assert.deepStrictEqual(now, [...wanted]))
            )
          assert.deepStrictEqual(yield* listed, ["a: Does a.", "b: By hand"])
          assert.deepStrictEqual((yield* registry.list({ permissions: ["skills"] })).length, 2)
          assert.deepStrictEqual(reasons(yield* scan), ["Malformed", "NotRegistered"])

          put(root, { "a/SKILL.md": text("a").replace("Does a.", "Does more."), "b/SKILL.md": text("b", "Other.") })
          yield* becomes("a: Does more.", "b: By hand")
          put(root, { "c/SKILL.md": text("c") })
          yield* becomes("a: Does more.", "b: By hand", "c: Does c.")
          yield* registry.replace(manual("c"))
          put(root, { "c/SKILL.md": text("c", "Other."), "d/SKILL.md": text("d") })
          yield* becomes("a: Does more.", "b: By hand", "c: By hand", "d: Does d.")
          remove(root, "a")
          remove(root, "c")
          yield* becomes("b: By hand", "c: By hand", "d: Does d.")
          yield* Scope.close(scope, Exit.void)
          assert.deepStrictEqual(yield* listed, ["b: By hand", "c: By hand"])
          // What stays wrong is told once, however often it is looked at.
          assert.lengthOf(new Set(logs), logs.length)
          assert.deepStrictEqual(
            logs.map((log) => log.split(" ")[0]),
            ["WARN", "WARN", "WARN"]
          )
        }).pipe(
          Effect.provide(
            Layer.mergeAll(
              onDisk,
              DefaultSkillRegistry.layerEmpty,
              ScriptRunner.layerNoop,
              Logger.replace(Logger.defaultLogger, logger)
            )
          )
        )
      },
      300_000
    )

    it.scoped("registers once when it does not watch", () => {
      const file = counted()
      return Effect.gen(function* () {
        const root = yield* folder({ "a/SKILL.md": text("a"), "a/scripts/main.sh": "" })
        const skills = SkillFolders.layer({ paths: [root], watch: false }).pipe(
          Layer.provideMerge(DefaultSkillRegistry.layerEmpty),
          Layer.provide(told)
        )
        yield* Effect.gen(function* () {
          const registry = yield* SkillRegistry.SkillRegistry
          const skill = Option.getOrThrow(yield* registry.get("a"))
          // What it requires was kept when it was registered.
          const output = yield* skill.erased.handle({}, { skillName: "a", id: "1", attempt: 1 }, () =>
            Effect.die("not used")
          ) as Effect.Effect<unknown, unknown>
          assert.strictEqual((output as SkillFolders.SkillOutput).status, "success")
        }).pipe(Effect.provide(skills))
        assert.strictEqual(file.most(), 0)
      }).pipe(Effect.provide(file.layer))
    })
  })
})
