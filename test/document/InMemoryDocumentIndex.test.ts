import * as InMemoryDocumentIndex from "../../src/document/InMemoryDocumentIndex.js"
import * as DocumentIndexes from "../support/DocumentIndexes.js"

DocumentIndexes.suite("InMemoryDocumentIndex", InMemoryDocumentIndex.layer())
