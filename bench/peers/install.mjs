/** Installs the pinned peers beside this file, and the library as it would be published. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { here, root } from "./places.mjs"

const must = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"], encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}`)
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
}
