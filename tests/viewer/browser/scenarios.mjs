/** All scenarios, by the sentence that each of them shows to be true. The world they happen in: tests/viewer/world.py. */

import { comparing } from "./comparing.mjs";
import { finding } from "./finding.mjs";
import { living } from "./living.mjs";
import { looking } from "./looking.mjs";
import { reading } from "./reading.mjs";
import { safe } from "./safe.mjs";
import { scale } from "./scale.mjs";
import { seen } from "./seen.mjs";
import { sharing } from "./sharing.mjs";

export const scenarios = { ...looking, ...reading, ...comparing, ...finding, ...sharing, ...living, ...safe, ...seen, ...scale };
