/**
 * Server-sent events, as the HTML standard describes them.
 *
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Ambient from "../../internal/fiber/Ambient.js"

/**
 * An event as it is sent. `data` may have several lines.
 *
 * @since 0.1.0
 * @category models
 */
export interface Frame {
  readonly data: string
  /** A browser returns it as `Last-Event-ID` when it connects again. */
  readonly id?: string | number | undefined
  /** Default `message`. */
  readonly event?: string | undefined
}

const lineEnd = /\r\n|\r|\n/g

/** A field of one line: what would end it is left out. */
const oneLine = (text: string): string => text.replace(/[\r\n\0]/g, "")

/**
 * The text of an event.
 *
 * @since 0.1.0
 * @category conversions
 */
export const encode = ({ data, event, id }: Frame): string => {
  const head = `${id === undefined ? "" : `id: ${oneLine(String(id))}\n`}${event === undefined ? "" : `event: ${oneLine(event)}\n`}`
  return `${head}data: ${data.replace(lineEnd, "\ndata: ")}\n\n`
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * A comment is sent when nothing else was for this long, so that nobody on the way takes the connection for dead;
   * default 15 seconds.
   */
  readonly heartbeat?: Duration.DurationInput | undefined
  /** How long a browser waits before it connects again; default 1 second. */
  readonly retry?: Duration.DurationInput | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * Completes when the server of the request begins to end. For streams that their reader alone would end: `drain` waits
 * for the others.
 *
 * @since 0.1.0
 * @category references
 */
export class Draining extends Ambient.Reference<Draining>()("effect-lexigram/http/EventStream/Draining", {
  defaultValue: (): Effect.Effect<void> => Effect.never
}) {}

/** Chunks that wait for a reader. The producer waits for the rest. */
const WAITING = 4

const encoder = new TextEncoder()
const COMMENT = encoder.encode(":\n\n")

/**
 * Takes frames to send, and returns when it has, so that whoever makes them waits for a slow reader.
 *
 * @since 0.1.0
 * @category models
 */
export type Send = (frames: Iterable<Frame>) => Effect.Effect<void>

/**
 * Sends frames as it is called. Returns what to wait for before the next ones, if the reader is slow.
 *
 * @since 0.1.0
 * @category models
 */
export type SendNow = (frames: Iterable<Frame>) => Effect.Effect<void> | undefined

/**
 * The frames that an effect sends, as bytes, with comments while none come. A slow reader slows the effect down: at
 * most 4 sends wait. The bytes end with the effect. It begins at once, and is interrupted when the scope closes, which
 * for that of a request is when its response has been sent, or its caller has left.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E, R>(
  produce: (send: Send, sendNow: SendNow) => Effect.Effect<void, E, R>,
  options: Options = {}
): Effect.Effect<Stream.Stream<Uint8Array, E>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const heartbeat = Duration.toMillis(options.heartbeat ?? "15 seconds")
    const retry = Duration.toMillis(options.retry ?? "1 second")
    const clock = yield* Effect.clock
    const mailbox = yield* Mailbox.make<Uint8Array, E>(WAITING)
    let sentAt = clock.unsafeCurrentTimeMillis()
    mailbox.unsafeOffer(encoder.encode(`retry: ${Math.round(retry)}\n\n`))
    const sendNow: SendNow = (frames) => {
      let text = ""
      for (const frame of frames) text += encode(frame)
      if (text === "") return undefined
      sentAt = clock.unsafeCurrentTimeMillis()
      const bytes = encoder.encode(text)
      return mailbox.unsafeOffer(bytes) ? undefined : Effect.asVoid(mailbox.offer(bytes))
    }
    const send: Send = (frames) => Effect.suspend(() => sendNow(frames) ?? Effect.void)
    yield* Effect.forkScoped(Mailbox.into(produce(send, sendNow), mailbox))
    const beat = Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      if (now - sentAt >= heartbeat) {
        // A reader that has not taken what there is needs no sign of life.
        if (Option.contains(mailbox.unsafeSize(), 0)) mailbox.unsafeOffer(COMMENT)
        sentAt = now
      }
      return Effect.sleep(Math.max(1, heartbeat - (now - sentAt)))
    })
    if (heartbeat > 0 && Number.isFinite(heartbeat)) yield* Effect.forkScoped(Effect.forever(beat))
    return Mailbox.toStream(mailbox)
  })

const HEADERS = {
  "cache-control": "no-cache, no-transform",
  // Proxies that would collect the answer before they pass it on.
  "x-accel-buffering": "no"
}

/**
 * The response of what an effect sends. Its failures must be frames too: after the first byte there is no other way to
 * tell them.
 *
 * @example
 * ```ts
 * import * as HttpRouter from "@effect/platform/HttpRouter"
 * import { EventStream } from "effect-lexigram/http"
 * import * as Effect from "effect/Effect"
 *
 * const router = HttpRouter.empty.pipe(
 *   HttpRouter.get(
 *     "/clock",
 *     EventStream.response((send) => Effect.forEach([1, 2, 3], (id) => send([{ id, data: `tick ${id}` }])), {
 *       heartbeat: "5 seconds"
 *     })
 *   )
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const response = <R>(
  produce: (send: Send, sendNow: SendNow) => Effect.Effect<void, never, R>,
  options: Options = {}
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R | Scope.Scope> =>
  Effect.map(make(produce, options), (bytes) =>
    HttpServerResponse.stream(bytes, {
      contentType: "text/event-stream",
      headers: { ...HEADERS, ...options.headers }
    })
  )
