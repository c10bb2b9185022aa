/** Two builds: the page for the server, and the page as one classic script for exported files (`--mode export`). */

import { defineConfig, type Plugin } from "vite";

const OUT = "../src/weft/web/static";

/** An inline script ends at the first `</script`, wherever that stands. */
function safeInline(): Plugin {
  return {
    name: "safe-inline",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === "chunk") file.code = file.code.replace(/<(?=\/script|!--)/gi, "\\x3c");
      }
    },
  };
}

export default defineConfig(({ mode }) => ({
  publicDir: mode === "export" ? false : "public",
  oxc: { jsx: { runtime: "automatic" as const, importSource: "preact" } },
  plugins: mode === "export" ? [safeInline()] : [],
  build:
    mode === "export"
      ? {
          outDir: `${OUT}/export`,
          emptyOutDir: true,
          target: "es2022",
          cssCodeSplit: false,
          modulePreload: false,
          rollupOptions: {
            input: "src/main.tsx",
            output: { format: "iife" as const, entryFileNames: "viewer.js", assetFileNames: "viewer[extname]" },
          },
        }
      : {
          outDir: OUT,
          emptyOutDir: true,
          target: "es2022",
          assetsInlineLimit: 0,
          modulePreload: { polyfill: false },
          reportCompressedSize: true,
        },
}));
