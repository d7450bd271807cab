/**
 * `llms.txt`, an index of the site for language models, and `llms-full.txt`, the text of all of its pages besides
 * those of the API.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { docs, subjects } from "./Subjects.js"

const head = `# effect-lexigram

> AI agents as Effect programs, in TypeScript: typed errors, streamed events, and layers for models, tools, memory,
> sessions, guards, budgets and durable runs.
`

const index = (base: string): string =>
  [
    head,
    ...subjects.map(
      ({ entries, title }) =>
        `## ${title}\n\n${entries.map(({ about, page, title }) => `- [${title}](${base}${page}.html): ${about}`).join("\n")}\n`
    )
  ].join("\n")

const whole = (base: string): string =>
  [
    head,
    ...subjects
      .flatMap(({ entries }) => entries)
      .filter(({ page }) => !page.startsWith("api/"))
      .map(({ page }) => `Page: ${base}${page}.html\n\n${Fs.readFileSync(Path.join(docs, `${page}.md`), "utf8")}`)
  ].join("\n\n")

export const write = (folder: string, base: string): void => {
  Fs.writeFileSync(Path.join(folder, "llms.txt"), index(base))
  Fs.writeFileSync(Path.join(folder, "llms-full.txt"), whole(base))
}
