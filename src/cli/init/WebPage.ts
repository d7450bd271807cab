/**
 * The page of the chat of new projects: plain files for the browser, without a build.
 *
 * @private
 * @since 0.1.0
 */
import type * as Project from "./Project.js"

const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Chat</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="chat.css" />
    <script type="module" src="chat.js"></script>
  </head>
  <body>
    <header>
      <h1>Chat</h1>
      <button id="new" type="button">New chat</button>
    </header>
    <ol id="messages" role="log" aria-live="polite" aria-label="Messages"></ol>
    <p id="problem" role="alert" hidden></p>
    <form id="form">
      <textarea id="input" rows="2" aria-label="Message" placeholder="Where is order 17?" required></textarea>
      <button id="send" type="submit">Send</button>
    </form>
  </body>
</html>
`

const css = `:root {
  font: 16px / 1.5 system-ui, sans-serif;
  color-scheme: light dark;
}
* {
  box-sizing: border-box;
}
body {
  margin: 0 auto;
  max-width: 44rem;
  height: 100dvh;
  padding: 0 1rem 1rem;
  display: flex;
  flex-direction: column;
}
header,
form {
  display: flex;
  gap: 0.5rem;
  align-items: center;
  justify-content: space-between;
}
#messages {
  flex: 1;
  margin: 0;
  padding: 0;
  overflow-y: auto;
  list-style: none;
}
.user {
  font-weight: 600;
}
.tool,
.note {
  margin: 0;
  font-size: 0.85rem;
  opacity: 0.7;
}
.text {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
textarea {
  flex: 1;
  font: inherit;
  resize: none;
}
button {
  font: inherit;
}
`

const script = `// The chat, on the API of the agents. Texts of the server are shown as text, never as HTML.

const $ = (id) => document.getElementById(id)

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const paragraph = (className, textContent) => element("p", { className, textContent })

const add = (role, ...children) => {
  const item = element("li", { className: role }, ...children)
  $("messages").append(item)
  item.scrollIntoView({ block: "end" })
  return item
}

/** Fails with what the server says. */
const api = async (path, body, method = body === undefined ? "GET" : "POST") => {
  const response = await fetch("/v1" + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
  })
  const text = await response.text()
  if (!response.ok) {
    const { detail, title } = text.startsWith("{") ? JSON.parse(text) : {}
    throw new Error(detail ?? title ?? "The server answers " + response.status)
  }
  return text === "" ? undefined : JSON.parse(text)
}

/** Shows the failure of what a person asked for. */
const attempt = (work) => async (event) => {
  event?.preventDefault()
  $("problem").hidden = true
  try {
    await work(event)
  } catch (error) {
    $("problem").textContent = error.message
    $("problem").hidden = false
  }
}

let agent
let session
let source

const approval = ({ id, name, params }) => {
  const decide = (decision) =>
    attempt(() => api("/approvals/" + encodeURIComponent(id) + "/decision", { decision }))
  return element(
    "section",
    {},
    paragraph("text", "Approve " + name + " " + JSON.stringify(params) + "?"),
    element("button", { type: "button", textContent: "Approve", onclick: decide("approve") }),
    element("button", { type: "button", textContent: "Deny", onclick: decide("deny") })
  )
}

/** Shows a run as it goes on. The page connects again by itself when the connection is lost. */
const follow = (runId) => {
  source?.close()
  $("send").disabled = true
  const events = new EventSource("/v1/runs/" + encodeURIComponent(runId) + "/events")
  source = events
  const text = paragraph("text", "")
  const item = add("assistant", text)
  const parts = new Map()
  const part = (key, made) => {
    parts.get(key)?.remove()
    parts.set(key, made)
    item.insertBefore(made, text)
  }
  const end = (note) => {
    events.close()
    $("send").disabled = false
    if (note !== undefined) item.append(paragraph("note", note))
  }
  const handlers = {
    TextDelta: (event) => {
      text.textContent += event.text
      item.scrollIntoView({ block: "end" })
    },
    TextRetracted: () => {
      text.textContent = ""
    },
    ToolCall: ({ id, name }) => part(id, paragraph("tool", name + " …")),
    ToolResult: ({ id, isFailure, name }) => part(id, paragraph("tool", name + (isFailure ? " failed" : " done"))),
    ApprovalRequested: (event) => part(event.id, approval(event)),
    ApprovalResolved: ({ approved, id }) => part(id, paragraph("tool", approved ? "approved" : "denied")),
    Message: (event) => {
      text.textContent = event.text
    },
    Error: ({ error }) => end(error.message),
    Finished: () => end()
  }
  for (const [name, handle] of Object.entries(handlers)) {
    events.addEventListener(name, ({ data }) => {
      const event = JSON.parse(data)
      // Of the agents inside of this one, a person sees what they ask.
      if (event.runId === runId || name.startsWith("Approval")) handle(event)
    })
  }
  events.addEventListener("problem", ({ data }) => end(JSON.parse(data).detail))
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) end("The server does not know this run any more")
  }
}

const open = async (id) => {
  source?.close()
  $("send").disabled = false
  $("messages").replaceChildren()
  session = id
  location.hash = id ?? ""
  if (id === undefined) return
  const path = encodeURIComponent(id)
  const [{ turns }, { runs }] = await Promise.all([
    api("/sessions/" + path + "/turns?limit=200"),
    api("/runs?limit=1&sessionId=" + path)
  ])
  for (const { content, role } of turns) add(role, paragraph("text", content))
  if (["queued", "running", "waiting"].includes(runs[0]?.state)) follow(runs[0].runId)
}

const send = async () => {
  const input = $("input").value.trim()
  if (input === "" || $("send").disabled) return
  if (session === undefined) {
    const made = await api("/sessions", { metadata: { title: input.slice(0, 60) } })
    session = made.id
    location.hash = session
  }
  const { run } = await api("/runs", { agent, input, sessionId: session })
  $("input").value = ""
  add("user", paragraph("text", input))
  follow(run.runId)
}

$("form").onsubmit = attempt(send)
$("input").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) attempt(send)(event)
}
$("new").onclick = attempt(() => open())

attempt(async () => {
  const { agents } = await api("/agents")
  agent = agents[0].name
  await open(decodeURIComponent(location.hash.slice(1)) || undefined)
})()
`

/**
 * @category constants
 */
export const files: Project.Files = {
  "public/index.html": html,
  "public/chat.css": css,
  "public/chat.js": script
}
