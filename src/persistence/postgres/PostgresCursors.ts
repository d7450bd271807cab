/**
 * Cursors that close in any state. Those of `pg-cursor` wait forever if the connection is lost or the statement has
 * already failed, and until the end of a statement whose rows are no longer wanted.
 *
 * @private
 * @since 0.1.0
 */
import type * as Pg from "pg"

interface Cursor {
  close: () => Promise<void>
  read: (rows: number, callback: (...answer: ReadonlyArray<unknown>) => void) => void
  readonly state: "initialized" | "submitted" | "idle" | "busy" | "done" | "error"
}

/** What a connection does for a cursor that is being closed. */
export interface Closing {
  readonly isLost: () => boolean
  /** Calls back when the connection is lost, until released. */
  readonly onLost: (listener: () => void) => () => void
  /** Asks the server to cancel the statement; resolves when it has received the request. */
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
      // After a failure the server has dropped the cursor.
      if (cursor.state === "error" || cursor.state === "done") done()
      else close().then(done, done)
    }
    if (isReading) void closing.cancel().then(finish)
    else finish()
  })

/**
 * The client for the constructor of cursors.
 *
 * @category constructors
 */
export const clientFor = (client: Pg.PoolClient, closing: Closing): Pg.PoolClient =>
  ({
    query: (cursor: Cursor & Pg.Submittable) => {
      const close = cursor.close.bind(cursor)
      const read = cursor.read.bind(cursor)
      // The state of the cursor does not tell: it is `idle` while the first rows are awaited.
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
