/** What tests see of a page in Chromium. */
import * as Effect from "effect/Effect"
import type { Page } from "playwright-core"

/** Shows a page, and gives the addresses that it asks for. */
export const show = (page: Page, html: string) =>
  Effect.promise(async () => {
    const asked: Array<string> = []
    await page.unrouteAll()
    await page.route("**/*", (route) => {
      asked.push(route.request().url())
      return route.fulfill({ contentType: "text/html; charset=utf-8", body: html })
    })
    await page.goto("http://page.example/")
    return asked
  })

/** Opens or closes all details. */
export const setOpen = (page: Page, open: boolean) =>
  Effect.promise(() =>
    page.evaluate((open) => {
      for (const details of document.querySelectorAll("details")) details.open = open
    }, open)
  )

/** Elements and attributes as the browser has them, in order, whether details are open or not. */
export const elementsOf = (page: Page, pages: ReadonlyArray<string>) =>
  Effect.promise(() =>
    page.evaluate(
      (pages) =>
        pages.map((text) => {
          const { documentElement } = new DOMParser().parseFromString(text, "text/html")
          return Array.from(documentElement.querySelectorAll("*"), (element) =>
            [
              element.localName,
              ...element
                .getAttributeNames()
                .filter((name) => name !== "open")
                .sort()
            ].join(" ")
          ).join("\n")
        }),
      pages
    )
  )

/** The lowest contrast of a text to what is behind it. */
export const lowestContrast = (page: Page) =>
  Effect.promise(() =>
    page.evaluate(() => {
      const read = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number)
      const over = (front: ReadonlyArray<number>, back: ReadonlyArray<number>) => {
        const alpha = front[3] ?? 1
        return [0, 1, 2].map((at) => (front[at] ?? 0) * alpha + (back[at] ?? 0) * (1 - alpha))
      }
      const behind = (element: Element | null): ReadonlyArray<number> => {
        if (element === null) return [255, 255, 255]
        return over(read(getComputedStyle(element).backgroundColor), behind(element.parentElement))
      }
      const luminance = (color: ReadonlyArray<number>) =>
        [0.2126, 0.7152, 0.0722].reduce((sum, part, at) => {
          const value = (color[at] ?? 0) / 255
          return sum + part * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        }, 0)
      let lowest = { ratio: 21, text: "" }
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const text = node.textContent?.trim() ?? ""
        const element = node.parentElement
        if (text === "" || element === null || !element.checkVisibility()) continue
        const back = behind(element)
        const [dark = 0, light = 0] = [
          luminance(back),
          luminance(over(read(getComputedStyle(element).color), back))
        ].sort((a, b) => a - b)
        const ratio = (light + 0.05) / (dark + 0.05)
        if (ratio < lowest.ratio) lowest = { ratio, text: `${element.className}: ${text}` }
      }
      return lowest
    })
  )

/** How many pixels the page is wider than its window. */
export const beyond = (page: Page) =>
  Effect.promise(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth))
