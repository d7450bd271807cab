// Another process with the same file: `node SqliteProgram.mjs <driver> <file> <what>`. It says a line when it has done something.
import { createInterface } from "node:readline"

const [driver, file, what] = process.argv.slice(2)

const open = async () => {
  if (driver === "node:sqlite") {
    const { DatabaseSync } = await import("node:sqlite")
    return new DatabaseSync(file)
  }
  const { default: Database } = await import(driver)
  return new Database(file)
}

const database = await open()
database.exec("PRAGMA busy_timeout = 10000")
const say = (line) => process.stdout.write(`${line}\n`)

if (what === "hold") {
  // Holds the lock of writers until a line comes.
  database.exec("BEGIN IMMEDIATE")
  database.exec("INSERT INTO kept (id) VALUES ('other')")
  say("held")
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "commit") {
      database.exec("COMMIT")
      say("done")
    }
  }
} else {
  // Writes until it is killed, and says what is kept.
  for (let id = 0; ; id++) {
    database.exec("BEGIN IMMEDIATE")
    database.exec(`INSERT INTO kept (id) VALUES ('${id}a')`)
    database.exec(`INSERT INTO kept (id) VALUES ('${id}b')`)
    database.exec("COMMIT")
    say(String(id))
    if (id % 20 === 0) await new Promise((resume) => setImmediate(resume))
  }
}
