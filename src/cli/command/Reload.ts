/**
 * Runs the command of this process again and again, in a process of its own each time: whenever a file of the
 * application changes. Modules that were loaded stay loaded; a new process has the new ones.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as Process from "@effect/platform/Command"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Workspace from "../config/Workspace.js"
import * as Report from "../terminal/Report.js"

/** Files that make an application: no databases, logs and the like, which it writes itself. */
const isSource = /\.(?:[cm]?[jt]sx?|json|md|ya?ml)$/

/** Folders of packages, of builds and of tools. */
const isPassedOver = /^(?:\.|node_modules$|dist$|build$|coverage$)/

/** More folders are not watched. */
const MOST_FOLDERS = 2_000

const foldersBelow = (root: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const found: Array<string> = [root]
    for (let i = 0; i < found.length && found.length < MOST_FOLDERS; i++) {
      const folder = found[i] ?? root
      for (const name of yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])) {
        const path = NodePath.join(folder, name)
        const info = isPassedOver.test(name) ? Option.none() : yield* Effect.option(fs.stat(path))
        if (Option.isSome(info) && info.value.type === "Directory") found.push(path)
      }
    }
    return found
  })

/** Waits for the next change of a source. Several files that are written together are one. */
const changed = (root: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folders = yield* foldersBelow(root)
    yield* Stream.mergeAll(
      folders.map((folder) => Stream.catchAll(fs.watch(folder), () => Stream.never)),
      { concurrency: "unbounded" }
    ).pipe(
      Stream.filter(({ path }) => isSource.test(path)),
      Stream.debounce("200 millis"),
      Stream.take(1),
      Stream.runDrain
    )
  })

/**
 * The variable with the secret of the studio's sessions.
 *
 * @category constants
 */
export const STUDIO_SECRET = "LEXIGRAM_STUDIO_SECRET"

/** Browsers that the studio knows are known to the next process, too. */
const secret = Config.string(STUDIO_SECRET).pipe(Config.orElse(() => Config.sync(() => globalThis.crypto.randomUUID())))

/** The command of this process without the flag that brought it here. */
const again = Effect.map(secret, (secret) => {
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch" && argument !== "-w")
  return Process.make(process.execPath, ...process.execArgv, ...args).pipe(
    Process.env({ [STUDIO_SECRET]: secret }),
    Process.stdin("inherit"),
    Process.stdout("inherit"),
    Process.stderr("inherit")
  )
})

/**
 * Runs the command until it is interrupted. What it says is said by the processes; one that ends by itself is begun
 * again with the next change.
 *
 * @category execution
 */
export const whenChanged = Effect.gen(function* () {
  const { config } = yield* Workspace.Workspace
  const root = NodePath.dirname(NodePath.resolve(Option.getOrElse(config.value, () => "lexigram.config.ts")))
  const command = yield* again
  const run = Effect.flatMap(Process.exitCode(command), (code) =>
    Effect.zipRight(Report.remark(`It ended with ${code}, and begins again when a file changes.`), Effect.never)
  )
  const once = Effect.raceFirst(run, changed(root))
  return yield* Effect.forever(Effect.zipRight(once, Report.remark("A file has changed: it begins again.")))
})
