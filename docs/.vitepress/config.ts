import { defineConfig } from "vitepress"
import { slug } from "../../scripts/pages.js"
import { project } from "../../scripts/project.js"
import * as ApiSection from "../../scripts/site/ApiSection.js"
import * as HeadingIds from "../../scripts/site/HeadingIds.js"
import * as Llms from "../../scripts/site/Llms.js"
import * as RepositoryLinks from "../../scripts/site/RepositoryLinks.js"
import { subjects } from "../../scripts/site/Subjects.js"

const { DOCS_BASE: base = "/" } = process.env

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M8 4v24h16" fill="none" stroke="#5672cd" stroke-width="5"/></svg>'

export default defineConfig({
  title: "effect-lexigram",
  description: "AI agents as Effect programs",
  base: base as `/${string}/`,
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  // In a file of its own instead of in every page: the sidebars of the API are long.
  metaChunk: true,
  cacheDir: "../node_modules/.cache/vitepress",
  outDir: "../.site",
  markdown: {
    anchor: { slugify: slug },
    config: (md) => {
      ApiSection.plugin(md)
      HeadingIds.plugin(md)
      RepositoryLinks.plugin(md, project && `${project.repository}/blob/main`)
    }
  },
  themeConfig: {
    nav: [
      { text: "Quickstart", link: "/quickstart" },
      { text: "Recipes", link: "/recipes" },
      { text: "Strategies", link: "/strategies" },
      { text: "API", link: "/api/" }
    ],
    sidebar: {
      ...ApiSection.sidebars(),
      "/": subjects.map(({ entries, title }, i) => ({
        text: title,
        collapsed: i > 1,
        items: entries.map(({ page, title }) => ({ text: title, link: `/${page.replace(/(^|\/)index$/, "$1")}` }))
      }))
    },
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: { boostDocument: (id: string) => (id.includes("/api/") ? 0.3 : 1) }
        },
        _render: (text, env, md) => {
          const html = md.render(env.relativePath.startsWith("api/") ? ApiSection.searchable(text) : text, env)
          return env.frontmatter?.search === false ? "" : html
        }
      }
    }
  },
  buildEnd: ({ outDir }) => Llms.write(outDir, base)
})
