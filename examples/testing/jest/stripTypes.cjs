const { stripTypeScriptTypes } = require("node:module")

// Use your own transform for TypeScript instead, such as ts-jest or Babel.
module.exports = { process: (source) => ({ code: stripTypeScriptTypes(source) }) }
