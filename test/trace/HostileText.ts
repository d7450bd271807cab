/** Texts that try to get out of markup, out of diagrams, or out of sight; and events that have them everywhere. */
import * as FastCheck from "effect/FastCheck"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as TracedRuns from "./TracedRuns.js"

export const pieces = [
  "</pre><script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  '" onmouseover="alert(1)',
  "' autofocus onfocus='alert(1)",
  "`",
  "<!--",
  "-->",
  "]]>",
  "<![CDATA[",
  "</title>",
  "</style>",
  "</details></section></main>",
  "<svg/onload=alert(1)>",
  "javascript:alert(1)",
  "https://evil.example/x.png",
  "&lt;b&gt;",
  "&#60;script&#62;",
  "&amp",
  "\u0000",
  "\u001b[31m",
  "\ud800",
  "\udc00",
  "\u202eevil\u202c",
  "\u2066",
  "\u200b",
  "\u2028",
  "\u{e0041}",
  "\ufdd0",
  "\r\n",
  "\n",
  "end",
  "end\n  alt",
  "%%{init: {}}%%",
  ";",
  "#35;",
  "a-->>b: x",
  '"]',
  "|",
  "[](){}",
  "subgraph",
  "click n0 call alert()",
  "日本",
  "👩‍💻",
  "__proto__"
]

export const text: FastCheck.Arbitrary<string> = FastCheck.array(
  FastCheck.oneof(FastCheck.constantFrom(...pieces), FastCheck.string({ unit: "grapheme", maxLength: 4 })),
  { maxLength: 6 }
).map((parts) => parts.join(""))

/** Every event, with a text in each field that takes any text, names included. */
export const events = (text: string): ReadonlyArray<AgentEvent> =>
  TracedRuns.everyKind(text).map((event) => named(event, text))

const named = (event: AgentEvent, text: string): AgentEvent =>
  ({
    ...event,
    agent: text,
    ...("name" in event ? { name: text } : {}),
    ...("model" in event ? { model: text } : {}),
    ...("provider" in event ? { provider: text } : {}),
    ...("role" in event ? { role: text } : {}),
    ...("strategy" in event ? { strategy: text } : {}),
    ...("finishReason" in event ? { finishReason: text } : {}),
    ...("guard" in event ? { guard: text } : {}),
    ...("graph" in event ? { graph: text, node: text } : {}),
    ...(event._tag === "Degraded" ? { stage: text } : {}),
    ...(event._tag === "Delegated" ? { toAgent: text } : {}),
    ...(event._tag === "Plan"
      ? { steps: event.steps.map((step) => ({ ...step, id: text, tool: text, dependsOn: [text] })) }
      : {}),
    ...("error" in event && event.error !== undefined ? { error: { ...event.error, tag: text, hint: text } } : {})
  }) as AgentEvent
