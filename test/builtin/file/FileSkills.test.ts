import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as FileSkills from "../../../src/builtin/file/FileSkills.js"
import type * as Skill from "../../../src/skill/definition/Skill.js"
import { call, Misfit } from "../../support/Skills.js"

/** A base directory, and beside it one that must not be reached. */
const folders = Effect.acquireRelease(
  Effect.sync(() => {
    const root = Fs.realpathSync(Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "files-")))
    const base = NodePath.join(root, "base")
    const outside = NodePath.join(root, "outside")
    Fs.mkdirSync(base)
    Fs.mkdirSync(outside)
    Fs.writeFileSync(NodePath.join(outside, "secret.txt"), "hush")
    return { root, base, outside, baseDirectory: base }
  }),
  ({ root }) => Effect.sync(() => Fs.rmSync(root, { recursive: true, force: true }))
)

const reasonOf = <P, A, E, R>(skill: Skill.Skill<P, A, E, R>, params: unknown) =>
  Effect.map(Effect.flip(call(skill, params)), (error) => {
    assert.instanceOf(error, FileSkills.FileAccessError)
    const { path: _, ...told } = JSON.parse(JSON.stringify(error))
    assert.notInclude(JSON.stringify(told), Os.tmpdir())
    return (error as FileSkills.FileAccessError).reason
  })

const onDisk =
  (tester: typeof it.scoped | ReturnType<typeof it.scoped.skipIf>) =>
  (fact: string, self: () => Effect.Effect<void, unknown, NodeContext.NodeContext | Scope.Scope>): void =>
    tester(fact, () => Effect.provide(self(), NodeContext.layer))

const test = onDisk(it.scoped)
const testOnLinux = onDisk(it.scoped.skipIf(process.platform !== "linux"))

