"""A small MCP server of its own for the demo: `python -m weft.cli.demo_tools`, spoken to over stdio.

Real in everything but its sonar: it is written with the MCP SDK, as any server is.
"""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

__all__ = ["server"]

server = MCPServer("harbour", version="1.0.0")
DEPTHS = {1: 3.4, 2: 4.8, 3: 5.5, 4: 6.2}


@server.tool()
def depth(pier: int) -> str:
    """Measure how deep the water is at a pier of the harbour."""
    if pier not in DEPTHS:
        raise ValueError(f"there is no pier {pier}; there are {', '.join(map(str, DEPTHS))}")
    return f"{DEPTHS[pier]} m at pier {pier}"


if __name__ == "__main__":
    server.run("stdio")
