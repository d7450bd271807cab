/**
 * Keeps experiments in a folder: a file of JSON lines each, named by the SHA-256 of its id, so that no id is a path.
 * The first line is the experiment, each further one an entry. A line that a process left unfinished when it was killed
 * is passed over. Several processes can share a folder.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as ExperimentPage from "./ExperimentPage.js"
import { Entry, Header, keyOf } from "./ExperimentRecord.js"
import * as ExperimentStore from "./ExperimentStore.js"
import * as StoreErrors from "./ExperimentStoreError.js"
import * as PlacedLines from "./PlacedLines.js"

type ExperimentStoreError = StoreErrors.ExperimentStoreError
type Placed = ExperimentStore.Placed

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The folder of the files. It is created if it is absent. */
  readonly folder: string
}

const failed = (error: PlatformError): ExperimentStoreError =>
  StoreErrors.storage(`The folder of experiments failed: ${error.message}`, {
    hint: "See to its disk and its rights, then try again",
    cause: error
  })

const unreadable = (name: string, what: string): ExperimentStoreError =>
  StoreErrors.storage(`${name} has ${what}`, {
    hint: "A newer version of the library may have written it, or another program; the file was left as it is"
  })

const parse = (line: string): Option.Option<unknown> => Option.liftThrowable((): unknown => JSON.parse(line))()

const encodeHeader = Schema.encodeSync(Schema.parseJson(Header))
const encodeEntry = Schema.encodeSync(Schema.parseJson(Entry))
const decodeHeader = Schema.decodeUnknownOption(Header)
const decodeEntry = Schema.decodeUnknownOption(Entry)

const isAbsent = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"
const isThere = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "AlreadyExists"

/** The files of a folder. */
class Files {
  constructor(
    private readonly fs: FileSystem.FileSystem,
    private readonly path: Path.Path,
    private readonly folder: string
  ) {}

  readonly fileOf = (id: string): string => this.path.join(this.folder, `${Sha256.hex(Sha256.utf16(id))}.jsonl`)

  /** What follows a number of bytes: the rest of the line there, then whole lines. */
  readonly lines = (file: string, from: number): Stream.Stream<PlacedLines.PlacedLine, ExperimentStoreError> =>
    PlacedLines.split(Stream.mapError(this.fs.stream(file, { offset: FileSystem.Size(from) }), failed), from)

  readonly size = (file: string): Effect.Effect<number, ExperimentStoreError> =>
    Effect.mapBoth(this.fs.stat(file), { onSuccess: ({ size }) => Number(size), onFailure: failed })

  /** The experiment of a file; none if there is no file. */
  readonly header = (file: string): Effect.Effect<Option.Option<Header>, ExperimentStoreError> =>
    this.fs.stream(file).pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.runHead,
      Effect.catchIf(isAbsent, () => Effect.succeed(Option.none<string>())),
      Effect.mapError(failed),
      Effect.flatMap((line): Effect.Effect<Option.Option<Header>, ExperimentStoreError> => {
        const header = Option.flatMap(Option.flatMap(line, parse), decodeHeader)
        return Option.isSome(line) && Option.isNone(header)
          ? unreadable(file, "no experiment in its first line")
          : Effect.succeed(header)
      })
    )

  /** Creates a file with its first line at once; false if it is there. */
  readonly create = (file: string, text: string): Effect.Effect<boolean, ExperimentStoreError> =>
    Effect.scoped(
      Effect.gen(this, function* () {
        const draft = yield* this.fs.makeTempFileScoped({ directory: this.folder, suffix: ".draft" })
        yield* this.fs.writeFileString(draft, text)
        return yield* Effect.as(this.fs.link(draft, file), true)
      })
    ).pipe(
      Effect.catchIf(isThere, () => Effect.succeed(false)),
      Effect.mapError(failed)
    )

  /** Each line begins with its line break, so that it does not continue one that was left unfinished. */
  readonly append = (file: string, line: string): Effect.Effect<void, ExperimentStoreError> =>
    Effect.mapError(this.fs.writeFileString(file, `\n${line}`, { flag: "a" }), failed)

  readonly remove = (file: string): Effect.Effect<boolean, ExperimentStoreError> =>
    Effect.as(this.fs.remove(file), true).pipe(
      Effect.catchIf(isAbsent, () => Effect.succeed(false)),
      Effect.mapError(failed)
    )

  readonly headers: Effect.Effect<ReadonlyArray<Header>, ExperimentStoreError> = Effect.suspend(() =>
    Effect.mapError(this.fs.readDirectory(this.folder), failed).pipe(
      Effect.map((names) => names.filter((name) => /^[0-9a-f]{64}\.jsonl$/.test(name))),
      Effect.flatMap((names) =>
        Effect.forEach(names, (name) => this.header(this.path.join(this.folder, name)), { concurrency: 16 })
      ),
      Effect.map((found) => found.flatMap(Option.toArray))
    )
  )
}

