/** The pages of the API on the site: their sidebars, and what the search knows of them. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { filesBelow } from "../layout.js"
import { abouts } from "../reference/ApiEntries.js"
import { docs } from "./Subjects.js"

interface Item {
  readonly text: string
  readonly link: string
  readonly items?: Array<Item>
}

/** The folder of an entry with its modules, from the paths of pages below `docs/api`. */
const modulesOf = (files: ReadonlyArray<string>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const file of [...files].sort()) {
    const folder = Path.posix.dirname(file)
    const name = Path.posix.basename(file, ".md")
    if (folder === "." || !file.endsWith(".md")) continue
    const modules = found.get(folder) ?? []
    found.set(folder, modules)
    if (name !== "index") modules.push(name)
  }
  return found
}

/** A sidebar for each entry: all entries, with the modules of this one. */
export const sidebarsOf = (files: ReadonlyArray<string>): Record<string, Array<Item>> => {
  const modules = modulesOf(files)
  const sidebar = (open: string | undefined): Array<Item> => [
    {
      text: "API",
      link: "/api/",
      items: Array.from(modules, ([folder, names]) => ({
        text: folder,
        link: `/api/${folder}/`,
        ...(folder === open && names.length > 0
          ? { items: names.map((name) => ({ text: name, link: `/api/${folder}/${name}` })) }
          : {})
      }))
    }
  ]
  return Object.fromEntries([
    ["/api/", sidebar(undefined)],
    ...Array.from(modules.keys(), (folder) => [`/api/${folder}/`, sidebar(folder)] as const)
  ])
}

export const sidebars = (): Record<string, Array<Item>> => {
  const folder = Path.join(docs, "api")
  return Fs.existsSync(folder) ? sidebarsOf(filesBelow(folder)) : {}
}

/** The last line of a guide: the entries whose members it explains. */
export const lineOf = (page: string): string => {
  const links = Object.entries(abouts)
    .filter(([, { guides }]) => guides.some((guide) => `${guide}.md` === page))
    .map(([entry]) => entry || "effect-lexigram")
    .map((folder) => `[${folder}](api/${folder}/index.md)`)
  return links.length === 0 ? "" : `\n\nAPI: ${links.join(", ")}.\n`
}

/** The part of `markdown-it` that is used. */
interface Markdown {
  readonly core: {
    readonly ruler: {
      before(
        next: string,
        name: string,
        rule: (state: { src: string; readonly env: { readonly relativePath?: string } }) => void
      ): void
    }
  }
}

/** Ends guides with links to the API, if its pages are there. */
export const plugin = (md: Markdown): void => {
  if (!Fs.existsSync(Path.join(docs, "api"))) return
  md.core.ruler.before("normalize", "api_line", (state) => {
    state.src += lineOf(state.env.relativePath ?? "")
  })
}

/** What the search knows of a page of the API: names and words, no code, no facts and no categories. */
export const searchable = (text: string): string =>
  text
    .replaceAll(/^[ \t]*```[\s\S]*?^[ \t]*```[^\n]*$/gm, "")
    .replaceAll(/^(?:<p class="api-facts">|## |\*\*Example\*\*$).*$/gm, "")
    .replaceAll(/^### /gm, "## ")
