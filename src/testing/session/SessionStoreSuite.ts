/**
 * The contract of `SessionStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import type { SessionStore } from "../../session/turn/SessionStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import { epoch } from "./SessionFixtures.js"
import type * as SessionStoreCase from "./SessionStoreCase.js"
import * as Checkpoints from "./SessionStoreCheckpointCases.js"
import * as Contents from "./SessionStoreContentCases.js"
import * as Creation from "./SessionStoreCreationCases.js"
import * as Deletion from "./SessionStoreDeletionCases.js"
import * as Exchanges from "./SessionStoreExchangeCases.js"
import * as Lists from "./SessionStoreListCases.js"
import * as Model from "./SessionStoreModelCase.js"
import * as Turns from "./SessionStoreTurnCases.js"
import * as Writing from "./SessionStoreWritingCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = SessionStoreCase.Case

/**
 * All cases. Each requires an empty store: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  ...Creation.cases,
  ...Writing.cases,
  ...Turns.cases,
  ...Lists.cases,
  ...Checkpoints.cases,
  ...Deletion.cases,
  ...Exchanges.cases,
  ...Contents.cases,
  ...Model.cases
]

const suite = PortSuite.make<SessionStore>(cases, { epoch })

/**
 * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. The layer
 * must build an empty store.
 *
 * @example
 * ```ts
 * import type { SessionStore } from "effect-lexigram/session"
 * import { SessionStoreSuite } from "effect-lexigram/testing"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: Layer.Layer<SessionStore.SessionStore>
 *
 * for (const one of SessionStoreSuite.cases) {
 *   test(one.name, () => Effect.runPromise(SessionStoreSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check: PortSuite.Check<SessionStore> = suite.check

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<SessionStore> = suite.run
