/** Prints the URL of a server of Postgres, or an empty line with a reason beside it, and stops it when its input ends. */
import * as Servers from "../Servers.js"

const servers = Servers.make()
const found = await servers.url("postgres")
if ("missing" in found) console.error(found.missing)
console.log("url" in found ? found.url : "")
process.stdin.resume()
process.stdin.once("end", async () => {
  await servers.end()
  process.exit(0)
})