/** The position of an entry is the end of its line, which the line break of the next one follows. */
const entriesOf = (files: Files, file: string, from: number): Stream.Stream<Placed, ExperimentStoreError> => {
  const ended = new Set<string>()
  return files.lines(file, from).pipe(
    Stream.drop(1),
    Stream.filterMap(({ end, text }) => Option.map(parse(text), (value) => ({ position: `${end}`, value }))),
    Stream.mapEffect(({ position, value }) =>
      Option.match(decodeEntry(value), {
        onNone: () => unreadable(file, "an entry of another form"),
        onSome: (entry) => Effect.succeed({ entry, position })
      })
    ),
    Stream.filter(({ entry }) => {
      if (entry._tag !== "Ended") return true
      const key = keyOf(entry.trial)
      if (ended.has(key)) return false
      ended.add(key)
      return true
    })
  )
}

const makeService = (files: Files): ExperimentStore.Service => {
  const get = (id: string) => files.header(files.fileOf(id))
  const known = (id: string) =>
    Effect.flatMap(get(id), (header) =>
      Option.isNone(header) ? Effect.fail(StoreErrors.unknown(id)) : Effect.succeed(header.value)
    )
  const open: ExperimentStore.Service["open"] = (header) =>
    Effect.gen(function* () {
      if (yield* files.create(files.fileOf(header.id), encodeHeader(header))) return { header, added: true }
      const found = yield* get(header.id)
      // Removed in the meantime.
      if (Option.isNone(found)) return yield* open(header)
      if (found.value.fingerprint !== header.fingerprint) return yield* StoreErrors.conflict(header.id)
      return { header: found.value, added: false }
    })
  return {
    open,
    get,
    list: (filter = {}) => Effect.flatMap(files.headers, (all) => ExperimentPage.select(all, filter)),
    append: (id, entry) => Effect.zipRight(known(id), files.append(files.fileOf(id), encodeEntry(entry))),
    read: (id, options = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          yield* known(id)
          const file = files.fileOf(id)
          const from = yield* ExperimentPage.fromPosition(options)
          if (from > (yield* files.size(file))) return yield* ExperimentPage.noPosition()
          return Stream.suspend(() => entriesOf(files, file, from))
        })
      ),
    remove: (id) => files.remove(files.fileOf(id))
  }
}

/**
 * Fails if the folder cannot be created.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ({
  folder
}: Options): Effect.Effect<
  ExperimentStore.Service,
  StoreErrors.ExperimentStoreError,
  FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), failed)
    return makeService(new Files(fs, path, folder))
  })

/**
 * `make` as a layer.
 *
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { Experiment, JsonlExperimentStore } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const store = JsonlExperimentStore.layer({ folder: "evals" }).pipe(Layer.provide(NodeContext.layer))
 *
 * const results = Experiment.load("1a2b3c4").pipe(Effect.provide(store))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<ExperimentStore.ExperimentStore, StoreErrors.ExperimentStoreError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(ExperimentStore.ExperimentStore, make(options))
