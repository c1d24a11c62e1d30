"""Runs a query with DuckDB, and prints its rows as JSON: query.py QUERY."""
import json
import sys

import duckdb

connection = duckdb.connect()
result = connection.execute(sys.argv[1])
names = [column[0] for column in result.description]
print(json.dumps([dict(zip(names, row)) for row in result.fetchall()], default=str))
