import "./t2.mjs"; import "../core/dist/wire/HttpAddress.js"
