"""Counts rows and adds up columns of every table with other engines, and compares.

every_table.py PLIMSOLL FOLDER

DuckDB, Polars and Spark read the files by a plain glob, without Plimsoll, each with a reader of
its own for every encoding in them; `plimsoll sql` answers the same.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import time

NUMBERS = {"BIGINT", "DOUBLE", "BOOLEAN"}
TEXT = "VARCHAR"


def columns_of(folder, table):
    """Names and types of a table's columns, and the days that it has files of."""
    import duckdb

    shown = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{folder}/processed/{table}/**/*.parquet')")
    columns = {row[0]: row[1] for row in shown.fetchall() if row[0] not in ("cluster", "date")}
    days = sorted({path.parent.name.removeprefix("date=") for path in folder.glob(f"processed/{table}/*/*/*.parquet")})
    return columns, days


def asked(columns, text_length, number):
    """What is counted and added up of each column, by its type."""
    parts = ["count(*)"]
    for name, kind in columns.items():
        parts.append(f'count("{name}")')
        if kind in NUMBERS:
            parts.append(number.format(f'"{name}"'))
        elif kind == TEXT:
            parts.append(f'sum({text_length}("{name}"))')
    return ", ".join(parts)


def by_plimsoll(plimsoll, folder, table, columns, days):
    listed = ", ".join(f"DATE '{day}'" for day in days)
    words = asked(columns, "octet_length", "sum(CAST({} AS DOUBLE))")
    parts = [f"{part} AS c{place}" for place, part in enumerate(words.split(", "))]
    answer = subprocess.run(
        [plimsoll, "--data-dir", folder, "sql", "--format", "json",
         f"SELECT {', '.join(parts)} FROM {table} WHERE date IN ({listed})"],
        check=True, capture_output=True, text=True)
    row = json.loads(answer.stdout)["rows"][0]
    return [row[f"c{place}"] for place in range(len(parts))]


def by_duckdb(folder, table, columns):
    import duckdb

    words = asked(columns, "strlen", "sum(CAST({} AS DOUBLE))")
    read = f"read_parquet('{folder}/processed/{table}/**/*.parquet')"
    return list(duckdb.sql(f"SELECT {words} FROM {read}").fetchall()[0])


def by_polars(folder, table, columns):
    import polars

    parts = [polars.len().alias("0")]
    for name, kind in columns.items():
        column = polars.col(name)
        parts.append(column.count().alias(str(len(parts))))
        known = polars.when(column.count() > 0)
        if kind in NUMBERS:
            parts.append(known.then(column.cast(polars.Float64).sum()).alias(str(len(parts))))
        elif kind == TEXT:
            parts.append(known.then(column.str.len_bytes().sum()).alias(str(len(parts))))
    frame = polars.scan_parquet(f"{folder}/processed/{table}/**/*.parquet", hive_partitioning=True)
    return list(frame.select(parts).collect().row(0))


def by_spark(spark, folder, table, columns):
    words = asked(columns, "octet_length", "sum(CAST({} AS DOUBLE))").replace('"', "`")
    spark.read.parquet(f"{folder}/processed/{table}").createOrReplaceTempView("read")
    return list(spark.sql(f"SELECT {words} FROM read").first())


def is_same(one, other):
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def main():
    plimsoll, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    os.environ["TZ"] = "UTC"
    time.tzset()
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
             .config("spark.sql.session.timeZone", "UTC").getOrCreate())
    tables = sorted(path.name for path in (folder / "processed").iterdir())
    assert len(tables) >= 6, f"only {tables}: too few to mean anything"
    figures = 0
    for table in tables:
        columns, days = columns_of(folder, table)
        expected = by_plimsoll(plimsoll, folder, table, columns, days)
        assert expected[0] > 0, f"{table} has no rows"
        figures += len(expected)
        for engine, given in [
            ("duckdb", by_duckdb(folder, table, columns)),
            ("polars", by_polars(folder, table, columns)),
            ("spark", by_spark(spark, folder, table, columns)),
        ]:
            assert len(given) == len(expected), f"{table}: {engine} gives {len(given)} figures"
            for place, (one, other) in enumerate(zip(expected, given)):
                assert is_same(one, other), f"{table}, figure {place}: {one}, {engine} says {other}"
    spark.stop()
    print(f"{figures} figures of {len(tables)} tables agree")


main()
