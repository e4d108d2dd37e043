import { defineConfig } from "vite";

// One script, one style sheet and the licences of what is in them, put where the package takes them.
export default defineConfig({
  build: {
    lib: {
      entry: "source/main.ts",
      formats: ["iife"],
      name: "wakefoldReport",
      fileName: () => "page.js",
      cssFileName: "page",
    },
    license: { fileName: "notices.md" },
    outDir: process.env.WAKEFOLD_REPORT_OUT ?? "../built",
    emptyOutDir: true,
    target: "es2022",
  },
});
