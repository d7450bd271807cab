/** Installs the pinned peers beside this file, and the library as it would be published. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { here, root } from "./places.mjs"

const must = (command, args, cwd, env = {}) => {
  const stdio = ["ignore", "ignore", "inherit"]
  const { status } = spawnSync(command, args, { cwd, stdio, env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}`)
}

/** Compiles the driver of LangGraph's saver where npm has not, with the headers of this Node.js if they are there. */
const compile = () => {
  const driver = Path.join(here, "node_modules", "better-sqlite3")
  const isThere = Fs.existsSync(Path.join(driver, "build", "Release", "better_sqlite3.node"))
  if (isThere || !Fs.existsSync(driver)) return
  const prefix = Path.resolve(process.execPath, "..", "..")
  const hasHeaders = Fs.existsSync(Path.join(prefix, "include", "node", "node.h"))
  must("npm", ["rebuild", "better-sqlite3"], here, hasHeaders ? { npm_config_nodedir: prefix } : {})
}

export const install = (isBuilt) => {
  if (!isBuilt || !Fs.existsSync(Path.join(root, "dist"))) must("npm", ["run", "build"], root)
  const packed = spawnSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", Os.tmpdir()], {
    cwd: root,
    encoding: "utf8"
  })
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[")))
  const file = Path.join(Os.tmpdir(), Path.basename(filename))
  const flags = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"]
  must("npm", ["install", ...flags, file], here)
  Fs.rmSync(file)
  compile()
}
