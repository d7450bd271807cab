/**
 * Records of steps that only read. Each is kept with the next step of the run that is recorded, in one commit: until
 * then nothing depends on it, and a process that dies before reads again.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as WorkflowJournal from "./WorkflowJournal.js"
import type { WorkflowStorageError } from "./WorkflowStorageError.js"

type Kept = WorkflowJournal.Result

export interface ReadRecords {
  /** What is recorded of a step, encoded. */
  readonly find: (name: string) => Effect.Effect<Option.Option<unknown>, WorkflowStorageError>
  /** Has a record kept with the next step. */
  readonly add: (name: string, record: unknown) => void
  /** What one step keeps with its outcome. */
  readonly commit: () => Commit
}

export interface Commit {
  /** Keeps what has been read after `first`, in the transaction of the outcome; `undefined` if there is nothing. */
  readonly append: (first: Effect.Effect<void, unknown> | undefined) => Effect.Effect<void, unknown> | undefined
  /** Called when the outcome is kept. */
  readonly done: () => void
}

/** Names that are read at once. */
const PAGE = 1_000

const namesOf = (
  journal: WorkflowJournal.Service,
  executionId: string
): Effect.Effect<ReadonlySet<string>, WorkflowStorageError> =>
  Effect.gen(function* () {
    const names = new Set<string>()
    let page: ReadonlyArray<WorkflowJournal.ActivityEntry> = []
    do {
      page = yield* journal.activities(executionId, { after: page.at(-1), limit: PAGE })
      for (const { name } of page) names.add(name)
    } while (page.length === PAGE)
    return names
  })

/** For one attempt at a run. */
export const make = (journal: WorkflowJournal.Service, executionId: string): ReadRecords => {
  // Every step keeps all of it: a step of another branch may be kept first, or never.
  let waiting: ReadonlyArray<Kept> = []
  let recorded: ReadonlySet<string> | undefined
  /** What was recorded when the attempt began: it adds nothing that it looks for. */
  const names = Effect.suspend(() =>
    recorded === undefined
      ? Effect.tap(namesOf(journal, executionId), (found) => {
          recorded = found
        })
      : Effect.succeed(recorded)
  )
  return {
    find: (name) =>
      Effect.flatMap(names, (found) =>
        found.has(name)
          ? Effect.map(
              journal.result(executionId, name),
              Option.flatMap((exit) => (Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none()))
            )
          : Effect.succeedNone
      ),
    add: (name, record) => {
      waiting = [...waiting, { name, exit: Exit.succeed(record) }]
    },
    commit: () => {
      let taken: ReadonlyArray<Kept> = []
      return {
        append: (first) => {
          taken = waiting
          if (taken.length === 0) return first
          const keep = journal.keepWith(executionId, taken)
          return first === undefined ? keep : Effect.zipRight(first, keep)
        },
        done: () => {
          if (taken.length > 0) waiting = waiting.filter((kept) => !taken.includes(kept))
        }
      }
    }
  }
}
