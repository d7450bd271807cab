// The page of the desk, on the API of agents. Texts from the server are shown as text, never as HTML.

const $ = (id) => document.getElementById(id)

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const paragraph = (className, textContent) => element("p", { className, textContent })

/** Fails with what the server says. */
const api = async (path, { body, headers = {}, method = body === undefined ? "GET" : "POST" } = {}) => {
  const response = await fetch(path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  const data = text === "" ? undefined : JSON.parse(text)
  if (!response.ok) {
    throw Object.assign(new Error(data?.detail ?? `The server answers ${response.status}`), { status: response.status })
  }
  return data
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

const pause = () => new Promise((resolve) => setTimeout(resolve, 2000))

const add = (role, ...children) => {
  const item = element("li", { className: role }, ...children)
  $("messages").append(item)
  item.scrollIntoView({ block: "end" })
  return item
}

let session

/** Waits for the answer of a run. It may take days: the customer may leave the page and come back. */
const follow = async (runId) => {
  const note = paragraph("tool", "…")
  const item = add("assistant", note)
  for (;;) {
    const { answer, run } = await api(`/v1/runs/${encodeURIComponent(runId)}`)
    if (run.state === "waiting") note.textContent = "A colleague looks at it …"
    if (answer !== undefined) {
      item.replaceChildren(paragraph("text", answer.error?.message ?? answer.message))
      return
    }
    await pause()
  }
}

const open = async (id) => {
  session = id
  location.hash = id
  $("messages").replaceChildren()
  const path = encodeURIComponent(id)
  const [{ turns }, { runs }] = await Promise.all([
    api(`/v1/sessions/${path}/turns?limit=200`),
    api(`/v1/runs?limit=1&sessionId=${path}`)
  ])
  for (const { content, role } of turns) add(role, paragraph("text", content))
  if (["queued", "running", "waiting"].includes(runs[0]?.state)) await follow(runs[0].runId)
}

const send = async () => {
  const input = $("input").value.trim()
  if (input === "") return
  if (session === undefined) {
    session = (await api("/v1/sessions", { body: { metadata: { title: input.slice(0, 60) } } })).id
    location.hash = session
  }
  const { run } = await api("/v1/runs", { body: { agent: "front-desk", input, sessionId: session } })
  $("input").value = ""
  add("user", paragraph("text", input))
  await follow(run.runId)
}

/** What waits for the people of the shop. */
const showWaiting = async () => {
  const { waiting } = await api("/staff/waiting")
  const decide = (id, body) =>
    attempt(async () => {
      await api(`/staff/waiting/${encodeURIComponent(id)}`, { body })
      await showWaiting()
    })
  const shown = waiting.map(({ customer, id, params, tool }) =>
    element(
      "section",
      { className: "approval" },
      element("h2", { textContent: `${tool} for ${customer}` }),
      paragraph("text", JSON.stringify(params)),
      element("button", { type: "button", textContent: "Approve", onclick: decide(id, { decision: "approve" }) }),
      element("button", {
        type: "button",
        textContent: "Deny",
        onclick: decide(id, { decision: "deny", reason: "The shop has decided against it" })
      })
    )
  )
  const again = element("button", { type: "button", textContent: "Look again", onclick: attempt(showWaiting) })
  $("staff").replaceChildren(...(shown.length === 0 ? [paragraph("note", "Nothing waits.")] : shown), again)
}

const begin = async () => {
  try {
    await api("/v1/agents")
  } catch (error) {
    if (error.status !== 401) throw error
    $("sign-in").hidden = false
    return
  }
  $("sign-in").hidden = true
  try {
    await showWaiting()
    $("staff").hidden = false
  } catch (error) {
    if (error.status !== 403) throw error
    $("form").hidden = false
    $("new").hidden = false
    const id = decodeURIComponent(location.hash.slice(1))
    if (id !== "") await open(id)
  }
}

$("form").onsubmit = attempt(send)
$("new").onclick = () => {
  location.hash = ""
  location.reload()
}
$("sign-in").onsubmit = attempt(async () => {
  await api("/sign-in", { method: "POST", headers: { authorization: `Bearer ${$("token").value.trim()}` } })
  $("token").value = ""
  await begin()
})

attempt(begin)()
