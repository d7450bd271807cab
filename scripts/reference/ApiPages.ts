/** The pages of the API: an index, one page an entry, and one a module. */
import * as Path from "node:path"
import type { About } from "./ApiEntries.js"
import * as DocText from "./DocText.js"
import type { Entry, Member, Module } from "./PublicApi.js"

export interface Options {
  /** The signature of a member, formatted. */
  readonly textOf: (member: Member) => string
  /** What an entry is for, by its specifier without the name of the package. */
  readonly abouts: Readonly<Record<string, About>>
  /** The address of a place in the repository, if it has one. */
  readonly addressOf: (file: string, line: number) => string | undefined
  /** The title of a page of the site. */
  readonly guideOf: (page: string) => string
  /** Names of modules of other packages, to which code in doc comments may refer. */
  readonly foreign: ReadonlySet<string>
}

/** Categories in the order in which a module is read. Others stand before the models. */
const first = [
  "constructors",
  "presets",
  "configuration",
  "registration",
  "layers",
  "execution",
  "operations",
  "combinators"
]
const last = ["models", "tags", "entities", "schemas", "errors", "symbols", "type utils", ""]

const rankOf = (category: string): number =>
  first.includes(category)
    ? first.indexOf(category)
    : last.includes(category)
      ? first.length + 1 + last.indexOf(category)
      : first.length

interface Place {
  readonly entry: Entry
  readonly module: Module
  /** Other entries with the same module. */
  readonly also: Array<Entry>
}

const tailOf = (specifier: string): string => specifier.replace(/^[^/]*\/?/, "")

/** The folder of an entry below the pages. */
export const folderOf = (specifier: string): string => tailOf(specifier) || specifier

const pageOf = ({ entry, module }: Place): string =>
  `${folderOf(entry.specifier)}/${module.name === "" ? "index" : module.name}.md`

/** Where each module has its page: at the first entry besides the root. */
const placesOf = (entries: ReadonlyArray<Entry>): ReadonlyMap<string, Place> => {
  const places = new Map<string, Place>()
  const ordered = [...entries].sort((a, b) => Number(tailOf(a.specifier) === "") - Number(tailOf(b.specifier) === ""))
  for (const entry of ordered) {
    for (const module of entry.modules) {
      const place = places.get(module.file)
      if (place === undefined) places.set(module.file, { entry, module, also: [] })
      else place.also.push(entry)
    }
  }
  return places
}

const resolverOf = (places: ReadonlyMap<string, Place>, foreign: ReadonlySet<string>) => {
  const byName = new Map(Array.from(places.values(), (place) => [place.module.name, place] as const))
  const has = (module: Module, name: string | undefined): boolean => module.members.some((one) => one.name === name)
  return (page: string, module: Module | undefined): DocText.Resolve =>
    (name) => {
      const [head = "", tail] = name.split(".")
      if (module !== undefined && has(module, head) && head !== module.name) return `#${head}`
      const place = byName.get(head)
      if (place === undefined || (tail === undefined && foreign.has(head))) return undefined
      const anchor = tail ?? head
      const isMember = has(place.module, anchor)
      if ((tail !== undefined && !isMember) || (place.module === module && tail === undefined)) return undefined
      if (place.module === module) return `#${anchor}`
      return Path.posix.relative(Path.posix.dirname(page), pageOf(place)) + (isMember ? `#${anchor}` : "")
    }
}

const importOf = (name: string, specifier: string): string => `\`\`\`ts\nimport { ${name} } from "${specifier}"\n\`\`\``

const codeOf = (text: string): string | undefined => /"(LEX_ERR_\w+)"/.exec(text)?.[1]

const memberSection = (member: Member, page: string, resolve: DocText.Resolve, options: Options): string => {
  const text = options.textOf(member)
  const address = options.addressOf(member.file, member.line)
  const facts = [
    member.kind,
    ...(member.since === "" ? [] : [`since ${member.since}`]),
    ...(address === undefined ? [] : [`<a href="${address}">source</a>`])
  ]
  const code = member.category === "errors" ? codeOf(text) : undefined
  const errors = Path.posix.relative(Path.posix.dirname(`api/${page}`), "reference-errors.md")
  return [
    `### ${member.name.replaceAll(/^_|_$/g, "\\_")} {#${member.name}}`,
    `<p class="api-facts">${facts.join(" · ")}</p>`,
    ...(member.doc === "" ? [] : [DocText.markdown(member.doc, resolve)]),
    ...(text === "" ? [] : [`\`\`\`ts\n${text}\n\`\`\``]),
    ...(code === undefined ? [] : [`Its code is [\`${code}\`](${errors}#${code.toLowerCase()}).`]),
    ...member.examples.map((example) => `**Example**\n\n${DocText.markdown(example, resolve)}`)
  ].join("\n\n")
}

