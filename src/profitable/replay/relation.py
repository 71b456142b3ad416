"""Files as a relation of DuckDB, which adds them up without reading them into memory."""

from typing import Any

from profitable.common.extras import extra
from profitable.errors import InputError
from profitable.replay.columns import NOTHING
from profitable.replay.source import PARQUET_ENDINGS, Files, open_source


def relation(data: Any) -> Any:
    """The relation of files of CSV or Parquet; InputError if DuckDB is not installed or cannot read them."""
    with extra("cells", "files are added up with it"):
        import duckdb
    source = open_source(data)
    assert isinstance(source, Files)
    paths = [str(path) for path in source.paths]
    connection: Any = duckdb.connect()
    try:
        if all(path.endswith(PARQUET_ENDINGS) for path in paths):
            return connection.read_parquet(paths)
        return connection.read_csv(paths, null_padding=False, na_values=list(NOTHING))
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError("data", source.name, f"cannot be read by DuckDB ({reason})", "give CSV or Parquet") from None
