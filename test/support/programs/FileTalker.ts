/** Runs an agent once in a session on a database, and reports the hashes of the files that the model was sent. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as BlobRef from "../../../src/content/BlobRef.js"
import type * as Content from "../../../src/content/Content.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Lexigram from "../../../src/persistence/Lexigram.js"
import type * as OwnerData from "../../../src/persistence/OwnerData.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Programs from "../Programs.js"

export interface Input {
  /** The path of a SQLite file, or the URL of a Postgres database. */
  readonly database: string
  readonly text: string
  /** Base64. */
  readonly files: ReadonlyArray<{ readonly base64: string; readonly mediaType: string; readonly fileName: string }>
}

export const userId = "ada"
export const sessionId = "album"

type Services = Lexigram.Out | OwnerData.OwnerData | SqlClient.SqlClient

const kept = (database: string): Layer.Layer<Services, unknown, LlmClient.LlmClient> =>
  database.startsWith("postgres")
    ? Lexigram.layerPostgres({ url: Redacted.make(database) })
    : Lexigram.layerSqlite({ file: database })

export const system = (database: string): Layer.Layer<Services | LlmClient.LlmClient | TestModel.TestModel, unknown> =>
  Layer.provideMerge(
    kept(database),
    TestModel.layer(() => ({ text: "Nice" }))
  )

/** The hashes of the files of each message of the user. */
export const seen = (request: LlmClient.LlmRequest | undefined): ReadonlyArray<ReadonlyArray<string>> =>
  (request?.messages ?? [])
    .filter(({ role }) => role === "user")
    .map(({ content }) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) =>
            part.type === "file" && part.data instanceof Uint8Array ? [BlobRef.hashOf(part.data)] : []
          )
    )

export const talk = (text: string, files: ReadonlyArray<Content.ResolvedFile> = []) =>
  Effect.gen(function* () {
    yield* AgentExecutor.run(Agent.make("viewer"), { input: [{ type: "text", text }, ...files], sessionId, userId })
    return seen((yield* TestModel.requests).at(-1))
  })

if (process.argv[1]?.includes("FileTalker") === true) {
  Programs.main<Input>(({ input, say }) =>
    talk(
      input.text,
      input.files.map(({ base64, ...file }) => ({ type: "file", data: Buffer.from(base64, "base64"), ...file }))
    ).pipe(Effect.flatMap(say), Effect.provide(system(input.database)))
  )
}
