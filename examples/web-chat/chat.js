// The page of the chat, on the API of agents. Texts from the server are shown as text, never as HTML.
//
// A message starts a run, which goes on whether somebody follows it or not. The page follows its events by
// `EventSource`, which connects again by itself, and after a reload it follows the run that is still open.

const $ = (id) => document.getElementById(id)
const messages = $("messages")

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const show = (problem) => {
  $("problem").textContent = problem ?? ""
  $("problem").hidden = problem === undefined
}

/** Fails with what the server says. */
const api = async (path, body, method = body === undefined ? "GET" : "POST") => {
  const response = await fetch(`/v1${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
  })
  const text = await response.text()
  if (!response.ok) {
    const { detail, hint, title } = JSON.parse(text || "{}")
    throw new Error([detail ?? title ?? `The server answers ${response.status}`, hint].filter(Boolean).join(". "))
  }
  return text === "" ? undefined : JSON.parse(text)
}

/** Shows the failure of what a person asked for. */
const attempt = (work) => async (event) => {
  event?.preventDefault()
  show()
  try {
    await work(event)
  } catch (error) {
    show(error.message)
  }
}

let agent
let chat
let source
let runId

const add = (role, ...children) => {
  const item = element("li", { className: role }, ...children)
  messages.append(item)
  item.scrollIntoView({ block: "end" })
  return item
}

const paragraph = (className, textContent) => element("p", { className, textContent })

const work = (id) => {
  runId = id
  $("send").hidden = id !== undefined
  $("stop").hidden = id === undefined
}

const shown = (params) => JSON.stringify(params, null, 2)

const askedFor = (event) => {
  const params = element("textarea", { rows: 4, value: shown(event.params), ariaLabel: "Arguments", spellcheck: false })
  const decide = (decision) =>
    attempt(async () => {
      const edited = decision === "approve" && params.value !== shown(event.params)
      let given
      try {
        given = edited ? JSON.parse(params.value) : undefined
      } catch {
        throw new Error("The arguments are not valid JSON")
      }
      await api(`/approvals/${encodeURIComponent(event.id)}/decision`, {
        decision,
        ...(edited ? { params: given } : {})
      })
    })
  return element(
    "section",
    { className: "approval" },
    element("h2", { textContent: `Approve ${event.name}?` }),
    params,
    element(
      "div",
      {},
      element("button", { type: "button", textContent: "Approve", onclick: decide("approve") }),
      element("button", { type: "button", textContent: "Deny", onclick: decide("deny") })
    )
  )
}

/** Shows a run as it goes on. `isAsked`: the message that began it is shown already. */
const follow = (id, isAsked) => {
  source?.close()
  work(id)
  const events = new EventSource(`/v1/runs/${encodeURIComponent(id)}/events`)
  source = events
  const text = paragraph("text", "")
  let item
  const parts = new Map()
  const answer = () => (item ??= add("assistant", text))
  const part = (key, made) => {
    parts.get(key)?.remove()
    parts.set(key, made)
    answer().insertBefore(made, text)
    made.scrollIntoView({ block: "nearest" })
  }
  const end = (note) => {
    events.close()
    work(undefined)
    for (const open of answer().querySelectorAll(".approval")) open.remove()
    if (note !== undefined) answer().append(paragraph("note", note))
    chats().catch(() => {})
  }
  const handlers = {
    Started: ({ input }) => {
      if (!isAsked) add("user", paragraph("text", input))
    },
    TextDelta: (event) => {
      text.textContent += event.text
      answer().scrollIntoView({ block: "end" })
    },
    TextRetracted: () => {
      text.textContent = ""
    },
    ToolCall: (event) => part(event.id, paragraph("tool", `${event.name} …`)),
    ToolResult: (event) => part(event.id, paragraph("tool", `${event.name} ${event.isFailure ? "failed" : "done"}`)),
    ApprovalRequested: (event) => part(event.id, askedFor(event)),
    ApprovalResolved: (event) => part(event.id, paragraph("tool", event.approved ? "approved" : "denied")),
    Message: (event) => {
      text.textContent = event.text
    },
    Error: (event) => end(event.interrupted ? "Stopped" : event.error.message),
    Finished: () => end()
  }
  for (const [name, handle] of Object.entries(handlers)) {
    events.addEventListener(name, ({ data }) => {
      const event = JSON.parse(data)
      // Of the agents inside of this one, a person sees what they ask.
      if (event.runId === id || name.startsWith("Approval")) handle(event)
    })
  }
  events.addEventListener("problem", ({ data }) => end(JSON.parse(data).detail))
  events.onerror = () => {
    // It connects again by itself unless the server refuses.
    if (events.readyState === EventSource.CLOSED && runId === id) end("The server does not know this run any more")
  }
}

const nameOf = ({ branchName, metadata }) => branchName ?? metadata.title ?? "Chat"

const rootOf = ({ id, rootSessionId }) => rootSessionId ?? id

const chats = async () => {
  const { sessions } = await api("/sessions?order=updated&limit=100")
  // Branches are below the conversation that they come from.
  const roots = sessions.map(rootOf)
  const rank = (session) => roots.indexOf(rootOf(session))
  const sorted = sessions.toSorted((a, b) => rank(a) - rank(b) || a.createdAt - b.createdAt)
  $("chats").replaceChildren(
    ...sorted.map((session) => {
      const button = element("button", {
        type: "button",
        textContent: nameOf(session),
        onclick: attempt(() => open(session.id))
      })
      if (session.id === chat?.id) button.ariaCurrent = "page"
      const className = session.parentSessionId === undefined ? "" : "branch"
      return element("li", { className }, button)
    })
  )
}

const turnOf = ({ content, role, toolCalls, unanswered }) => {
  const tools = toolCalls.map(({ isFailure, name }) => paragraph("tool", `${name} ${isFailure ? "failed" : "done"}`))
  const note = unanswered === undefined ? [] : [paragraph("note", `No answer: ${unanswered}`)]
  add(role, ...tools, paragraph("text", content), ...note)
}

/** Shows a conversation, and goes on with the answer that is not complete yet. */
const open = async (id) => {
  source?.close()
  work(undefined)
  chat = id === undefined ? undefined : await api(`/sessions/${encodeURIComponent(id)}`)
  location.hash = id ?? ""
  messages.replaceChildren()
  $("title").textContent = chat === undefined ? "New chat" : nameOf(chat)
  $("fork").disabled = chat === undefined
  if (chat !== undefined) {
    const session = encodeURIComponent(id)
    const [{ turns }, { runs }] = await Promise.all([
      api(`/sessions/${session}/turns?limit=200`),
      api(`/runs?sessionId=${session}&limit=1`)
    ])
    turns.forEach(turnOf)
    if (["queued", "running", "waiting"].includes(runs[0]?.state)) follow(runs[0].runId, false)
  }
  await chats()
  $("input").focus()
}

const send = async () => {
  const input = $("input").value.trim()
  if (input === "" || runId !== undefined) return
  if (chat === undefined) {
    chat = await api("/sessions", { metadata: { title: input.slice(0, 60) } })
    location.hash = chat.id
    $("title").textContent = nameOf(chat)
    $("fork").disabled = false
  }
  const { run } = await api("/runs", { agent, input, sessionId: chat.id })
  $("input").value = ""
  add("user", paragraph("text", input))
  follow(run.runId, true)
}

$("form").onsubmit = attempt(send)
$("input").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) attempt(send)(event)
}
$("stop").onclick = attempt(() => api(`/runs/${encodeURIComponent(runId)}/interrupt`, undefined, "POST"))
$("new").onclick = attempt(() => open())
$("fork").onclick = attempt(async () => {
  const branch = await api(`/sessions/${encodeURIComponent(chat.id)}/fork`, { branchName: `${nameOf(chat)} (branch)` })
  await open(branch.id)
})

attempt(async () => {
  const { agents } = await api("/agents")
  agent = agents[0].name
  await open(location.hash.slice(1) || undefined)
})()
