/** A Postgres with pgvector that runs in this process (PGlite), served on a port that it prints. It ends with its standard input. */
import { PGlite } from "@electric-sql/pglite"
import { vector } from "@electric-sql/pglite-pgvector"
import { PGLiteSocketServer } from "@electric-sql/pglite-socket"

const db = await PGlite.create({ extensions: { vector } })
const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 8 })
await server.start()
process.stdout.write(`listening ${server.getServerConn()}\n`)
process.stdin.on("end", () => process.exit(0)).resume()
