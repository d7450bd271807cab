/**
 * The files of the page, read once.
 *
 * @private
 * @since 0.1.0
 */
import * as NodeUrl from "node:url"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { ApiConfigurationError } from "../http/api/ApiError.js"
import type { File } from "./endpoint/StudioPageEndpoints.js"

/** What is not here is no file of the page. */
const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8"
}

/** The folder of the built package: beside the module, or beside the folder of a shared file. */
const places = ["./page/", "../studio/page/"]

const missing = (cause: unknown) =>
  new ApiConfigurationError({
    message: "The page of the studio is missing",
    hint: "Keep effect-lexigram out of the bundle, so that dist/studio/page lies beside its code",
    cause
  })

/**
 * The files by their names. `folder` is that of a page that was built elsewhere.
 *
 * @category constructors
 */
export const read = (
  folder: string | undefined
): Effect.Effect<ReadonlyMap<string, File>, ApiConfigurationError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folders =
      folder === undefined ? places.map((place) => NodeUrl.fileURLToPath(new URL(place, import.meta.url))) : [folder]
    const { found, names } = yield* Effect.firstSuccessOf(
      folders.map((found) => Effect.map(fs.readDirectory(found), (names) => ({ found, names })))
    )
    const files = new Map<string, File>()
    for (const name of names) {
      const type = types[name.slice(name.lastIndexOf(".") + 1)]
      if (type !== undefined) files.set(name, { type, bytes: yield* fs.readFile(`${found}/${name}`) })
    }
    yield* files.has("index.html") ? Effect.void : missing("There is no index.html")
    return files
  }).pipe(Effect.catchTags({ SystemError: missing, BadArgument: missing }))
