/**
 * Checks the built site: links and headings of all pages, and in Chromium the navigation, the search, the copies of
 * code, the console, requests to other hosts, and widths of 320 pixels. Of the pages of modules a part is opened.
 * `--pictures` keeps pictures in `test-results/site`. Requires `npm run docs:build`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"
import { root } from "./layout.js"
import * as SiteFiles from "./site/SiteFiles.js"

const { CHROMIUM_PATH, LEXIGRAM_SKIP_BACKENDS = "" } = process.env

const problems: Array<string> = []

const check = (isOk: boolean, what: string): void => {
  if (!isOk) problems.push(what)
}

const launch = (): Promise<Browser> => {
  const path = [CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
    (path) => path !== undefined && Fs.existsSync(path)
  )
  if (path === undefined)
    throw new Error("There is no Chromium: scripts/servers.sh installs it, or CHROMIUM_PATH names it")
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
  return chromium.launch({ executablePath: path, args, timeout: 120_000 })
}

/** A page whose faults are problems. */
const open = async (browser: Browser, url: string): Promise<Page> => {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`))
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`${page.url()}: ${message.text()}`)
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url())) {
      problems.push(`${page.url()}: asks ${request.url()}`)
    }
  })
  return page
}

const checkNavigation = async (page: Page, url: string): Promise<void> => {
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto(url)
  await page.locator(".VPHero").getByRole("link", { name: "Quickstart" }).click()
  await page.getByRole("heading", { name: "Quickstart", level: 1 }).waitFor()
  await page.locator(".VPSidebar").getByRole("link", { name: "Concepts" }).click()
  await page.getByRole("heading", { name: "Concepts", level: 1 }).waitFor()
}

const checkApi = async (page: Page, url: string): Promise<void> => {
  await page.goto(url)
  await page.locator(".VPNavBarMenu").getByRole("link", { name: "API" }).click()
  await page.getByRole("heading", { name: "API", level: 1 }).waitFor()
  await page.locator(".VPSidebar").getByRole("link", { name: "agent", exact: true }).click()
  await page.locator(".VPSidebar").getByRole("link", { name: "AgentExecutor", exact: true }).click()
  await page.getByRole("heading", { name: "AgentExecutor", level: 1 }).waitFor()
  await page.locator(".VPDocAsideOutline").getByRole("link", { name: "run", exact: true }).click()
  await page.waitForURL(/agent\/AgentExecutor\.html#run$/)
}

const search = async (page: Page, words: string): Promise<string> => {
  await page.getByRole("button", { name: "Search" }).first().click()
  await page.locator(".VPLocalSearchBox input").fill(words)
  const results = page.locator(".VPLocalSearchBox .result")
  await results.first().waitFor()
  return (await results.allInnerTexts()).join("\n")
}

const checkSearch = async (page: Page): Promise<void> => {
  check(/approvals/i.test(await search(page, "approval")), "The search does not find the page of approvals")
  await page.keyboard.press("Enter")
  await page.waitForURL(/approv/)
  check(!page.url().includes("/api/"), "The search finds the API before the page of approvals")
  check(/withGuards/.test(await search(page, "withGuards")), "The search does not find a member of the API")
  await page.keyboard.press("Enter")
  await page.waitForURL(/api\/agent\/Agent\.html#withGuards/)
}

const checkCopy = async (page: Page, url: string): Promise<void> => {
  await page.goto(`${url}/quickstart.html`)
  const block = page.locator("div.language-ts").first()
  await block.hover()
  await block.locator("button.copy").click()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  check(copied.trim() === (await block.locator("pre code").innerText()).trim(), "A copied block is not the block")
}

/** Of the pages of modules, one of so many is opened. */
const MODULES_PER_OPENED = 16

const opened = (): ReadonlyArray<string> => {
  const isModule = (file: string): boolean => file.startsWith("api/") && !file.endsWith("/index.html")
  const files = SiteFiles.pages().filter((file) => file !== "404.html")
  return [
    ...files.filter((file) => !isModule(file)),
    ...files.filter(isModule).filter((_, i) => i % MODULES_PER_OPENED === 0)
  ]
}

/** Pages as they are opened on a small telephone, two at a time. */
const checkPages = async (browser: Browser, url: string): Promise<void> => {
  const queue = opened().values()
  const worker = async (): Promise<void> => {
    const page = await open(browser, url)
    await page.setViewportSize({ width: 320, height: 700 })
    for (const file of queue) {
      await page.goto(`${url}/${file}`)
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth
      )
      check(beyond <= 0, `${file}: ${beyond} px too wide at 320 px`)
    }
    await page.context().close()
  }
  await Promise.all([worker(), worker()])
}

const takePictures = async (browser: Browser, url: string): Promise<void> => {
  const folder = Path.join(root, "test-results", "site")
  Fs.mkdirSync(folder, { recursive: true })
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [320, 768, 1440]) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
      const shoot = (name: string) =>
        page.screenshot({ path: Path.join(folder, `${name.replaceAll("/", "-")}-${colorScheme}-${width}.png`) })
      for (const name of [
        "index",
        "guards",
        "strategies",
        "recipes",
        "api/index",
        "api/agent/index",
        "api/agent/Agent"
      ]) {
        await page.goto(`${url}/${name}.html`)
        await page.evaluate(() => document.fonts.ready)
        await shoot(name)
      }
      await search(page, "approval")
      await shoot("search")
      await page.context().close()
    }
  }
}

const checkInBrowser = async (): Promise<void> => {
  const browser = await launch()
  const { close, url } = await SiteFiles.serve()
  try {
    const page = await open(browser, url)
    await checkNavigation(page, url)
    await checkSearch(page)
    await checkCopy(page, url)
    await checkApi(page, url)
    await checkPages(browser, url)
    if (process.argv.includes("--pictures")) await takePictures(browser, url)
  } finally {
    await browser.close()
    close()
  }
}

const pages = SiteFiles.pages()
check(pages.length > 0, "There is no site: run `npm run docs:build`")
problems.push(...pages.flatMap(SiteFiles.problemsIn(SiteFiles.read)))
for (const file of ["llms.txt", "llms-full.txt"]) check(SiteFiles.read(file) !== undefined, `There is no ${file}`)
if (LEXIGRAM_SKIP_BACKENDS.split(",").includes("chromium")) console.log("skipped: the site in a browser")
else await checkInBrowser()

for (const problem of problems) console.error(problem)
console.log(`Checked ${pages.length} pages of the site: ${problems.length} problems.`)
if (problems.length > 0) process.exitCode = 1
