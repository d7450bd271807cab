/**
 * Debian's Chromium (or that of `CHROMIUM_PATH`), driven by `playwright-core`. Where there is none, tests are reported as
 * those of a missing backend.
 */
import * as Fs from "node:fs"
import { afterAll, beforeAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Browser, chromium, type Page } from "playwright-core"
import * as TestServers from "./TestServers.js"

const { CHROMIUM_PATH } = process.env
const paths = CHROMIUM_PATH === undefined ? ["/usr/bin/chromium", "/usr/bin/chromium-browser"] : [CHROMIUM_PATH]
const found = paths.find((path) => Fs.existsSync(path))

const browser: TestServers.Backend<string> =
  found === undefined
    ? { _tag: "Missing", reason: "there is no Chromium: scripts/servers.sh installs it, or CHROMIUM_PATH names it" }
    : { _tag: "Available", server: found }

const launch = (executablePath: string): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ],
    timeout: 120_000
  })

/** A page, and what went wrong in it: errors, and what its console reports as such. */
export interface Opened {
  readonly page: Page
  readonly problems: ReadonlyArray<string>
}

/** A page in a context of its own: it shares no cookies and no storage with others. */
const opened = (browser: () => Browser): Effect.Effect<Opened, never, Scope.Scope> =>
  Effect.gen(function* () {
    const page = yield* Effect.acquireRelease(
      Effect.promise(() => browser().newPage({ viewport: { width: 1000, height: 700 } })),
      (page) => Effect.promise(() => page.context().close())
    )
    page.setDefaultTimeout(120_000)
    const problems: Array<string> = []
    page.on("pageerror", (error) => problems.push(String(error)))
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text())
    })
    return { page, problems }
  })

/** Tests with one browser, whose pages are each of their own. */
export const suite = (tests: (open: Effect.Effect<Opened, never, Scope.Scope>) => void): void =>
  TestServers.suite("chromium", browser, (path) => {
    let launched: Browser | undefined
    beforeAll(async () => {
      launched = await launch(path)
    })
    afterAll(() => launched?.close())
    tests(
      opened(() => {
        if (launched === undefined) throw new Error("The browser is not there")
        return launched
      })
    )
  })
