/**
 * Bounds in time the writes of a session store that are uninterruptible: a store that never answers would keep the run,
 * and the lock of its session, forever.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Deadline from "../../internal/fiber/Deadline.js"
import { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"

/**
 * The writes that may run where nothing else interrupts them.
 *
 * @category models
 */
export type Writes = Pick<SessionStore.Service, "append" | "create" | "delete" | "lease" | "open" | "save">

/** Longer than the timeouts that drivers of databases have of their own. */
const seconds = 60

/**
 * A call of a store that fails with `SessionStorageError` after 60 s, in an uninterruptible region too: a fiber that
 * `Effect.timeout` forks for an interrupted caller would end at once.
 *
 * @category combinators
 */
export const bounded = <A, E>(name: string, call: Effect.Effect<A, E>): Effect.Effect<A, E | SessionStorageError> =>
  Deadline.run(() => call, {
    whole: seconds * 1000,
    onTimeout: () =>
      new SessionStorageError({
        message: `The session store did not answer \`${name}\` within ${seconds} s. Whether it wrote is not known`,
        hint: "Check the store; give its client a timeout that is shorter"
      })
  })

/**
 * The writes of a store. Each fails with `SessionStorageError` after 60 s, in an uninterruptible region too.
 *
 * @category constructors
 */
export const make = (store: SessionStore.Service): Writes => ({
  append: (addition) => bounded("append", store.append(addition)),
  create: (creation) => bounded("create", store.create(creation)),
  delete: (id) => bounded("delete", store.delete(id)),
  lease: (options) => bounded("lease", store.lease(options)),
  open: (exchange) => bounded("open", store.open(exchange)),
  save: (change) => bounded("save", store.save(change))
})
