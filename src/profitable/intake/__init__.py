r"""Delimited text files and their fields, for past clients and for portfolios alike.

`delimited.DelimitedFile` opens a file: its encoding, delimiter, header and records.
`fields` reads one field: `parse_number`, `parse_whole`, `day`, `parse_moment`,
`shares`.  They raise `FieldError`, to whose problem the caller adds the file, the row
and the column.

>>> import io
>>> from profitable.intake.delimited import DelimitedFile
>>> file = DelimitedFile(io.BytesIO(b"sep=;\r\nid;reward\r\nl-1;1,5\r\n"), "loans.csv")
>>> file.delimiter, file.names, [record.fields for record in file.records()]
(';', ['id', 'reward'], [['l-1', '1,5']])
"""