const titleOf = (category: string): string =>
  category === "" ? "Others" : category.charAt(0).toUpperCase() + category.slice(1)

const membersOf = (module: Module, page: string, resolve: DocText.Resolve, options: Options): ReadonlyArray<string> => {
  const categories = [...new Set(module.members.map(({ category }) => category))].sort(
    (a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1)
  )
  return categories.flatMap((category) => [
    `## ${titleOf(category)} {#category-${category.replaceAll(" ", "-") || "others"}}`,
    ...module.members
      .filter((member) => member.category === category)
      .sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
      .map((member) => memberSection(member, page, resolve, options))
  ])
}

const joined = (parts: ReadonlyArray<string>): string => `${parts.join("\n\n")}\n`

const modulePage = (place: Place, resolve: DocText.Resolve, options: Options): string => {
  const { also, entry, module } = place
  const others = also.map(({ specifier }) => `\`${specifier}\``).join(" and ")
  const [head = "", ...rest] = module.doc.split("\n\n")
  return joined([
    `# ${module.name} {#page-top}`,
    DocText.markdown(head, resolve),
    importOf(module.name, entry.specifier),
    ...(others === "" ? [] : [`Also in ${others}.`]),
    ...(rest.length === 0 ? [] : [DocText.markdown(rest.join("\n\n"), resolve)]),
    ...membersOf(module, pageOf(place), resolve, options)
  ])
}

const guides = (page: string, { guides }: About, { guideOf }: Options): ReadonlyArray<string> => {
  const from = Path.posix.dirname(`api/${page}`)
  const links = guides.map((guide) => `[${guideOf(guide)}](${Path.posix.relative(from, `${guide}.md`)})`)
  return links.length === 0 ? [] : [`Guides: ${links.join(", ")}.`]
}

const aboutOf = ({ specifier }: Entry, { abouts }: Options): About => {
  const found = abouts[tailOf(specifier)]
  if (found === undefined) throw new Error(`scripts/reference/ApiEntries.ts does not name ${specifier}`)
  return found
}

const isMade = ({ category }: Member): boolean => category === first[0]

/** All pages by their paths below the folder of the API. */
export const make = (entries: ReadonlyArray<Entry>, options: Options): ReadonlyMap<string, string> => {
  const places = placesOf(entries)
  const resolver = resolverOf(places, options.foreign)
  const pages = new Map<string, string>()
  const links = (entry: Entry, from: string): ReadonlyArray<readonly [link: string, module: Module]> =>
    entry.modules.flatMap((module) => {
      const place = places.get(module.file)
      return place === undefined || module.name === ""
        ? []
        : [[`[${module.name}](${Path.posix.relative(from, pageOf(place))})`, module] as const]
    })
  for (const place of places.values()) {
    if (place.module.name === "") continue
    const page = pageOf(place)
    pages.set(page, modulePage(place, resolver(page, place.module), options))
  }
  const index = ["# API", "Every public module and member, by the entry of the package that exports it."]
  for (const entry of entries) {
    const folder = folderOf(entry.specifier)
    const page = `${folder}/index.md`
    const about = aboutOf(entry, options)
    const flat = entry.modules.find(({ name }) => name === "")
    const resolve = resolver(page, flat)
    const list = links(entry, folder).map(
      ([link, { doc }]) => `- ${link}: ${DocText.markdown(DocText.sentenceOf(doc), resolve)}`
    )
    pages.set(
      page,
      joined([
        `# ${entry.specifier} {#page-top}`,
        about.text,
        ...guides(page, about, options),
        ...(flat === undefined ? [] : [importOf(flat.members.find(isMade)?.name ?? "", entry.specifier)]),
        ...(list.length === 0 ? [] : ["## Modules {#all-modules}", list.join("\n")]),
        ...(flat === undefined ? [] : membersOf(flat, page, resolve, options))
      ])
    )
    const modules = links(entry, "").map(([link]) => link)
    index.push(
      `## ${folder} {#${folder.replaceAll("/", "-")}}`,
      `[${entry.specifier}](${page}): ${about.text}`,
      ...(modules.length === 0 ? [] : [`${modules.join(", ")}.`])
    )
  }
  pages.set("index.md", joined(index))
  return pages
}
