import ReactMarkdown, { type Components } from "react-markdown"
import remarkGfm from "remark-gfm"

/** Links lead out of the studio, without telling where they come from. Images would load what a model names. */
const components: Components = {
  a: ({ children, href }) =>
    // An address that is not allowed is empty.
    href === undefined || href === "" ? (
      <span>{children}</span>
    ) : (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
        {children}
      </a>
    ),
  img: ({ alt, src }) => <span className="image-left-out">[image: {alt === "" ? String(src ?? "") : alt}]</span>,
  input: ({ checked }) => <span>{checked === true ? "[x]" : "[ ]"}</span>
}

/** Markup in the text stays text: `react-markdown` builds no elements of it. */
const Markdown = ({ text }: { readonly text: string }) => (
  <div className="markdown">
    <ReactMarkdown remarkPlugins={[remarkGfm]} components={components}>
      {text}
    </ReactMarkdown>
  </div>
)

export default Markdown
