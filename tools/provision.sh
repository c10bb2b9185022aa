#!/usr/bin/env bash
# Install the real components that tests use: the reference MCP servers into .mcp-servers/ with npm, by their lock file;
# inspect-ai into .tools/inspect-ai/ with uv, by its own, for it cannot share our environment;
# PostgreSQL, Chromium, strace and gcc where that is possible: as root, with apt.
# Elsewhere they are looked for on the PATH by the tests, which say so when they must skip. Never fails by itself:
# whether a missing component is an error is decided by WEFT_TEST_REQUIRE (tests/support/components.py).
set -euo pipefail

# The lock file names every version and hash; nothing that the packages bring along is run while installing.
locked=tests/support/mcp/package-lock.json
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if command -v npm >/dev/null && ! cmp --silent "$locked" .mcp-servers/package-lock.json; then
    echo "provision: installing the reference MCP servers into .mcp-servers/"
    mkdir -p .mcp-servers
    cp tests/support/mcp/package.json "$locked" .mcp-servers/
    if ! npm ci --prefix .mcp-servers --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; then
        rm -f .mcp-servers/package-lock.json # to be tried again
        echo "provision: npm could not install the reference MCP servers; tests that need them will skip" >&2
    fi
fi

locked=tests/support/inspect/requirements.txt
if [ -x .tools/bin/uv ] && ! cmp --silent "$locked" .tools/inspect-ai/requirements.txt; then
    echo "provision: installing inspect-ai into .tools/inspect-ai/"
    python=.venv/bin/python
    [ -x "$python" ] || python=python3
    if .tools/bin/uv venv --quiet --clear --python "$python" .tools/inspect-ai &&
        .tools/bin/uv pip sync --quiet --python .tools/inspect-ai/bin/python "$locked"; then
        cp "$locked" .tools/inspect-ai/
    else
        echo "provision: inspect-ai could not be installed; tests that need it will skip" >&2
    fi
fi

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
    missing+=(chromium)
command -v strace >/dev/null || missing+=(strace)
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "provision: not root, or no apt: ${missing[*]} not installed; tests that need it will skip" >&2
    exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
echo "provision: installing ${missing[*]} with apt"
if ! { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    echo "provision: apt could not install ${missing[*]}:" >&2
    tail -n 15 "$log" >&2
fi
