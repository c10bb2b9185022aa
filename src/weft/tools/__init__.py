"""What a model may use: tools of MCP servers and Python functions, and whether they may run.

The front door of the room. `Toolbox` is what a chat loop needs; the MCP SDK (the extra `mcp`) is loaded when the first
server is started.
"""

from __future__ import annotations

from weft.tools.approval import Approval, Choice, Decision, Policy, Question, ToolInfo, is_yolo
from weft.tools.environment import PROVIDER_KEYS
from weft.tools.functions import FunctionTool, function_tool, tool
from weft.tools.limits import Limits
from weft.tools.links import check_link, open_link
from weft.tools.names import SEPARATOR, Names, Route, split_name
from weft.tools.registry import Consents, register, remove
from weft.tools.results import tool_result
from weft.tools.roots import Roots
from weft.tools.servers import Server, ServerTable, project_files, read_server, read_servers
from weft.tools.toolbox import Settlement, Toolbox
from weft.tools.visible import hidden_marks, reveal, reveal_line

__all__ = [
    "PROVIDER_KEYS",
    "SEPARATOR",
    "Approval",
    "Choice",
    "Consents",
    "Decision",
    "FunctionTool",
    "Limits",
    "Names",
    "Policy",
    "Question",
    "Roots",
    "Route",
    "Server",
    "ServerTable",
    "Settlement",
    "ToolInfo",
    "Toolbox",
    "check_link",
    "function_tool",
    "hidden_marks",
    "is_yolo",
    "open_link",
    "project_files",
    "read_server",
    "read_servers",
    "register",
    "remove",
    "reveal",
    "reveal_line",
    "split_name",
    "tool",
    "tool_result",
]
