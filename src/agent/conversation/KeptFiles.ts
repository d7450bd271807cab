/**
 * The files of a conversation: those of a request are kept with its session, and later runs see them again.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { type File, isResolved, type ResolvedFile, resolve as resolveContent } from "../../content/Content.js"
import type { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import * as ToolFiles from "../../content/ToolFiles.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as SessionMessages from "../../session/history/SessionMessages.js"
import type { Session, TurnFile } from "../../session/turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../../session/turn/SessionError.js"
import { degrade, type State } from "../definition/Stage.js"

const accessOf = ({ userId }: State) => (userId === undefined ? {} : { userId })

/** The bytes of a file that the session has. */
const read = (state: State, { id }: Session, hash: string) => state.uses.sessions.file(id, hash, accessOf(state))

/**
 * The files of the request with the bytes of those that are references. A session without such a file fails the run.
 *
 * @category combinators
 */
export const resolve = (
  state: State,
  session: Session
): Effect.Effect<
  ReadonlyArray<File>,
  BlobNotFoundError | BlobStoreError | SessionNotFoundError | SessionStorageError
> =>
  state.files.every(isResolved)
    ? Effect.succeed(state.files)
    : (resolveContent(state.files, ({ hash }) => read(state, session, hash)) as Effect.Effect<
        ReadonlyArray<ResolvedFile>,
        BlobNotFoundError | BlobStoreError | SessionNotFoundError | SessionStorageError
      >)

/** A reference to the file as a turn has it; one that cannot be kept is reported, and the turn has only its name. */
const keepOne = (state: State, { id }: Session, file: File) => {
  const { data, fileName, mediaType } = file
  const named = { mediaType, ...(fileName === undefined ? {} : { fileName }) }
  if (!isResolved(file)) return Effect.succeed<TurnFile>({ ...named, data: data as TurnFile["data"] })
  return degrade(state.uses.sessions.attach(id, { ...file, data: file.data }, accessOf(state)), {
    state,
    stage: "session files",
    orElse: undefined
  })
}

/**
 * Keeps the files of the request with the session, before the model is called, unless nothing of the message may be
 * kept.
 *
 * @category combinators
 */
export const keep = (state: State, session: Session): Effect.Effect<ReadonlyArray<TurnFile>> =>
  state.files.length === 0 || state.notes.keep === undefined || !state.uses.sessions.keepsFiles
    ? Effect.succeed([])
    : Effect.map(
        Effect.forEach(state.files, (file) => keepOne(state, session, file)),
        (files) => files.filter((file) => file !== undefined)
      )

const placeOf = ({ data }: TurnFile): string => ("url" in data ? data.url : data.hash)

/** The most files of a turn. */
const mostFiles = 100

/**
 * Keeps the files that a tool returned with the session, so that the references in events and in the turn of the answer
 * lead to their bytes.
 *
 * @category combinators
 */
export const keepResult = (state: State, session: Session, files: ReadonlyArray<TurnFile>): Effect.Effect<void> =>
  Effect.forEach(
    files,
    (file) => {
      const data = ToolFiles.bytesOf(file)
      const { fileName, mediaType } = file
      const kept =
        data === undefined
          ? Effect.succeed<TurnFile>(file)
          : keepOne(state, session, {
              type: "file",
              mediaType,
              data,
              ...(fileName === undefined ? {} : { fileName })
            })
      return Effect.map(kept, (kept) => {
        const { toolFiles } = state.notes
        if (kept === undefined || toolFiles.length === mostFiles) return
        if (!toolFiles.some((other) => placeOf(other) === placeOf(kept))) state.notes.toolFiles = [...toolFiles, kept]
      })
    },
    { discard: true }
  )

/** The most bytes of files that are shown again. */
const mostBytes = 20 * 1_048_576

/** The newest files that are shown, by their messages. */
const select = (messages: ReadonlyArray<Message>, most: number): ReadonlySet<TurnFile> => {
  const shown = new Set<TurnFile>()
  let bytes = 0
  for (const message of messages.toReversed()) {
    for (const file of SessionMessages.filesOf(message).toReversed()) {
      bytes += "hash" in file.data ? file.data.size : 0
      if (shown.size === most || bytes > mostBytes) return shown
      shown.add(file)
    }
  }
  return shown
}

const noteOf = (files: ReadonlyArray<TurnFile>): string =>
  files.length === 0 ? "" : files.map(({ fileName, mediaType }) => `[${fileName ?? mediaType}]`).join(" ")

const isPart = (part: Prompt.FilePartEncoded | TurnFile): part is Prompt.FilePartEncoded => "type" in part

const load = (state: State, session: Session, file: TurnFile): Effect.Effect<Prompt.FilePartEncoded | TurnFile> => {
  const { data, fileName, mediaType } = file
  const part = (data: Uint8Array | URL): Prompt.FilePartEncoded => ({
    type: "file",
    mediaType,
    data,
    ...(fileName === undefined ? {} : { fileName })
  })
  return "url" in data
    ? Effect.succeed(part(new URL(data.url)))
    : degrade(Effect.map(read(state, session, data.hash), part), { state, stage: "session files", orElse: file })
}

/**
 * The messages of a history with the newest files of its turns, by `sessionFiles`. A name stands for a file that is not
 * shown.
 *
 * @category combinators
 */
export const show = (
  state: State,
  session: Session,
  messages: ReadonlyArray<Message>
): Effect.Effect<ReadonlyArray<Message>> => {
  if (messages.every((message) => SessionMessages.filesOf(message).length === 0)) return Effect.succeed(messages)
  const shown = state.uses.sessions.keepsFiles ? select(messages, state.uses.config.sessionFiles) : new Set<TurnFile>()
  return Effect.forEach(messages, (message) => {
    const files = SessionMessages.filesOf(message)
    if (files.length === 0) return Effect.succeed(message)
    const text = message.content as string
    return Effect.map(
      Effect.forEach(files, (file) => (shown.has(file) ? load(state, session, file) : Effect.succeed(file))),
      (parts): Message => {
        const [absent, seen] = Arr.partition(parts, isPart)
        const names = noteOf(absent)
        const whole = text === noteOf(files) ? names : [text, names].filter((one) => one !== "").join("\n")
        return seen.length === 0
          ? { role: "user", content: whole }
          : { role: "user", content: [...(whole === "" ? [] : [{ type: "text" as const, text: whole }]), ...seen] }
      }
    )
  })
}
