import type { Role } from "../api/types.gen.ts";

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  tool_use: "Tool call",
  tool_result: "Tool result",
  thinking: "Thinking",
};

export const ROLES = Object.keys(ROLE_NAMES) as Role[];
