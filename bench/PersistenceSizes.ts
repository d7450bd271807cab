/** Bytes written per checkpoint, for small and large histories. */
import { randomUUID } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { SessionId } from "../src/domain/Ids.js"
import * as SqlCheckpointer from "../src/persistence/run/SqlCheckpointer.js"
import * as SqlSessionStore from "../src/persistence/session/SqlSessionStore.js"
import * as Session from "../src/session/turn/Session.js"
import type * as Databases from "./Databases.js"
import { makeRow, type Row } from "./Harness.js"
import type { Above } from "./Persistence.js"
import * as Statements from "./Statements.js"
import * as StoreOperations from "./StoreOperations.js"

/** Largest allowed ratio of a late checkpoint to an early one. */
const most = 1.5
const times = 10

/** Bytes of a checkpoint after this many turns. */
const ofSessions = Effect.fnUntraced(function* (turns: number, take: Statements.Recorder["take"]) {
  const store = yield* SqlSessionStore.make
  const id = SessionId.make(`of ${turns} turns`)
  const filled = yield* StoreOperations.filledSession(store, id, turns)
  take()
  for (let n = 1; n <= times; n++) {
    const session = { ...filled, revision: filled.revision + n, variables: { topic: "garden", stage: n } }
    yield* store.save({
      session,
      checkpoint: {
        id: Session.CheckpointId.make(randomUUID()),
        sessionId: id,
        kind: "manual",
        state: Session.stateOf(session),
        createdAt: session.updatedAt,
        revision: session.revision,
        metadata: {}
      },
      keepCheckpoints: 5
    })
  }
  return Statements.bytesOf(take()) / times
})

/** Varied words of a conversation. */
const megabyte = (): string => {
  let text = ""
  for (let n = 0; text.length < 1_000_000; n++)
    text += `Message ${n} says ${(n * 7_919) % 10_007} and asks for ${n % 13}. `
  return text
}

export const rows = async (
  place: Databases.Place,
  options: { readonly quick: boolean; readonly above: Above }
): Promise<ReadonlyArray<Row>> => {
  const sizes = options.quick ? [10, 1_000] : [10, 1_000, 5_000]
  const opened = await place.open()
  const rows: Array<Row> = []
  const tell = (label: string, unit: string, of: ReadonlyArray<readonly [number, number]>): void => {
    const [, first] = of[0] as readonly [number, number]
    for (const [size, bytes] of of) {
      rows.push(makeRow(label, `at ${size} ${unit}`, "bytes", [{ value: bytes, counts: {} }], {}))
    }
    const [size, last] = of.at(-1) as readonly [number, number]
    rows.push(makeRow(label, `at ${size} to ${sizes[0]}`, "ratio", [{ value: last / first, counts: {} }], {}))
    options.above(label, last / first, most)
  }
  try {
    const { client, take } = Statements.recorder(opened.client)
    const run = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>): Promise<A> =>
      Effect.runPromise(Effect.provideService(effect, SqlClient.SqlClient, client))
    const sessions: Array<readonly [number, number]> = []
    for (const size of sizes) sessions.push([size, await run(ofSessions(size, take))])
    tell(`${place.name} checkpoint of a session`, "turns", sessions)

    const steps: Array<readonly [number, number]> = []
    await run(
      Effect.gen(function* () {
        const checkpointer = yield* SqlCheckpointer.make
        const large = megabyte()
        for (let n = 0; n <= (sizes.at(-1) as number); n++) {
          const isMeasured = sizes.includes(n)
          take()
          // Most steps in between write little: making a megabyte of text thousands of times would take minutes.
          const isLarge = isMeasured || n % 50 === 0
          yield* checkpointer.put(StoreOperations.largeCheckpoint(n, isLarge ? large : "little"))
          if (isMeasured) steps.push([n, Statements.bytesOf(take())])
        }
      })
    )
    tell(`${place.name} checkpoint of a graph with 1 MB`, "steps", steps)
  } finally {
    await opened.close()
  }
  return rows
}
