import { Component, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react"
import type { ApiError } from "../src/http/api/ApiError.js"
import {
  type Connection,
  type Credential,
  connect,
  problemOf,
  run,
  storeCredential,
  storedCredential
} from "./lib/client.js"
import { linkTo, useRoute } from "./lib/hooks.js"
import { Problem } from "./lib/parts.js"
import { type Session, SessionContext } from "./lib/session.js"
import { SignIn } from "./SignIn.js"
import { views } from "./views/index.js"

const THEME = "lexigram-theme"
const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]

const storedTheme = (): Theme => themes.find((theme) => theme === localStorage.getItem(THEME)) ?? "system"

const ThemeChoice = () => {
  const [theme, setTheme] = useState(storedTheme)
  useEffect(() => {
    localStorage.setItem(THEME, theme)
    if (theme === "system") delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }, [theme])
  return (
    <label className="theme">
      Colors
      <select
        value={theme}
        onChange={({ target }) => setTheme(themes.find((name) => name === target.value) ?? "system")}
      >
        {themes.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

/** A view that fails by a bug does not take the others with it. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: ApiError | undefined }> {
  override state: { readonly error: ApiError | undefined } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error: problemOf(error) }
  }

  override render() {
    return this.state.error === undefined ? this.props.children : <Problem error={this.state.error} />
  }
}

const groups = ["Work", "Data", "Server"] as const

const Navigation = ({ current }: { readonly current: string }) => (
  <nav aria-label="Views">
    {groups.map((group) => {
      const found = views.filter((view) => view.group === group)
      return found.length === 0 ? null : (
        <div key={group}>
          <h2>{group}</h2>
          <ul>
            {found.map(({ name, title }) => (
              <li key={name}>
                <a href={linkTo(name)} aria-current={name === current ? "page" : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </div>
      )
    })}
  </nav>
)

const Shell = ({ session }: { readonly session: Session }) => {
  const route = useRoute()
  const view = views.find(({ name }) => name === route.view) ?? views[0]
  const main = useRef<HTMLElement>(null)
  const { name, title } = view ?? { name: "", title: "Nothing" }
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${title} · Studio`
    // Who changes the view by keyboard goes on in it.
    if (isFirst.current) isFirst.current = false
    else main.current?.focus()
  }, [title])
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the view
      </button>
      <header className="bar">
        <p className="brand">Studio</p>
        <Navigation current={name} />
        <div className="who">
          <p>{session.userId === undefined ? "No user" : session.userId}</p>
          <ThemeChoice />
          <button type="button" className="quiet" onClick={session.signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Boundary key={`${route.view}`}>
          <Suspense fallback={<p className="empty">Loading…</p>}>
            {view === undefined ? null : <view.Component route={route} />}
          </Suspense>
        </Boundary>
      </main>
    </div>
  )
}

type State =
  | { readonly _tag: "Asking" }
  | { readonly _tag: "Out"; readonly error: ApiError | undefined }
  | {
      readonly _tag: "In"
      readonly connection: Connection
      readonly userId?: string | undefined
      readonly scopes: ReadonlyArray<string>
    }

/** Milliseconds until a server that cannot be reached is asked again. */
const AGAIN = 2_000

export const App = () => {
  const [credential, setCredential] = useState(storedCredential)
  const [state, setState] = useState<State>({ _tag: "Asking" })
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks again
  useEffect(() => {
    const controller = new AbortController()
    const connection = connect(credential)
    let timer: ReturnType<typeof setTimeout> | undefined
    run(connection.studio.session.session(), controller.signal).then(
      ({ scopes, userId }) => setState({ _tag: "In", connection, scopes, userId }),
      (cause) => {
        if (controller.signal.aborted) return
        const error = problemOf(cause)
        setState({ _tag: "Out", error })
        if (error.reason === "unavailable") timer = setTimeout(() => setRound((last) => last + 1), AGAIN)
      }
    )
    return () => {
      controller.abort()
      if (timer !== undefined) clearTimeout(timer)
    }
  }, [credential, round])
  const signIn = useCallback((next: Credential | undefined) => {
    storeCredential(next)
    setCredential(next)
    setRound((last) => last + 1)
  }, [])
  const signOut = useCallback(() => {
    storeCredential(undefined)
    // The cookie of a link is not readable here: the server takes it back.
    void fetch("/studio/api/sign-out", { method: "POST" }).finally(() => {
      setCredential(undefined)
      setState({ _tag: "Out", error: undefined })
    })
  }, [])
  const session = useMemo(
    (): Session | undefined =>
      state._tag === "In"
        ? { connection: state.connection, userId: state.userId, scopes: state.scopes, signOut }
        : undefined,
    [state, signOut]
  )
  if (session !== undefined) {
    return (
      <SessionContext value={session}>
        <Shell session={session} />
      </SessionContext>
    )
  }
  if (state._tag === "Out")
    return <SignIn error={state.error} hadCredential={credential !== undefined} onSignIn={signIn} />
  return (
    <p className="empty" role="status">
      Loading…
    </p>
  )
}
