/** What the library's own fiber helpers cost, beside the functions of Effect that they replace. */
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Stream from "effect/Stream"
import * as Deadline from "../src/internal/fiber/Deadline.js"
import * as EventSink from "../src/internal/fiber/EventSink.js"
import * as Parallel from "../src/internal/fiber/Parallel.js"
import * as Spanned from "../src/internal/fiber/Spanned.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

const immediate = Effect.flatMap(
  Effect.sync(() => 1),
  (n) => Effect.succeed(n + 1)
)
const waiting = Effect.zipRight(Effect.yieldNow(), immediate)
const limits = { whole: 30_000, onTimeout: () => "late" }
const timeout = { duration: 30_000, onTimeout: () => "late" }

const repeated = (effect: Effect.Effect<unknown, unknown>, times: number) => (): Promise<Sample> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const started = cpuMicros()
      for (let i = 0; i < times; i++) yield* effect
      return { value: (cpuMicros() - started) / times, counts: { times } }
    })
  )

const values = 64
const inTurns = (push: (value: number) => unknown): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: values / 8 }, (_, chunk) => chunk),
    (chunk) =>
      Effect.async<void>((resume) => {
        setImmediate(() => {
          for (let i = 0; i < 8; i++) push(chunk * 8 + i)
          resume(Effect.void)
        })
      }),
    { discard: true }
  )

const ofSink = Stream.runDrain(
  EventSink.stream<number, string, never>(
    { capacity: 256, patience: () => ({ limit: 30_000, onLate: () => "late" }) },
    (sink) => inTurns(sink.push)
  )
)
const ofMailbox = Effect.scoped(
  Effect.gen(function* () {
    const mailbox = yield* Mailbox.make<number>(256)
    yield* Effect.forkScoped(
      Effect.zipRight(
        inTurns((value) => mailbox.unsafeOffer(value)),
        mailbox.end
      )
    )
    yield* Stream.runDrain(Mailbox.toStream(mailbox))
  })
)

const pairs: ReadonlyArray<
  readonly [row: string, helper: string, ours: Effect.Effect<unknown, unknown>, theirs: Effect.Effect<unknown, unknown>]
> = [
  [
    "a time limit, the effect does not wait",
    "Effect.timeoutFail",
    Deadline.run(() => immediate, limits),
    Effect.timeoutFail(immediate, timeout)
  ],
  [
    "a time limit, the effect waits",
    "Effect.timeoutFail",
    Deadline.run(() => waiting, limits),
    Effect.timeoutFail(waiting, timeout)
  ],
  [
    "a span",
    "Effect.withSpan",
    Spanned.run("span", { attributes: {} }, immediate, () => {}),
    Effect.withSpan(immediate, "span", { captureStackTrace: false })
  ],
  [
    "a span and a time limit",
    "Effect.withSpan, timeoutFail",
    Spanned.call<number, string, number, string, never>(() => ({
      span: { name: "span", attributes: {} },
      deadline: limits,
      begin: () => immediate,
      settle: (exit) => exit,
      onExit: () => {}
    })),
    Effect.withSpan(Effect.timeoutFail(immediate, timeout), "span", { captureStackTrace: false })
  ],
  [
    "4 effects, 2 at a time",
    "Effect.forEach",
    Parallel.forEach([1, 2, 3, 4], () => waiting, 2),
    Effect.forEach([1, 2, 3, 4], () => waiting, { concurrency: 2 })
  ],
  [`${values} values from a producer to a stream`, "Mailbox.toStream", ofSink, ofMailbox]
]

export const rows = async ({
  quick,
  runs,
  warmup
}: {
  readonly quick: boolean
  readonly runs: number
  readonly warmup: number
}): Promise<ReadonlyArray<Row>> => {
  const times = quick ? 500 : 2_000
  const measured: Array<Row> = []
  for (const [row, helper, ours, theirs] of pairs) {
    const samples = await interleave(
      { ours: repeated(ours, times), theirs: repeated(theirs, times) },
      { warmup: warmup + 2, runs }
    )
    measured.push(
      makeRow(row, helper, "µs CPU", samples["theirs"] ?? [], { times }),
      makeRow(row, "effect-lexigram", "µs CPU", samples["ours"] ?? [], { times })
    )
  }
  return measured
}
