/**
 * `lexigram init`: writes a new project.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import { CliError } from "../config/CliError.js"
import * as Packages from "../config/Packages.js"
import * as Project from "../init/Project.js"
import * as Report from "../terminal/Report.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Flags from "./Flags.js"

const templates = {
  minimal: OnDemand.make(() => import("../init/MinimalTemplate.js")),
  web: OnDemand.make(() => import("../init/WebTemplate.js")),
  service: OnDemand.make(() => import("../init/ServiceTemplate.js"))
} as const

const options = {
  template: Options.choice("template", ["minimal", "web", "service"]).pipe(
    Options.withAlias("t"),
    Options.withDescription(
      "minimal: for the terminal. web: a chat on the web. service: an HTTP API with durable runs"
    ),
    Options.withDefault("minimal" as const)
  ),
  ...Flags.plain
}

const folder = Args.text({ name: "folder" }).pipe(
  Args.withDescription("Where the project is made. Default: here. Its last part is the name of the project"),
  Args.withDefault(".")
)

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)

/** The name of a project in a folder, as npm takes it. */
const nameOf = (path: string): Effect.Effect<string, CliError> => {
  const name = NodePath.basename(path)
  const isTaken = Project.takenNames.has(name)
  return !isTaken && name.length <= 214 && /^[a-z0-9][a-z0-9._~-]*$/.test(name)
    ? Effect.succeed(name)
    : new CliError({
        reason: "usage",
        message: `The folder ${shown(name)} cannot give its name to the project`,
        hint: isTaken
          ? "A package has this name. Choose another folder"
          : "npm takes small letters, digits, `-`, `_` and `.`, with a letter or a digit in front: lexigram init my-agents"
      })
}

const unwritable = (path: string) => (cause: { readonly message: string }) =>
  new CliError({
    reason: "file",
    message: `${shown(path)} cannot be written: ${cause.message}`,
    hint: "Choose a folder that is empty, or that does not exist, where you may write",
    cause
  })

/** Makes the folder, unless there is an empty one. A repository that has nothing yet is empty. */
const openFolder = (path: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* Effect.mapError(fs.makeDirectory(path, { recursive: true }), unwritable(path))
    const found = yield* Effect.mapError(fs.readDirectory(path), unwritable(path))
    const first = found.find((name) => name !== ".git")
    if (first === undefined) return
    return yield* new CliError({
      reason: "file",
      message: `The folder ${shown(path)} is not empty: it has ${shown(first)}`,
      hint: "Choose another one: lexigram init my-agents"
    })
  })

const write = (path: string, text: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(NodePath.dirname(path), { recursive: true })
    // Nothing is overwritten, whatever another process does meanwhile.
    yield* fs.writeFileString(path, text, { flag: "wx" })
  }).pipe(Effect.mapError(unwritable(path)))

const init = ({ folder, template }: Input) =>
  Effect.gen(function* () {
    const path = NodePath.resolve(folder)
    const name = yield* nameOf(path)
    const chosen = yield* templates[template]
    const files = Project.files(name, yield* Packages.manifest, chosen.template)
    yield* openFolder(path)
    yield* Effect.forEach(Object.entries(files), ([file, text]) => write(NodePath.join(path, file), text), {
      discard: true
    })
    const made = { name, template, folder: path, files: Object.keys(files) }
    yield* Report.say(made, ({ files }) => {
      const relative = NodePath.relative("", path)
      const enter = relative === "" ? [] : [`cd ${/^[\w./-]+$/.test(relative) ? relative : shown(relative)}`]
      return [
        `Made ${name} with ${TerminalText.count(files.length, "file")}:`,
        ...files.map((file) => `  ${file}`),
        "",
        "What comes next is in its README.md. To begin:",
        ...[...enter, "npm install", "npm test"].map((line) => `  ${TerminalText.line(line, 400)}`)
      ].join("\n")
    })
  })

/**
 * @category constants
 */
export const command = Command.make("init", { folder, ...options }, Flags.handler(init)).pipe(
  Command.withDescription("Begin a project")
)

type Input = Command.Command.ParseConfig<typeof options> & { readonly folder: string }
