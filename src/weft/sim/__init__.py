"""A provider in a box: one server on loopback that speaks the real dialects, for the demo, the tests and newcomers.

The front door of the room. `Simulator` is the server; `Script` says how it answers. No key and no network is needed.
"""

from __future__ import annotations

from weft.sim.replaying import Match, Replayer
from weft.sim.script import Script, load_script
from weft.sim.simulator import ANY_KEY, Seen, Simulator

__all__ = ["ANY_KEY", "Match", "Replayer", "Script", "Seen", "Simulator", "load_script"]
