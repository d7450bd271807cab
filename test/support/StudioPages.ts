/** The studio on a real server, in a real browser. */
import * as Fs from "node:fs"
import { createServer } from "node:http"
import * as Path from "node:path"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { source as axe } from "axe-core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Page } from "playwright-core"
import { root } from "../../scripts/layout.js"
import type { UserId } from "../../src/domain/Ids.js"
import type * as AgentServer from "../../src/http/api/AgentServer.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import * as GracefulServer from "../../src/http/request/GracefulServer.js"
import * as Studio from "../../src/studio/Studio.js"
import * as AgentServers from "./AgentServers.js"
import type { Opened } from "./Chromium.js"
import * as TestServers from "./TestServers.js"

export interface Setup extends Omit<AgentServers.Setup, "webhooks" | "push"> {
  /** Who the browser of a link is. */
  readonly userId?: UserId
  readonly studio?: Partial<Studio.ServerOptions>
  /** What the server needs and shows. Default: runs in this process with the model of the setup. */
  readonly services?: Layer.Layer<Exclude<AgentServer.Services, Authentication.Authentication>, any> | undefined
  /** Default a free one. */
  readonly port?: number
  /** The path of a Unix socket to listen on, in place of a port. */
  readonly socket?: string
  /** With it a browser stays known to the next server. */
  readonly secret?: Redacted.Redacted
}

export interface Server {
  readonly url: string
  /** A link for one use: the next one that the server announces. */
  readonly link: Effect.Effect<string>
}

/** A server with the studio. By default it knows nobody, and has links. */
export const serve = (setup: Setup): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const links = yield* Queue.unbounded<string>()
    const page = yield* Effect.promise(TestServers.studioPage)
    const {
      authentication = Authentication.layerAnonymous,
      port = 0,
      secret,
      services,
      socket,
      studio,
      userId,
      ...server
    } = setup
    const context = yield* Layer.build(
      Studio.layer({
        ...server,
        page,
        links: {
          announce: (url) => Effect.asVoid(Queue.offer(links, url)),
          ...(secret === undefined ? {} : { secret }),
          ...(userId === undefined ? {} : { userId })
        },
        ...studio
      }).pipe(
        Layer.provide([
          services === undefined
            ? AgentServers.services({ ...server, authentication })
            : Layer.merge(services, authentication),
          NodeContext.layer
        ]),
        Layer.provideMerge(
          NodeHttpServer.layer(
            () => GracefulServer.make(createServer()),
            socket === undefined ? { port, host: "127.0.0.1" } : { path: socket }
          )
        )
      )
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    const url = address._tag === "TcpAddress" ? `http://127.0.0.1:${address.port}` : ""
    return { url, link: Queue.take(links) }
  }).pipe(Effect.orDie)

/** Signs in by a link of the server, and opens a view, such as `#/runs`. */
export const enter = ({ page }: Opened, server: Server, view = ""): Effect.Effect<void> =>
  Effect.gen(function* () {
    const link = yield* server.link
    page.setDefaultTimeout(Number(process.env.STUDIO_TIMEOUT ?? 60_000))
    yield* Effect.promise(async () => {
      await page.goto(link)
      await page.getByRole("navigation", { name: "Views" }).waitFor()
      if (view !== "") await page.goto(`${server.url}/studio/${view}`)
    })
  })

/** Where pictures of the views are kept. */
const pictures = Path.join(root, "test-results", "studio")

const shoot = async (page: Page, name: string, width: number, scheme: "light" | "dark") => {
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: scheme })
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await page.screenshot({ path: Path.join(pictures, `${name}-${scheme}-${width}.png`), fullPage: true })
}

/** Pictures of what is shown: light and dark, wide, and light and narrow. */
export const picture = (page: Page, name: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (process.env.STUDIO_PICTURES === undefined) return
    Fs.mkdirSync(pictures, { recursive: true })
    await shoot(page, name, 1280, "dark")
    await shoot(page, name, 360, "light")
    await shoot(page, name, 1280, "light")
  })

interface Violation {
  readonly id: string
  readonly impact?: string | null
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

interface Axe {
  readonly run: (options: object) => Promise<{ readonly violations: ReadonlyArray<Violation> }>
}

/** What axe-core finds that is serious or critical, in light and in dark, as readable lines. */
export const violations = (page: Page): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    // A policy without inline scripts holds for elements, not for what the browser itself evaluates.
    await page.evaluate(axe)
    const found: Array<string> = []
    for (const scheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      // Colors alone differ between the two.
      const options = scheme === "dark" ? { runOnly: ["color-contrast"] } : {}
      const { violations } = await page.evaluate(
        (options) => (globalThis as unknown as { readonly axe: Axe }).axe.run(options),
        options
      )
      for (const { id, impact, nodes } of violations) {
        if (impact !== "serious" && impact !== "critical") continue
        for (const { failureSummary, html } of nodes.slice(0, 3))
          found.push(`${scheme} ${id}: ${html} ${failureSummary}`)
      }
    }
    return found
  })

/** How far the page is wider than the window at each of these widths. */
export const overflow = (page: Page, widths: ReadonlyArray<number> = [320, 768, 1280, 2560]) =>
  Effect.promise(async () => {
    const found: Array<string> = []
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth
      )
      if (beyond > 0) found.push(`${beyond} px at ${width}`)
    }
    return found
  })
