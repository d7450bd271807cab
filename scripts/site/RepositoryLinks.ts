/**
 * Links of pages to files of the repository that are not pages: with an address of the repository they lead there, and
 * without one their text stays. The README is the home page.
 */
import * as Path from "node:path"

/** The part of `markdown-it` that is used. */
interface Token {
  type: string
  tag: string
  content: string
  nesting: number
  children: Array<Token> | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

interface Markdown {
  readonly core: {
    readonly ruler: {
      push(
        name: string,
        rule: (state: {
          readonly tokens: ReadonlyArray<Token>
          readonly env: { readonly relativePath?: string }
        }) => void
      ): void
    }
  }
}

/** Where the link of a page leads; `undefined` for a file that the site does not have. */
export const resolve = (page: string, link: string, repository: string | undefined): string | undefined => {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link
  const [path = "", anchor] = link.split("#")
  const target = Path.posix.join("docs", Path.posix.dirname(page), path)
  if (target === "README.md") return Path.posix.relative(Path.posix.dirname(page), "index.md")
  if (target.startsWith("docs/") && target.endsWith(".md")) return link
  return repository === undefined
    ? undefined
    : `${repository.replace(/\/$/, "")}/${target}${anchor === undefined ? "" : `#${anchor}`}`
}

const rewrite = (tokens: ReadonlyArray<Token>, page: string, repository: string | undefined): void => {
  let isDropped = false
  for (const token of tokens) {
    const link = token.type === "link_open" ? token.attrGet("href") : null
    if (link !== null) {
      const target = resolve(page, link, repository)
      isDropped = target === undefined
      if (target !== undefined) token.attrSet("href", target)
    }
    if (isDropped && (token.type === "link_open" || token.type === "link_close")) {
      isDropped = token.type === "link_open"
      Object.assign(token, { type: "text", tag: "", content: "", nesting: 0 })
    }
  }
}

export const plugin = (md: Markdown, repository: string | undefined): void => {
  md.core.ruler.push("repository_links", ({ env, tokens }) => {
    for (const { children } of tokens) if (children !== null) rewrite(children, env.relativePath ?? "", repository)
  })
}
