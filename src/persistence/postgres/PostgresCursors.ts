/**
 * Cursors that close in whatever state they are. Those of `pg-cursor` wait for a server that will never answer when the
 * connection is lost, or has answered already when the statement failed, and for the end of a statement that nobody
 * wants any more.
 *
 * @internal
 * @since 0.1.0
 */
import type * as Pg from "pg"

interface Cursor {
  close: () => Promise<void>
  read: (rows: number, callback: (...answer: ReadonlyArray<unknown>) => void) => void
  readonly state: "initialized" | "submitted" | "idle" | "busy" | "done" | "error"
}

/** What a connection can do for a cursor that is to be closed. */
export interface Closing {
  readonly isLost: () => boolean
  /** Calls back when the connection is lost, until it is released. */
  readonly onLost: (listener: () => void) => () => void
  /** Has the server stop what it does; the promise comes when it was told. */
  readonly cancel: () => Promise<void>
}

const closed = (cursor: Cursor, close: () => Promise<void>, isReading: boolean, closing: Closing): Promise<void> =>
  new Promise((resolve) => {
    if (closing.isLost()) {
      resolve()
      return
    }
    const release = closing.onLost(() => done())
    const done = () => {
      release()
      resolve()
    }
    const finish = () => {
      // After a failure the server has dropped it.
      if (cursor.state === "error" || cursor.state === "done") done()
      else close().then(done, done)
    }
    if (isReading) void closing.cancel().then(finish)
    else finish()
  })

/**
 * The client as it is handed to who makes cursors.
 *
 * @category constructors
 */
export const clientFor = (client: Pg.PoolClient, closing: Closing): Pg.PoolClient =>
  ({
    query: (cursor: Cursor & Pg.Submittable) => {
      const close = cursor.close.bind(cursor)
      const read = cursor.read.bind(cursor)
      // Its state does not tell: it is `idle` while the first rows are waited for.
      let isReading = false
      cursor.read = (rows, callback) => {
        isReading = true
        read(rows, (...answer) => {
          isReading = false
          callback(...answer)
        })
      }
      cursor.close = () => closed(cursor, close, isReading, closing)
      return client.query(cursor)
    }
  }) as unknown as Pg.PoolClient
