/**
 * Cases out of recorded runs: what people asked, and what agents answered.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RunError } from "../../agent/record/RunError.js"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import * as RunStore from "../../agent/record/RunStore.js"
import { count } from "../../internal/Count.js"
import * as JsonDepth from "../../internal/JsonDepth.js"
import * as RunLog from "../../observability/RunLog.js"
import * as Dataset from "../dataset/Dataset.js"
import { DatasetError } from "../dataset/DatasetError.js"
import * as RunContent from "./RunContent.js"

/**
 * A run that ended: its record, and its response as the log has it, with its output still encoded.
 *
 * @since 0.1.0
 * @category models
 */
export type RecordedRun = RunContent.RecordedRun

/**
 * Which runs become cases: those that the caller may see and that match every given field. Without `userId` these are
 * the runs without a user, unless the caller acts for the system (`SystemAccess.grant`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Selection
  extends Pick<RunStore.Filter, "agent" | "createdBefore" | "createdFrom" | "labels" | "sessionId" | "userId"> {
  /** States of runs that ended. Default: `completed`. */
  readonly states?: ReadonlyArray<"completed" | "failed" | "interrupted"> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Expected> extends Selection {
  /** The name of the dataset. */
  readonly name: string
  /** Cases at most; the newest runs come first. Default 100, at most 10,000. */
  readonly limit?: number | undefined
  /**
   * What is expected: `answer` is the output of the run, where it completed; a function takes it out of the run.
   * Default: nothing.
   */
  readonly expected?: "answer" | ((run: RecordedRun) => Expected) | undefined
  /**
   * Whether credentials are removed from inputs and expected values, and what the application removes from traces
   * (`Telemetry.ContentRedactor`). Default true.
   */
  readonly redact?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RunCases<out Expected> {
  /** The ids of its cases are those of the runs; their tags are the agents. */
  readonly dataset: Dataset.Dataset<string, Expected>
  /**
   * Runs that matched and were left out: their log is gone, has no input or no end, or their data nests deeper than
   * that of a case.
   */
  readonly omitted: number
}

/** Records of a page, and logs that are read at once. */
const PAGE = 200
const CONCURRENCY = 8
const deepest = 60

const records = (store: RunStore.Service, filter: RunStore.Filter): Stream.Stream<RunRecord, RunError> =>
  Stream.paginateChunkEffect(undefined as string | undefined, (cursor) =>
    Effect.map(store.list({ ...filter, limit: PAGE, cursor }), ({ next, records }) => [
      Chunk.unsafeFromArray(Array.from(records)),
      Option.fromNullable(next)
    ])
  )

const expectedOf = <Expected>(
  { expected, name }: Options<Expected>,
  run: RecordedRun
): Effect.Effect<unknown, DatasetError> =>
  expected === undefined
    ? Effect.void
    : expected === "answer"
      ? Effect.succeed(run.response.finishReason === undefined ? undefined : run.response.output)
      : Effect.try({
          try: () => expected(run),
          catch: (cause) =>
            new DatasetError({
              reason: "case",
              dataset: name,
              message: `Run ${JSON.stringify(run.record.runId)}: \`expected\` threw: ${String(cause).slice(0, 500)}`,
              hint: "Mend `expected`, or give undefined for runs that it cannot read",
              cause
            })
        })

/**
 * A dataset out of recorded runs. The inputs are the messages as the guards left them; files of messages are no part of
 * it. Reads the records page by page, and each log once.
 *
 * @example
 * ```ts
 * import { SystemAccess } from "effect-lexigram/domain"
 * import { RunCases } from "effect-lexigram/eval"
 *
 * const support = SystemAccess.grant(
 *   RunCases.fromRuns({ name: "support", agent: "support", expected: "answer", limit: 200 })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRuns: {
  (
    options: Options<never> & { readonly expected: "answer" }
  ): Effect.Effect<RunCases<unknown>, RunError | DatasetError, RunStore.RunStore | RunLog.RunLog>
  <Expected = undefined>(
    options: Options<Expected> & { readonly expected?: ((run: RecordedRun) => Expected) | undefined }
  ): Effect.Effect<RunCases<Expected>, RunError | DatasetError, RunStore.RunStore | RunLog.RunLog>
} = <Expected>(
  options: Options<Expected>
): Effect.Effect<RunCases<Expected>, RunError | DatasetError, RunStore.RunStore | RunLog.RunLog> =>
  Effect.gen(function* () {
    const store = yield* RunStore.RunStore
    const log = yield* RunLog.RunLog
    const redact = options.redact === false ? undefined : yield* RunContent.redaction
    const { agent, createdBefore, createdFrom, labels, sessionId, states = ["completed"], userId } = options
    const toCase = (run: RecordedRun) =>
      Effect.map(expectedOf(options, run), (expected): Dataset.Given<string, Expected> | undefined => {
        if (JsonDepth.isDeeper(expected, deepest)) return undefined
        const { record, response } = run
        const [input, wanted] =
          redact === undefined ? [response.input, expected] : (redact([response.input, expected]) as [string, unknown])
        // Only the caller knows the type of what its function gives, which redaction keeps.
        return { id: record.runId, input, expected: wanted as Expected, tags: [record.agent] }
      })
    let omitted = 0
    const cases = yield* records(store, { agent, createdBefore, createdFrom, labels, sessionId, states, userId }).pipe(
      Stream.mapEffect(
        (record) =>
          Effect.flatMap(RunContent.read(log, record, userId), (run) =>
            run === undefined ? Effect.succeed(undefined) : toCase(run)
          ),
        { concurrency: CONCURRENCY }
      ),
      Stream.filter((one) => {
        if (one === undefined) omitted++
        return one !== undefined
      }),
      Stream.take(Math.min(count(options.limit, 100, 1), 10_000)),
      Stream.runCollect
    )
    const dataset = yield* Dataset.make(
      options.name,
      Array.from(cases).flatMap((one) => one ?? [])
    )
    return { dataset, omitted }
  })