describe("FileSkills", () => {
  it("describe themselves", () => {
    const read = FileSkills.read({ baseDirectory: "." })
    const write = FileSkills.write({ baseDirectory: "." })
    assert.isUndefined(read.problem)
    assert.isUndefined(write.problem)
    assert.deepStrictEqual(
      [read, write].map(({ definition: { category, name, permissions } }) => [name, category, ...permissions]),
      [
        ["file_read", "filesystem", "files.read"],
        ["file_write", "filesystem", "files.write"]
      ]
    )
    assert.isTrue(write.definition.idempotent)
    assert.isFalse(FileSkills.write({ baseDirectory: ".", overwrite: false }).definition.idempotent)
  })

  test("read what was written", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const read = FileSkills.read({ baseDirectory })
      const write = FileSkills.write({ baseDirectory })
      assert.deepStrictEqual(yield* call(write, { path: "a.txt", content: "\ufeffhöchst\r\n" }), {
        bytes_written: 12
      })
      assert.deepStrictEqual(yield* call(read, { path: "a.txt" }), {
        content: "\ufeffhöchst\r\n",
        path: "a.txt",
        size_bytes: 12
      })
      yield* call(write, { path: "b.bin", content: "AP8B", encoding: "base64" })
      assert.deepStrictEqual([...Fs.readFileSync(NodePath.join(base, "b.bin"))], [0, 255, 1])
      assert.strictEqual((yield* call(read, { path: "b.bin", encoding: "base64" })).content, "AP8B")
      assert.strictEqual(yield* reasonOf(read, { path: "b.bin" }), "NotText")
      yield* call(write, { path: "empty", content: "" })
      assert.strictEqual((yield* call(read, { path: "./x/../empty" })).size_bytes, 0)
      assert.deepStrictEqual(Fs.readdirSync(base).sort(), ["a.txt", "b.bin", "empty"])
    }))

  test("allow no path out, whether or not it exists", () =>
    Effect.gen(function* () {
      const { base, baseDirectory, outside } = yield* folders
      const before = Fs.readdirSync(outside)
      for (const path of [
        "../outside/secret.txt",
        "../outside/none.txt",
        "a/../../outside/secret.txt",
        "..",
        "../base/../outside/secret.txt",
        `${outside}/secret.txt`,
        `${base}/a.txt`,
        "/etc/passwd",
        "/"
      ]) {
        assert.strictEqual(yield* reasonOf(FileSkills.read({ baseDirectory }), { path }), "Outside", path)
        const write = FileSkills.write({ baseDirectory, makeDirectories: true })
        assert.strictEqual(yield* reasonOf(write, { path, content: "x" }), "Outside", path)
      }
      assert.deepStrictEqual(Fs.readdirSync(outside), before)
      assert.strictEqual(Fs.readFileSync(NodePath.join(outside, "secret.txt"), "utf8"), "hush")
    }))

  test("reject a folder that only shares a prefix with the base directory", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      Fs.mkdirSync(`${base}-other`)
      Fs.writeFileSync(`${base}-other/a.txt`, "hush")
      assert.strictEqual(
        yield* reasonOf(FileSkills.read({ baseDirectory }), { path: "../base-other/a.txt" }),
        "Outside"
      )
      Fs.writeFileSync(`${base}/..a`, "in")
      assert.strictEqual((yield* call(FileSkills.read({ baseDirectory }), { path: "..a" })).content, "in")
    }))

  test("follow links inside, not out", () =>
    Effect.gen(function* () {
      const { base, baseDirectory, outside } = yield* folders
      const at = (name: string) => NodePath.join(base, name)
      Fs.mkdirSync(at("in"))
      Fs.writeFileSync(at("in/a.txt"), "old")
      Fs.symlinkSync(NodePath.join(outside, "secret.txt"), at("file-out"))
      Fs.symlinkSync(NodePath.join(outside, "new.txt"), at("nothing-out"))
      Fs.symlinkSync(outside, at("folder-out"))
      Fs.symlinkSync("../outside", at("relative-out"))
      Fs.symlinkSync("folder-out", at("link-to-link"))
      Fs.symlinkSync("in/a.txt", at("file-in"))
      Fs.symlinkSync("loop", at("loop"))
      const read = FileSkills.read({ baseDirectory })
      const write = FileSkills.write({ baseDirectory, makeDirectories: true })
      for (const path of ["file-out", "folder-out/secret.txt", "relative-out/secret.txt", "link-to-link/secret.txt"]) {
        assert.strictEqual(yield* reasonOf(read, { path }), "Outside", path)
      }
      for (const path of [
        "file-out",
        "nothing-out",
        "folder-out/secret.txt",
        "folder-out/new.txt",
        "folder-out/a/b/new.txt",
        "relative-out/new.txt",
        "link-to-link/new.txt"
      ]) {
        assert.strictEqual(yield* reasonOf(write, { path, content: "x" }), "Outside", path)
      }
      assert.strictEqual(yield* reasonOf(read, { path: "loop" }), "System")
      assert.deepStrictEqual(Fs.readdirSync(outside), ["secret.txt"])
      assert.strictEqual(Fs.readFileSync(NodePath.join(outside, "secret.txt"), "utf8"), "hush")

      assert.strictEqual((yield* call(read, { path: "file-in" })).content, "old")
      yield* call(write, { path: "file-in", content: "new" })
      assert.isTrue(Fs.lstatSync(at("file-in")).isSymbolicLink())
      assert.strictEqual(Fs.readFileSync(at("in/a.txt"), "utf8"), "new")
    }))

  test("accept a base directory that is a link", () =>
    Effect.gen(function* () {
      const { base, root } = yield* folders
      Fs.symlinkSync(base, NodePath.join(root, "link"))
      const baseDirectory = NodePath.join(root, "link")
      yield* call(FileSkills.write({ baseDirectory }), { path: "a.txt", content: "x" })
      assert.strictEqual((yield* call(FileSkills.read({ baseDirectory }), { path: "a.txt" })).content, "x")
    }))

  // A file system in which a link appears after the path was checked, as another process would put it there.
  const swapping = (path: string, target: string) =>
    Effect.map(FileSystem.FileSystem, (fs) =>
      FileSystem.FileSystem.of({
        ...fs,
        open: (...args) =>
          Effect.suspend(() => {
            Fs.renameSync(path, `${path}-old`)
            Fs.symlinkSync(target, path)
            return fs.open(...args)
          })
      })
    )

  test("detect a link that appears between check and opening", () =>
    Effect.gen(function* () {
      const { base, baseDirectory, outside } = yield* folders
      const folder = NodePath.join(base, "folder")
      Fs.mkdirSync(folder)
      Fs.writeFileSync(NodePath.join(folder, "secret.txt"), "inside")
      const reading = reasonOf(FileSkills.read({ baseDirectory }), { path: "folder/secret.txt" })
      const fs = yield* swapping(folder, outside)
      assert.strictEqual(yield* Effect.provideService(reading, FileSystem.FileSystem, fs), "Outside")
      Fs.unlinkSync(folder)
      Fs.renameSync(`${folder}-old`, folder)
      const writing = reasonOf(FileSkills.write({ baseDirectory }), { path: "folder/secret.txt", content: "x" })
      assert.strictEqual(yield* Effect.provideService(writing, FileSystem.FileSystem, fs), "Outside")
      assert.deepStrictEqual(Fs.readdirSync(outside), ["secret.txt"])
      assert.strictEqual(Fs.readFileSync(NodePath.join(outside, "secret.txt"), "utf8"), "hush")
    }))

  testOnLinux("create nothing outside when a folder is briefly a link", () =>
    Effect.gen(function* () {
      const { base, baseDirectory, outside } = yield* folders
      const folder = NodePath.join(base, "folder")
      const fs = yield* FileSystem.FileSystem
      let swaps = 0
      // The link is there while the call is made, and gone before anybody looks.
      const whileSwapped = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            swaps++
            Fs.renameSync(folder, `${folder}-old`)
            Fs.symlinkSync(outside, folder)
          }),
          () => effect,
          () =>
            Effect.sync(() => {
              Fs.unlinkSync(folder)
              Fs.renameSync(`${folder}-old`, folder)
            })
        )
      const racing = FileSystem.FileSystem.of({
        ...fs,
        open: (path, options) => {
          const opening = fs.open(path, options)
          return options?.flag === "wx" ? whileSwapped(opening) : opening
        },
        makeDirectory: (path, options) => whileSwapped(fs.makeDirectory(path, options))
      })
      for (const overwrite of [true, false]) {
        for (const path of ["folder/a.txt", "folder/deep/er/a.txt"]) {
          Fs.mkdirSync(folder)
          const write = FileSkills.write({ baseDirectory, overwrite, makeDirectories: true })
          yield* Effect.ignore(call(write, { path, content: "x" })).pipe(
            Effect.provideService(FileSystem.FileSystem, racing)
          )
          assert.deepStrictEqual(Fs.readdirSync(outside), ["secret.txt"], path)
          assert.strictEqual(Fs.readFileSync(NodePath.join(base, path), "utf8"), "x")
          Fs.rmSync(folder, { recursive: true })
        }
      }
      assert.strictEqual(swaps, 2 * (1 + 3))
    })
  )

  test("do so even where the system does not reveal the location of an open file", () =>
    Effect.gen(function* () {
      const { base, baseDirectory, outside } = yield* folders
      const folder = NodePath.join(base, "folder")
      Fs.mkdirSync(folder)
      Fs.writeFileSync(NodePath.join(folder, "secret.txt"), "inside")
      const swapped = yield* swapping(folder, outside)
      const { readLink } = swapped
      const plain = yield* FileSystem.FileSystem
      const withoutProc = (fs: FileSystem.FileSystem) =>
        FileSystem.FileSystem.of({
          ...fs,
          readLink: (path) => readLink(path.startsWith("/proc/") ? NodePath.join(base, "none") : path)
        })
      const read = FileSkills.read({ baseDirectory })
      const params = { path: "folder/secret.txt" }
      const whole = yield* Effect.provideService(call(read, params), FileSystem.FileSystem, withoutProc(plain))
      assert.strictEqual(whole.content, "inside")
      const reason = Effect.provideService(reasonOf(read, params), FileSystem.FileSystem, withoutProc(swapped))
      assert.strictEqual(yield* reason, "Outside")
    }))

  test("reject invalid file names and anything that is not a file", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      Fs.mkdirSync(NodePath.join(base, "folder"))
      const read = FileSkills.read({ baseDirectory })
      const write = FileSkills.write({ baseDirectory })
      for (const [path, reason] of [
        ["", "InvalidPath"],
        ["a\0.txt", "InvalidPath"],
        ["a".repeat(5000), "InvalidPath"],
        ["folder", "NotAFile"],
        ["folder/", "NotAFile"],
        [".", "NotAFile"],
        ["folder/..", "NotAFile"],
        ["none.txt", "NotFound"],
        ["none/none.txt", "NotFound"]
      ] as const) {
        assert.strictEqual(yield* reasonOf(read, { path }), reason, path.slice(0, 20))
        if (path !== "none.txt") assert.strictEqual(yield* reasonOf(write, { path, content: "x" }), reason)
      }
      assert.deepStrictEqual(Fs.readdirSync(base), ["folder"])
      assert.strictEqual(
        yield* reasonOf(FileSkills.read({ baseDirectory: NodePath.join(base, "none") }), { path: "a" }),
        "Configuration"
      )
    }))

  testOnLinux("neither wait for nor read pipes and devices", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      execFileSync("mkfifo", [NodePath.join(base, "pipe")])
      assert.strictEqual(yield* reasonOf(FileSkills.read({ baseDirectory }), { path: "pipe" }), "NotAFile")
      assert.strictEqual(
        yield* reasonOf(FileSkills.write({ baseDirectory }), { path: "pipe", content: "x" }),
        "NotAFile"
      )
      assert.strictEqual(yield* reasonOf(FileSkills.read({ baseDirectory: "/dev" }), { path: "zero" }), "NotAFile")
    })
  )

  testOnLinux("bound a file without a size while reading it", () =>
    Effect.gen(function* () {
      const read = (maxBytes: number) => FileSkills.read({ baseDirectory: "/proc/self", maxBytes })
      assert.strictEqual(Fs.statSync("/proc/self/status").size, 0)
      assert.strictEqual(yield* reasonOf(read(100), { path: "status" }), "TooLarge")
      assert.isAbove((yield* call(read(100_000), { path: "status" })).size_bytes, 100)
    })
  )

  test("bound sizes to the byte", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const write = FileSkills.write({ baseDirectory, maxBytes: 4 })
      assert.strictEqual((yield* call(write, { path: "a", content: "ää" })).bytes_written, 4)
      for (const params of [
        { content: "äää" },
        { content: "a".repeat(1_000_000) },
        { content: "AAAAAAA=", encoding: "base64" }
      ]) {
        assert.strictEqual(yield* reasonOf(write, { path: "b", ...params }), "TooLarge")
      }
      assert.deepStrictEqual(Fs.readdirSync(base), ["a"])
      assert.strictEqual((yield* call(FileSkills.read({ baseDirectory, maxBytes: 4 }), { path: "a" })).content, "ää")
      assert.strictEqual(yield* reasonOf(FileSkills.read({ baseDirectory, maxBytes: 3 }), { path: "a" }), "TooLarge")
      Fs.writeFileSync(NodePath.join(base, "big"), Buffer.alloc(1024 * 1024 + 1))
      assert.strictEqual(yield* reasonOf(FileSkills.read({ baseDirectory }), { path: "big" }), "TooLarge")
    }))

  test("reject content that is not in its encoding", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const write = FileSkills.write({ baseDirectory })
      for (const params of [
        { content: "\ud800" },
        { content: "a===", encoding: "base64" },
        { content: "ä", encoding: "base64" }
      ]) {
        assert.strictEqual(yield* reasonOf(write, { path: "a", ...params }), "InvalidContent")
      }
      assert.deepStrictEqual(Fs.readdirSync(base), [])
    }))

  test("replace an existing file with its mode, or keep it", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const file = NodePath.join(base, "run.sh")
      Fs.writeFileSync(file, "old")
      Fs.chmodSync(file, 0o750)
      const keep = FileSkills.write({ baseDirectory, overwrite: false })
      assert.strictEqual(yield* reasonOf(keep, { path: "run.sh", content: "new" }), "Exists")
      assert.strictEqual(Fs.readFileSync(file, "utf8"), "old")
      yield* call(FileSkills.write({ baseDirectory }), { path: "run.sh", content: "new" })
      assert.strictEqual(Fs.readFileSync(file, "utf8"), "new")
      assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o750)
      yield* call(keep, { path: "other", content: "x" })
      assert.deepStrictEqual(Fs.readdirSync(base).sort(), ["other", "run.sh"])
    }))

  test("let one of many concurrent writers create a file", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const keep = FileSkills.write({ baseDirectory, overwrite: false })
      const results = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => Effect.either(call(keep, { path: "one", content: `${index}` }))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ _tag }) => _tag === "Right").length, 1)
      assert.deepStrictEqual(Fs.readdirSync(base), ["one"])
    }))

  test("create directories if the options say so", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      const params = { path: "a/b/c.txt", content: "x" }
      assert.strictEqual(yield* reasonOf(FileSkills.write({ baseDirectory }), params), "NotFound")
      assert.deepStrictEqual(Fs.readdirSync(base), [])
      yield* call(FileSkills.write({ baseDirectory, makeDirectories: true }), params)
      assert.strictEqual(Fs.readFileSync(NodePath.join(base, "a/b/c.txt"), "utf8"), "x")
      const below = { path: "a/b/c.txt/d.txt", content: "x" }
      yield* reasonOf(FileSkills.write({ baseDirectory, makeDirectories: true }), below)
      assert.strictEqual(Fs.readFileSync(NodePath.join(base, "a/b/c.txt"), "utf8"), "x")
    }))

  test("leave everything unchanged after a failed or interrupted write", () =>
    Effect.gen(function* () {
      const { base, baseDirectory } = yield* folders
      Fs.writeFileSync(NodePath.join(base, "a"), "old")
      const write = FileSkills.write({ baseDirectory })
      const fs = yield* FileSystem.FileSystem
      const reached = yield* Deferred.make<void>()
      const hanging = FileSystem.FileSystem.of({
        ...fs,
        open: (path, options) =>
          Effect.map(fs.open(path, options), (file) =>
            // The getters of a file are its prototype's.
            Object.create(file, {
              fd: { value: file.fd },
              sync: {
                value: Effect.zipRight(Deferred.succeed(reached, undefined), Effect.interruptible(Effect.never))
              }
            })
          )
      })
      const fiber = yield* call(write, { path: "a", content: "new" }).pipe(
        Effect.provideService(FileSystem.FileSystem, hanging),
        Effect.fork
      )
      yield* Deferred.await(reached)
      assert.strictEqual(Fs.readdirSync(base).length, 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(Fs.readdirSync(base), ["a"])
      const failing = FileSystem.FileSystem.of({
        ...fs,
        rename: (from) => fs.rename(from, NodePath.join(base, "no/a"))
      })
      const failed = reasonOf(write, { path: "a", content: "new" })
      assert.strictEqual(yield* Effect.provideService(failed, FileSystem.FileSystem, failing), "NotFound")
      assert.deepStrictEqual(Fs.readdirSync(base), ["a"])
      assert.strictEqual(Fs.readFileSync(NodePath.join(base, "a"), "utf8"), "old")
    }))

  test("reject invalid parameters", () =>
    Effect.gen(function* () {
      const { baseDirectory } = yield* folders
      for (const params of [
        {},
        { path: 1 },
        { path: "a", encoding: "latin1" },
        null,
        JSON.parse('{"__proto__":{"path":"a"}}')
      ]) {
        assert.instanceOf(yield* Effect.flip(call(FileSkills.read({ baseDirectory }), params)), Misfit)
      }
      assert.instanceOf(yield* Effect.flip(call(FileSkills.write({ baseDirectory }), { path: "a" })), Misfit)
    }))
})
