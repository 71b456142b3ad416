"""Past clients: files, tables and cells, read into rounds and categories.

Used from outside: `layout.Layout` (the meaning of the columns), `read.read`, and what
it returns, `past.Past` with its `PastClients`; `late_outcomes` (how late ones are
treated), `past_loans` (their lending book) and `vintages`; `first_look` for a file that
nobody has described; `leaks`, `row_order` and `control_group` for doubts;
`aggregate.cells` and `cells` for data that stay in their engine.
"""
