"""Past clients: files, tables and cells, read into rounds and categories.

Used from outside: `layout.Layout` (the meaning of the columns), `read.read`, and what
it returns, `past.Past` with its `PastClients`; `aggregate.cells` for data that stay in
their engine.
"""
