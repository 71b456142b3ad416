"""Shared utilities of all rooms.

Argument checks, files and locks, tables of text, dataframes, expressions, progress,
line styles, charts and pages, the registry, types.

`charts`, `pages` and `templates` are what reports share: parts of charts, pages that
open offline, pictures.

Nothing here knows what a category or a policy is.

Every room may use all of it.
"""
