import { defineConfig } from "vitepress"
import { design, guides, questions, reference } from "../sidebar.ts"

/** The fragment of a heading, as GitHub and similar sites make it, so that the same links work in both places. */
const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-")

export default defineConfig({
  title: "Quotewire",
  description: "An insurance quoting API as a TypeScript library",
  lang: "en",
  base: process.env.SITE_BASE ?? "/",
  srcDir: "content",
  outDir: "dist",
  cleanUrls: true,
  // VitePress does not build these, so it cannot know that they exist.
  ignoreDeadLinks: [/^\/(api|packages)\//],
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify }
  },
  // The theme's home page has no main landmark.
  transformHtml: (html) => html.replace(/class="VPHome"/, 'class="VPHome" role="main"'),
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start" },
      { text: "Guides", link: "/guides/", activeMatch: "^/guides/" },
      { text: "Reference", link: "/reference/api", activeMatch: "^/reference/" },
      { text: "HTTP API", link: "/api/", target: "_self" },
      { text: "Packages", link: "/packages/", target: "_self" },
      { text: "Design", link: "/architecture", activeMatch: "^/(architecture|decisions|guarantees|proof|threat)" }
    ],
    sidebar: {
      "/reference/": reference(),
      "/decisions/": design(),
      "/architecture": design(),
      "/guarantees": design(),
      "/proof": design(),
      "/threat-model": design(),
      "/glossary": design(),
      "/": [...questions(), ...guides()]
    }
  }
})
