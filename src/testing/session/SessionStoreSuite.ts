/**
 * What every `SessionStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
import type { SessionStore } from "../../session/turn/SessionStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import type * as SessionStoreCase from "./SessionStoreCase.js"
import { epoch } from "./SessionStoreCase.js"
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
 * One promise of the port, and how it is tried: a case that does not hold fails, or dies with an error that says what
 * was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = SessionStoreCase.Case

/**
 * All cases. Each wants an empty store: see `check`.
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
 * One case on a store of its own: the layer is built for it, under a `TestClock`, and released afterwards. What it
 * builds must be empty.
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
 * Every case, one after the other. A case that does not hold is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<SessionStore> = suite.run
