// A page with `useChat` as its documentation shows it. The bundle says which version of the packages it is.
import { useChat } from "@ai-sdk/react"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { createElement as h, useEffect, useState } from "react"
import { createRoot } from "react-dom/client"

const api = "/ui/chat/clerk"

const Part = ({ part, respond }) => {
  if (part.type === "text") return h("p", {}, part.text)
  if (!part.type.startsWith("tool-")) return null
  return h(
    "div",
    {},
    `${part.type} ${part.state}`,
    part.state === "approval-requested" &&
      h("button", { type: "button", onClick: () => respond({ id: part.approval.id, approved: true }) }, "Approve")
  )
}

const Chat = ({ initial }) => {
  const [input, setInput] = useState("")
  const { addToolApprovalResponse, error, messages, sendMessage, status, stop } = useChat({
    id: "chat-1",
    messages: initial,
    resume: true,
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  const submit = (event) => {
    event.preventDefault()
    sendMessage({ text: input })
    setInput("")
  }
  return h(
    "main",
    {},
    h(
      "ol",
      { role: "log" },
      messages.map(({ id, parts, role }) =>
        h(
          "li",
          { key: id, "data-role": role },
          parts.map((part, at) => h(Part, { key: at, part, respond: addToolApprovalResponse }))
        )
      )
    ),
    h("output", {}, `${status}${error === undefined ? "" : `: ${error.message}`}`),
    h(
      "form",
      { onSubmit: submit },
      h("input", { "aria-label": "Message", value: input, onChange: ({ target }) => setInput(target.value) }),
      h("button", { type: "submit" }, "Send"),
      h("button", { type: "button", onClick: stop }, "Stop")
    )
  )
}

const Page = () => {
  const [initial, setInitial] = useState()
  useEffect(() => {
    fetch(`${api}/chat-1/messages`)
      .then((response) => (response.ok ? response.json() : { messages: [] }))
      .then(({ messages }) => setInitial(messages))
  }, [])
  return initial === undefined ? null : h(Chat, { initial })
}

createRoot(document.body.appendChild(document.createElement("div"))).render(h(Page))
