/** Headings with ids of their own, `### make {#make}`: what the links at their side say is without the id. */

interface Token {
  readonly type: string
  content: string
}

/** The part of `markdown-it` that is used. */
interface Markdown {
  readonly core: {
    readonly ruler: {
      before(next: string, name: string, rule: (state: { readonly tokens: ReadonlyArray<Token> }) => void): void
    }
  }
}

export const plugin = (md: Markdown): void => {
  md.core.ruler.before("anchor", "heading_ids", ({ tokens }) => {
    for (const [i, { type }] of tokens.entries()) {
      const title = type === "heading_open" ? tokens[i + 1] : undefined
      if (title !== undefined) title.content = title.content.replace(/ \{#[\w$-]+\}$/, "")
    }
  })
}
