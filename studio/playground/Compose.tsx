/** The message to send: text and files. */
import { useEffect, useRef, useState } from "react"
import type { File as FilePart } from "../../src/content/Content.js"
import { problemOf } from "../lib/client.js"
import { Problem } from "../lib/parts.js"

const partOf = async (file: File): Promise<FilePart> => ({
  type: "file",
  mediaType: (file.type === "" ? "application/octet-stream" : (file.type.split(";")[0] ?? "")).toLowerCase(),
  fileName: file.name,
  data: new Uint8Array(await file.arrayBuffer())
})

export const Compose = ({
  isBusy,
  isEdit,
  onCancel,
  onSend,
  start
}: {
  /** The text that the field begins with. */
  readonly start: string
  readonly isEdit: boolean
  readonly isBusy: boolean
  /** Returns whether it was sent. */
  readonly onSend: (text: string, files: ReadonlyArray<FilePart>) => Promise<boolean>
  readonly onCancel: () => void
}) => {
  const [text, setText] = useState(start)
  const [files, setFiles] = useState<ReadonlyArray<File>>([])
  const [problem, setProblem] = useState<unknown>()
  const area = useRef<HTMLTextAreaElement>(null)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    setText(start)
    if (isEdit) area.current?.focus()
  }, [start, isEdit])
  const send = async () => {
    if (text.trim() === "" && files.length === 0) return
    try {
      const parts = await Promise.all(files.map(partOf))
      if (await onSend(text, parts)) {
        setText("")
        setFiles([])
        setProblem(undefined)
        if (input.current !== null) input.current.value = ""
      }
    } catch (cause) {
      setProblem(cause)
    }
  }
  return (
    <form
      className="stack"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <label>
        {isEdit ? "The message in the branch" : "Message"}
        <textarea
          ref={area}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            void send()
          }}
        />
      </label>
      <label>
        Images and files
        <input
          ref={input}
          type="file"
          multiple
          onChange={({ target }) => setFiles(target.files === null ? [] : [...target.files])}
        />
      </label>
      {problem === undefined ? null : <Problem error={problemOf(problem)} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isEdit ? "Branch and send" : "Send"}
        </button>
        {isEdit ? (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        ) : null}
        <span className="hint">Enter sends, Shift and Enter begins a line.</span>
      </div>
    </form>
  )
}
