/**
 * Checks that every module, file and link named by the contributor pages exists, and draws the map of `src` in
 * `ARCHITECTURE.md` from the table of floors for `codegen`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { filesBelow, floorOf, floors, root } from "./layout.js"
import { subjects } from "./site/Subjects.js"

/** Pages, relative to the repository. */
export const pages: ReadonlyArray<string> = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "AGENTS.md",
  ...filesBelow(Path.join(root, "docs"))
    .filter((file) => file.endsWith(".md") && !file.startsWith("api/"))
    .map((file) => `docs/${file}`)
].filter((file) => Fs.existsSync(Path.join(root, file)))

/** Map of `src`, from the top floor down. */
export const map = (): string =>
  [
    "| floor | folder | contents |",
    "|---|---|---|",
    ...floors
      .flatMap((floor, i) => Object.entries(floor).map(([folder, what]) => `| ${i} | \`${folder}\` | ${what} |`))
      .reverse()
  ].join("\n")

const marked = /(<!-- map -->\n)[\s\S]*?(\n<!-- \/map -->)/

/** Redraws the map of a page; a page without marks is unchanged. */
export const withMap = (page: string): string => page.replace(marked, (_, begin, end) => `${begin}\n${map()}\n${end}`)

/** Code spans outside fences, and link targets. */
const references = (text: string): ReadonlyArray<{ readonly kind: "code" | "link"; readonly text: string }> => {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, "")
  return [
    ...Array.from(prose.matchAll(/`([^`\n]+)`/g), ([, code]) => ({ kind: "code" as const, text: code! })),
    ...Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => ({ kind: "link" as const, text: link! }))
  ]
}

const modulePath = /^[a-z0-9]+(\/[a-z0-9]+)?\/[A-Z][A-Za-z0-9]*$/

const filePath = /^(src|test|scripts|docs|examples|bench|\.ci|\.changeset)\/[\w./-]*$/

/** The anchor of a heading, as GitHub makes it. */
export const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-")

/** Anchors of a page. */
const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set(Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title]) => slug(title!)))

/** References of a page that do not exist, as `page: reference`. `exists` receives paths relative to the repository. */
export const problems = (
  page: string,
  text: string,
  exists: (path: string) => boolean,
  textOf: (path: string) => string
): ReadonlyArray<string> =>
  references(text).flatMap(({ kind, text: reference }) => {
    if (kind === "code") {
      if (modulePath.test(reference) && floorOf.has(Path.posix.dirname(reference))) {
        return exists(`src/${reference}.ts`) ? [] : [`${page}: there is no module ${reference}`]
      }
      return !filePath.test(reference) || exists(reference) ? [] : [`${page}: there is no file ${reference}`]
    }
    if (/^[a-z]+:/.test(reference)) return []
    const [path = "", anchor] = reference.split("#")
    const target = path === "" ? page : Path.posix.join(Path.posix.dirname(page), path)
    if (!exists(target)) return [`${page}: the link ${reference} leads nowhere`]
    return anchor === undefined || anchorsOf(textOf(target)).has(anchor)
      ? []
      : [`${page}: the link ${reference} names no heading`]
  })

/**
 * Packages of Effect that a page or a hint installs without the version that this package needs: the newest of some of them is of
 * another line.
 */
export const installProblems = (
  page: string,
  text: string,
  ranges: Readonly<Record<string, string>>
): ReadonlyArray<string> =>
  Array.from(text.matchAll(/\bnpm (?:install|i) ([^`\n]*)/g), ([, packages = ""]) =>
    Array.from(packages.matchAll(/(?:^|\s)(effect|@effect\/[\w-]+)(?:@([~^>=\d.]*\d))?(?=[\s.,;:)"']|$)/g))
  )
    .flat()
    .flatMap(([, name = "", range]) =>
      ranges[name] === undefined || ranges[name] === range
        ? []
        : [`${page}: npm install ${name} without its version, ${ranges[name]}`]
    )

/** Problems of all pages of the repository, and of the hints in its sources. */
export const repositoryProblems = (): ReadonlyArray<string> => {
  const textOf = (path: string): string => Fs.readFileSync(Path.join(root, path), "utf8")
  const { peerDependencies } = JSON.parse(textOf("package.json")) as {
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  const outside = pages
    .filter((page) => page.startsWith("docs/") && page !== "docs/index.md")
    .filter((page) => !subjects.some(({ entries }) => entries.some((entry) => `docs/${entry.page}.md` === page)))
  return [
    ...pages.flatMap((page) => [
      ...problems(page, textOf(page), (path) => Fs.existsSync(Path.join(root, path)), textOf),
      ...installProblems(page, textOf(page), peerDependencies)
    ]),
    ...filesBelow(Path.join(root, "src")).flatMap((file) =>
      installProblems(`src/${file}`, textOf(`src/${file}`), peerDependencies)
    ),
    ...outside.map((page) => `${page}: scripts/site/Subjects.ts does not name it`)
  ]
}
