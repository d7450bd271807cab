/**
 * Debian's Chromium (or that of `CHROMIUM_PATH`), driven by `playwright-core`. Where there is none, tests are reported as
 * those of a missing backend.
 */
import * as Fs from "node:fs"
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

const open = (executablePath: string): Effect.Effect<Browser, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
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
    ),
    (browser) => Effect.promise(() => browser.close())
  )

/** A page, and what went wrong in it: errors, and what its console reports as such. */
export interface Opened {
  readonly page: Page
  readonly problems: ReadonlyArray<string>
}

/** A page of a browser of its own. */
const opened = (path: string): Effect.Effect<Opened, never, Scope.Scope> =>
  Effect.gen(function* () {
    const page = yield* Effect.flatMap(open(path), (browser) =>
      Effect.promise(() => browser.newPage({ viewport: { width: 1000, height: 700 } }))
    )
    page.setDefaultTimeout(120_000)
    const problems: Array<string> = []
    page.on("pageerror", (error) => problems.push(String(error)))
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text())
    })
    return { page, problems }
  })

export const suite = (tests: (open: Effect.Effect<Opened, never, Scope.Scope>) => void): void =>
  TestServers.suite("chromium", browser, (path) => tests(opened(path)))
