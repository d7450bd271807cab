import { useState } from "react"
import type { ApiError } from "../src/http/api/ApiError.js"
import { type Credential, connect } from "./lib/client.js"
import { useQuery, useRoute } from "./lib/hooks.js"
import { Problem } from "./lib/parts.js"

/** How a person becomes known to the server: by a link of its terminal, or by a token or a key. */
export const SignIn = ({
  error,
  hadCredential,
  onSignIn
}: {
  readonly error: ApiError | undefined
  readonly hadCredential: boolean
  readonly onSignIn: (credential: Credential | undefined) => void
}) => {
  const route = useRoute()
  const access = useQuery("access", () => connect(undefined).studio.access.access())
  const [value, setValue] = useState("")
  const [chosen, setChosen] = useState(0)
  const schemes = access.data?.schemes ?? []
  const scheme = schemes[chosen] ?? schemes[0]
  // Who has not signed in yet is not told that it is refused.
  const isNew = !hadCredential && (error?.reason === "unauthenticated" || error?.reason === "forbidden")
  return (
    <main className="sign-in">
      <h1>Studio</h1>
      {route.view === "used" ? (
        <p className="note">
          This link was used already, or is not the newest one. The terminal of the server shows another.
        </p>
      ) : null}
      {isNew ? null : <Problem error={error} />}
      {access.data?.links === true ? (
        <p>Open the link that the terminal of the server shows. Each link is good for one use.</p>
      ) : null}
      {scheme === undefined ? null : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            onSignIn(
              scheme.type === "bearer"
                ? { header: "authorization", value: `Bearer ${value.trim()}` }
                : { header: scheme.header, value: value.trim() }
            )
          }}
        >
          {schemes.length > 1 ? (
            <label>
              Credentials
              <select value={chosen} onChange={({ target }) => setChosen(Number(target.value))}>
                {schemes.map((each, at) => (
                  <option key={each.type === "bearer" ? "bearer" : each.header} value={at}>
                    {each.type === "bearer" ? "Bearer token" : `Key (${each.header})`}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
          <label>
            {scheme.type === "bearer" ? "Token" : "Key"}
            <input
              type="password"
              autoComplete="off"
              spellCheck={false}
              required
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          </label>
          <p className="hint">It stays in this tab until you sign out or close it.</p>
          <button type="submit" className="primary">
            Sign in
          </button>
        </form>
      )}
      {access.data !== undefined && scheme === undefined && !access.data.links ? (
        <p>This server knows no callers: give it a layer of Authentication, or links (`Studio.layer`, `links`).</p>
      ) : null}
    </main>
  )
}
