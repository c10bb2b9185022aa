"""Benchmarks: weft beside a named peer, in one run. `make bench` runs them all."""
