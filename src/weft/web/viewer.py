"""Viewer: what one server shows. Its sources, the runs it began, the pages that listen, and the keys to it.

Everything of the outside comes in here from `cli/`: stores that are open, who can be called, what things cost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from weft.errors import WeftError
from weft.version import __version__
from weft.web import contract
from weft.web.answers import RefusedError, check_id
from weft.web.live import Hub
from weft.web.safety import Keys
from weft.web.source import Source
from weft.web.static import Built, load_built

if TYPE_CHECKING:
    from weft.web.runs import Runs

__all__ = ["Viewer"]

_POLL_S = 0.25  # so at most four events a second for one source
_IDLE_S = 2.0  # between looks at what has not changed for long


class Viewer:
    """What is shown, and to whom."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        runs: Runs | None = None,
        built: Built | None = None,
        more: Callable[[], Sequence[Source]] | None = None,
        poll_s: float = _POLL_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Show sources. `more` gives those that came since, such as new recordings of a store."""
        self.keys = Keys()
        self.hub = Hub()
        self.runs = runs
        self.built = load_built() if built is None else built
        self.clock = clock
        self._sources = {source.id: source for source in sources}
        self._more, self._poll_s = more, poll_s
        if runs is not None:
            runs.hub = self.hub
            for source in sources:
                source.can_run = True

    def source(self, source_id: str) -> Source:
        """Give a source by its id."""
        found = self._sources.get(check_id(source_id, "source"))
        if found is None:
            raise RefusedError(404, "not_found", "no such source")
        if not found.is_wanted:
            found.is_wanted = True
            found.poll()
        return found

    def sources(self) -> contract.SourceList:
        """List the sources."""
        described = [source.describe() for source in self._sources.values()]
        chosen = next((one for one in described if one["rows"] or one["is_loading"]), next(iter(described), None))
        return {
            "version": __version__,
            "sources": described,
            "default_id": chosen["id"] if chosen is not None else None,
            "run_source_id": self.runs.source.id if self.runs is not None else None,
            "can_export": self.built.export_script is not None,
        }

    def hello(self) -> contract.EventHello:
        """Say to a new page how things stand."""
        return {
            "type": "hello",
            "sources": [source.describe() for source in self._sources.values()],
            "runs": self.runs.listed() if self.runs is not None else [],
        }

    async def watch(self) -> None:
        """Look for what is new in every source until cancelled, and tell the pages of it."""
        tasks = [asyncio.create_task(self._watch(source)) for source in self._sources.values()]
        try:
            while True:
                await asyncio.sleep(max(self._poll_s, 1.0) if self._more is not None else 3600)
                if self._more is None:
                    continue
                new = await asyncio.to_thread(self._new_sources)
                tasks += [asyncio.create_task(self._watch(source)) for source in new]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _new_sources(self) -> list[Source]:
        found = [
            source for source in (self._more() if self._more is not None else ()) if source.id not in self._sources
        ]
        for source in found:
            source.can_run = self.runs is not None
            self._sources[source.id] = source
        if found:
            self._tell_sources()
        return found

    async def _watch(self, source: Source) -> None:
        pause = self._poll_s
        while source.is_live or source.is_loading:
            was_loading = source.is_loading
            changed = await asyncio.to_thread(self._try, source) if source.is_wanted else False
            if was_loading and not source.is_loading:
                self._tell_sources()
            # Nothing new for long: look less often. A store may have hundreds of recordings that nobody adds to.
            pause = self._poll_s if changed else min(pause * 1.02, max(self._poll_s, _IDLE_S))
            # While a file is read for the first time there is no pause but for others to have their turn.
            await asyncio.sleep(0.01 if source.is_loading and changed else pause)

    def _try(self, source: Source) -> bool:
        try:
            return self._look(source)
        except (WeftError, OSError) as error:
            if str(error) not in source.problems:
                source.problems.append(str(error))
                self._tell_sources()
        return False

    def _look(self, source: Source) -> bool:
        """Take in what is new of one source; tell pages which rows it changed."""
        before, _ = source.counts()
        version, picture = source.version, source.drawn()
        if not source.poll():
            return False
        for heard in source.told():
            self.hub.publish(heard)
        if source.version != version and self.hub.has_pages:
            total, _ = source.counts()
            event: contract.EventGraph = {
                "type": "graph",
                "source_id": source.id,
                "version": source.version,
                "total": total,
                "from_row": source.first_change(picture),
                "row_ids": list(source.newest(min(100, max(0, total - before)))),
            }
            self.hub.publish(event)
        return True

    def nudge(self, source: Source) -> None:
        """Look at a source now: something was written to it by this very server."""
        with suppress(WeftError):
            self._look(source)

    def _tell_sources(self) -> None:
        event: contract.EventSources = {
            "type": "sources",
            "sources": [source.describe() for source in self._sources.values()],
        }
        self.hub.publish(event)

    async def close(self) -> None:
        """End runs and let go of everything."""
        if self.runs is not None:
            await self.runs.close()
        for source in self._sources.values():
            source.close()

    def compare_sides(self, text: str | None, name: str) -> tuple[Source, str]:
        """Read `source:row`."""
        source_id, colon, row_id = (text or "").partition(":")
        if not colon:
            raise RefusedError(400, "parameter", f"{name} is source:row")
        return self.source(source_id), check_id(row_id, "row")
